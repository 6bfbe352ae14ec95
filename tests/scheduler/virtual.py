"""Schedulers in virtual time: their clock moves only when a test moves it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from openoctopus.dupefilter import RFPDupeFilter
from openoctopus.scheduler import MemoryScheduler, Scheduler
from openoctopus.scheduler.base import DONE, Answer, Entry, Lease
from openoctopus.settings import Settings

#: (settings, lease seconds, clock)
Factory = Callable[[Settings, float, Callable[[], float]], Scheduler]

#: A new scheduler joins the contract suite by a line here.
SCHEDULERS: dict[str, Factory] = {
    "memory": lambda settings, lease_seconds, clock: MemoryScheduler(
        RFPDupeFilter(), settings, clock=clock, lease_seconds=lease_seconds
    ),
}

GOOD = Answer(0.1, 200)
UNREACHABLE = Answer(unreachable=True)


class Clock:
    """Seconds that pass when somebody says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def passes(self, seconds: float) -> None:
        self.now += seconds


def settings(**options: Any) -> Settings:
    """Delays are exact unless a test asks for random ones."""
    return Settings.load({"test": {"RANDOMIZE_DOWNLOAD_DELAY": False, **options}})


def entry(rid: int, host: str = "a.example", **more: Any) -> Entry:
    return Entry(rid, host, b"%d" % rid, **more)


def entries(count: int, host: str = "a.example", first: int = 1, **more: Any) -> list[Entry]:
    return [entry(rid, host, **more) for rid in range(first, first + count)]


async def rids(scheduler: Scheduler, worker: str = "", limit: int = 100) -> list[int]:
    """Claim until nothing may go; what was given, in order."""
    given: list[int] = []
    while len(given) < limit and (lease := await scheduler.claim(worker)) is not None:
        given.append(lease.rid)
    return given


async def claimed(scheduler: Scheduler, worker: str = "") -> Lease:
    lease = await scheduler.claim(worker)
    assert lease is not None
    return lease


async def done(scheduler: Scheduler, lease: Lease, answer: Answer = GOOD) -> None:
    """The page was had, read and stored."""
    scheduler.fetched(lease, answer)
    await scheduler.settle([(lease, DONE)])


async def served(scheduler: Scheduler, limit: int = 100) -> list[int]:
    """Carry one request after the other until nothing may go; their order."""
    order: list[int] = []
    while len(order) < limit and (lease := await scheduler.claim()) is not None:
        order.append(lease.rid)
        await done(scheduler, lease)
    return order


def balanced(scheduler: Scheduler) -> bool:
    """Whether every entry that was added is in exactly one state."""
    counts = scheduler.counts
    return counts.added == counts.queued + counts.delayed + counts.leased + counts.done + counts.failed
