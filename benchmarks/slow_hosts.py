"""1,000 hosts of which one takes a second for every answer: the others are not held up. ``python -m benchmarks.slow_hosts``"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from statistics import median

import openoctopus
from benchmarks import nginx
from benchmarks.table import markdown
from openoctopus import Request, Response, Spider
from openoctopus.exceptions import CloseSpider

HOSTS = [f"host-{number}.test" for number in range(999)]
SLOW = "slow.test"
#: Pages of each fast host; the slow one has more than it can give in the whole time.
PAGES = 10
SLOW_PAGES = 100


ROUNDS = 3


@dataclass
class Seen:
    """What a crawl came to: seconds for all pages of the fast hosts, and how many slow ones came meanwhile."""

    fast: int = 0
    slow: int = 0
    seconds: float = 0.0


class HostsSpider(Spider):
    """Stops when the fast hosts are done. The slow one comes first, to have every chance to be in the way."""

    seen: Seen
    with_slow: bool

    async def start(self) -> AsyncIterator[Request]:
        self.began = time.perf_counter()
        for page in range(SLOW_PAGES if self.with_slow else 0):
            yield Request(f"http://{SLOW}:{nginx.HOSTS}/{page}", self.parse_slow)
        for page in range(PAGES):
            for host in HOSTS:
                yield Request(f"http://{host}:{nginx.HOSTS}/{page}")

    def parse(self, response: Response) -> None:
        self.seen.fast += 1
        if self.seen.fast == len(HOSTS) * PAGES:
            self.seen.seconds = time.perf_counter() - self.began
            raise CloseSpider("the fast hosts are done")

    def parse_slow(self, response: Response) -> None:
        self.seen.slow += not self.seen.seconds


def crawl(with_slow: bool) -> Seen:
    seen = Seen()
    addresses = dict.fromkeys([*HOSTS, SLOW], "127.0.0.1")
    openoctopus.run(HostsSpider, seen=seen, with_slow=with_slow, HOSTS=addresses, ROBOTSTXT_OBEY=False, LOG_LEVEL="ERROR")
    return seen


def line(name: str, crawls: list[Seen]) -> list[str]:
    speed = median(seen.fast / seen.seconds for seen in crawls)
    return [name, str(crawls[0].fast), f"{speed:,.0f}", f"{median(seen.slow for seen in crawls):.0f}"]


def main() -> None:
    with nginx.running():
        rounds = [(crawl(with_slow=False), crawl(with_slow=True)) for _ in range(ROUNDS)]
    without, beside = zip(*rounds, strict=True)
    rows = [line("alone", list(without)), line("beside a slow host", list(beside))]
    print(markdown([f"{len(HOSTS)} fast hosts, usual concurrency", "pages", "pages/s", "slow pages meanwhile"], rows))


if __name__ == "__main__":
    main()
