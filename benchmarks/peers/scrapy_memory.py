"""Prints the bytes that Scrapy keeps for URLs that it has seen, or for requests that wait (and were seen).

Arguments: seen|queued, how many, the URL to begin with.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

from resident import resident_bytes
from scrapy import Request, Spider
from scrapy.crawler import CrawlerProcess
from scrapy.dupefilters import RFPDupeFilter
from scrapy.http import Response
from scrapy.utils.test import get_crawler

WHAT, NUMBER, URL = sys.argv[1], int(sys.argv[2]), sys.argv[3]


def url(number: int) -> str:
    return f"{URL}?section={number % 97}&article={number:09}"


class ManySpider(Spider):
    """One page yields everything, and a long delay keeps the others in the queue."""

    name = "many"
    start_urls = [URL]  # noqa: RUF012
    custom_settings = {"CONCURRENT_REQUESTS": 1, "DOWNLOAD_DELAY": 3600}  # noqa: RUF012

    def parse(self, response: Response) -> Iterator[Any]:
        before = resident_bytes()
        for number in range(NUMBER):
            yield Request(url(number), self.parse)
        print(resident_bytes() - before, flush=True)
        os._exit(0)  # a crawl that ends would wait for the delay


def measure_seen() -> None:
    dupefilter = RFPDupeFilter.from_crawler(get_crawler())
    before = resident_bytes()
    for number in range(NUMBER):
        dupefilter.request_seen(Request(url(number)))
    print(resident_bytes() - before)


if __name__ == "__main__":
    if WHAT == "seen":
        measure_seen()
    else:
        process = CrawlerProcess({"LOG_LEVEL": "ERROR"})
        process.crawl(ManySpider)
        process.start()
