"""All pipelines of a crawl, one behind the other."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

from openoctopus.exceptions import CloseSpider, DropItem, OctopusError, RefusedItem, Retry, is_fault
from openoctopus.failpoints import hit
from openoctopus.items import is_item
from openoctopus.pipelines.base import (
    BatchPipeline,
    FailedItem,
    FailItem,
    ItemOfPage,
    ItemPipeline,
    PagePipeline,
    Receipt,
)
from openoctopus.plugins import hook
from openoctopus.spider import Spider
from openoctopus.stats import Stats

logger = logging.getLogger(__name__)


#: How long a hurried crawl waits for each of its stores, in seconds.
HURRY_SECONDS = 2.0


class Watch(NamedTuple):
    """Whom the chain tells what became of an item."""

    stored: Callable[[Any], None]
    dropped: Callable[[Any, str], None]
    failed: FailItem


class Step(NamedTuple):
    name: str
    process: Callable[..., Any]
    is_async: bool
    is_batch: bool
    #: Takes the receipt, and not the spider.
    of_page: bool = False


class Chain:
    """Takes each item through all pipelines in order. An item at fault costs only itself."""

    def __init__(
        self, pipelines: Sequence[object], spider: Spider, stats: Stats, watch: Watch, *, retry_times: int = 3
    ) -> None:
        self.pipelines = pipelines
        self.spider = spider
        self.stats = stats
        self.watch = watch
        self.retry_times = retry_times
        self._batches = [p for p in pipelines if isinstance(p, BatchPipeline)]
        self._steps = [step for p in pipelines if (step := _step(p))]
        self._opened: list[object] = []
        self._waiting = 0

    async def open(self) -> None:
        """Open every pipeline for the spider, in order; if one cannot be, those before it are closed again."""
        for pipeline in self.pipelines:
            try:
                await self._call(pipeline, "open_spider")
            except BaseException:
                await self._close_spiders()
                raise
            self._opened.append(pipeline)
        for batch in self._batches:
            batch.begin(self.watch.failed, self.retry_times)

    async def close(self, *, hurried: bool = False) -> None:
        """Write what waits, then close every pipeline; an error in one is logged and does not keep the others open.

        When ``hurried``, a store that is away is not waited for.
        """
        for batch in self._batches:
            await self._close_one(batch, _within(HURRY_SECONDS, batch) if hurried else batch.finish())
        await self._close_spiders()

    async def _close_spiders(self) -> None:
        for pipeline in self._opened:
            await self._close_one(pipeline, self._call(pipeline, "close_spider"))

    async def _close_one(self, pipeline: object, closing: Awaitable[None]) -> None:
        try:
            await closing
        except BaseException as error:
            if not is_fault(error):
                raise
            logger.exception("%s failed while closing", type(pipeline).__name__)
            self.stats.inc("close_errors")

    async def _call(self, pipeline: object, name: str) -> None:
        found = hook(pipeline, ItemPipeline, name, 0)
        if found is not None:
            answer = found.call(self.spider)
            if found.is_async:
                await answer

    @property
    def ready(self) -> bool:
        """Whether every store can be reached."""
        if self._waiting:
            return False
        for batch in self._batches:  # noqa: SIM110  # asked for before each claim: no generator
            if not batch.ready:
                return False
        return True

    @property
    def pending_bytes(self) -> int:
        """Bytes of the items that wait to be written."""
        pending = 0
        for batch in self._batches:
            pending += batch.pending_bytes
        return pending

    def flush(self) -> None:
        """Have all batches written now: nothing more comes for the moment."""
        for batch in self._batches:
            batch.flush()

    async def process(self, item: Any, receipt: Receipt, steps: Sequence[Step] | None = None) -> None:
        """Take one item through these steps, by default all; what it owes is on ``receipt``. Raises only ``CloseSpider``."""
        receipt.ordinal += 1
        step = None
        try:
            for step in self._steps if steps is None else steps:
                if step.is_batch:
                    step.process(item, receipt)
                    continue
                item = await self._apply(step, item, receipt if step.of_page else self.spider)
        except DropItem as dropped:
            self.watch.dropped(item, dropped.reason)
        except CloseSpider:
            raise
        except BaseException as error:
            if not is_fault(error):
                raise
            of = ItemOfPage(receipt.rid, receipt.ordinal)
            self.watch.failed(FailedItem(item, error, step.name if step else "", of, receipt.url))
        else:
            self.watch.stored(item)

    async def retry(self, failed: FailedItem, receipt: Receipt) -> None:
        """Take an item that failed to the pipeline that did not take it, and to those behind it that have not seen it."""
        names = [step.name for step in self._steps]
        if failed.pipeline not in names:
            error = OctopusError(f"there is no pipeline {failed.pipeline} any more")
            self.watch.failed(failed._replace(error=error))
            return
        receipt.ordinal = failed.of.ordinal - 1
        start = names.index(failed.pipeline)
        steps = self._steps[start : start + 1] if self._steps[start].is_batch else self._steps[start:]
        await self.process(failed.item, receipt, steps)

    async def _apply(self, step: Step, item: Any, companion: object) -> Any:
        """One pipeline, tried again with growing pauses; waits for as long as its store is away."""
        tries = 0
        while True:
            try:
                hit("item.pipeline")
                answer = step.process(item, companion)
                if step.is_async:
                    answer = await answer
                if answer is not item and not is_item(answer):
                    kind = None if answer is None else f"a {type(answer).__name__}"
                    raise OctopusError(f"{step.name}.process_item returned {kind}; it should return the item or raise DropItem")
                return answer
            except (DropItem, CloseSpider, RefusedItem):
                raise
            except (Retry, ConnectionError) as not_now:
                await self._wait(step, not_now)
            except BaseException as error:
                tries += 1
                if tries > self.retry_times or not is_fault(error):
                    raise
                await asyncio.sleep(0.025 * 2**tries)

    async def _wait(self, step: Step, not_now: Exception) -> None:
        if not self._waiting:
            logger.warning("%s is away, the crawl waits for it: %s", step.name, not_now)
        self._waiting += 1
        try:
            await asyncio.sleep(getattr(not_now, "delay", 0.0) or 1.0)
        finally:
            self._waiting -= 1


async def _within(seconds: float, batch: BatchPipeline) -> None:
    """Write the rest of a store's items in that time, or say how much is left."""
    try:
        async with asyncio.timeout(seconds):
            await batch.finish()
    except TimeoutError:
        raise OctopusError(f"{batch.pending_bytes:,} bytes of items were not written") from None


def _step(pipeline: object) -> Step | None:
    if isinstance(pipeline, BatchPipeline):
        return Step(str(pipeline), pipeline.put, False, True)
    name = type(pipeline).__name__
    if isinstance(pipeline, PagePipeline):
        return Step(name, pipeline.process_item_of, False, False, of_page=True)
    found = hook(pipeline, ItemPipeline, "process_item", 1)
    return Step(name, found.call, found.is_async, False) if found else None
