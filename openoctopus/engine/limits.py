"""When a crawl has had enough: pages, items, errors, time, memory; and callbacks that hold everything up."""

from __future__ import annotations

import asyncio
import logging
import resource
import sys
import threading
import time
import traceback
from collections.abc import Callable

from openoctopus.settings import Settings
from openoctopus.stats import Stats

logger = logging.getLogger(__name__)

#: Seconds between two looks at time and memory.
LOOK_EVERY = 1.0


class Limits:
    """Ends the crawl by ``stop(reason)`` when one of ``CLOSESPIDER_*`` or ``MEMUSAGE_LIMIT_MB`` is reached.

    ``memory`` tells how many MB are used; without it this process counts.
    """

    def __init__(
        self, settings: Settings, stats: Stats, stop: Callable[[str], None], memory: Callable[[], float] | None = None
    ) -> None:
        self.settings = settings
        self._memory = memory or memory_mb
        self.stats = stats
        self.stop = stop
        self._counts = [
            (name, limit, reason)
            for name, limit, reason in (
                ("item_scraped_count", settings.CLOSESPIDER_ITEMCOUNT, "closespider_itemcount"),
                ("response_received_count", settings.CLOSESPIDER_PAGECOUNT, "closespider_pagecount"),
                ("error_count", settings.CLOSESPIDER_ERRORCOUNT, "closespider_errorcount"),
            )
            if limit
        ]
        self._warned = False

    def check(self) -> None:
        """Look at what is counted; called after each page and item."""
        for name, limit, reason in self._counts:
            if self.stats.get(name) >= limit:
                self.stop(reason)

    async def watch(self) -> None:
        """Look at time and memory until cancelled."""
        until = time.monotonic() + self.settings.CLOSESPIDER_TIMEOUT if self.settings.CLOSESPIDER_TIMEOUT else None
        while True:
            left = LOOK_EVERY if until is None else min(LOOK_EVERY, until - time.monotonic())
            if left <= 0:
                self.stop("closespider_timeout")
                return
            await asyncio.sleep(left)
            self._look_at_memory()

    def _look_at_memory(self) -> None:
        used = self._memory()
        self.stats.max("memusage/max", round(used * 1e6))
        if self.settings.MEMUSAGE_WARNING_MB and used > self.settings.MEMUSAGE_WARNING_MB and not self._warned:
            self._warned = True
            self.stats.set("memusage/warning_reached", 1)
            logger.warning("the crawl takes %d MB, more than MEMUSAGE_WARNING_MB", used)
        if self.settings.MEMUSAGE_LIMIT_MB and used > self.settings.MEMUSAGE_LIMIT_MB:
            self.stats.set("memusage/limit_reached", 1)
            self.stop("memusage_exceeded")


def memory_mb() -> float:
    """The memory of this process now, in MB; its largest ever where the system does not tell the present one."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * resource.getpagesize() / 1e6
    except OSError:
        largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return largest / 1e6 if sys.platform == "darwin" else largest / 1e3


class Watchdog:
    """A thread that names the callback which keeps the event loop from running."""

    def __init__(self, seconds: float, busy_with: Callable[[], str]) -> None:
        self.seconds = seconds
        self.busy_with = busy_with
        self._beat = time.monotonic()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="octopus-watchdog", daemon=True)
        self._loop_thread = threading.get_ident()

    async def run(self) -> None:
        """Beat until cancelled."""
        self._thread.start()
        try:
            while True:
                self._beat = time.monotonic()
                await asyncio.sleep(self.seconds / 5)
        finally:
            self._over.set()

    def _watch(self) -> None:
        told = 0.0
        while not self._over.wait(self.seconds / 5):
            beat = self._beat
            if time.monotonic() - beat > self.seconds and beat != told:
                told = beat
                stack = traceback.extract_stack(sys._current_frames().get(self._loop_thread))[-4:]
                places = " < ".join(f"{frame.name} ({frame.filename}:{frame.lineno})" for frame in reversed(stack))
                logger.warning("%s has kept the crawl from running for %g s: %s", self.busy_with(), self.seconds, places)
