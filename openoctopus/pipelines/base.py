"""What an item passes on its way out."""

from __future__ import annotations

import asyncio
import logging
import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from openoctopus.exceptions import Retry
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
        """Return the item, changed or not, or raise ``DropItem``. ``Retry(delay=...)`` means "not now": nothing is lost."""
        return item

    def close_spider(self, spider: Spider) -> Any:
        """Called once after the last item."""


class Receipt:
    """One page's account of items that are not durable yet; the page is settled when it is closed and nothing is owed."""

    __slots__ = ("bytes", "closed", "owed", "settle")

    def __init__(self, settle: Callable[[], None]) -> None:
        self.settle = settle
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
            self.settle()

    def close(self) -> None:
        """No more items come from this page."""
        self.closed = True
        if not self.owed:
            self.settle()


class Pending(NamedTuple):
    """One item that waits to be written: as ``prepare`` made it, and as it was."""

    record: Any
    size: int
    item: Any
    receipt: Receipt


#: Called with an item that could not be stored, and the error.
FailItem = Callable[[Any, Exception], None]


class BatchPipeline(ItemPipeline):
    """A store that writes many items at once: override ``write``.

    A batch is written when it has ``max_items`` or ``max_bytes``, or when its first item is ``max_seconds`` old. Claims
    stop while a store is not ready. An item that the store refuses is found by halving its batch.
    """

    max_items: int = 500
    max_seconds: float = 1.0
    max_bytes: int = 1 << 20

    @abstractmethod
    async def write(self, items: Sequence[Any]) -> None:
        """Return when all of them are durable.

        Raise ``Retry(delay=...)`` or ``ConnectionError`` while the store is away: the same batch comes again and nobody's
        tries are spent. Any other error is tried again, then the items at fault become failed items.
        """

    def prepare(self, item: Any) -> tuple[Any, int]:
        """What ``write`` gets for an item, and its size in bytes. By default the item and an estimate."""
        return item, size_of(item)

    # What follows is the framework's side.

    def begin(self, fail_item: FailItem, retry_times: int) -> None:
        """Start to collect; called once, in the running loop."""
        self._fail_item = fail_item
        self._retry_times = retry_times
        self._batch: list[Pending] = []
        self._batch_bytes = 0
        self._wake = asyncio.Event()
        self._due = asyncio.Event()
        self._closing = False
        #: False while the store cannot be reached.
        self.ready = True
        self._task = asyncio.create_task(self._collect(), name=f"{type(self).__name__} writer")

    def put(self, item: Any, receipt: Receipt) -> int:
        """Take an item; return its size in bytes. It is acknowledged by its receipt once it is written."""
        record, size = self.prepare(item)
        receipt.owe(size)
        self._batch.append(Pending(record, size, item, receipt))
        self._batch_bytes += size
        self._wake.set()
        if len(self._batch) >= self.max_items or self._batch_bytes >= self.max_bytes:
            self._due.set()
        return size

    def flush(self) -> None:
        """Write what there is without waiting for more."""
        if self._batch:
            self._due.set()

    async def finish(self) -> None:
        """Write the rest and stop."""
        self._closing = True
        self._wake.set()
        self._due.set()
        await self._task

    async def _collect(self) -> None:
        while not self._closing or self._batch:
            await self._wake.wait()
            if not self._due.is_set():
                try:
                    await asyncio.wait_for(self._due.wait(), self.max_seconds)
                except TimeoutError:
                    pass
            self._wake.clear()
            if not self._closing:
                self._due.clear()
            batch, self._batch, self._batch_bytes = self._batch, [], 0
            if batch:
                await self._store(batch)

    async def _store(self, batch: list[Pending]) -> None:
        """Write a batch; halve it to find the items that the store refuses."""
        error = await self._try(batch)
        if error is not None and len(batch) > 1:
            middle = len(batch) // 2
            await self._store(batch[:middle])
            await self._store(batch[middle:])
            return
        if error is not None:
            self._fail_item(batch[0].item, error)
        for pending in batch:
            pending.receipt.paid(pending.size)

    async def _try(self, batch: list[Pending]) -> Exception | None:
        """Write a batch, again and again while the store is away; return the error that remains."""
        tries, started = 0, time.monotonic()
        while True:
            try:
                await self.write([pending.record for pending in batch])
                if not self.ready:
                    logger.warning("%s is back after %.0f s", type(self).__name__, time.monotonic() - started)
                    self.ready = True
                return None
            except (Retry, ConnectionError) as not_now:
                if self.ready:
                    logger.warning("%s is away, the crawl waits for it: %s", type(self).__name__, not_now)
                    self.ready = False
                await asyncio.sleep(getattr(not_now, "delay", 0.0) or 1.0)
            except Exception as error:
                tries += 1
                if tries > self._retry_times or len(batch) > 1:
                    return error
                await asyncio.sleep(min(0.1 * 2**tries, 5.0))


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
