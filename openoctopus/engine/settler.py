"""Settles pages once all that they yielded is safe; the tasks that read them have long gone on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from openoctopus.failpoints import hit
from openoctopus.http.codec import thaw
from openoctopus.pipelines.base import Receipt
from openoctopus.scheduler.base import DONE, Again, Entry, Lease, Move, Outcome, Scheduler
from openoctopus.scheduler.trace import Trace
from openoctopus.state import StateKeeper


class Page(Receipt):
    """One entry while it is carried: what was found on it, and what is still owed to its items."""

    __slots__ = ("_settler", "found", "lease", "occurrences", "outcome")

    def __init__(self, lease: Lease | None, settler: Settler) -> None:
        super().__init__(settler.settle)
        self._settler = settler
        #: ``None`` for what ``spider.start()`` yields: there is no page.
        self.lease = lease
        self.rid = lease.rid if lease is not None else 0
        self.outcome: Outcome = DONE
        #: Requests that wait to be added together.
        self.found: list[Entry] = []
        #: How often each ``dont_filter`` request was found on this page.
        self.occurrences: dict[int, int] = {}

    @property
    def url(self) -> str:
        return thaw(self.lease.entry.body).url if self.lease is not None else ""

    def end(self, outcome: Outcome) -> None:
        """Everything was read and all requests are added; settled as soon as all items are durable."""
        self.outcome = outcome
        if self.lease is not None:
            self._settler.scheduler.read(self.lease)
        self.close()


class Settler:
    """Hands outcomes to the scheduler, many at once where many come."""

    def __init__(
        self,
        scheduler: Scheduler,
        settled: Callable[[int], Awaitable[None]],
        state: StateKeeper | None = None,
        trace: Trace | None = None,
    ) -> None:
        self.scheduler = scheduler
        self._state = state or StateKeeper()
        self._trace = trace or Trace()
        self._settled = settled
        self._waiting: list[tuple[Lease, Outcome]] = []
        self._news = asyncio.Event()
        #: All that ``spider.start()`` yielded is safe.
        self.first_ones_safe = asyncio.Event()

    def settle(self, page: Page) -> None:
        """All that the page yielded is safe."""
        if page.lease is not None:
            self.give(page.lease, page.outcome)
        else:
            self.first_ones_safe.set()

    def give(self, lease: Lease, outcome: Outcome) -> None:
        """End a lease by an outcome, soon."""
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
        """Settle all that is ready, and tell how many entries wait again."""
        self._news.clear()
        waiting, self._waiting = self._waiting, []
        state = self._state.changed()  # now, so that what is told belongs to just these pages
        if waiting or state:
            hit("settle.sent")
            try:
                await self.scheduler.settle(waiting, state)
            finally:  # the crawl may end while this waits for the disk
                self._trace.settled(waiting)
            hit("settle.committed")
        await self._settled(sum(isinstance(outcome, Again | Move) for _, outcome in waiting))
