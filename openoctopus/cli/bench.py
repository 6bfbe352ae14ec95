"""``octopus bench``: how fast this machine crawls, and where the time goes."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import Annotated

import typer

from openoctopus import log
from openoctopus.crawler import Crawler, crawl_settings
from openoctopus.pipelines.feeds import DISCARD
from openoctopus.result import Result
from openoctopus.runner import new_runner
from openoctopus.testing.bench import BenchSpider
from openoctopus.testing.process import in_own_process


def bench(
    pages: Annotated[int, typer.Option(metavar="N", help="How many pages the site has.", min=3)] = 10_000,
    size: Annotated[int, typer.Option(metavar="BYTES", help="How large an article is.", min=500)] = 5_000,
    concurrency: Annotated[int, typer.Option(metavar="N", help="Requests at the same time.", min=1)] = 64,
    downloader: Annotated[str, typer.Option(metavar="NAME", help='"http" (wreq), "aiohttp", or a dotted path.')] = "http",
) -> int:
    """Crawl a built-in site as fast as possible; tell the pages a second and what each of them costs the processor.

    Robots.txt, cookies, retries and the duplicates filter are on, as in every crawl.
    """
    options = {
        "CONCURRENT_REQUESTS": concurrency,
        "CONCURRENT_REQUESTS_PER_DOMAIN": concurrency,
        "DOWNLOADER": downloader,
        "LOG_LEVEL": "WARNING",
    }
    settings = crawl_settings(BenchSpider, None, options)
    with log.writing(settings), in_own_process("openoctopus.testing.bench", "--pages", f"{pages}", "--size", f"{size}") as url:
        print(f"Crawling {pages:,} pages on loopback...", file=sys.stderr)
        result, cpu = _measured(Crawler(BenchSpider(site=url), settings, outputs=[(DISCARD, True)]))
    for label, value in _lines(result, cpu):
        print(f"{label:20} {value}")
    return result.exit_code


def _measured(crawler: Crawler) -> tuple[Result, float]:
    """What came of it, and how many seconds of processor all threads took."""
    cpu = time.process_time()
    with new_runner() as runner:
        result: Result = runner.run(crawler.crawl())
    return result, time.process_time() - cpu


def _lines(result: Result, cpu: float) -> Iterator[tuple[str, str]]:
    pages, stages = result.stats.get("response_received_count"), result.stages
    yield "pages", f"{pages:,} in {result.elapsed:.1f} s"
    if not pages:
        return
    reading = stages.reading - stages.storing
    yield "pages/s", f"{pages / result.elapsed:,.0f}"
    yield "processor", f"{cpu / pages * 1e6:,.0f} µs a page, {cpu / result.elapsed:.0%} of a core"
    for label, seconds in (
        ("  reading pages", reading),
        ("  storing items", stages.storing),
        ("  HTTP, queue, rest", cpu - reading - stages.storing),
    ):
        yield label, f"{seconds / pages * 1e6:,.0f} µs a page, {seconds / cpu:.0%}"
