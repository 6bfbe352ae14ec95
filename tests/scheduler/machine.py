"""A scheduler beside the model of its rules, in virtual time, for Hypothesis or for a walk at random."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from openoctopus.scheduler.base import DONE, Again, Answer, Fail, Lease, Move, Outcome
from tests.scheduler.model import Model, Page
from tests.scheduler.virtual import GOOD, UNREACHABLE, Clock, Factory, entry, settings

T = TypeVar("T")

HOSTS = ("a.example", "b.example", "c.example", "slow.example")
WORKERS = ("w1", "w2", "")
hosts = st.sampled_from(HOSTS)
workers = st.sampled_from(WORKERS)
any_of_them = st.integers(0, 99)
ANSWERS = (
    GOOD, GOOD, Answer(0.5, 404), Answer(0.5, 503), Answer(0.5, 429, 2.0), Answer(0.5, 429, 400.0), UNREACHABLE, Answer(),
)  # fmt: skip
DELAYS = (0.0, 0.0, 0.0, 0.5, 4.0, 40.0)
TIMES = (0.125, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 300.0)
answers = st.sampled_from(ANSWERS)
pages = st.builds(Page, st.integers(1, 60), hosts, st.integers(-1, 2), lost=st.sampled_from([0] * 15 + [1]))
delays = st.sampled_from(DELAYS)


class Crawl(RuleBasedStateMachine):
    """A scheduler and the model side by side."""

    def __init__(self, factory: Factory) -> None:
        super().__init__()
        self.factory = factory
        self.loop = asyncio.new_event_loop()
        self.clock = Clock()
        self.leases: list[tuple[Lease, Page]] = []
        self.reserved: list[tuple[str, bool]] = []
        #: How often a host that could have gone was passed over for another one, by its rank.
        self.passed: dict[str, tuple[tuple[bool, int], Counter[str]]] = {}
        self.fresh_rid = 1000

    def teardown(self) -> None:
        self.wait_for(self.scheduler.close())
        self.loop.close()

    def wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    @initialize(
        concurrency=st.sampled_from([1, 2, 3, 8]),
        delay=st.sampled_from([0.0, 0.0, 0.5]),
        lease_seconds=st.sampled_from([math.inf, 20.0]),
        max_lost=st.integers(1, 3),
        count=st.integers(0, 40),
        spread=st.sampled_from([1, 7]),
    )
    def begin(self, concurrency: int, delay: float, lease_seconds: float, max_lost: int, count: int, spread: int) -> None:
        options = settings(
            CONCURRENT_REQUESTS_PER_DOMAIN=concurrency,
            DOWNLOAD_DELAY=delay,
            DOWNLOAD_SLOTS={"slow.example": {"concurrency": 1, "delay": 2}},
            MAX_LOST=max_lost,
        )
        self.scheduler = self.factory(options, lease_seconds, self.clock)
        self.wait_for(self.scheduler.open())
        self.model = Model(concurrency, delay, "slow.example", lease_seconds, max_lost)
        self.add([(Page(500 + number, HOSTS[number % spread % 4], 0), 0.0) for number in range(count)])

    # What a crawl does

    @rule(found=st.lists(st.tuples(pages, delays), min_size=1, max_size=8))
    def add(self, found: list[tuple[Page, float]]) -> None:
        new = self.wait_for(self.scheduler.add([self.entry(page, delay) for page, delay in found]))
        assert new == [self.model.add(page, delay) for page, delay in found]

    def entry(self, page: Page, delay: float) -> Any:
        return entry(page.rid, page.host, priority=page.priority, delay=delay, lost=page.lost)

    @rule(worker=workers, count=st.integers(1, 10))
    def claim(self, worker: str, count: int) -> None:
        while count and self.claimed(worker) is not None:
            count -= 1

    def claimed(self, worker: str) -> Lease | None:
        allowed, ranks = self.model.may_go(worker), self.model.runnable_hosts()

        lease = self.wait_for(self.scheduler.claim(worker))

        if lease is None:
            assert not allowed, f"{worker!r} was refused {allowed}"
            return None
        assert lease.rid in allowed, f"{worker!r} was given {lease.rid}, and not one of {allowed}"
        page = next(page for page in self.model.pages if page.rid == lease.rid)
        if not page.lost:
            self.take_turn(page.host, ranks)
        assert (lease.entry.attempts, lease.entry.lost, lease.worker) == (page.attempts, page.lost, worker)
        self.model.claim(page, worker)
        assert lease.expires == page.expires
        self.leases.append((lease, page))
        return lease

    def take_turn(self, host: str, ranks: dict[str, tuple[bool, int]]) -> None:
        for other, rank in ranks.items():
            if other != host and rank >= ranks[host]:
                times = self.passed.setdefault(other, (rank, Counter()))[1]
                times[host] += 1
                assert times[host] <= 2, f"{other} was passed over for {host} again and again"
        self.passed.pop(host, None)

    @precondition(lambda self: self.leases)
    @rule(number=any_of_them, answer=answers)
    def fetched(self, number: int, answer: Answer) -> None:
        lease, page = self.leases[number % len(self.leases)]
        self.scheduler.fetched(lease, answer)
        if self.is_held(lease, page):
            self.model.fetched(page, answer)

    @rule(answer=answers, held_back=st.integers(0, 3))
    def fetched_together(self, answer: Answer, held_back: int) -> None:
        for number in range(held_back, len(self.leases)):
            self.fetched(number, answer)

    @precondition(lambda self: self.leases)
    @rule(number=any_of_them)
    def read(self, number: int) -> None:
        lease, page = self.leases[number % len(self.leases)]
        if self.is_held(lease, page):
            page.read = True
            self.scheduler.read(lease)

    @precondition(lambda self: self.leases)
    @rule(number=any_of_them, again=delays, kind=st.integers(0, 5), onward=pages, seen=st.booleans())
    def settle(self, number: int, again: float, kind: int, onward: Page, seen: bool) -> None:
        lease, page = self.leases[number % len(self.leases)]
        move = self.moved(onward, again, seen)
        outcomes: list[Outcome] = [DONE, move, Again(again), Again(again, spent=False), Fail("broken"), move]
        self.settled(lease, page, outcomes[kind])

    def moved(self, onward: Page, delay: float = 0.0, seen: bool = False) -> Move:
        self.fresh_rid += 1
        rid = onward.rid if seen else self.fresh_rid
        return Move(entry(rid, onward.host, priority=onward.priority, delay=delay), onward.rid % 60 + 1)

    def settled(self, lease: Lease, page: Page, outcome: Outcome) -> None:
        self.wait_for(self.scheduler.settle([(lease, outcome), (lease, outcome)]))
        if self.is_held(lease, page):
            self.model.settle(page, outcome)
            self.forget(lease)

    def is_held(self, lease: Lease, page: Page) -> bool:
        """Whether it is the lease by which the entry is out now, and not an earlier one."""
        return page.state == "leased" and lease is [held for held, of in self.leases if of is page][-1]

    def forget(self, lease: Lease) -> None:
        """Half of the leases that have ended are kept, to be used too late."""
        if lease.token % 2:
            self.leases = [item for item in self.leases if item[0] is not lease]

    @precondition(lambda self: self.leases)
    @rule(number=any_of_them)
    def extend(self, number: int) -> None:
        lease, page = self.leases[number % len(self.leases)]
        lost = self.wait_for(self.scheduler.extend([lease]))
        assert lost == ([] if self.is_held(lease, page) else [lease])
        if not lost:
            self.model.extend(page)

    @rule(worker=workers)
    def worker_dies(self, worker: str) -> None:
        assert self.wait_for(self.scheduler.release(worker)) == self.model.release(worker)

    @rule(worker=workers, count=st.integers(1, 30), down=st.sets(hosts), again=delays, patient=st.booleans(), moves=hosts)
    def crawl(self, worker: str, count: int, down: set[str], again: float, patient: bool, moves: str) -> None:
        """Some entries one after the other, as a crawl goes; some hosts do not answer, one gives back or moves on."""
        for number in range(count):
            lease = self.claimed(worker)
            if lease is None and not patient:
                return
            if lease is None:
                self.time_passes_as_told(worker)
            else:
                page = self.leases[-1][1]
                self.fetched(len(self.leases) - 1, UNREACHABLE if page.host in down else GOOD)
                moved = Again(spent=False) if number % 3 else self.moved(Page(page.rid, page.host, -1))
                good = moved if page.host == moves and page.rid < 1000 and not page.front else DONE
                self.settled(lease, page, Again(again) if page.host in down else good)
            self.looks_right()

    # Fetches from inside, and what people say

    @rule(host=hosts, own=st.booleans())
    def reserve(self, host: str, own: bool) -> None:
        own = own and any(not page.fetched for page in self.model.those("leased", host=host))
        wait = self.wait_for(self.scheduler.reserve(host, own_slot=own))
        assert wait == self.model.reserve(host, own)
        if not wait:
            self.reserved.append((host, own))

    @precondition(lambda self: self.reserved)
    @rule(number=any_of_them, answer=answers)
    def unreserve(self, number: int, answer: Answer) -> None:
        host, own = self.reserved.pop(number % len(self.reserved))
        self.scheduler.unreserve(host, answer, own_slot=own)
        self.model.unreserve(host, answer, own)

    @rule(host=hosts, seconds=st.sampled_from([0.25, 1.0, 3.0]))
    def crawl_delay(self, host: str, seconds: float) -> None:
        self.scheduler.set_crawl_delay(host, seconds)
        self.model.set_crawl_delay(host, seconds)

    @rule(paused=st.sampled_from([True, False, False, False, False, False]))
    def pause(self, paused: bool) -> None:
        self.scheduler.pause(paused)
        self.model.paused = paused

    # Time

    @rule(seconds=st.sampled_from(TIMES))
    def time_passes(self, seconds: float) -> None:
        waits = {worker: self.wait_for(self.scheduler.wait(worker)) for worker in WORKERS}

        self.clock.passes(seconds)
        self.model.now = self.clock.now
        self.model.tick()

        for worker, wait in waits.items():
            if seconds < wait:
                assert not self.model.may_go(worker), f"{worker!r} was told to wait {wait} s"

    @rule(worker=workers)
    def time_passes_as_told(self, worker: str) -> None:
        wait = self.wait_for(self.scheduler.wait(worker))
        if 0 < wait < math.inf:
            self.time_passes(wait)
            assert self.model.may_go(worker) or self.wait_for(self.scheduler.wait(worker)) > 0

    # What must be true at any time

    @invariant()
    def looks_right(self) -> None:
        self.model.tick()
        if not self.model.paused:
            assert self.wait_for(self.scheduler.runnable()) >= any(map(self.model.may_go, WORKERS))
        for worker in WORKERS:
            assert not self.model.may_go(worker) or self.wait_for(self.scheduler.wait(worker)) == 0
        self.counts_agree()
        self.hosts_agree()
        still = self.model.runnable_hosts()
        self.passed = {host: item for host, item in self.passed.items() if still.get(host) == item[0]}

    def counts_agree(self) -> None:
        counts, states = self.scheduler.counts, Counter(page.state for page in self.model.pages)
        for state in ("queued", "delayed", "leased", "done", "failed"):
            assert getattr(counts, state) == states[state], state
        assert (counts.added, counts.duplicates) == (len(self.model.pages), self.model.duplicates)
        failed = self.wait_for(self.scheduler.failed())
        assert sorted((one.entry.rid, one.reason) for one in failed) == sorted(self.model.failed)

    def hosts_agree(self) -> None:
        loads = {load.host: load for load in self.wait_for(self.scheduler.busiest(len(HOSTS)))}
        for name in HOSTS:
            site = self.model.site(name)
            flying = self.model.flying(site)
            assert flying <= site.concurrency
            queued = len(self.model.line(name))
            assert (loads[name].in_flight, loads[name].queued) == (flying, queued) if name in loads else not (flying or queued)
            assert self.wait_for(self.scheduler.delay_of(name)) == site.delay


# A walk at random, which goes deeper than Hypothesis does in the same time


def a_page(random: Random) -> Page:
    return Page(random.randint(1, 60), random.choice(HOSTS), random.randint(-1, 2), lost=random.random() < 0.05)


def some_pages(random: Random) -> list[tuple[Page, float]]:
    return [(a_page(random), random.choice(DELAYS)) for _ in range(random.randint(1, 8))]


def steps(crawl: Crawl, random: Random) -> list[tuple[int, Callable[[], None]]]:
    """What may be done next, and how often it is done."""
    which, answer, delay = random.randint(0, 99), random.choice(ANSWERS), random.choice(DELAYS)
    worker, host, coin = random.choice(WORKERS), random.choice(HOSTS), random.random() < 0.5
    down = set(random.sample(HOSTS, random.randint(0, 4)))
    possible: list[tuple[int, Callable[[], None]]] = [
        (3, lambda: crawl.add(some_pages(random))),
        (6, lambda: crawl.claim(worker, random.randint(1, 10))),
        (3, lambda: crawl.fetched_together(random.choice([UNREACHABLE, answer]), random.randint(0, 3))),
        (1, lambda: crawl.worker_dies(worker)),
        (4, lambda: crawl.crawl(worker, random.randint(1, 20), down, delay, coin, host)),
        (6, lambda: crawl.reserve(host, coin)),
        (1, lambda: crawl.crawl_delay(host, random.choice([0.25, 1.0]))),
        (1, lambda: crawl.pause(random.random() < 0.2)),
        (5, lambda: crawl.time_passes(random.choice(TIMES))),
        (5, lambda: crawl.time_passes_as_told(worker)),
    ]
    if crawl.leases:
        possible.append((3, lambda: crawl.fetched(which, answer)))
        possible.append((6, lambda: crawl.settle(which, delay, random.randint(0, 5), a_page(random), coin)))
        possible.append((2, lambda: crawl.read(which)))
        possible.append((2, lambda: crawl.extend(which)))
    if crawl.reserved:
        possible.append((5, lambda: crawl.unreserve(which, answer)))
    return possible


def walk(factory: Factory, seed: int, length: int = 80) -> None:
    """One crawl of steps at random. Raises ``AssertionError`` where scheduler and model differ."""
    random, crawl = Random(seed), Crawl(factory)
    concurrency, delay, lease_seconds = (
        random.choice([1, 2, 3, 8]),
        random.choice([0.0, 0.0, 0.5]),
        random.choice([math.inf, 20.0]),
    )
    try:
        crawl.begin(concurrency, delay, lease_seconds, random.randint(1, 3), random.randint(0, 40), random.choice([1, 7]))
        for _ in range(length):
            crawl.looks_right()
            possible = steps(crawl, random)
            random.choices([step for _, step in possible], [weight for weight, _ in possible])[0]()
        crawl.looks_right()
    finally:
        crawl.teardown()
