"""Tables for people on a terminal, and lines for programs in a pipe."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from openoctopus.log import safe


def show_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """On a terminal a table, numbers to the right; else a line for each row, tabs between its cells, no head."""
    shown = [[safe(_text(cell)) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        for line in shown:
            print("\t".join(line))
        return
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for number, column in enumerate(columns):
        is_number = bool(rows) and isinstance(rows[0][number], int | float)
        table.add_column(column, justify="right" if is_number else "left", overflow="fold")
    for line in shown:
        table.add_row(*map(Text, line))
    Console().print(table)


def _text(cell: object) -> str:
    return f"{cell:,}" if isinstance(cell, int) and sys.stdout.isatty() else str(cell)


def ago(seconds: float) -> str:
    """How long ago that was."""
    if not seconds:
        return "-"
    passed = max(0.0, time.time() - seconds)
    for length, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if passed >= length:
            return f"{passed / length:.1f} {unit}"
    return f"{passed:.0f} s"
