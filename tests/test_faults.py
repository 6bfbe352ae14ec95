"""Whatever a spider or a plug-in raises, and wherever: it costs that page or item alone."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from openoctopus import Request, Result, Spider, crawl
from openoctopus.downloadermiddlewares import DownloaderMiddleware
from openoctopus.extensions import Extension
from openoctopus.pipelines import ItemPipeline
from openoctopus.spider import Failure
from openoctopus.testing import Site


class Panic(BaseException):
    """What libraries in Rust raise derives from BaseException alone."""


FAULTS = [ValueError, SystemExit, Panic, asyncio.CancelledError, TimeoutError, RecursionError, StopAsyncIteration]
faults = pytest.mark.parametrize("fault", FAULTS)
any_kind = pytest.mark.parametrize("is_async", [False, True], ids=["def", "async def"])


class Pages(Spider):
    """Page n gives an item n."""

    name = "pages"

    def __init__(self, url: str) -> None:
        super().__init__()
        self.url = url

    async def start(self):
        for number in range(4):
            yield Request(f"{self.url}{number}", errback=self.failed)

    def parse(self, response):
        yield {"n": int(response.url[-1])}

    def failed(self, failure: Failure):
        yield {"failed": failure.type.__name__}


async def crawled(spider: type[Spider] = Pages, **options: Any) -> Result:
    async with Site({f"/{number}": "page" for number in range(4)}) as site, asyncio.timeout(20):
        return await crawl(spider, url=site.url("/"), keep_items=True, ROBOTSTXT_OBEY=False, CONCURRENT_REQUESTS=2, **options)


def numbers(result: Result) -> list[int]:
    return sorted(item["n"] for item in result.items if "n" in item)


def faulty(base: type, name: str, fault: type[BaseException], is_async: bool) -> type:
    """A plug-in whose hook raises for page 1, and else returns what it should."""

    def hook(self: object, *given: Any) -> Any:
        first, second, *_ = given
        if (first["n"] if isinstance(first, dict) else int(first.url[-1])) == 1:
            raise fault("1")
        return {"process_response": second, "process_item": first}.get(name)

    async def async_hook(self: object, *given: Any) -> Any:
        return hook(self, *given)

    return type("Faulty", (base,), {name: async_hook if is_async else hook})


@faults
@any_kind
@pytest.mark.parametrize("name", ["process_request", "process_response"])
async def test_of_a_downloader_middleware(fault: type[BaseException], is_async: bool, name: str) -> None:
    result = await crawled(DOWNLOADER_MIDDLEWARES={faulty(DownloaderMiddleware, name, fault, is_async): 1})

    assert (result.reason, numbers(result)) == ("finished", [0, 2, 3])
    assert {"failed": fault.__name__} in result.items


@faults
@any_kind
async def test_of_a_pipeline(fault: type[BaseException], is_async: bool) -> None:
    pipeline = faulty(ItemPipeline, "process_item", fault, is_async)

    result = await crawled(ITEM_PIPELINES={pipeline: 1}, PIPELINE_RETRY_TIMES=0)

    assert (result.reason, numbers(result), result.failed) == ("finished", [0, 2, 3], [])
    assert result.stats.get("item_failed_count") == 1


@faults
@any_kind
async def test_of_an_extension(fault: type[BaseException], is_async: bool) -> None:
    result = await crawled(EXTENSIONS={faulty(Extension, "item_stored", fault, is_async): 1})

    assert (result.reason, numbers(result), result.failed) == ("finished", [0, 1, 2, 3], [])
    assert result.stats.get("extension/errors") == 1


@faults
async def test_of_start(fault: type[BaseException]) -> None:
    class Starts(Pages):
        def start(self):
            yield Request(f"{self.url}0")
            raise fault("start")

    result = await crawled(Starts)

    assert (result.reason, numbers(result), result.exit_code) == ("finished", [0], 1)
    assert result.stats.get("start_error")


@faults
@pytest.mark.parametrize("name", ["close", "closed"])
async def test_of_the_spiders_end(fault: type[BaseException], name: str) -> None:
    def raises(self: object, reason: str) -> None:
        raise fault(reason)

    result = await crawled(type("Ends", (Pages,), {name: raises}))

    assert (result.reason, numbers(result), result.exit_code) == ("finished", [0, 1, 2, 3], 1)


async def test_an_errback_that_raises_is_told_with_the_error_that_it_was_called_for() -> None:
    class Raises(Pages):
        async def start(self):
            yield Request(f"{self.url}missing", errback=self.failed)

        def failed(self, failure):
            raise Panic("too much")

    (failed,) = (await crawled(Raises)).failed

    assert (failed.reason, failed.detail) == ("http_404", "status 404; then callback:Panic in failed: too much")


class SlowPipeline(ItemPipeline):
    async def process_item(self, item, spider):
        await asyncio.sleep(0.15)
        return item


class Limited(Pages):
    """A time limit around a yield passes while the generator does not run: it cancels whoever carries the page."""

    async def parse(self, response):
        if response.url.endswith("1"):
            async with asyncio.timeout(0.05):
                yield {"n": 1}
                yield {"n": 11}
        yield {"n": int(response.url[-1])}


class CancelsItself(Pages):
    """It is over before the cancellation arrives."""

    def parse(self, response):
        yield {"n": int(response.url[-1])}
        if response.url.endswith("1"):
            yield Request(f"{self.url}3", dont_filter=True)
            task = asyncio.current_task()
            assert task is not None
            task.cancel()


class AwaitsAfterIt(CancelsItself):
    async def parse(self, response):
        for found in super().parse(response):
            yield found
        await asyncio.sleep(0)


@pytest.mark.parametrize("spider", [Limited, CancelsItself, AwaitsAfterIt])
@pytest.mark.parametrize("times", [1, 5])
async def test_a_spider_that_cancels_the_task_that_carries_its_page_loses_that_page_alone(
    spider: type[Spider], times: int
) -> None:
    """However often: each time another task may be hit, and all of them go on."""

    class Often(spider):  # type: ignore[misc, valid-type]
        async def start(self):
            for _ in range(times):
                yield Request(f"{self.url}1", dont_filter=True)
            for number in (0, 2, 3):
                yield Request(f"{self.url}{number}", priority=-number)

    async with asyncio.timeout(10):
        result = await crawled(Often, ITEM_PIPELINES={SlowPipeline: 1})

    assert result.reason == "finished"
    assert {0, 2, 3} <= set(numbers(result))
    assert [failed.reason for failed in result.failed] == ["callback:CancelledError"] * times
    assert result.stats.get("spider_exceptions/CancelledError") == times


async def test_a_crawl_that_is_cancelled_ends_although_its_spider_is_busy() -> None:
    class Sleeps(Pages):
        async def parse(self, response):
            await asyncio.sleep(60)

    task = asyncio.create_task(crawled(Sleeps))
    await asyncio.sleep(0.3)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        async with asyncio.timeout(5):
            await task
