"""``octopus bench``: how fast this machine crawls, and where the time goes."""

from __future__ import annotations

import time
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from openoctopus.crawler import Crawler, Result, crawl_settings, new_runner
from openoctopus.pipelines.feeds import DISCARD
from openoctopus.testing.bench import BenchSpider
from openoctopus.testing.process import in_own_process


def bench(
    pages: Annotated[int, typer.Option(help="How many pages the site has.", min=3)] = 10_000,
    size: Annotated[int, typer.Option(help="Bytes of an article.", min=500)] = 5_000,
    concurrency: Annotated[int, typer.Option(help="CONCURRENT_REQUESTS.", min=1)] = 64,
    downloader: Annotated[str, typer.Option(help="http (wreq) or aiohttp.")] = "http",
) -> None:
    """Crawl a built-in site as fast as possible and show pages/s and each stage's share of the time."""
    options = {"CONCURRENT_REQUESTS": concurrency, "CONCURRENT_REQUESTS_PER_DOMAIN": concurrency, "DOWNLOADER": downloader}
    with in_own_process("openoctopus.testing.bench", "--pages", str(pages), "--size", str(size)) as url:
        crawler = Crawler(BenchSpider(site=url), crawl_settings(BenchSpider, None, options), outputs=[(DISCARD, True)])
        cpu = time.process_time()
        with new_runner() as runner:
            result = runner.run(crawler.crawl())
        cpu = time.process_time() - cpu
    Console().print(_table(result, cpu))
    raise typer.Exit(result.exit_code)


def _table(result: Result, cpu: float) -> Table:
    pages, stages = result.stats.get("response_received_count"), result.stages
    reading = stages.reading - stages.storing
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_row("pages", f"{pages:,}")
    table.add_row("pages/s", f"{pages / result.elapsed:,.0f}")
    table.add_row("processor", f"{cpu / pages * 1e6:,.0f} µs a page, {cpu / result.elapsed:.0%} of a core")
    table.add_row("reading pages", f"{reading / pages * 1e6:,.0f} µs a page, {reading / cpu:.0%} of the processor's time")
    table.add_row("storing items", f"{stages.storing / pages * 1e6:,.0f} µs a page, {stages.storing / cpu:.0%}")
    rest = cpu - reading - stages.storing
    table.add_row("HTTP and the rest", f"{rest / pages * 1e6:,.0f} µs a page, {rest / cpu:.0%}")
    return table
