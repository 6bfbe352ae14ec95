"""Many pages of one host that fail together, in whole crawls: one step slower, and the tries come back one by one."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from openoctopus import Spider, crawl
from openoctopus.pipelines import ItemPipeline
from openoctopus.scheduler.hosts import FORGIVE_AFTER, SLOW_DOWN
from openoctopus.testing import Site
from openoctopus.testing.site import in_turn, slowly

#: Under way together.
MANY = 10


class Pages(Spider):
    name = "pages"

    def __init__(self, urls: list[str]) -> None:
        super().__init__()
        self.start_urls = urls

    def parse(self, response):
        yield {"url": response.url}


class Delays(ItemPipeline):
    """Notes the delay that the host has when an item comes."""

    def __init__(self, hosts: Any) -> None:
        self.hosts = hosts

    async def process_item(self, item: Any, spider: Spider) -> Any:
        return item | {"delay": await self.hosts.delay_of("127.0.0.1")}


async def burst(status: int, seconds: float, retry_delay: float = 0.1) -> tuple[Any, float]:
    """All pages are refused once, one after the other within so many seconds; from when to when they were asked for again."""
    pages = {f"/{n}": in_turn(slowly(n * seconds / MANY, status), "page") for n in range(MANY)}
    async with Site(pages) as site, asyncio.timeout(30):
        result = await crawl(
            Pages,
            urls=[site.url(path) for path in pages],
            ROBOTSTXT_OBEY=False,
            CONCURRENT_REQUESTS_PER_DOMAIN=MANY,
            RETRY_DELAY=retry_delay,
            ITEM_PIPELINES={Delays: 1},
            keep_items=True,
        )
        times = [visit.time for visit in site.log]
    assert len(result.items) == MANY
    assert len(times) == 2 * MANY
    return result, times[-1] - times[MANY]


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("seconds", [0.0, 3.0], ids=["at once", "one by one"])
async def test_a_burst_of_refusals_slows_the_host_down_once_and_its_tries_come_back_spread(status: int, seconds: float) -> None:
    result, seconds_again = await burst(status, seconds)

    assert [item["delay"] for item in result.items][: FORGIVE_AFTER - 1] == [SLOW_DOWN] * (FORGIVE_AFTER - 1)
    assert seconds_again > SLOW_DOWN * MANY / 2
    assert result.stats.get("retry/count") == MANY


async def test_a_burst_of_other_failures_comes_back_spread_too() -> None:
    _, seconds_again = await burst(502, 0.0, retry_delay=1.0)

    assert seconds_again > 0.1
