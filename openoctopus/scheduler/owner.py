"""One scheduler for several workers: the process that owns it answers those that crawl."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from openoctopus.scheduler.base import Lease, Scheduler
from openoctopus.scheduler.wire import (
    Row,
    answer_in,
    entry_in,
    failed_out,
    lease_out,
    load_out,
    outcome_in,
)

#: What waits for the disk: other messages are not held up by it.
APART = frozenset({"settle", "end_start"})


class Owner:
    """Gives each worker a desk, and tells those that found nothing when there may be something again."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        #: How many entries were new that workers added.
        self.added = 0
        self._desks: set[Desk] = set()
        #: How many entries more can go through what a desk did since news was spread, at most.
        self._stirred: Counter[Desk] = Counter()
        self._spreading: asyncio.Task[None] | None = None

    def desk(self, worker: str) -> Desk:
        """Where this worker is served until it leaves."""
        desk = Desk(self, worker)
        self._desks.add(desk)
        return desk

    async def leave(self, desk: Desk) -> int:
        """A worker is gone: what it held waits again. How many entries that were."""
        self._desks.discard(desk)
        held = await self.scheduler.release(desk.worker)
        self.stir(desk, held)
        return held

    def stir(self, by: Desk, count: int = 1) -> None:
        """Others may find so many entries more. Whose doing it is looks by itself."""
        if count and any(desk.hungry for desk in self._desks if desk is not by):
            self._stirred[by] += count
            if self._spreading is None:
                self._spreading = asyncio.get_running_loop().create_task(self._spread())

    async def _spread(self) -> None:
        self._spreading = None
        stirred, self._stirred = self._stirred, Counter()
        if self.scheduler.counts.pending and not await self.scheduler.runnable():
            return
        for desk in self._desks:
            if desk.hungry and (count := stirred.total() - stirred[desk]):
                desk.hungry = False
                desk.tell("news", count)


class Desk:
    """Where one worker is served. The names of its methods are those of the messages."""

    def __init__(self, owner: Owner, worker: str) -> None:
        self.worker = worker
        #: Found nothing to claim, and does not know of any news since.
        self.hungry = False
        #: Sends a message to the worker.
        self.tell: Callable[..., None]
        self._owner = owner
        self._scheduler = owner.scheduler
        self._leases: dict[int, Lease] = {}
        self._standing: Row | None = None
        self._start_hosts: set[str] = set()

    @property
    def told(self) -> Mapping[str, Callable[..., None]]:
        return {
            "fetched": self.fetched, "read": self.read, "unreserve": self.unreserve, "pause": self._scheduler.pause,
            "set_crawl_delay": self._scheduler.set_crawl_delay, "add_start_host": self._scheduler.add_start_host,
        }  # fmt: skip

    @property
    def asked(self) -> Mapping[str, Callable[..., Awaitable[Any]]]:
        scheduler = self._scheduler
        return {
            "add": self.add, "claim": self.claim, "runnable": scheduler.runnable, "wait": self.wait, "settle": self.settle,
            "kept": scheduler.kept, "extend": self.extend, "release": scheduler.release, "claim_start": self.claim_start,
            "end_start": self.end_start, "reserve": self.reserve,
            "failed": self.failed, "take_given_up": self.take_given_up, "busiest": self.busiest, "slowest": self.slowest,
            "recall": scheduler.recall, "remember": scheduler.remember, "delay_of": scheduler.delay_of,
        }  # fmt: skip

    def standing(self) -> Row | None:
        """A message with what every worker knows of the scheduler, if that changed."""
        counts, hosts = self._scheduler.counts, self._scheduler.start_hosts
        new = [] if len(hosts) == len(self._start_hosts) else sorted(hosts - self._start_hosts)
        self._start_hosts.update(new)
        standing = [
            self._scheduler.starting, counts.added, counts.queued, counts.delayed, counts.leased, counts.done, counts.failed,
            counts.duplicates,
        ]  # fmt: skip
        if standing == self._standing and not new:
            return None
        self._standing = standing
        return ["standing", new, *standing]

    # What is told

    def fetched(self, token: int, answer: Row) -> None:
        if lease := self._leases.get(token):
            self._scheduler.fetched(lease, answer_in(answer))
            self._owner.stir(self)

    def read(self, token: int) -> None:
        if lease := self._leases.get(token):
            self._scheduler.read(lease)

    def unreserve(self, host: str, answer: Row, own_slot: bool) -> None:
        self._scheduler.unreserve(host, answer_in(answer), own_slot=own_slot)
        self._owner.stir(self)

    # What is asked

    async def add(self, rows: list[Row]) -> list[bool]:
        new = await self._scheduler.add([entry_in(row) for row in rows])
        added = sum(new)
        self._owner.added += added
        self._owner.stir(self, added)
        return new

    async def claim(self, worker: str) -> Row | None:
        lease = await self._scheduler.claim(worker or self.worker)
        self.hungry = lease is None
        if lease is None:
            return None
        self._leases[lease.token] = lease
        return lease_out(lease)

    async def wait(self, worker: str) -> float:
        return await self._scheduler.wait(worker or self.worker)

    async def settle(self, rows: list[tuple[int, Row]], state: dict[str, bytes]) -> None:
        settled = [(lease, outcome_in(outcome)) for token, outcome in rows if (lease := self._leases.pop(token, None))]
        await self._scheduler.settle(settled, state)
        self._owner.stir(self, len(rows))

    async def extend(self, tokens: list[int]) -> list[int]:
        known = [lease for token in tokens if (lease := self._leases.get(token))]
        gone = await self._scheduler.extend(known)
        return [token for token in tokens if token not in self._leases] + [lease.token for lease in gone]

    async def claim_start(self, worker: str) -> bool:
        return await self._scheduler.claim_start(worker or self.worker)

    async def end_start(self, drawn: bool) -> None:
        await self._scheduler.end_start(drawn=drawn)
        self._owner.stir(self)

    async def reserve(self, host: str, own_slot: bool) -> float:
        return await self._scheduler.reserve(host, own_slot=own_slot)

    async def failed(self) -> list[Row]:
        return [failed_out(failed) for failed in await self._scheduler.failed()]

    async def take_given_up(self) -> list[Row]:
        return [failed_out(failed) for failed in await self._scheduler.take_given_up()]

    async def busiest(self, limit: int) -> list[Row]:
        return [load_out(load) for load in await self._scheduler.busiest(limit)]

    async def slowest(self, limit: int) -> list[Row]:
        return [load_out(load) for load in await self._scheduler.slowest(limit)]
