"""What a fetch costs with each of the two downloaders, without the rest of a crawl. ``python -m benchmarks.clients``"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from itertools import cycle, islice
from statistics import median

from benchmarks import nginx, site
from benchmarks.process import CLIENT_CORE, go_first, stay_on
from benchmarks.table import markdown
from openoctopus import Request
from openoctopus.downloaders import Downloaders
from openoctopus.runner import new_runner
from openoctopus.settings import Settings

AT_ONCE = 64
FETCHES = 3000
ROUNDS = 5
DOWNLOADERS = ("http", "aiohttp")
TREES = {"minih": "3 KB", "midh": "44 KB"}


def urls(tree: str) -> Iterator[str]:
    """Articles of all sections, again and again."""
    return cycle([nginx.url(f"{tree}/s{section}/a-{number:06}.html") for number in range(100) for section in range(10)])


async def cpu_of(downloader: str, tree: str) -> float:
    """Microseconds of processor time for one fetch, of all threads, once the connections are there."""
    async with Downloaders(Settings(DOWNLOADER=downloader), {"start_hosts": {"127.0.0.1"}}) as downloaders:
        waiting = islice(urls(tree), AT_ONCE * 2)
        await asyncio.gather(*[_fetch_all(downloaders, waiting) for _ in range(AT_ONCE)])
        waiting = islice(urls(tree), FETCHES)
        before = os.times()
        await asyncio.gather(*[_fetch_all(downloaders, waiting) for _ in range(AT_ONCE)])
        after = os.times()
    return (after.user + after.system - before.user - before.system) / FETCHES * 1e6


async def _fetch_all(downloaders: Downloaders, waiting: Iterator[str]) -> None:
    for url in waiting:
        await downloaders.fetch(Request(url))


def main() -> None:
    site.write(TREES)
    stay_on(CLIENT_CORE)
    go_first()
    costs: dict[tuple[str, str], list[float]] = {(name, tree): [] for name in DOWNLOADERS for tree in TREES}
    with nginx.running(), new_runner() as runner:
        for _ in range(ROUNDS):
            for measured in costs:
                costs[measured].append(runner.run(cpu_of(*measured)))
    rows = [[name, *[f"{median(costs[name, tree]):.0f}" for tree in TREES]] for name in DOWNLOADERS]
    print(markdown([f"CPU µs a fetch, {AT_ONCE} at a time", *TREES.values()], rows))


if __name__ == "__main__":
    main()
