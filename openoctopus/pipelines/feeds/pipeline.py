"""One output of a crawl: items are encoded as they come and written in batches."""

from __future__ import annotations

import asyncio
import errno
import logging
import secrets
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from os import PathLike, path
from typing import Any

import msgspec

from openoctopus.exceptions import CloseSpider, JobLost, Retry, SettingsError
from openoctopus.pipelines.base import BatchPipeline, FailItem, Pending, Receipt
from openoctopus.pipelines.classes import Taken
from openoctopus.pipelines.feeds.marks import Marks
from openoctopus.pipelines.feeds.names import Names
from openoctopus.pipelines.feeds.options import STDOUT, options_of
from openoctopus.pipelines.feeds.parts import FORMATS, KeptParts, Parts, PartsState, Record, is_stream
from openoctopus.spider import Spider
from openoctopus.state import NO_STATE, State, Stateful

logger = logging.getLogger(__name__)

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
#: Seconds before another try on a full disk.
_FULL_PAUSE = 5.0


class FeedState(msgspec.Struct, array_like=True, frozen=True):
    """How far an output is, as the job keeps it."""

    #: Format, encoding and compression: they stay as they were.
    kind: list[str]
    #: When the job began, and what is its own, for names.
    started: str
    token: str
    parts: list[PartsState]


class FeedPipeline(BatchPipeline, Stateful):
    """Writes items to a file or to standard output: ``FeedPipeline("items.csv", fields=["url", "title"])``.

    Options are those of an entry of ``FEEDS``. Files are opened before the first request, and whole whenever the crawl
    ends; in a job each item is in them once, whatever was killed. Raises ``SettingsError`` for options that are unknown or
    do not fit.
    """

    max_items = 5_000
    max_bytes = 256 * 1024

    def __init__(self, target: str | PathLike[str], **options: Any) -> None:
        self.target, self.options = options_of(target, options)
        self._names = Names(self.target)
        self._format = FORMATS[self.options.format](self.options)
        self._is_by_class = "item_class" in self._names.used
        self._parts: dict[str, Parts] = {}
        self._thread: ThreadPoolExecutor | None = None
        self._has_begun = False
        #: In a job: which items are in the files, how far an earlier run was, and what the job shall know.
        self._marks: Marks | None = None
        self._earlier: FeedState | None = None
        self._token = secrets.token_hex(4)
        self._written: list[Record] = []
        self._state = b""
        self._has_news = False

    def __str__(self) -> str:
        return f"output {self.target}"

    @property
    def state_prefix(self) -> str:  # type: ignore[override]  # no class has one, but each output
        return f"feed/{self.target}"

    @property
    def place(self) -> str:
        """Where the items go, whatever way it is written."""
        return self.target if self.target == STDOUT else path.realpath(self.target)

    async def open_spider(self, spider: Spider) -> None:
        """Open the file. Raises ``SettingsError`` that says what stands in the way."""
        self._taken = Taken(self.options.item_classes)
        self._names.start(spider)
        # A thread of its own: a slow disk or reader holds up neither the crawl nor other outputs, and one file is
        # written in the order of its batches, also after a batch was given up.
        self._thread = ThreadPoolExecutor(1, f"{self} writer")
        await self._in_thread(self._open)
        self._note()

    def _open(self) -> None:
        if self._earlier is not None:
            self._names.started, self._token = self._earlier.started, self._earlier.token
            for state in self._earlier.parts:
                self._parts[state.item_class] = kept = self._new_kept(state.item_class)
                kept.resume(state)
        elif not self._is_by_class:
            self._parts_of("").open()

    def _parts_of(self, item_class: str) -> Parts:
        if item_class not in self._parts:
            is_kept = self._marks is not None
            self._parts[item_class] = (self._new_kept if is_kept else self._new)(item_class)
        return self._parts[item_class]

    def _new(self, item_class: str) -> Parts:
        return Parts(self.options, self._names, item_class)

    def _new_kept(self, item_class: str) -> KeptParts:
        return KeptParts(self.options, self._names, item_class, self._token)

    def begin(self, fail_item: FailItem, retry_times: int) -> None:
        super().begin(fail_item, retry_times)
        self._has_begun = True

    def put(self, item: Any, receipt: Receipt) -> int:
        if not self._taken[type(item)] or (self._marks and self._marks.has(receipt)):
            return 0
        return super().put(item, receipt)

    def prepare(self, item: Any) -> tuple[Record, int]:
        """The item as it will stand in the file; what is changed in it later does not matter."""
        data, size = self._format.record(item)
        return Record(data, type(item).__name__ if self._is_by_class else ""), size

    def record(self, item: Any, receipt: Receipt) -> tuple[Record, int]:
        record, size = self.prepare(item)
        record.receipt, record.ordinal = receipt, receipt.ordinal
        return record, size

    def cut(self, waiting: list[Pending]) -> Iterator[list[Pending]]:
        """Everything that waits, at once: a file takes any amount, and a busy crawl leaves few turns to write in."""
        return iter((waiting,))

    async def write(self, items: Sequence[Record]) -> None:
        try:
            if self._marks:
                await self._write_for_job(items)
            else:
                await self._in_thread(self._write, items)
        except BrokenPipeError:
            raise CloseSpider(f"nobody reads {self} any more") from None
        except JobLost as lost:
            raise CloseSpider(str(lost)) from lost
        except OSError as error:
            if error.errno in _FULL:
                raise Retry(f"{self}: {error.strerror}", delay=_FULL_PAUSE) from error
            raise

    def _write(self, records: Sequence[Record]) -> None:
        for item_class, own in _by_class(records).items():
            self._parts_of(item_class).write(own)

    # In a job

    async def _write_for_job(self, records: Sequence[Record]) -> None:
        """Write only to files that the job knows, so that it can tell what in them is its own when it is killed."""
        while left := [record for record in records if record.data is not None]:
            if await self._in_thread(self._make_room, left):
                self._note()
                await self.keep_state()
                await self._in_thread(self._release)
            self._written += left
            try:
                await self._in_thread(self._write, left)
            except Exception:
                self._note()
                raise
            self._note()

    def _make_room(self, records: Sequence[Record]) -> bool:
        """Begin the files that are needed; whether the job has to know of something before it goes on."""
        needed = _by_class(records)
        for item_class in needed:
            self._parts_of(item_class)
        is_new = [kept.make_room(len(needed[name])) for name, kept in self._kept().items() if name in needed]
        return any(is_new) or any(kept.is_changing for kept in self._kept().values())

    def _kept(self) -> dict[str, KeptParts]:
        return {name: parts for name, parts in self._parts.items() if isinstance(parts, KeptParts)}

    def _release(self) -> None:
        for parts in self._kept().values():
            parts.release()

    def _note(self) -> None:
        """Take down what the job shall know from now on; nothing is being written."""
        if self._marks is None:
            return
        for record in self._written:
            if record.data is None:
                self._marks.add(record.receipt, record.ordinal)
        self._written.clear()
        state = FeedState(self._kind, self._names.started, self._token, [parts.state for parts in self._kept().values()])
        self._state, self._has_news = msgspec.msgpack.encode(state), True

    @property
    def _kind(self) -> list[str]:
        return [self.options.format, self.options.encoding, self.options.compression]

    def changed_state(self) -> State:
        if self._marks is None or not self._has_news:
            return NO_STATE
        self._has_news = False
        return {"files": self._state, "marks": self._marks.dump()}

    def restore_state(self, state: State) -> None:
        """What is written to a stream cannot be taken back, and is not kept."""
        if is_stream(self.target):
            return
        self._marks = Marks(state.get("marks", b""))
        if "files" in state:
            self._earlier = msgspec.msgpack.decode(state["files"], type=FeedState)
            if self._earlier.kind != self._kind:
                raise SettingsError(
                    f"{self}: the job writes it as {', '.join(self._earlier.kind)}, and not as {', '.join(self._kind)}: "
                    "leave its options as they were, or begin anew with --fresh"
                )

    async def finished(self) -> None:
        for parts in self._kept().values():
            await asyncio.to_thread(parts.publish)

    # It ends

    async def close_spider(self, spider: Spider) -> None:
        await self.close()

    async def close(self) -> None:
        """End all files. What the crawl did not begin to write leaves things as they were."""
        await super().close()
        if self._thread is None:
            return
        try:
            await self._in_thread(self._close)
        finally:
            self._thread.shutdown(wait=False)
            self._thread = None
        self._note()

    def _close(self) -> None:
        for parts in self._parts.values():
            parts.close(keep=self._has_begun)
        self._taken.check(self)

    async def _in_thread(self, work: Any, *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, *arguments)


def _by_class(records: Sequence[Record]) -> Mapping[str, list[Record]]:
    """The records that are not in a file yet."""
    found: dict[str, list[Record]] = {}
    for record in records:
        if record.data is not None:
            found.setdefault(record.item_class, []).append(record)
    return found
