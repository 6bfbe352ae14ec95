"""64 answers of one second each, all at once, take about one second. ``python -m benchmarks.slow_responses``"""

from __future__ import annotations

import time

import openoctopus
from benchmarks import nginx
from benchmarks.table import markdown
from openoctopus import Response, Spider

AT_ONCE = 64


class SlowSpider(Spider):
    start_urls = tuple(nginx.url(f"slow/{number}") for number in range(AT_ONCE))

    def parse(self, response: Response) -> None:
        """Nothing is looked for."""


def measure(downloader: str) -> list[str]:
    since = time.perf_counter()
    result = openoctopus.run(
        SlowSpider,
        DOWNLOADER=downloader,
        CONCURRENT_REQUESTS=AT_ONCE,
        CONCURRENT_REQUESTS_PER_DOMAIN=AT_ONCE,
        ROBOTSTXT_OBEY=False,
        LOG_LEVEL="ERROR",
    )
    return [downloader, str(result.stats.get("response_received_count")), f"{time.perf_counter() - since:.2f}"]


def main() -> None:
    with nginx.running():
        rows = [measure(downloader) for downloader in ("http", "aiohttp")]
    print(markdown([f"{AT_ONCE} answers of 1 s at once", "pages", "seconds"], rows))


if __name__ == "__main__":
    main()
