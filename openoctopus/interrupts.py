"""What Ctrl-C and SIGTERM do to a crawl: once they let it end, twice they hurry it, thrice they break it off."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
from typing import Protocol, Self

logger = logging.getLogger(__name__)

#: The exit code of a process that was interrupted thrice.
INTERRUPTED = 130


class Stoppable(Protocol):
    """What can be ended from outside."""

    def stop(self, reason: str = "shutdown") -> None: ...

    def hurry(self) -> None: ...


class Interrupts:
    """While it is entered, in the main thread and a running loop, SIGINT and SIGTERM end ``crawl``.

    The first one completes what is under way, for ``drain_seconds`` at most; the second gives it back; the third SIGINT
    ends the process with code 130. Elsewhere than in the main thread it does nothing.
    """

    def __init__(self, crawl: Stoppable, drain_seconds: float) -> None:
        self.crawl = crawl
        self.drain_seconds = drain_seconds
        self._times = 0
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._loop = asyncio.get_running_loop()
            for number in (signal.SIGINT, signal.SIGTERM):
                self._loop.add_signal_handler(number, self._signalled, number)
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self._timer:
            self._timer.cancel()
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._loop.remove_signal_handler(number)

    def _signalled(self, number: int) -> None:
        self._times += 1
        if self._times == 1:
            logger.warning("%s: completing what is under way; once more to hurry", signal.Signals(number).name)
            self.crawl.stop("shutdown")
            self._timer = self._loop.call_later(self.drain_seconds, self.crawl.hurry)
        elif self._times == 2:
            logger.warning("hurrying: what is under way goes back to the queue; once more to break off")
            self.crawl.hurry()
        else:
            os._exit(INTERRUPTED)
