"""The numbers of a running crawl as people want to see them; pulled, never pushed."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from openoctopus.monitor.errors import ErrorGroup, error_groups, statuses
from openoctopus.scheduler.base import Counts, HostLoad, Scheduler
from openoctopus.stats import Stats

#: Rates are taken over the last so many seconds.
WINDOW = 10.0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One look at a crawl. Rates are per second, over the last ten of them."""

    #: Seconds.
    elapsed: float
    pages: int
    pages_per_second: float
    items: int
    items_per_second: float
    bytes: int
    bytes_per_second: float
    dropped: int
    errors: int
    retries: int
    duplicates: int
    counts: Counts
    #: Downloads at this moment.
    in_flight: int
    #: Answers by status.
    statuses: dict[str, int]
    #: The most frequent trouble.
    worst: ErrorGroup | None
    hosts: list[HostLoad]
    #: Why the crawl is ending; empty while it goes on.
    ending: str


class _Look(NamedTuple):
    at: float
    pages: int = 0
    items: int = 0
    bytes: int = 0


class Board:
    """Reads the numbers of a crawl whenever it is asked, in the crawl's own thread.

    ``ending`` tells why the crawl ends, once it does.
    """

    def __init__(self, stats: Stats, scheduler: Scheduler, ending: Callable[[], str] = str) -> None:
        self.stats = stats
        self.scheduler = scheduler
        self.ending = ending
        self._looks = deque([_Look(time.monotonic())])
        self._began = self._looks[0].at

    async def look(self, hosts: int = 5) -> Snapshot:
        """The numbers now, with the busiest ``hosts``."""
        get = self.stats.get
        now = _Look(
            time.monotonic(),
            get("response_received_count"),
            get("item_scraped_count"),
            get("downloader/response_bytes"),
        )
        then = self._earlier(now)
        seconds = max(now.at - then.at, 1e-6)
        return Snapshot(
            elapsed=now.at - self._began,
            pages=now.pages,
            pages_per_second=(now.pages - then.pages) / seconds,
            items=now.items,
            items_per_second=(now.items - then.items) / seconds,
            bytes=now.bytes,
            bytes_per_second=(now.bytes - then.bytes) / seconds,
            dropped=get("item_dropped_count"),
            errors=get("error_count"),
            retries=get("retry/count"),
            duplicates=get("dupefilter/filtered"),
            counts=self.scheduler.counts,
            in_flight=get("downloader/request_count") - get("downloader/response_count") - get("downloader/exception_count"),
            statuses=statuses(self.stats),
            worst=next(iter(error_groups(self.stats)), None),
            hosts=await self.scheduler.busiest(hosts) if hosts else [],
            ending=self.ending(),
        )

    def _earlier(self, now: _Look) -> _Look:
        """The look of ten seconds ago, or the last one before that, or the start."""
        while len(self._looks) > 1 and now.at - self._looks[1].at >= WINDOW:
            self._looks.popleft()
        self._looks.append(now)
        return self._looks[0]
