"""Schedulers in virtual time: their clock moves only when a test moves it."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import tempfile
import weakref
from collections.abc import Callable
from typing import Any

from openoctopus.channel import Channel
from openoctopus.dupefilter import RFPDupeFilter
from openoctopus.scheduler import MemoryScheduler, Scheduler, SqliteScheduler
from openoctopus.scheduler.base import DONE, Answer, Entry, Lease
from openoctopus.scheduler.owner import APART, Owner
from openoctopus.scheduler.remote import RemoteScheduler
from openoctopus.settings import Settings

#: (settings, lease seconds, clock)
Factory = Callable[[Settings, float, Callable[[], float]], Scheduler]


def in_memory(settings: Settings, lease_seconds: float, clock: Callable[[], float]) -> MemoryScheduler:
    return MemoryScheduler(RFPDupeFilter(), settings, clock=clock, lease=lease_seconds)


class InATemporaryFolder(SqliteScheduler):
    """A job that is gone with its scheduler."""

    commit_every = 0.0

    def __init__(self, options: Settings, lease_seconds: float, clock: Callable[[], float]) -> None:
        folder = tempfile.mkdtemp(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
        weakref.finalize(self, shutil.rmtree, folder)
        options = options.model_copy(update={"JOB": "job", "JOBS_DIR": folder})
        super().__init__(RFPDupeFilter(), options, clock=clock, lease=lease_seconds)


class OverASocket(RemoteScheduler):
    """The scheduler of an owner, whose end of the socket is in this process too."""

    def __init__(self, owned: Scheduler) -> None:
        super().__init__()
        self._owned = owned

    async def open(self) -> None:
        await self._owned.open()
        desk = Owner(self._owned).desk("")
        there = Channel(desk.told, desk.asked, apart=APART, preface=desk.standing)
        desk.tell = there.tell
        self.channel = Channel(self.told)
        self._running = []
        for channel, end in zip((self.channel, there), socket.socketpair(), strict=True):
            await channel.open(end)
            self._running.append(asyncio.create_task(channel.run()))

    async def close(self) -> None:
        self.channel.close()
        await asyncio.wait(self._running)
        await self._owned.close()


#: A new scheduler joins the contract suite by a line here.
SCHEDULERS: dict[str, Factory] = {
    "memory": in_memory,
    "sqlite": InATemporaryFolder,
    "remote": lambda settings, lease_seconds, clock: OverASocket(in_memory(settings, lease_seconds, clock)),
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
