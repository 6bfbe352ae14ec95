"""A site in a process of its own, so that it takes no time from the crawl's event loop."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from subprocess import PIPE, Popen, TimeoutExpired
from typing import Protocol

from openoctopus.exceptions import MissingExtra, OctopusError
from openoctopus.plugins import require

#: Seconds that a child has to end once its input has.
_PATIENCE = 5.0


class Servable(Protocol):
    """What can be served: opened, closed, and asked for its first URL."""

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    def url(self) -> str: ...


@contextmanager
def in_own_process(module: str, *arguments: str) -> Iterator[str]:
    """Run a module that calls ``serve`` in a child process, at a free port unless one is given, and give its URL.

    The child ends with the block, or when this process dies. Raises ``OctopusError`` if it does not start.
    """
    command = [sys.executable, "-m", module, "--port", "0", *arguments, "--until-eof"]
    # A session of its own: Ctrl-C at the terminal must reach the crawl alone, which still needs the site while it drains.
    with Popen(command, stdin=PIPE, stdout=PIPE, start_new_session=True) as child:  # noqa: S603  our own module
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            url = child.stdout.readline().decode().strip()
            if not url:
                raise OctopusError(f"{module} did not start; what it said is above")
            yield url
        finally:
            child.stdin.close()
            _end(child)


def _end(child: Popen[bytes]) -> None:
    try:
        child.wait(_PATIENCE)
    except TimeoutExpired:
        child.kill()


def port(text: str) -> int:
    """A port as an argument names it. Raises ``ValueError`` for what is none; uvloop would take its last 16 bits."""
    if not 0 <= (number := int(text)) <= 65535:
        raise ValueError(text)
    return number


def serve(site: Servable, *, until_eof: bool) -> None:
    """Open a site, print its URL, and serve it until Ctrl-C, or until standard input ends.

    Raises ``SystemExit`` with a line that says why it cannot be opened.
    """
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(_serve(site, until_eof))
    except OSError as error:
        raise SystemExit(f"the site cannot be served: {error}; --port 0 takes any free port") from error
    except KeyboardInterrupt:
        pass


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        factory: Callable[[], asyncio.AbstractEventLoop] = require("uvloop", "speed").new_event_loop
    except MissingExtra:
        return None
    return factory


async def _serve(site: Servable, until_eof: bool) -> None:
    await site.open()
    try:
        print(site.url(), flush=True)
        await (_end_of_input() if until_eof else asyncio.Event().wait())
    finally:
        await site.close()


async def _end_of_input() -> None:
    loop, ended = asyncio.get_running_loop(), asyncio.Event()

    def read() -> None:
        # Not sys.stdin.read: it would hold a lock that the interpreter needs to exit.
        while os.read(0, 1024):
            pass
        loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=read, daemon=True).start()
    await ended.wait()
