"""What an item passes on its way out."""

from __future__ import annotations

import asyncio
import inspect
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from openoctopus.exceptions import CloseSpider, RefusedItem, Retry
from openoctopus.failpoints import hit
from openoctopus.items import to_dict
from openoctopus.plugins import Plugin
from openoctopus.spider import Spider

logger = logging.getLogger(__name__)


class ItemPipeline(Plugin):
    """Override any hook, with ``def`` or ``async def``. An item is durable when ``process_item`` returns.

    A pipeline that collects items itself is acknowledged too early: use ``BatchPipeline`` for that.
    """

    def open_spider(self, spider: Spider) -> Any:
        """Called once before the first item."""

    def process_item(self, item: Any, spider: Spider) -> Any:
        """Return the item, changed or not, or raise ``DropItem``. ``Retry(delay=...)`` means "not now": nothing is lost.

        ``RefusedItem`` makes it a failed item at once; after any other error it is tried again first.
        """
        return item

    def close_spider(self, spider: Spider) -> Any:
        """Called once after the last item."""


class Receipt:
    """One page's account of items that are not durable yet; the page is settled when it is closed and nothing is owed."""

    __slots__ = ("bytes", "closed", "fetched_at", "ordinal", "owed", "rid", "settle")

    def __init__(self, settle: Callable[[Any], None]) -> None:
        self.settle = settle
        #: The identity of the page's entry, and when it was fetched, in seconds since the epoch.
        self.rid = 0
        self.fetched_at = 0.0
        #: The number on its page of the item that is being processed, from 1. The same again when the page is read again.
        self.ordinal = 0
        self.owed = 0
        self.bytes = 0
        self.closed = False

    def owe(self, size: int) -> None:
        self.owed += 1
        self.bytes += size

    def paid(self, size: int) -> None:
        self.owed -= 1
        self.bytes -= size
        if self.closed and not self.owed:
            self.settle(self)

    @property
    def url(self) -> str:
        """Of the page, where it is one."""
        return ""

    def close(self) -> None:
        """No more items come from this page."""
        self.closed = True
        if not self.owed:
            self.settle(self)


class ItemOfPage(NamedTuple):
    """The identity of an item: the same again when its page is read again."""

    rid: int
    ordinal: int


class PagePipeline(ItemPipeline, ABC):
    """An item pipeline that wants to know which item of which page it is given."""

    @abstractmethod
    def process_item_of(self, item: Any, receipt: Receipt) -> Any:
        """As ``process_item``; the receipt has the page's ``rid`` and the item's ``ordinal``."""


class Pending(NamedTuple):
    """One item that waits to be written: as ``prepare`` made it, and as it was."""

    record: Any
    size: int
    item: Any
    receipt: Receipt
    ordinal: int


class FailedItem(NamedTuple):
    """An item that could not be stored, and why."""

    item: Any
    error: BaseException
    #: The pipeline that did not take it.
    pipeline: str = ""
    of: ItemOfPage = ItemOfPage(0, 0)
    #: Of the page that it was found on.
    url: str = ""


#: Called with an item that could not be stored. The error ``CloseSpider`` asks for the end of the crawl.
FailItem = Callable[[FailedItem], None]


class BatchPipeline(ItemPipeline, ABC):
    """A store that writes many items at once: override ``write``.

    A batch is written when it has ``max_items`` or ``max_bytes``, or when its first item is ``max_seconds`` old. Claims
    stop while a store is not ready. An item that the store refuses is found by halving its batch.
    """

    max_items: int = 500
    max_seconds: float = 1.0
    max_bytes: int = 1 << 20

    @abstractmethod
    async def write(self, items: Sequence[Any]) -> None:
        """Return when all of them are durable; ``def`` or ``async def``.

        Raise ``Retry(delay=...)`` or ``ConnectionError`` while the store is away: the same batch comes again and nobody's
        tries are spent. ``CloseSpider`` ends the crawl. ``RefusedItem``, or a class of your own derived from it, says that
        an item is refused for good: it is found and becomes a failed item at once. After any other error the items at
        fault are tried again before they do.
        """

    def prepare(self, item: Any) -> tuple[Any, int]:
        """What ``write`` gets for an item, and its size in bytes. By default the item and an estimate.

        What it raises makes this item a failed item.
        """
        return item, size_of(item)

    # What follows is the framework's side.

    def record(self, item: Any, receipt: Receipt) -> tuple[Any, int]:
        """As ``prepare``, for stores that want to know which item of which page it is."""
        return self.prepare(item)

    #: False while the store cannot be reached.
    ready: bool = True
    #: Bytes of the items that are not written yet.
    pending_bytes: int = 0
    _ended: CloseSpider | None = None
    _task: asyncio.Task[None] | None = None

    def begin(self, fail_item: FailItem, retry_times: int) -> None:
        """Start to collect; called once, in the running loop."""
        self._fail_item = fail_item
        self._retry_times = retry_times
        self._loop = asyncio.get_running_loop()
        self._write_is_async = inspect.iscoroutinefunction(self.write)
        self._waiting: list[Pending] = []
        self._waiting_bytes = 0
        self._due = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._closing = False
        self._task = asyncio.create_task(self._collect(), name=f"{self} writer")

    def put(self, item: Any, receipt: Receipt) -> int:
        """Take an item; return its size in bytes. It is acknowledged by its receipt once it is written.

        Raises what ``prepare`` raises, and ``CloseSpider`` if ``write`` has.
        """
        if self._ended is not None:
            raise self._ended
        record, size = self.record(item, receipt)
        receipt.owe(size)
        self.pending_bytes += size
        if not self._waiting:
            self._timer = self._loop.call_later(self.max_seconds, self._due.set)
        self._waiting.append(Pending(record, size, item, receipt, receipt.ordinal))
        self._waiting_bytes += size
        if len(self._waiting) >= self.max_items or self._waiting_bytes >= self.max_bytes:
            self._due.set()
        return size

    def flush(self) -> None:
        """Write what there is without waiting for more."""
        if self._waiting:
            self._due.set()

    async def finish(self) -> None:
        """Write the rest and stop."""
        if self._task is not None:
            self._closing = True
            self._due.set()
            await self._task

    async def close(self) -> None:
        """Stop at once: what was not written by ``finish`` is not written any more."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    def __str__(self) -> str:
        return type(self).__name__

    async def _collect(self) -> None:
        while True:
            await self._due.wait()
            self._due.clear()
            if self._timer is not None:
                self._timer.cancel()
            waiting, self._waiting, self._waiting_bytes = self._waiting, [], 0
            for batch in self.cut(waiting):
                await self._store(batch)
            if self._closing and not self._waiting:
                return

    def cut(self, waiting: list[Pending]) -> Iterator[list[Pending]]:
        """Cut what came together while a slow batch was being written."""
        batch: list[Pending] = []
        size = 0
        for pending in waiting:
            batch.append(pending)
            size += pending.size
            if len(batch) >= self.max_items or size >= self.max_bytes:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch

    async def _store(self, batch: list[Pending]) -> None:
        """Write a batch. What the store refuses is tried again with growing pauses, its neighbours are not held up."""
        tries = 0
        while batch:
            refused = await self._halve(batch)
            tries += 1
            is_last = tries > self._retry_times or self._ended is not None
            batch = []
            for pending, error in refused:
                if is_last or isinstance(error, RefusedItem):
                    receipt = pending.receipt
                    of = ItemOfPage(receipt.rid, pending.ordinal)
                    self._fail_item(FailedItem(pending.item, error, str(self), of, receipt.url))
                    self._paid([pending])
                else:
                    batch.append(pending)
            if batch:
                await asyncio.sleep(min(0.1 * 2**tries, 5.0))

    async def _halve(self, batch: list[Pending]) -> list[tuple[Pending, Exception]]:
        """Write a batch, in ever smaller parts where it is refused; return the single items that were, with the errors."""
        error = await self._try(batch)
        if error is None:
            self._paid(batch)
            return []
        if isinstance(error, CloseSpider):
            self._ended = error
        if len(batch) == 1 or self._ended is not None:
            return [(pending, error) for pending in batch]
        middle = len(batch) // 2
        return await self._halve(batch[:middle]) + await self._halve(batch[middle:])

    def _paid(self, batch: list[Pending]) -> None:
        for pending in batch:
            self.pending_bytes -= pending.size
            pending.receipt.paid(pending.size)

    async def _try(self, batch: list[Pending]) -> Exception | None:
        """Write a batch, again and again while the store is away; return the error that remains."""
        records = [pending.record for pending in batch]
        started = self._loop.time()
        while True:
            try:
                hit("store.write")
                answer = self.write(records)
                if self._write_is_async:
                    await answer
                hit("store.flushed")
            except (Retry, ConnectionError) as not_now:
                if self.ready:
                    logger.warning("%s is away, the crawl waits for it: %s", self, not_now)
                    self.ready = False
                await asyncio.sleep(getattr(not_now, "delay", 0.0) or 1.0)
                continue
            except Exception as error:
                remains: Exception | None = error
            else:
                remains = None
            if not self.ready:
                logger.warning("%s is back after %.0f s", self, self._loop.time() - started)
                self.ready = True
            return remains


def size_of(value: Any) -> int:
    """About how many bytes a value takes: its texts and a little for each part."""
    kind = type(value)
    if kind is str or kind is bytes:
        return len(value) + 16
    if kind is dict:
        return 64 + sum(size_of(one) for one in value.values())
    if kind is list or kind is tuple or kind is set:
        return 32 + sum(size_of(one) for one in value)
    if kind is int or kind is float or kind is bool or value is None:
        return 16
    try:
        return 64 + sum(size_of(one) for one in to_dict(value).values())
    except (TypeError, ValueError):
        return 64
