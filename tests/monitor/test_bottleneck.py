"""What a crawl waited for is found from a real crawl of each kind."""

from __future__ import annotations

import asyncio
import time

import pytest

from openoctopus import Request, Spider
from openoctopus.crawler import Crawler, crawl_settings
from openoctopus.engine import Stages
from openoctopus.monitor import Bottleneck
from openoctopus.settings import Settings
from openoctopus.testing import Site, slowly


class Thirty(Spider):
    """Thirty pages."""

    name = "thirty"

    async def start(self):
        for n in range(30):
            yield Request(f"{self.site}{n}")

    def parse(self, response):
        yield {"url": response.url}


class Computing(Thirty):
    def parse(self, response):
        until = time.perf_counter() + 0.03
        while time.perf_counter() < until:
            pass
        yield {"url": response.url}


class Chained(Thirty):
    """Each page leads to one more."""

    async def start(self):
        yield Request(f"{self.site}0")

    def parse(self, response):
        n = int(response.url.rpartition("/")[2])
        if n < 10:
            yield Request(f"{self.site}{n + 1}")


class Waiting(Thirty):
    async def parse(self, response):
        await asyncio.sleep(0.2)


class Thinking:
    def process_item(self, item, spider):
        until = time.perf_counter() + 0.03
        while time.perf_counter() < until:
            pass
        return item


class Slow:
    async def process_item(self, item, spider):
        await asyncio.sleep(0.3)
        return item


CASES = {
    "one slow host": (Thirty, {}, 0.25, "network", "CONCURRENT_REQUESTS_PER_DOMAIN (8)"),
    "slow, few slots": (Thirty, {"CONCURRENT_REQUESTS": 4}, 0.1, "network", "CONCURRENT_REQUESTS (4)"),
    "a delay": (Thirty, {"DOWNLOAD_DELAY": 0.04, "RANDOMIZE_DOWNLOAD_DELAY": False}, 0.0, "politeness", "DOWNLOAD_DELAY"),
    "a pipeline that waits": (Thirty, {"ITEM_PIPELINES": {Slow: 1}}, 0.0, "pipelines", "BatchPipeline"),
    "a pipeline that computes": (Thirty, {"ITEM_PIPELINES": {Thinking: 1}}, 0.0, "storing", "pipelines: the processor"),
    "a callback that computes": (Computing, {}, 0.0, "reading", "parsing: the processor was busy"),
    "a callback that waits": (Waiting, {}, 0.0, "callbacks", "callbacks: "),
    "one link at a time": (Chained, {}, 0.05, "links", "nothing to fetch"),
}


@pytest.mark.parametrize(("spider", "options", "seconds", "limit", "words"), CASES.values(), ids=CASES)
async def test_the_bottleneck_is_named(spider, options, seconds, limit, words):
    pages = {f"/{n}": slowly(seconds, "<h1>x</h1>") if seconds else "<h1>x</h1>" for n in range(31)}
    async with Site(pages) as site:
        settings = crawl_settings(spider, None, {"ROBOTSTXT_OBEY": False, **options})
        crawler = Crawler(spider(site=site.url()), settings)
        cpu = time.thread_time()
        result = await crawler.crawl()
        cpu = time.thread_time() - cpu

    found = Bottleneck.of(result.stages, result.elapsed, cpu, settings)

    assert (found.limit, result.reason) == (limit, "finished"), (result.stages, result.elapsed, cpu)
    assert words in found.sentence


def test_a_crawl_of_no_time_has_a_bottleneck_too():
    assert Bottleneck.of(Stages(), 0.0, 0.0, Settings()).sentence
