"""Settles pages once all that they yielded is safe; the tasks that read them have long gone on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from openoctopus.pipelines.base import Receipt
from openoctopus.scheduler.base import DONE, Entry, Lease, Outcome, Scheduler


class Page:
    """One entry while it is carried: what was found on it, and what is still owed to its items."""

    __slots__ = ("_settler", "found", "lease", "occurrences", "outcome", "receipt")

    def __init__(self, lease: Lease | None, settler: Settler) -> None:
        #: ``None`` for what ``spider.start()`` yields: there is no page.
        self.lease = lease
        self.outcome: Outcome = DONE
        #: Requests that wait to be added together.
        self.found: list[Entry] = []
        #: How often each ``dont_filter`` request was found on this page.
        self.occurrences: dict[int, int] = {}
        self._settler = settler
        self.receipt: Receipt = Receipt(self._settle)

    def close(self, outcome: Outcome) -> None:
        """Everything was read and all requests are added; settled as soon as all items are durable."""
        self.outcome = outcome
        self.receipt.close()

    def _settle(self) -> None:
        if self.lease is not None:
            self._settler.settle(self.lease, self.outcome)


class Settler:
    """Hands outcomes to the scheduler, many at once where many come."""

    def __init__(self, scheduler: Scheduler, settled: Callable[[], None]) -> None:
        self.scheduler = scheduler
        self._settled = settled
        self._waiting: list[tuple[Lease, Outcome]] = []
        self._news = asyncio.Event()

    def settle(self, lease: Lease, outcome: Outcome) -> None:
        self._waiting.append((lease, outcome))
        self._news.set()

    @property
    def idle(self) -> bool:
        return not self._waiting

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self._news.wait()
            await self.flush()

    async def flush(self) -> None:
        """Settle all that is ready."""
        self._news.clear()
        waiting, self._waiting = self._waiting, []
        if waiting:
            await self.scheduler.settle(waiting)
            self._settled()
