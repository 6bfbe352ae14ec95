"""Several workers at one owner's scheduler, over real sockets."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack

import pytest

from openoctopus.channel import Channel
from openoctopus.dupefilter import RFPDupeFilter
from openoctopus.scheduler import MemoryScheduler
from openoctopus.scheduler.base import DONE, Fail, Move
from openoctopus.scheduler.owner import APART, Desk, Owner
from openoctopus.scheduler.remote import KNOWN, RemoteScheduler
from tests.scheduler.virtual import GOOD, Clock, balanced, claimed, done, entries, entry, rids, settings


@pytest.fixture
def owner() -> Owner:
    dupefilter = RFPDupeFilter(fingerprint_bits=128)
    return Owner(MemoryScheduler(dupefilter, settings(CONCURRENT_REQUESTS_PER_DOMAIN=2), clock=Clock()))


class Worker(RemoteScheduler):
    """A worker's end, and the owner's."""

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self.desk = desk
        self.heard: list[int] = []
        self.news = self.heard.append
        self.there = Channel(desk.told, desk.asked, apart=APART, preface=desk.standing)
        desk.tell = self.there.tell
        self.channel = Channel(self.told)

    async def open(self) -> None:
        self._running = []
        for channel, end in zip((self.channel, self.there), socket.socketpair(), strict=True):
            await channel.open(end)
            self._running.append(asyncio.create_task(channel.run()))

    async def close(self) -> None:
        self.channel.close()
        await asyncio.wait(self._running)


@pytest.fixture
async def worker(owner: Owner) -> AsyncIterator[Callable[..., Worker]]:
    """Starts a worker of that name."""
    async with AsyncExitStack() as stack:

        async def started(name: str) -> Worker:
            return await stack.enter_async_context(Worker(owner.desk(name)))

        yield started


async def test_who_found_nothing_hears_of_what_others_bring(worker):
    a, b = await worker("a"), await worker("b")
    assert await a.claim() is None
    assert await b.claim() is None

    await b.add(entries(3))
    await a.recall("")

    assert a.heard == [3]
    assert b.heard == []
    assert await rids(a) == [1, 2]


async def test_who_waits_for_a_host_hears_when_it_is_free_again(worker):
    a, b = await worker("a"), await worker("b")
    await a.add(entries(4))
    lease, _ = await claimed(a), await claimed(a)
    assert await b.claim() is None

    a.fetched(lease, GOOD)
    await a.recall("")
    await b.recall("")

    assert b.heard == [1]
    assert (await claimed(b)).rid == 3


async def test_everybody_hears_that_nothing_is_left(worker):
    a, b = await worker("a"), await worker("b")
    await a.add(entries(1))
    lease = await claimed(a)
    assert await b.claim() is None

    await done(a, lease)
    await b.recall("")

    assert b.heard
    assert b.counts.pending == 0


async def test_what_a_dead_worker_held_goes_to_the_others(owner, worker):
    a, b = await worker("a"), await worker("b")
    await a.add(entries(2))
    assert await rids(a) == [1, 2]
    assert await b.claim() is None

    assert await owner.leave(a.desk) == 2
    await b.recall("")

    assert b.heard == [2]
    assert await rids(b) == [1]  # a suspect, and alone


async def test_a_claim_that_nobody_waits_for_any_more_is_given_back(owner, worker):
    a = await worker("a")
    await a.add(entries(1))
    claiming = asyncio.create_task(a.claim())
    await asyncio.sleep(0)

    claiming.cancel()
    await asyncio.wait([claiming])
    await a.runnable()
    await a.kept("")

    lease = await claimed(a)
    assert (lease.entry.attempts, lease.entry.lost) == (0, 0)
    assert balanced(owner.scheduler)


async def test_numbers_of_128_bits_come_through(owner, worker):
    a = await worker("a")
    first, second, third = 1 << 127, (1 << 64) - 1, 1 << 64

    assert await a.add([entry(first), entry(second)]) == [True, True]
    lease, other = await claimed(a), await claimed(a)
    assert (lease.rid, other.rid) == (first, second)
    await a.settle([(lease, Move(entry(third), 1 << 100)), (other, Fail("broken", "half \ud83d"))])

    assert (await claimed(a)).rid == third
    assert 1 << 100 in owner.scheduler._policy.seen
    assert [(failed.entry.rid, failed.detail) for failed in await a.failed()] == [(second, "half ?")]


async def test_what_was_added_lately_is_known_without_asking(worker):
    a, b = await worker("a"), await worker("b")
    await a.add(entries(KNOWN))
    await a.add(entries(10, first=KNOWN + 1))

    assert a.knows(KNOWN)
    assert a.knows(KNOWN + 10)
    assert not b.knows(1)
    await a.add(entries(2 * KNOWN, first=10 * KNOWN))
    assert not a.knows(10**9)


async def test_every_worker_knows_a_start_host_before_it_claims_an_entry_of_it(worker):
    a, b = await worker("a"), await worker("b")
    await b.recall("")

    a.add_start_host("a.example")
    await a.add(entries(1))
    lease = await claimed(b)

    assert b.start_hosts == {"a.example"}
    await b.settle([(lease, DONE)])


async def test_one_worker_draws_the_first_requests_and_the_others_know_when_they_are_drawn(worker):
    a, b = await worker("a"), await worker("b")
    assert await a.claim_start()
    assert not await b.claim_start()
    assert b.starting

    await a.end_start()
    await b.recall("")

    assert not b.starting
