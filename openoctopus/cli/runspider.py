"""``octopus runspider``: run one spider until it has finished."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Annotated, Any

import typer
from rich.console import Console

from openoctopus import log
from openoctopus.crawler import Crawler, Result, crawl_settings, new_runner
from openoctopus.exceptions import SettingsError
from openoctopus.interrupts import Interrupts
from openoctopus.monitor import Board, Bottleneck, LiveProgress, PlainProgress, summary
from openoctopus.monitor.progress import ConsoleStream
from openoctopus.project import find_spider
from openoctopus.settings import Settings
from openoctopus.spider import Spider


def runspider(
    name: Annotated[str, typer.Argument(help="A spider's name, or a file that holds one: news.py, news.py:NewsSpider.")],
    arguments: Annotated[list[str], typer.Option("-a", metavar="NAME=VALUE", help="An argument of the spider.")] = [],
    options: Annotated[list[str], typer.Option("-s", "--set", metavar="NAME=VALUE", help="An option; see `octopus settings`.")] = [],
    append: Annotated[list[str], typer.Option("-o", "--output", metavar="FILE", help="Append items to a file: items.jsonl, items.csv, items.json; - is the terminal.")] = [],
    overwrite: Annotated[list[str], typer.Option("-O", "--overwrite", metavar="FILE", help="The same, replacing the file at the end.")] = [],
    log_level: Annotated[str, typer.Option("-L", "--loglevel", metavar="LEVEL", help="DEBUG, INFO, WARNING, ERROR.")] = "",
    progress: Annotated[bool | None, typer.Option("--progress/--no-progress", help="Show live progress; by default on a terminal.")] = None,
) -> None:  # fmt: skip
    """Run one spider until it has finished."""
    spider, project = find_spider(name)
    overrides = pairs(options, "-s")
    if log_level:
        overrides["LOG_LEVEL"] = log_level.upper()
    settings = crawl_settings(spider, project.settings, overrides)
    outputs = [(target, False) for target in append] + [(target, True) for target in overwrite]
    made = make(spider, pairs(arguments, "-a"))
    result = watch(Crawler(made, settings, outputs=outputs), progress)
    raise typer.Exit(result.exit_code)


def pairs(given: Iterable[str], option: str) -> dict[str, Any]:
    """NAME=VALUE pairs of the command line. Raises ``SettingsError``."""
    found: dict[str, Any] = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise SettingsError(f"{option} takes NAME=VALUE, not {pair!r}")
        found[name] = value
    return found


def make(spider: type[Spider], arguments: dict[str, Any]) -> Spider:
    """The spider with its arguments. Raises ``SettingsError`` for arguments that it does not take."""
    try:
        return spider(**arguments)
    except TypeError as error:
        raise SettingsError(
            f"{spider.__name__} cannot be made with -a {' '.join(arguments) or '(nothing)'}: {error}"
        ) from error


def watch(crawler: Crawler, progress: bool | None = None) -> Result:
    """Crawl with the log, the progress and the summary that a person expects."""
    console = Console(stderr=True)
    settings = crawler.settings
    live = console.is_terminal if progress is None else progress
    board = Board(crawler.stats, crawler.scheduler)
    name = crawler.spider.name
    view: AbstractAsyncContextManager[Any] = (
        LiveProgress(name, board, console) if live else PlainProgress(name, board, settings.LOGSTATS_INTERVAL)
    )
    handler = log.set_up(settings, ConsoleStream(console) if live else None)  # type: ignore[arg-type]
    cpu = time.process_time()
    try:
        with new_runner() as runner:
            result: Result = runner.run(_crawl(crawler, view))
    finally:
        log.take_down(handler)
    console.print(told(crawler, result, time.process_time() - cpu), markup=False, highlight=False, soft_wrap=True)
    return result


async def _crawl(crawler: Crawler, view: AbstractAsyncContextManager[Any]) -> Result:
    with Interrupts(crawler, crawler.settings.DRAIN_SECONDS):
        async with view:
            return await crawler.crawl()


def told(crawler: Crawler, result: Result, cpu: float) -> str:
    """The summary of a crawl."""
    bottleneck = Bottleneck.of(result.stages, result.elapsed, cpu, crawler.settings.CONCURRENT_REQUESTS)
    return summary(
        crawler.spider.name,
        result.reason,
        result.stats,
        result.elapsed,
        bottleneck,
        crawler.scheduler.slowest(),
        crawler.scheduler.counts.pending,
    )
