"""The last lines of a terminal, drawn again and again in place; what is printed meanwhile stands above them."""

from __future__ import annotations

import io
import re
import threading
import time

from rich.cells import cell_len
from rich.console import Console, RenderableType

#: While much is printed, it is shown only so often, in seconds.
PAUSE = 0.1

_UP = "\x1b[%dA"
_ERASE_BELOW = "\x1b[J"
_ERASE_LINE = "\x1b[2K"
#: Terminals that know these show everything between them at once; the others pass over them.
_TOGETHER = "\x1b[?2026h%s\x1b[?2026l"
_STYLE = re.compile("\x1b\\[[0-9;]*m")
_BLANK_END = re.compile("(?: |\x1b\\[[0-9;]*m)+$")


class Screen:
    """A view at the end of a terminal. Each change is one write, and an unchanged line is never blank in between.

    The cursor stays visible, on the line below the view: a process that is killed leaves nothing to be repaired.
    """

    def __init__(self, console: Console) -> None:
        self.console = console
        self._view: list[str] = []
        #: The lines that stand on the terminal now, as wide as they were drawn.
        self._drawn: list[int] = []
        self._above: list[str] = []
        self._shown_at = 0.0
        self._is_gone = False
        self._lock = threading.RLock()

    def draw(self, view: RenderableType) -> None:
        """Show this view from now on, with what was printed above it."""
        lines = self._rendered(view)[: self.console.height - 1]
        with self._lock:
            # Without blanks at its end a line takes no second row when the terminal becomes narrower.
            self._view = [_BLANK_END.sub("\x1b[0m", line) for line in lines]
            self._show()

    def _rendered(self, view: RenderableType) -> list[str]:
        try:
            with self.console.capture() as captured:
                self.console.print(view)
        except OSError:  # rich writes nothing, but it does write
            self._is_gone = True
            return []
        return captured.get().splitlines()

    def print(self, line: str) -> None:
        """Put a line above the view; at once, unless one has just been shown. May be called from any thread."""
        with self._lock:
            self._above.append(line)
            if not self._view or time.monotonic() - self._shown_at > PAUSE:
                self._show()

    def flush(self) -> None:
        """Show what was printed."""
        with self._lock:
            if self._above:
                self._show()

    def clear(self) -> None:
        """Take the view away."""
        with self._lock:
            self._view = []
            self._show()

    def _show(self) -> None:
        above, self._above = self._above, []
        # To the first column too: somebody may have typed, and Ctrl-C shows as ^C.
        text = f"\r{_UP % rows}" if (rows := self._rows()) else ""
        if above:  # of any width, so what they do not cover has to go first
            text += _ERASE_BELOW + "".join(f"{line}\n" for line in above)
        text += "".join(f"{_ERASE_LINE}{line}\n" for line in self._view)
        if self._drawn:
            text += _ERASE_BELOW
        self._drawn = [cell_len(_STYLE.sub("", line)) for line in self._view]
        self._shown_at = time.monotonic()
        self._write(_TOGETHER % text if self._view else text)

    def _rows(self) -> int:
        """The rows that the drawn lines take: more than there are lines, once a terminal became narrower."""
        width = max(self.console.width, 1)
        return sum(max(1, -(-cells // width)) for cells in self._drawn)

    def _write(self, text: str) -> None:
        if self._is_gone:
            return
        try:
            self.console.file.write(text)
            self.console.file.flush()
        except OSError:  # the terminal was closed; the crawl goes on
            self._is_gone = True


class Above(io.TextIOBase):
    """A stream whose lines stand above the view of a screen: for the log, and for what a spider prints."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._rest = ""

    def write(self, text: str) -> int:
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            self._screen.print(line)
        return len(text)

    def end_line(self) -> None:
        """Show what was written without an end of line."""
        if self._rest:
            self.write("\n")

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._screen.console.file.fileno()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._screen.console.encoding
