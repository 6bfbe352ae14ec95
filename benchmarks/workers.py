"""How much more two workers do than one process, where the processor is the limit and the site costs none of it.

``python -m benchmarks.workers`` needs two free cores. Pages come from memory after 20 ms, so that only the crawl computes.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from benchmarks.table import markdown
from openoctopus.downloaders.base import Downloader
from openoctopus.http import Headers, Request, Response
from openoctopus.pipelines.feeds import DISCARD
from openoctopus.testing.bench import PER_LIST, SECTIONS, BenchPages, BenchSpider

LATENCY = 0.02
#: Requests at the same time in each process.
AT_ONCE = 256
#: Pages by their size in bytes.
SIZES = {3_000: 40_000, 44_000: 12_000}
#: The part of a crawl that is measured: not its start and its end.
FROM, TO = 0.2, 0.9
_PROGRESS = re.compile(r"([\d,]+) pages")
PROJECT = Path(__file__).parent.parent


class Simulated(Downloader):
    """Answers with the pages of the bench site, some time after it was asked."""

    def __init__(self) -> None:
        pages = BenchPages(int(os.environ["BENCH_PAGES"]), int(os.environ["BENCH_SIZE"]))
        self._bodies: dict[str, tuple[bytes, bytes]] = {path.decode(): parts for path, parts in pages.responses()}

    async def fetch(self, request: Request) -> Response:
        await asyncio.sleep(LATENCY)
        head, body = self._bodies[urlsplit(request.url).path]
        return Response(request.url, body=head.partition(b"\r\n\r\n")[2] + body, headers=Headers({"Content-Type": "text/html"}))


class Articles(BenchSpider):
    """The articles alone, all known from the start, so that there is always something to fetch."""

    name = "articles"

    async def start(self) -> AsyncIterator[Request]:
        for number in range(BenchPages(int(os.environ["BENCH_PAGES"])).articles):
            yield Request(f"http://127.0.0.1/s{number // PER_LIST % SECTIONS}/a-{number:06}.html", self.parse_article)


class Run(NamedTuple):
    """One crawl."""

    pages_per_second: float
    #: Of all processes, their start included.
    cpu_per_page: float


def crawl(size: int, pages: int, workers: int) -> Run:
    """The same crawl by so many workers; 0: in one process."""
    with TemporaryDirectory() as folder:
        log = Path(folder, "log")
        options = {
            "CONCURRENT_REQUESTS": AT_ONCE, "CONCURRENT_REQUESTS_PER_DOMAIN": max(workers, 1) * AT_ONCE,
            "DOWNLOADER": "benchmarks.workers.Simulated", "LOG_JSON": 1, "LOG_FILE": log, "LOGSTATS_INTERVAL": 0.2,
        }  # fmt: skip
        command = [
            sys.executable,
            "-m",
            "openoctopus",
            "runspider",
            f"{__file__}:Articles",
            "--workers",
            str(workers),
            "-o",
            DISCARD,
        ]
        command += [part for name, value in options.items() for part in ("-s", f"{name}={value}")]
        variables = {"PYTHONPATH": str(PROJECT), "BENCH_PAGES": str(pages), "BENCH_SIZE": str(size)}
        before = os.times()
        subprocess.run(command, env=os.environ | variables, check=True, stderr=subprocess.DEVNULL)
        after = os.times()
        lines = list(map(json.loads, log.read_text().splitlines()))
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return Run(_rate(lines, pages), cpu / lines[-1]["stats"]["response_received_count"])


def _rate(lines: list[dict[str, Any]], pages: int) -> float:
    """Pages a second in the middle of the crawl, by the lines of progress."""
    told = [
        (datetime.fromisoformat(line["time"]).timestamp(), int(found[1].replace(",", "")))
        for line in lines
        if line["logger"].endswith("progress") and (found := _PROGRESS.match(line["message"]))
    ]
    middle = [one for one in told if pages * FROM <= one[1] <= pages * TO]
    return (middle[-1][1] - middle[0][1]) / (middle[-1][0] - middle[0][0])


def line(name: str, runs: list[Run], base: list[Run]) -> list[str]:
    times = median(run.pages_per_second / one.pages_per_second for run, one in zip(runs, base, strict=True))
    rate, cpu = (median(values) for values in zip(*runs, strict=True))
    return [name, f"{rate:,.0f}", f"{cpu * 1e6:,.0f}", f"{times:.2f}"]


def main() -> None:
    parser = ArgumentParser(prog="python -m benchmarks.workers")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, nargs="*", default=[0, 1, 2])
    options = parser.parse_args()
    for size, pages in SIZES.items():
        rounds = [[crawl(size, pages, workers) for workers in options.workers] for _ in range(options.rounds)]
        runs = list(map(list, zip(*rounds, strict=True)))
        names = ["one process" if workers == 0 else f"--workers {workers}" for workers in options.workers]
        titles = [f"{pages:,} pages of {size / 1000:.0f} KB", "pages/s", "CPU µs/page, all processes", "times as fast"]
        print(markdown(titles, [line(name, some, runs[0]) for name, some in zip(names, runs, strict=True)]))


if __name__ == "__main__":
    main()
