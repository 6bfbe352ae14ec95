"""What Ctrl-C and SIGTERM do to a crawl: once they let it end, twice they hurry it, thrice they break it off."""

from __future__ import annotations

import asyncio
import functools
import logging
import os
import signal
import threading
from types import FrameType
from typing import Any, Protocol, Self

logger = logging.getLogger(__name__)

#: The exit code of a process that was interrupted thrice.
INTERRUPTED = 130
#: What ends a crawl; a terminal that is closed sends SIGHUP.
SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Stoppable(Protocol):
    """What can be ended from outside."""

    def stop(self, reason: str = "shutdown") -> None: ...

    def hurry(self) -> None: ...


class Interrupts:
    """While it is entered, in a running loop of the main thread, signals end ``crawl``.

    The first one completes what is under way, for ``drain_seconds`` at most; the second gives it back; the third ends the
    process with code 130, even while a callback holds up the loop. Any number of crawls may be entered at once, all are
    ended. A signal that the program has a handler for, or ignores, stays the program's; elsewhere than in the main thread
    nothing is done.
    """

    def __init__(self, crawl: Stoppable, drain_seconds: float) -> None:
        self.crawl = crawl
        self.drain_seconds = drain_seconds
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._loop = asyncio.get_running_loop()
            _switch.add(self)
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self._timer:
            self._timer.cancel()
        _switch.remove(self)

    def signalled(self, number: int) -> None:
        """A signal came; may be called from its handler."""
        self._loop.call_soon_threadsafe(self._end, signal.Signals(number).name)

    def _end(self, name: str) -> None:
        if self._timer is not None:
            self._hurry(name)
            return
        logger.warning("%s: completing what is under way; once more to hurry", name)
        self.crawl.stop("shutdown")
        self._timer = self._loop.call_later(self.drain_seconds, self._hurry, f"{self.drain_seconds:g} seconds are over")

    def _hurry(self, why: str) -> None:
        logger.warning("%s: what is under way goes back to the queue; once more to break off", why)
        self.crawl.hurry()


class _Switch:
    """Holds the process's signals as long as there is a crawl to end by them."""

    def __init__(self) -> None:
        self._crawls: list[Interrupts] = []
        self._before: dict[int, Any] = {}
        self._times = 0

    def add(self, crawl: Interrupts) -> None:
        self._crawls.append(crawl)
        if len(self._crawls) == 1:
            self._times = 0
            self._before = {number: signal.getsignal(number) for number in SIGNALS if _is_free(number)}
            for number in self._before:
                signal.signal(number, self._signalled)

    def remove(self, crawl: Interrupts) -> None:
        if crawl not in self._crawls:
            return
        self._crawls.remove(crawl)
        if not self._crawls:
            for number, handler in self._before.items():
                if signal.getsignal(number) == self._signalled:
                    signal.signal(number, handler)
            self._before = {}  # asyncio's handler holds the task, and with it all of the crawl

    def _signalled(self, number: int, frame: FrameType | None) -> None:
        """Called between any two instructions of the main thread: nothing may be logged or changed here."""
        self._times += 1
        if self._times > 2:
            os._exit(INTERRUPTED)
        for crawl in self._crawls:
            crawl.signalled(number)


_switch = _Switch()


def _is_free(number: int) -> bool:
    """Whether nobody has decided what this signal does: it is Python's own affair, or that of ``asyncio.run``."""
    handler = signal.getsignal(number)
    if isinstance(handler, functools.partial):
        handler = getattr(handler.func, "__self__", None)
    return handler in (signal.SIG_DFL, signal.default_int_handler) or isinstance(handler, asyncio.Runner)
