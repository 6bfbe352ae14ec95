"""What came of a crawl."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from openoctopus.engine import Stages
from openoctopus.pipelines.base import FailedItem
from openoctopus.scheduler.base import FailedEntry, HostLoad
from openoctopus.stats import Stats

#: What is counted where a request ends before it is sent.
REFUSALS = (
    "start_urls_refused",
    "offsite/scheme_filtered",
    "spider_exceptions/count",
    "request_failed_count",
    "request_dropped_count",
)


@dataclass(slots=True)
class Result:
    """What came of a crawl."""

    #: ``finished``, ``shutdown``, ``closespider_itemcount``...
    reason: str
    stats: Stats
    #: Seconds.
    elapsed: float
    stages: Stages
    #: Seconds that the crawl's thread computed.
    cpu: float = 0.0
    #: Requests that still wait.
    left: int = 0
    #: How many processes crawled.
    workers: int = 1
    #: The hosts that took longest to answer.
    slowest: list[HostLoad] = field(default_factory=list)
    failed: list[FailedEntry] = field(default_factory=list)
    failed_items: list[FailedItem] = field(default_factory=list)
    #: The items themselves, if they were asked for.
    items: list[Any] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """0 finished; 1 failed, or nothing could be fetched; 3 stopped before the end."""
        asked, answered = self.stats.get("downloader/request_count"), self.stats.get("downloader/response_count")
        if self.stats.get("start_error") or self.stats.get("close_errors") or self.reason == "workers_lost":
            return 1
        if self.reason in ("shutdown", "interrupted", "memusage_exceeded"):
            return 3
        tried = asked or any(self.stats.get(name) for name in REFUSALS)
        return 1 if tried and not answered and not self.stats.get("item_scraped_count") else 0
