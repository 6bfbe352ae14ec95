"""The numbers of a running crawl as people want to see them; pulled, never pushed."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass

from openoctopus.scheduler.base import Counts, HostLoad, Scheduler
from openoctopus.stats import Stats

#: Rates are taken over the last so many seconds.
WINDOW = 10.0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One look at a crawl. Rates are per second, over the last ten of them."""

    elapsed: float
    pages: int
    pages_per_second: float
    items: int
    items_per_second: float
    bytes: int
    bytes_per_second: float
    errors: int
    retries: int
    duplicates: int
    counts: Counts
    statuses: dict[str, int]
    hosts: list[HostLoad]


class Board:
    """Reads the numbers of a crawl whenever it is asked."""

    def __init__(self, stats: Stats, scheduler: Scheduler) -> None:
        self.stats = stats
        self.scheduler = scheduler
        self._began = time.monotonic()
        self._looks: deque[tuple[float, int, int, int]] = deque()

    def look(self, hosts: int = 5) -> Snapshot:
        """The numbers now, with the busiest ``hosts``."""
        get = self.stats.get
        now = time.monotonic()
        pages, items, size = get("response_received_count"), get("item_scraped_count"), get("downloader/response_bytes")
        then, pages_then, items_then, size_then = self._earlier(now, pages, items, size)
        seconds = max(now - then, 1e-6)
        return Snapshot(
            elapsed=now - self._began,
            pages=pages,
            pages_per_second=(pages - pages_then) / seconds,
            items=items,
            items_per_second=(items - items_then) / seconds,
            bytes=size,
            bytes_per_second=(size - size_then) / seconds,
            errors=get("error_count"),
            retries=get("retry/count"),
            duplicates=get("dupefilter/filtered"),
            counts=self.scheduler.counts,
            statuses=dict(sorted(self.stats.group("downloader/response_status_count").items())),
            hosts=self.scheduler.busiest(hosts) if hosts else [],
        )

    def _earlier(self, now: float, pages: int, items: int, size: int) -> tuple[float, int, int, int]:
        """The numbers of ten seconds ago, or of the start."""
        self._looks.append((now, pages, items, size))
        while len(self._looks) > 1 and now - self._looks[1][0] >= WINDOW:
            self._looks.popleft()
        return self._looks[0] if len(self._looks) > 1 else (self._began, 0, 0, 0)
