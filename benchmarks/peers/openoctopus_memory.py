"""Prints the bytes that OpenOctopus keeps for URLs that it has seen, or for requests that wait (and were seen).

Arguments: seen|queued, how many, the URL to begin with.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, ClassVar

from resident import resident_bytes

import openoctopus
from openoctopus import Request, Response, Spider
from openoctopus.dupefilter import RFPDupeFilter
from openoctopus.exceptions import CloseSpider
from openoctopus.scheduler.seen import seen_for

WHAT, NUMBER, URL = sys.argv[1], int(sys.argv[2]), sys.argv[3]


def url(number: int) -> str:
    return f"{URL}?section={number % 97}&article={number:09}"


class ManySpider(Spider):
    """One page yields everything: its own slot is the only one, so that all the others wait."""

    start_urls = (URL,)
    custom_settings: ClassVar[dict[str, Any]] = {"CONCURRENT_REQUESTS": 1, "ROBOTSTXT_OBEY": False, "LOG_LEVEL": "ERROR"}

    def parse(self, response: Response) -> Iterator[Request]:
        before = resident_bytes()
        for number in range(NUMBER):
            yield Request(url(number), self.parse)
        print(resident_bytes() - before)
        raise CloseSpider("measured")


def measure_seen() -> None:
    dupefilter = RFPDupeFilter()
    before = resident_bytes()
    seen = seen_for(dupefilter)
    for number in range(NUMBER):
        seen.add(dupefilter.fingerprint(Request(url(number))))
    print(resident_bytes() - before)


if __name__ == "__main__":
    if WHAT == "seen":
        measure_seen()
    else:
        openoctopus.run(ManySpider)
