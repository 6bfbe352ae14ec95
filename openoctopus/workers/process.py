"""A worker as its supervisor sees it: a process, what it tells, and what is told to it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
import time
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, Self

import msgspec

from openoctopus import log
from openoctopus.channel import Channel
from openoctopus.scheduler.owner import APART, Desk
from openoctopus.stats import Changes
from openoctopus.workers.mission import Post

#: Bytes of what a worker writes that are read at once; a longer line is passed on in parts.
AT_ONCE = 1 << 16
#: Seconds that are waited for what it wrote last: a process that it started itself may hold its end open.
LAST_WORDS = 1.0


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
        self._is_killed = False
        told: dict[str, Callable[..., None]] = {
            "begun": self._has_begun, "alive": self._lives, "counted": self._has_counted, "ending": listener.ending,
            "failed": self._has_failed,
        }  # fmt: skip
        asked: dict[str, Callable[..., Awaitable[Any]]] = {"post": self._give_post, "ended": self._has_ended}
        self.channel = Channel({**desk.told, **told}, {**desk.asked, **asked}, apart=APART, preface=desk.standing)
        desk.tell = self.channel.tell

    def _has_begun(self) -> None:
        self.begun = True
        self._seen = time.monotonic()
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
        pipes = [await Pipe.opened(log.pass_on), await Pipe.opened(lambda text: print(text, file=sys.stderr, flush=True))]
        journal, errors = pipes
        if sys.stdout.isatty():
            pipes.append(await Pipe.opened(lambda text: print(text, flush=True)))
        with theirs, contextlib.ExitStack() as ends:
            for pipe in pipes:
                ends.callback(os.close, pipe.end)
            self._process = process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "openoctopus.workers", str(theirs.fileno()), str(journal.end), str(os.getpid()),
                stdin=DEVNULL,
                stdout=pipes[2].end if len(pipes) > 2 else None,
                stderr=errors.end,
                pass_fds=(theirs.fileno(), journal.end),
                start_new_session=True,  # Ctrl-C at the terminal is the supervisor's
            )  # fmt: skip
        await self.channel.open(ours)
        if self._is_killed:  # while it was being started
            process.kill()
        try:
            await self.channel.run()
            return await process.wait()
        finally:
            self.kill()
            await process.wait()
            for pipe in pipes:
                await pipe.close()

    @property
    def silent(self) -> float:
        """Seconds since its last sign of life."""
        return time.monotonic() - self._seen

    def kill(self) -> None:
        """End it as nothing else would."""
        self._is_killed = True
        if self._process and self._process.returncode is None:
            self._process.kill()


class Pipe:
    """Passes on the lines that a worker writes to its ``end``."""

    _passing: asyncio.Task[None]

    def __init__(self, end: int, reader: asyncio.StreamReader, transport: asyncio.BaseTransport) -> None:
        self.end = end
        self._reader = reader
        self._transport = transport

    @classmethod
    async def opened(cls, write: Callable[[str], None]) -> Self:
        """A new pipe; ``write`` is given whole lines, without the last newline."""
        reading, end = os.pipe()
        reader = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(reading, "rb")
        )
        pipe = cls(end, reader, transport)
        pipe._passing = asyncio.create_task(pipe._pass_on(write))
        return pipe

    async def _pass_on(self, write: Callable[[str], None]) -> None:
        rest = b""
        while part := await self._reader.read(AT_ONCE):
            lines, newline, rest = (rest + part).rpartition(b"\n")
            if not newline and len(rest) > AT_ONCE:
                lines, rest = rest, b""
            if lines:
                write(lines.decode("utf-8", "replace"))
        if rest:
            write(rest.decode("utf-8", "replace"))

    async def close(self) -> None:
        """Once nobody writes any more."""
        await asyncio.wait([self._passing], timeout=LAST_WORDS)
        self._passing.cancel()
        self._transport.close()


def how_it_ended(code: int) -> str:
    """An exit code in words."""
    if code >= 0:
        return f"ended with exit code {code}"
    return f"was ended by {signal.Signals(-code).name}"
