"""A store that writes once a second does not slow a crawl down in which every page leads to one other only.

``python -m benchmarks.batch``
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

import openoctopus
from benchmarks import nginx, site
from benchmarks.table import markdown
from openoctopus import Request, Response, Spider
from openoctopus.pipelines import BatchPipeline

ROUNDS = 3


class EverySecond(BatchPipeline):
    """Keeps nothing; an item is settled a second after it was found."""

    max_items = 1_000_000
    max_seconds = 1.0

    async def write(self, items: Sequence[Any]) -> None:
        """Nothing to do."""


class ChainSpider(Spider):
    start_urls = (nginx.url("chain/0.html"),)

    def parse(self, response: Response) -> Iterator[dict[str, str] | Request]:
        yield {"url": response.url}
        following = response.css("a.next-page::attr(href)").get()
        if following:
            yield Request(response.urljoin(following))


def crawl(pipelines: dict[Any, int]) -> tuple[int, float]:
    """Items, and seconds."""
    since = time.perf_counter()
    result = openoctopus.run(ChainSpider, ITEM_PIPELINES=pipelines, ROBOTSTXT_OBEY=False, LOG_LEVEL="ERROR")
    return int(result.stats.get("item_scraped_count")), time.perf_counter() - since


def line(name: str, crawls: Sequence[tuple[int, float]]) -> list[str]:
    return [name, str(min(items for items, _ in crawls)), f"{median(seconds for _, seconds in crawls):.2f}"]


def main() -> None:
    site.write(["chain"])
    with nginx.running():
        rounds = [(crawl({}), crawl({EverySecond: 100})) for _ in range(ROUNDS)]
    without, beside = zip(*rounds, strict=True)
    rows = [line("without a store", without), line("with one that writes every second", beside)]
    print(markdown([f"{site.TREES['chain'].pages} pages in a chain", "items", "seconds"], rows))


if __name__ == "__main__":
    main()
