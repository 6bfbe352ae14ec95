"""A worker as its supervisor sees it: a process, what it tells, and what is told to it."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import msgspec

from openoctopus import log
from openoctopus.channel import Channel
from openoctopus.scheduler.owner import APART, Desk
from openoctopus.stats import Changes
from openoctopus.workers.mission import Post

#: Bytes of what a worker writes that are read at once; a longer line is passed on in parts.
AT_ONCE = 1 << 16


class Listener(Protocol):
    """Who is told what a worker says."""

    def begun(self) -> None:
        """A worker has opened everything, and crawls."""

    def counted(self, changes: Changes) -> None:
        """Its numbers changed."""

    def ending(self, reason: str) -> None:
        """It ends, and thinks that the crawl should."""


class WorkerProcess:
    """One incarnation of a worker, from its start to its end. ``desk`` serves it."""

    def __init__(self, post: Post, desk: Desk, listener: Listener) -> None:
        self.post = post
        #: It has opened everything, and crawls.
        self.begun = False
        #: Why it could not begin or go on: the class of the error if it is one of ours, and its text.
        self.failed: tuple[str, str] | None = None
        #: How it ended by itself, and what it says of its time: stages, and seconds of computing.
        self.reason = ""
        self.stages: dict[str, float] = {}
        self.cpu = 0.0
        #: MB.
        self.memory = 0.0
        self._seen = time.monotonic()
        self._listener = listener
        self._process: Process | None = None
        told: dict[str, Callable[..., None]] = {
            "begun": self._has_begun, "alive": self._lives, "counted": self._has_counted, "ending": listener.ending,
            "failed": self._has_failed,
        }  # fmt: skip
        asked: dict[str, Callable[..., Awaitable[Any]]] = {"post": self._give_post, "ended": self._has_ended}
        self.channel = Channel({**desk.told, **told}, {**desk.asked, **asked}, apart=APART, preface=desk.standing)
        desk.tell = self.channel.tell

    def _has_begun(self) -> None:
        self.begun = True
        self._listener.begun()

    def _lives(self, memory: float) -> None:
        self._seen = time.monotonic()
        self.memory = memory

    def _has_counted(self, changes: list[Any]) -> None:
        self._listener.counted(Changes(*changes))

    def _has_failed(self, kind: str, text: str) -> None:
        self.failed = kind, text

    async def _give_post(self) -> Any:
        return msgspec.to_builtins(self.post)

    async def _has_ended(self, reason: str, stages: dict[str, float], cpu: float) -> None:
        self.reason, self.stages, self.cpu = reason, stages, cpu

    async def run(self) -> int:
        """Start it, and serve it until it is gone. Its exit code, negative for a signal."""
        ours, theirs = socket.socketpair()
        reading, writing = os.pipe()
        with theirs, os.fdopen(writing, "wb"):
            self._process = process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "openoctopus.workers", str(theirs.fileno()), str(writing), str(os.getpid()),
                stdin=DEVNULL,
                stdout=PIPE if sys.stdout.isatty() else None,
                stderr=PIPE,
                pass_fds=(theirs.fileno(), writing),
                start_new_session=True,  # Ctrl-C at the terminal is the supervisor's
            )  # fmt: skip
        journal, journal_pipe = await _reader(reading)
        passing = [asyncio.create_task(_pass_on(journal, log.pass_on))]
        if process.stdout:
            passing.append(asyncio.create_task(_pass_on(process.stdout, lambda text: print(text, flush=True))))
        if process.stderr:
            passing.append(asyncio.create_task(_pass_on(process.stderr, lambda text: print(text, file=sys.stderr, flush=True))))
        await self.channel.open(ours)
        try:
            await self.channel.run()
            return await process.wait()
        finally:
            self.kill()
            await process.wait()
            await asyncio.wait(passing)
            journal_pipe.close()

    @property
    def silent(self) -> float:
        """Seconds since its last sign of life."""
        return time.monotonic() - self._seen

    def kill(self) -> None:
        """End it as nothing else would."""
        if self._process and self._process.returncode is None:
            self._process.kill()


async def _reader(descriptor: int) -> tuple[asyncio.StreamReader, asyncio.BaseTransport]:
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb")
    )
    return reader, transport


async def _pass_on(reader: asyncio.StreamReader, write: Callable[[str], None]) -> None:
    """Write whole lines, without the last newline, until there are no more."""
    rest = b""
    while part := await reader.read(AT_ONCE):
        lines, newline, rest = (rest + part).rpartition(b"\n")
        if not newline and len(rest) > AT_ONCE:
            lines, rest = rest, b""
        if lines:
            write(lines.decode("utf-8", "replace"))
    if rest:
        write(rest.decode("utf-8", "replace"))


def how_it_ended(code: int) -> str:
    """An exit code in words."""
    if code >= 0:
        return f"ended with exit code {code}"
    return f"was ended by {signal.Signals(-code).name}"
