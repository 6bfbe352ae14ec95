"""How a crawl is getting on: a view that lives on a terminal, plain lines elsewhere."""

from __future__ import annotations

import asyncio
import logging
from types import TracebackType
from typing import Any, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from openoctopus.log import safe
from openoctopus.monitor.board import Board, Snapshot
from openoctopus.scheduler.base import HostLoad

logger = logging.getLogger(__name__)

REFRESH_PER_SECOND = 2


class PlainProgress:
    """A line of the log every ``interval`` seconds; 0: none."""

    def __init__(self, name: str, board: Board, interval: float) -> None:
        self.name = name
        self.board = board
        self.interval = interval

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._report())
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        self._task.cancel()

    async def _report(self) -> None:
        while self.interval:
            await asyncio.sleep(self.interval)
            logger.info("%s", plain_line(self.board.look(hosts=0)))


def plain_line(now: Snapshot) -> str:
    """One line that says it all."""
    return (
        f"{now.pages:,} pages ({now.pages_per_second * 60:,.0f}/min), "
        f"{now.items:,} items ({now.items_per_second * 60:,.0f}/min), "
        f"{now.counts.queued + now.counts.delayed:,} waiting, {now.counts.leased} under way, "
        f"{now.errors:,} errors, {now.retries:,} retries"
    )


class LiveProgress:
    """A view at the bottom of the terminal; what is logged meanwhile stands above it."""

    def __init__(self, name: str, board: Board, console: Console) -> None:
        self.name = name
        self.board = board
        self.console = console
        self._live = Live(
            console=console,
            refresh_per_second=REFRESH_PER_SECOND,
            get_renderable=self.view,
            transient=True,
            redirect_stdout=False,
        )

    async def __aenter__(self) -> Self:
        self._live.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def view(self) -> RenderableType:
        now = self.board.look()
        return Group(_heading(self.name, now), _numbers(now), _hosts(now.hosts))


def _heading(name: str, now: Snapshot) -> Text:
    minutes, seconds = divmod(int(now.elapsed), 60)
    hours, minutes = divmod(minutes, 60)
    return Text.assemble((safe(name), "bold cyan"), f"  {hours}:{minutes:02d}:{seconds:02d}")


def _numbers(now: Snapshot) -> Table:
    statuses = "  ".join(f"{status}: {count:,}" for status, count in now.statuses.items())
    table = Table.grid(padding=(0, 2))
    for _ in range(4):
        table.add_column(justify="right")
    table.add_row("pages", f"{now.pages:,}", f"{now.pages_per_second:,.1f}/s", statuses)
    table.add_row("items", f"{now.items:,}", f"{now.items_per_second:,.1f}/s", f"{now.duplicates:,} duplicates left out")
    table.add_row("bytes", _size(now.bytes), f"{_size(now.bytes_per_second)}/s", f"{now.retries:,} retries")
    counts = now.counts
    table.add_row("queue", f"{counts.queued:,}", f"+{counts.delayed:,} later", f"{counts.leased} under way")
    table.add_row(
        "errors", Text(f"{now.errors:,}", style="red" if now.errors else ""), "", f"{counts.failed:,} failed requests"
    )
    for column in table.columns[3:]:
        column.justify = "left"
    return table


def _hosts(hosts: list[HostLoad]) -> Table:
    table = Table(box=None, header_style="dim", padding=(0, 2, 0, 0))
    for title, justify in (
        ("busiest hosts", "left"),
        ("under way", "right"),
        ("waiting", "right"),
        ("answers in", "right"),
        ("delay", "right"),
    ):
        table.add_column(title, justify=justify)  # type: ignore[arg-type]
    for load in hosts:
        name = Text(safe(load.host) + (" (cannot be reached)" if load.dead else ""), style="red" if load.dead else "")
        table.add_row(name, str(load.in_flight), f"{load.queued:,}", f"{load.latency * 1000:.0f} ms", f"{load.delay:.2g} s")
    return table


def _size(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}" if unit != "B" else f"{count:.0f} B"
        count /= 1000
    return f"{count:.3g} TB"


class ConsoleStream:
    """A stream for the log that keeps clear of the live view."""

    def __init__(self, console: Console) -> None:
        self.console = console

    def write(self, text: str) -> int:
        if text.rstrip("\n"):
            self.console.print(text.rstrip("\n"), markup=False, highlight=False, soft_wrap=True)
        return len(text)

    def flush(self) -> None:
        self.console.file.flush()

    def isatty(self) -> bool:
        return self.console.is_terminal

    def __getattr__(self, name: str) -> Any:
        return getattr(self.console.file, name)
