"""One output of a crawl: items are encoded as they come and written in batches."""

from __future__ import annotations

import asyncio
import errno
import logging
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from os import PathLike, path
from typing import Any

from openoctopus.exceptions import CloseSpider, Retry
from openoctopus.pipelines.base import BatchPipeline, FailItem, Pending, Receipt
from openoctopus.pipelines.classes import Taken
from openoctopus.pipelines.feeds.names import Names
from openoctopus.pipelines.feeds.options import STDOUT, options_of
from openoctopus.pipelines.feeds.parts import FORMATS, Parts, Record
from openoctopus.spider import Spider

logger = logging.getLogger(__name__)

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
#: Seconds before another try on a full disk.
_FULL_PAUSE = 5.0


class FeedPipeline(BatchPipeline):
    """Writes items to a file or to standard output: ``FeedPipeline("items.csv", fields=["url", "title"])``.

    Options are those of an entry of ``FEEDS``. Files are opened before the first request, and whole whenever the crawl
    ends. Raises ``SettingsError`` for options that are unknown or do not fit.
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

    def __str__(self) -> str:
        return f"output {self.target}"

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
        if not self._is_by_class:
            parts = self._parts[""] = Parts(self.options, self._names)
            await self._in_thread(parts.open)

    def begin(self, fail_item: FailItem, retry_times: int) -> None:
        super().begin(fail_item, retry_times)
        self._has_begun = True

    def put(self, item: Any, receipt: Receipt) -> int:
        return super().put(item, receipt) if self._taken[type(item)] else 0

    def prepare(self, item: Any) -> tuple[Record, int]:
        """The item as it will stand in the file; what is changed in it later does not matter."""
        data, size = self._format.record(item)
        return Record(data, type(item).__name__ if self._is_by_class else ""), size

    def cut(self, waiting: list[Pending]) -> Iterator[list[Pending]]:
        """Everything that waits, at once: a file takes any amount, and a busy crawl leaves few turns to write in."""
        return iter((waiting,))

    async def write(self, items: Sequence[Record]) -> None:
        try:
            await self._in_thread(self._write, items)
        except BrokenPipeError:
            raise CloseSpider(f"nobody reads {self} any more") from None
        except OSError as error:
            if error.errno in _FULL:
                raise Retry(f"{self}: {error.strerror}", delay=_FULL_PAUSE) from error
            raise

    def _write(self, records: Sequence[Record]) -> None:
        for item_class, own in self._by_class(records).items():
            if item_class not in self._parts:
                self._parts[item_class] = Parts(self.options, self._names, item_class)
            self._parts[item_class].write(own)

    def _by_class(self, records: Sequence[Record]) -> Mapping[str, list[Record]]:
        """The records that are not in a file yet."""
        found: dict[str, list[Record]] = {}
        for record in records:
            if record.data is not None:
                found.setdefault(record.item_class, []).append(record)
        return found

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

    def _close(self) -> None:
        parts, self._parts = self._parts, {}
        for one in parts.values():
            one.close(keep=self._has_begun)
        self._taken.check(self)

    async def _in_thread(self, work: Any, *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, *arguments)
