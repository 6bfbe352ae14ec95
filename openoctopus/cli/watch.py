"""Crawls with the log, the progress and the summary that a person expects."""

from __future__ import annotations

import logging
import os
import sys
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Protocol

import typer
from rich.console import Console

from openoctopus import log
from openoctopus.exceptions import OctopusError
from openoctopus.interrupts import Interrupts
from openoctopus.monitor import Board, Bottleneck, LiveProgress, PlainProgress, Report, show, summary
from openoctopus.result import Result
from openoctopus.runner import new_runner
from openoctopus.scheduler import Scheduler
from openoctopus.settings import Settings
from openoctopus.stats import Stats, Totals

logger = logging.getLogger(__name__)


class Watched(Protocol):
    """A crawl, in this process or in several."""

    @property
    def name(self) -> str: ...

    @property
    def settings(self) -> Settings: ...

    @property
    def stats(self) -> Stats: ...

    @property
    def totals(self) -> Totals: ...

    @property
    def scheduler(self) -> Scheduler: ...

    @property
    def reason(self) -> str:
        """Why the crawl ends; empty while it goes on."""

    @property
    def prints_items(self) -> bool:
        """Whether items go to standard output."""

    def stop(self, reason: str = "shutdown") -> None: ...

    def hurry(self) -> None: ...

    async def crawl(self) -> Result: ...


def watch(crawler: Watched, progress: bool | None = None) -> Result:
    """Crawl, and tell a person on standard error how it goes and what came of it.

    Live progress is shown where ``progress`` asks for it, and by default on a terminal. Raises ``OctopusError`` if the
    crawl cannot begin because of how it was asked for, ``typer.Exit`` if it cannot for another reason.
    """
    console = Console(file=sys.stderr, force_terminal=progress or None)
    settings = crawler.settings
    board = Board(crawler.stats, crawler.scheduler, lambda: crawler.reason)
    live = LiveProgress(crawler.name, board, console) if _is_live(crawler, console, progress) else None
    with log.writing(settings, live.log if live else sys.stderr):
        result = _run(crawler, live or PlainProgress(board, settings.LOGSTATS_INTERVAL))
        _tell(_report(crawler, result), settings, console)
    return result


def _report(crawler: Watched, result: Result) -> Report:
    return Report(
        crawler.name,
        result.reason,
        result.stats,
        result.elapsed,
        Bottleneck.of(result.stages, result.elapsed * result.workers, result.cpu, crawler.settings),
        result.slowest,
        result.left,
        crawler.settings.JOB,
        crawler.totals.counts(),
        log.hiding(crawler.settings),
    )


def _is_live(crawler: Watched, console: Console, progress: bool | None) -> bool:
    """Whether a view can live at the end of the terminal: not where items are written through it."""
    if progress is not None:
        return progress
    items_too = sys.stdout.isatty() and crawler.prints_items
    # Not console.is_terminal: FORCE_COLOR, which CI likes to set, makes rich take a file for a terminal.
    return sys.stderr.isatty() and not console.is_dumb_terminal and not items_too


def _run(crawler: Watched, view: AbstractAsyncContextManager[Any]) -> Result:
    try:
        with new_runner() as runner:
            return runner.run(_crawl(crawler, view))
    except OctopusError:
        raise
    except Exception as error:
        logger.error("%s failed", crawler.name, exc_info=(type(error), error, _from_project(error.__traceback__)))
        raise typer.Exit(1) from error


async def _crawl(crawler: Watched, view: AbstractAsyncContextManager[Any]) -> Result:
    with Interrupts(crawler, crawler.settings.DRAIN_SECONDS):
        async with view:
            return await crawler.crawl()


def _from_project(trace: TracebackType | None) -> TracebackType | None:
    """The traceback without the frames before the project's own, if it comes to those."""
    own = trace
    while own and own.tb_frame.f_globals.get("__name__", "").partition(".")[0] in _LEAD_IN:
        own = own.tb_next
    return own if own and "site-packages" not in own.tb_frame.f_code.co_filename else trace


_LEAD_IN = ("openoctopus", "asyncio", "contextlib", "uvloop")


def _tell(report: Report, settings: Settings, console: Console) -> None:
    """The summary: for people on standard error; in the log too, where that is a file or for machines."""
    if settings.LOG_JSON:
        logger.info("summary", extra={"reason": report.reason, "stats": report.stats.snapshot()})
    elif settings.LOG_FILE:
        for line in summary(report).splitlines():
            logger.info("%s", line)
    if settings.LOG_FILE or not settings.LOG_JSON or console.is_terminal:
        try:
            show(report, console)
        except OSError:  # nobody is there to read it
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
