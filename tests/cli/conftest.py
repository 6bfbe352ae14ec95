"""The command, run as a person runs it: in a folder, in a process of its own, or on a terminal."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import signal
import struct
import sys
import termios
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from openoctopus.testing import Site, slowly

#: Seconds that any command of these tests may take.
PATIENCE = 30


@dataclass(frozen=True)
class Ran:
    """What came of a command."""

    code: int
    out: str
    err: str


@dataclass
class Running:
    """A command that runs."""

    process: Process
    err: list[str] = field(default_factory=list)

    async def until(self, words: str) -> None:
        """Read standard error until a line has these words."""
        async with asyncio.timeout(PATIENCE):
            while line := await self.process.stderr.readline():
                self.err.append(line.decode())
                if words in self.err[-1]:
                    return
        raise AssertionError(f"{words!r} was not said in: {''.join(self.err)}")

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    async def end(self) -> Ran:
        async with asyncio.timeout(PATIENCE):
            out, err = await self.process.communicate()
        return Ran(self.process.returncode, (out or b"").decode(), "".join(self.err) + err.decode())


class Octopus:
    """``await octopus("runspider", "news.py")`` in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._running: list[Process] = []

    def write(self, name: str, text: str) -> Path:
        """A file in the folder."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return path

    async def __call__(self, *arguments: str, **variables: str) -> Ran:
        return await (await self.start(*arguments, **variables)).end()

    async def start(self, *arguments: str, **variables: str) -> Running:
        process = await asyncio.create_subprocess_exec(
            *self.line(*arguments), stdin=DEVNULL, stdout=PIPE, stderr=PIPE, cwd=self.folder, env=self.variables(**variables)
        )
        self._running.append(process)
        return Running(process)

    def line(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "openoctopus", *arguments]

    def variables(self, **variables: str) -> dict[str, str]:
        own = {name: value for name, value in os.environ.items() if not name.startswith(("OCTOPUS_", "PYTEST_"))}
        return own | {"PYTHONWARNINGS": "error", "PYTHONUTF8": "1"} | variables

    async def on_terminal(self, *arguments: str, width: int = 100, height: int = 30, **variables: str) -> Ran:
        """The same on a terminal of this size; what is written there is ``err``."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        process = await asyncio.create_subprocess_exec(
            *self.line(*arguments),
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=self.folder,
            env=self.variables(**{"TERM": "xterm-256color", "COLUMNS": "", "LINES": ""} | variables),
        )
        self._running.append(process)
        os.close(slave)
        try:
            async with asyncio.timeout(PATIENCE):
                written = await asyncio.to_thread(_all_of, master)
                return Ran(await process.wait(), "", written.decode())
        finally:
            os.close(master)

    async def close(self) -> None:
        for process in self._running:
            if process.returncode is None:
                process.kill()
                await process.communicate()


def _all_of(descriptor: int) -> bytes:
    parts = []
    try:
        while part := os.read(descriptor, 65536):
            parts.append(part)
    except OSError:  # the other side is closed
        pass
    return b"".join(parts)


@pytest.fixture
async def octopus(tmp_path: Path) -> AsyncIterator[Octopus]:
    """The command in a folder of its own."""
    command = Octopus(tmp_path)
    yield command
    await command.close()


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    """A front page that links to nine pages; ``/slow/1`` to ``/slow/9`` take their time."""
    pages = {"/": "".join(f"<a href='/{n}'>{n}</a>" for n in range(1, 10)), "/robots.txt": (404, {}, "")}
    pages |= {f"/{n}": f"<h1>Page {n}</h1>" for n in range(1, 10)}
    pages |= {f"/slow/{n}": slowly(20.0, f"<h1>Slow {n}</h1>") for n in range(1, 10)}
    async with Site(pages) as site:
        yield site


def linked(count: int) -> dict[str, Any]:
    """The pages of a site: a front page with so many links, each to a page that links to two others."""
    pages: dict[str, Any] = {"/": "".join(f"<a href='/{n}'>{n}</a>" for n in range(count)), "/robots.txt": (404, {}, "")}
    return pages | {
        f"/{n}": f"<h1>{n}</h1><a href='/{n * 7 % count}'>x</a><a href='/{n * 11 % count}'>y</a>" for n in range(count)
    }


LINKS = """
from openoctopus import Spider


class Links(Spider):
    name = "links"

    def __init__(self, site):
        super().__init__()
        self.start_urls = [site]

    def parse(self, response):
        yield from response.follow_all(css="a", callback=self.parse_page)

    def parse_page(self, response):
        yield {"url": response.url, "title": response.css("h1::text").get()}
"""


@pytest.fixture
def links(octopus: Octopus, site: Site) -> Callable[..., list[str]]:
    """The arguments that crawl ``site`` with a spider in ``links.py``."""
    octopus.write("links.py", LINKS)
    return lambda *more, path="/": ["runspider", "links.py", "-a", f"site={site.url(path)}", *more]
