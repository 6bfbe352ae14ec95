"""The policy at size: a hundred thousand hosts, long crawls, little memory and little time."""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from openoctopus.dupefilter import RFPDupeFilter
from openoctopus.http import Request
from openoctopus.http.codec import freeze
from openoctopus.scheduler import MemoryScheduler
from openoctopus.scheduler.base import DONE, Again, Answer, Entry
from openoctopus.scheduler.hosts import KEEP, Politeness
from openoctopus.scheduler.policy import AT_ONCE, Policy
from openoctopus.scheduler.seen import Exact64Seen
from tests.scheduler.virtual import GOOD, UNREACHABLE, entries, entry, settings


def policy(**rules: object) -> Policy:
    return Policy(Exact64Seen(), Politeness(spread=(1.0, 1.0), **rules))  # type: ignore[arg-type]


def known(crawl: Policy) -> int:
    return sum(1 for _ in crawl.hosts())


def serve(crawl: Policy, now: float, answer: Answer = GOOD) -> bool:
    lease = crawl.claim("", now)
    if lease is not None:
        crawl.fetched(lease, answer, now)
        crawl.settle(lease, DONE, now)
    return lease is not None


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def seconds(work: Callable[[], object]) -> float:
    """Of this thread alone."""
    began = time.thread_time()
    work()
    return time.thread_time() - began


# Many hosts


def test_no_claim_is_held_up_by_all_hosts_waking_at_once() -> None:
    crawl = policy(concurrency=1, delay=1.0)
    count = 30_000
    for number in range(count):
        crawl.add([entry(2 * number + 1, f"host-{number}.example"), entry(2 * number + 2, f"host-{number}.example")], 0.0)
    for _ in range(count):
        assert serve(crawl, 0.0)
    assert not serve(crawl, 0.5)

    with no_garbage_collection():
        worst = max(seconds(lambda: serve(crawl, 60.0)) for _ in range(count))

    assert (crawl.counts.done, crawl.counts.queued) == (2 * count, 0)
    assert worst < 0.01


def test_more_than_one_claim_lets_in_is_let_in_by_the_next_ones() -> None:
    crawl = policy()
    count = 5 * AT_ONCE
    crawl.add([entry(number + 1, f"host-{number}.example", delay=3.0) for number in range(count)], 0.0)

    given = [crawl.claim(str(number), 3.0) for number in range(count)]

    assert len({lease.rid for lease in given if lease}) == count
    assert crawl.claim("", 3.0) is None


def test_a_claim_looks_further_where_the_first_that_are_due_cannot_go() -> None:
    crawl = policy()
    crawl.add(entries(5 * AT_ONCE, delay=1.0), 0.0)
    crawl.add([entry(9999, "b.example", delay=2.0)], 0.0)
    for _ in range(8):
        crawl.claim("", 1.0)
    assert crawl.claim("", 1.0) is None

    assert crawl.wait("", 1.0) == 1.0
    lease = crawl.claim("", 2.0)
    assert lease is not None
    assert lease.rid == 9999


def test_hosts_are_forgotten_when_nothing_is_left_to_know_of_them() -> None:
    crawl = policy()

    for number in range(5_000):
        crawl.add([entry(number + 1, f"host-{number}.example")], number)
        assert serve(crawl, number)

    assert known(crawl) < 10


def test_hosts_with_a_delay_are_forgotten_when_it_is_over() -> None:
    crawl = policy(delay=1.0)

    for number in range(5_000):
        crawl.add([entry(number + 1, f"host-{number}.example")], number / 100)
        assert serve(crawl, number / 100)

    assert 100 <= known(crawl) < 400


def test_a_dead_host_is_remembered_while_it_matters_and_then_forgotten() -> None:
    crawl = policy()
    crawl.add(entries(9, "dead.example"), 0.0)
    for _ in range(6):
        lease = crawl.claim("", 20.0)
        assert lease is not None
        crawl.fetched(lease, UNREACHABLE, 0.0)
        crawl.settle(lease, Again(), 0.0)
    while serve(crawl, 20.0, UNREACHABLE):
        pass

    names = []
    for now in (100.0, KEEP + 100.0):
        crawl.add([entry(100 + int(now) + number, f"{now}-{number}.example") for number in range(5)], now)
        names.append("dead.example" in {host.name for host in crawl.hosts()})

    assert names == [True, False]


# Long crawls


def kept_by(steps: Callable[[int], None]) -> int:
    """Bytes that 2,000 more steps leave behind, after 2,000."""
    for number in range(2_000):
        steps(number)
    gc.collect()
    tracemalloc.start()
    for number in range(2_000, 4_000):
        steps(number)
    gc.collect()
    kept = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return kept


def test_lifting_a_host_again_and_again_leaves_nothing_behind() -> None:
    crawl = policy()
    crawl.add([entry(1, "a.example"), entry(2, "b.example")], 0.0)

    def step(number: int) -> None:
        crawl.add([entry(10 + number, "a.example", priority=5)], 0.0)
        assert serve(crawl, 0.0)

    assert kept_by(step) < 60_000


def test_extending_leases_again_and_again_leaves_nothing_behind() -> None:
    crawl = Policy(Exact64Seen(), Politeness(), lease_seconds=1e6)
    crawl.add(entries(3), 0.0)
    leases = [crawl.claim("", 0.0) for _ in range(3)]

    def step(number: int) -> None:
        assert all(crawl.extend(lease, number) for lease in leases if lease)

    assert kept_by(step) < 10_000


def test_leases_that_end_leave_nothing_behind() -> None:
    crawl = Policy(Exact64Seen(), Politeness(), lease_seconds=1e6)

    def step(number: int) -> None:
        crawl.add([entry(number + 1)], 0.0)
        assert serve(crawl, 0.0)

    assert kept_by(step) < 60_000


def test_fetches_from_inside_leave_nothing_behind() -> None:
    crawl = policy(concurrency=2)
    crawl.add(entries(9), 0.0)

    def step(number: int) -> None:
        assert crawl.reserve("a.example", number, own_slot=False) == 0
        assert crawl.reserve("a.example", number, own_slot=False) == 0
        assert crawl.reserve("a.example", number, own_slot=False) > 0
        crawl.wait("", number)
        for _ in range(2):
            crawl.unreserve("a.example", GOOD, number, own_slot=False)

    assert kept_by(step) < 10_000


async def test_what_is_remembered_of_hosts_is_let_go_when_its_time_is_over() -> None:
    now = 0.0
    scheduler = MemoryScheduler(RFPDupeFilter(), settings(), clock=lambda: now)

    tracemalloc.start()
    for number in range(20_000):
        now = float(number)
        await scheduler.remember(f"robots:http://host-{number}.example", b"+", 100)
    kept = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()

    assert kept < 1_000_000


# Little memory, little time


@pytest.mark.parametrize("hosts", [1, 1000])
async def test_a_request_that_waits_takes_400_bytes_at_most(hosts: int) -> None:
    dupefilter = RFPDupeFilter()
    scheduler = MemoryScheduler(dupefilter, settings())
    gc.collect()
    tracemalloc.start()

    for number in range(20_000):
        request = Request(f"http://host-{number % hosts}.example/section/article-{number:06}.html", callback="parse_detail")
        frozen = freeze(request, str)
        await scheduler.add([Entry(dupefilter.fingerprint(request), request.host, frozen, request.priority)])
    taken = tracemalloc.get_traced_memory()[0] / 20_000
    tracemalloc.stop()

    assert taken <= 400


@pytest.mark.parametrize("hosts", [1, 5000])
def test_a_request_is_added_and_carried_in_microseconds(hosts: int) -> None:
    crawl = policy()
    found = [entry(number + 1, f"host-{number % hosts}.example") for number in range(20_000)]

    with no_garbage_collection():
        added = seconds(lambda: crawl.add(found, 0.0))
        carried = seconds(lambda: [serve(crawl, 0.0) for _ in range(20_000)])

    assert crawl.counts.done == 20_000
    assert added / 20_000 < 10e-6
    assert carried / 20_000 < 40e-6
