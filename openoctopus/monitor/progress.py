"""How a crawl is getting on: a view that lives on a terminal, plain lines elsewhere."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
from collections.abc import Iterator, Sequence
from typing import Self

from rich.cells import cell_len, set_cell_size
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from openoctopus.log import safe
from openoctopus.monitor.board import Board, Snapshot
from openoctopus.monitor.screen import Above, Screen
from openoctopus.scheduler.base import HostLoad

logger = logging.getLogger(__name__)

#: Seconds between two looks at the numbers, and between two at what was printed.
LOOK_EVERY = 0.5
FLUSH_EVERY = 0.1

_STATUS_STYLES = {"2": "green", "3": "cyan", "4": "yellow", "5": "red"}


class PlainProgress:
    """A line of the log every ``interval`` seconds; 0: none."""

    def __init__(self, board: Board, interval: float) -> None:
        self.board = board
        self.interval = interval

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._report(), name="progress")
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await _ended(self._task)

    async def _report(self) -> None:
        while self.interval:
            await asyncio.sleep(self.interval)
            logger.info("%s", plain_line(await self.board.look(hosts=0)))


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


def plain_line(now: Snapshot) -> str:
    """One line that says it all."""
    counts = now.counts
    return (
        f"{now.pages:,} pages ({now.pages_per_second * 60:,.0f}/min), "
        f"{now.items:,} items ({now.items_per_second * 60:,.0f}/min), "
        f"{counts.queued + counts.delayed:,} waiting, {now.in_flight:,} under way, "
        f"{now.errors:,} errors, {now.retries:,} retries"
    )


class LiveProgress:
    """A view at the bottom of the terminal. What is logged to ``log``, or printed by anybody, stands above it."""

    def __init__(self, name: str, board: Board, console: Console) -> None:
        self.name = name
        self.board = board
        self._console = console
        self._screen = Screen(console)
        #: Where the log of this process goes meanwhile.
        self.log = Above(self._screen)

    async def __aenter__(self) -> Self:
        self._printed = contextlib.ExitStack()
        if sys.stdout.isatty():
            self._printed.enter_context(contextlib.redirect_stdout(self.log))
        self._printed.enter_context(contextlib.redirect_stderr(self.log))
        self._task = asyncio.create_task(self._show(), name="progress")
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        try:
            await _ended(self._task)
        finally:
            self._printed.close()
            self.log.end_line()
            self._screen.clear()

    async def _show(self) -> None:
        while True:
            self._screen.draw(view(self.name, await self.board.look(), self._console.width))
            for _ in range(round(LOOK_EVERY / FLUSH_EVERY)):
                await asyncio.sleep(FLUSH_EVERY)
                self._screen.flush()


def view(name: str, now: Snapshot, width: int) -> RenderableType:
    """What a person sees while a crawl runs."""
    return Group(_heading(name, now, width), _numbers(now), *_hosts(now.hosts, width))


def _heading(name: str, now: Snapshot, width: int) -> Text:
    minutes, seconds = divmod(int(now.elapsed), 60)
    hours, minutes = divmod(minutes, 60)
    clock = f"{hours}:{minutes:02d}:{seconds:02d}"
    state, hint = (f"ending: {safe(now.ending)}", "Ctrl-C hurries it") if now.ending else ("", "Ctrl-C ends it")
    room = max(width - cell_len(clock + state + hint) - 16, 8)
    title = safe(name) if cell_len(safe(name)) <= room else set_cell_size(safe(name), room - 1) + "…"
    text = Text.assemble(("── ", "dim"), (title, "bold cyan"), f"  {clock}  ", (f"{state} " if state else "", "yellow"))
    line = "─" * max(width - text.cell_len - cell_len(hint) - 4, 1)
    return text.append(f"{line} {hint} ──", "dim")


def _numbers(now: Snapshot) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0), expand=True)
    table.add_column(no_wrap=True)
    for _ in range(2):
        table.add_column(justify="right", no_wrap=True, min_width=8)
    table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    counts = now.counts
    statuses = [Text(f"{status} × {count:,}", _STATUS_STYLES.get(status[:1], "")) for status, count in now.statuses.items()]
    rows: Sequence[tuple[str, str, str, RenderableType]] = (
        ("pages", f"{now.pages:,}", f"{now.pages_per_second:,.1f}/s", Text("  ").join(statuses)),
        ("items", f"{now.items:,}", f"{now.items_per_second:,.1f}/s", f"{now.dropped:,} dropped" if now.dropped else ""),
        ("loaded", _size(now.bytes), f"{_size(now.bytes_per_second)}/s", f"{now.in_flight:,} under way"),
        ("queue", f"{counts.queued:,}", "", ", ".join(_queue(now))),
        ("errors", f"{now.errors:,}", "", str(now.worst or "")),
    )
    for label, value, rate, remark in rows:
        style = "bold red" if label == "errors" and now.errors else "bold"
        rest = remark if isinstance(remark, Text) else Text(str(remark), "red" if label == "errors" else "dim")
        table.add_row(Text(f" {label}", "dim"), Text(value, style), Text(rate), rest)
    return table


def _queue(now: Snapshot) -> Iterator[str]:
    for count, words in (
        (now.counts.delayed, "for later"),
        (now.retries, "retries"),
        (now.duplicates, "duplicates left out"),
    ):
        if count:
            yield f"{count:,} {words}"


def _hosts(hosts: Sequence[HostLoad], width: int) -> Iterator[Table]:
    if not hosts:
        return
    numbers = ("under way", "waiting", "answers in", "delay")
    room = max(width - sum(len(title) + 2 for title in numbers), 12)
    table = Table(box=None, header_style="dim", padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column(" busiest hosts", no_wrap=True, overflow="ellipsis", min_width=min(30, room), max_width=room)
    for title in numbers:
        table.add_column(title, justify="right", no_wrap=True)
    for load in hosts:
        name = Text(f" {safe(load.host)}{' (cannot be reached)' if load.dead else ''}", "red" if load.dead else "")
        latency = f"{load.latency * 1000:,.0f} ms" if load.latency else "–"
        delay = f"{load.delay:.2g} s" if load.delay else "–"
        table.add_row(name, f"{load.in_flight:,}", f"{load.queued:,}", latency, delay)
    yield table


def _size(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}" if unit != "B" else f"{count:.0f} B"
        count /= 1000
    return f"{count:.3g} TB"
