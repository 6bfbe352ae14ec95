"""A small terminal, so that tests see what a person sees."""

from __future__ import annotations

import io
import re
from collections.abc import Callable

import pytest
from rich.cells import cell_len
from rich.console import Console

_PART = re.compile("\x1b\\[(\\??)([0-9;]*)([A-Za-z])|([\r\n])|([^\x1b\r\n])")


class Terminal(io.StringIO):
    """Rows of cells, a cursor, and of the control sequences those that our view needs; what scrolls out is kept."""

    def __init__(self, width: int, height: int = 24) -> None:
        super().__init__()
        self.width, self.height = width, height
        self.rows: list[list[str]] = [[]]
        self.row = self.column = 0
        #: How often it was written to.
        self.writes = 0

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.writes += bool(text)
        for private, number, command, control, character in _PART.findall(text):
            if command:
                assert private or command in "AJKm", f"unknown: {command}"
                self._obey(command, number)
            elif control:
                self._move(control)
            else:
                self._put(character)
        return len(text)

    def _obey(self, command: str, number: str) -> None:
        if command == "A":
            assert int(number) < self.height, "nothing above the first row can be reached"
            self.row = max(0, self.row - int(number))
        elif command == "J":
            del self.rows[self.row + 1 :]
            del self.rows[self.row][self.column :]
        elif command == "K":
            assert number == "2"
            self.rows[self.row].clear()

    def _move(self, control: str) -> None:
        self.column = 0
        if control == "\n":
            self.row += 1
            if self.row == len(self.rows):
                self.rows.append([])

    def _put(self, character: str) -> None:
        cells = cell_len(character)
        if self.column + cells > self.width:
            self._move("\n")
        row = self.rows[self.row]
        row.extend(" " * (self.column + cells - len(row)))
        row[self.column : self.column + cells] = [character, *[""] * (cells - 1)]
        self.column += cells

    def typed(self, text: str) -> None:
        """What the terminal itself shows, such as ^C."""
        for character in text:
            self._put(character)

    def narrowed(self, width: int) -> None:
        """Become narrower, as terminals do that wrap their lines anew."""
        assert self.column == 0
        below = len(self.rows) - self.row
        self.rows = [row[start : start + width] for row in self.rows for start in range(0, max(len(row), 1), width)]
        self.row, self.width = len(self.rows) - below, width

    def lines(self) -> list[str]:
        """What stands there, without blanks at the ends."""
        lines = ["".join(row).rstrip() for row in self.rows]
        while lines and not lines[-1]:
            lines.pop()
        return lines


@pytest.fixture
def terminal() -> Callable[..., tuple[Terminal, Console]]:
    """A terminal of that size, and rich's console on it."""

    def made(width: int = 80, height: int = 24) -> tuple[Terminal, Console]:
        screen = Terminal(width, height)
        console = Console(file=screen, force_terminal=True, color_system="standard", legacy_windows=False, _environ={})
        console.size = (width, height)
        return screen, console

    return made
