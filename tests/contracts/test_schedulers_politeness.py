"""What every scheduler promises to the hosts that are crawled."""

from __future__ import annotations

import math

import pytest

from openoctopus.exceptions import SettingsError
from openoctopus.scheduler import Scheduler
from openoctopus.scheduler.base import DONE, Answer
from tests.contracts.conftest import Make
from tests.scheduler.virtual import GOOD, Clock, claimed, done, entries, entry, rids, served

BUSY = Answer(0.1, 503)


# How many at once


async def test_no_more_requests_are_under_way_to_a_host_than_allowed(make: Make) -> None:
    scheduler = await make(CONCURRENT_REQUESTS_PER_DOMAIN=3)
    await scheduler.add(entries(5))

    assert await rids(scheduler, "a") + await rids(scheduler, "b") == [1, 2, 3]
    assert await scheduler.wait() == math.inf


async def test_the_slot_is_free_when_the_body_is_there_not_when_the_page_is_stored(make: Make) -> None:
    scheduler = await make(CONCURRENT_REQUESTS_PER_DOMAIN=1)
    await scheduler.add(entries(3))
    first = await claimed(scheduler)

    scheduler.fetched(first, GOOD)

    assert await rids(scheduler) == [2]
    assert scheduler.counts.leased == 2


async def test_a_slot_is_freed_once_whatever_is_called_how_often(make: Make) -> None:
    scheduler = await make(CONCURRENT_REQUESTS_PER_DOMAIN=2)
    await scheduler.add(entries(9))
    first, _ = await claimed(scheduler), await claimed(scheduler)

    scheduler.fetched(first, GOOD)
    scheduler.fetched(first, GOOD)
    await scheduler.settle([(first, DONE), (first, DONE)])
    scheduler.fetched(first, GOOD)

    assert await rids(scheduler) == [3]


async def test_a_page_that_was_never_fetched_frees_its_slot_when_it_is_settled(make: Make) -> None:
    scheduler = await make(CONCURRENT_REQUESTS_PER_DOMAIN=1)
    await scheduler.add(entries(2))

    await scheduler.settle([(await claimed(scheduler), DONE)])

    assert await rids(scheduler) == [2]


async def test_a_host_may_have_its_own_rules(make: Make) -> None:
    scheduler = await make(DOWNLOAD_SLOTS={"a.example": {"concurrency": 1, "delay": 5}})
    await scheduler.add([*entries(3, "a.example"), *entries(3, "b.example", first=11)])

    assert await rids(scheduler) == [1, 11, 12, 13]
    assert (await scheduler.delay_of("a.example"), await scheduler.delay_of("b.example")) == (5, 0)


@pytest.mark.parametrize(
    "slot", [{"concurrency": 0}, {"delay": -1}, {"concurency": 1}, {"delay": "2"}, {"delay": float("inf")}, 3]
)
async def test_a_slot_that_makes_no_sense_is_refused(make: Make, slot: object) -> None:
    with pytest.raises(SettingsError, match=r"a\.example"):
        await make(DOWNLOAD_SLOTS={"a.example": slot})


# How far apart


async def test_one_at_a_time_the_delay_counts_from_the_end_of_the_fetch(make: Make, clock: Clock) -> None:
    scheduler = await make(CONCURRENT_REQUESTS_PER_DOMAIN=1, DOWNLOAD_DELAY=2)
    await scheduler.add(entries(2))
    first = await claimed(scheduler)

    clock.passes(5)
    scheduler.fetched(first, GOOD)
    assert await scheduler.wait() == 2
    clock.passes(1.9)
    assert await scheduler.claim() is None
    clock.passes(0.1)
    assert await rids(scheduler) == [2]


async def test_many_at_once_begin_a_delay_apart(make: Make, clock: Clock) -> None:
    scheduler = await make(CONCURRENT_REQUESTS_PER_DOMAIN=8, DOWNLOAD_DELAY=2)
    await scheduler.add(entries(4))

    given = []
    for _ in range(4):
        given.append(await rids(scheduler))
        assert await scheduler.wait() == (2 if len(given) < 4 else math.inf)
        clock.passes(2)

    assert given == [[1], [2], [3], [4]]


async def test_a_random_delay_is_never_shorter_than_asked_for_and_half_as_long_again_at_most(make: Make, clock: Clock) -> None:
    scheduler = await make(DOWNLOAD_DELAY=2, RANDOMIZE_DOWNLOAD_DELAY=True)
    await scheduler.add(entries(200))

    waits = set()
    for _ in range(199):
        await done(scheduler, await claimed(scheduler))
        waits.add(await scheduler.wait())
        clock.passes(await scheduler.wait() + 1e-9)

    assert 2 <= min(waits) < 2.1
    assert 2.9 < max(waits) <= 3
    assert len(waits) > 150


async def test_other_hosts_do_not_wait_for_a_slow_one(make: Make) -> None:
    scheduler = await make(DOWNLOAD_SLOTS={"host-0.example": {"concurrency": 1, "delay": 60}})
    await scheduler.add(entries(50, "host-0.example", priority=9))
    for number in range(1, 1000):
        await scheduler.add(entries(2, f"host-{number}.example", first=1000 * number))

    order = await served(scheduler, limit=5000)

    assert order[0] == 1
    assert len(order) == 1 + 2 * 999


async def test_the_wait_that_is_told_is_long_enough_and_no_longer(make: Make, clock: Clock) -> None:
    scheduler = await make(CONCURRENT_REQUESTS_PER_DOMAIN=1, DOWNLOAD_SLOTS={"b.example": {"delay": 7}}, DOWNLOAD_DELAY=3)
    await scheduler.add([*entries(5, "a.example"), *entries(3, "b.example", first=11), entry(21, "c.example", delay=4)])
    order, begun = [], clock.now

    while scheduler.counts.pending:
        wait = await scheduler.wait()
        clock.passes(wait * 0.99)
        assert wait == 0 or await scheduler.claim() is None
        clock.passes(wait * 0.01 + 1e-9)
        order += await served(scheduler)

    assert sorted(order) == [1, 2, 3, 4, 5, 11, 12, 13, 21]
    assert clock.now - begun == pytest.approx(14, abs=1e-6)


# What answers change


@pytest.mark.parametrize("status", [429, 503])
async def test_a_host_that_is_asked_too_much_is_left_alone_as_long_as_it_says(
    scheduler: Scheduler, clock: Clock, status: int
) -> None:
    await scheduler.add([*entries(3, "a.example"), *entries(2, "b.example", first=11)])

    await done(scheduler, await claimed(scheduler), Answer(0.1, status, retry_after=30))

    assert await rids(scheduler) == [11, 12]
    assert await scheduler.wait() == 30
    clock.passes(30)
    assert await scheduler.runnable()


async def test_no_pause_is_longer_than_the_setting(make: Make) -> None:
    scheduler = await make(RETRY_AFTER_MAX=20)
    await scheduler.add(entries(2))

    await done(scheduler, await claimed(scheduler), Answer(0.1, 429, retry_after=86400))

    assert await scheduler.wait() == 20


async def test_overload_slows_a_host_down_until_it_answers_well_again(scheduler: Scheduler, clock: Clock) -> None:
    await scheduler.add(entries(60))

    for expected in (0.2, 0.4, 0.8):
        await done(scheduler, await claimed(scheduler), BUSY)
        assert await scheduler.delay_of("a.example") == expected
        clock.passes(1)
    for expected in (0.4, 0.2, 0.1, 0.05, 0.0):
        for _ in range(10):
            await done(scheduler, await claimed(scheduler))
            clock.passes(1)
        assert await scheduler.delay_of("a.example") == pytest.approx(expected)


async def test_refusals_that_were_under_way_together_count_once(scheduler: Scheduler) -> None:
    await scheduler.add(entries(8))

    for lease in [await claimed(scheduler) for _ in range(8)]:
        scheduler.fetched(lease, BUSY)

    assert await scheduler.delay_of("a.example") == 0.2


async def test_errors_of_other_kinds_slow_nobody_down(scheduler: Scheduler) -> None:
    await scheduler.add(entries(9))

    for status in (404, 500, 502, 403):
        await done(scheduler, await claimed(scheduler), Answer(0.1, status))

    assert (await scheduler.delay_of("a.example"), await scheduler.wait()) == (0, 0)


async def test_throttling_follows_how_fast_a_host_answers(make: Make, clock: Clock) -> None:
    scheduler = await make(AUTOTHROTTLE_ENABLED=True, AUTOTHROTTLE_START_DELAY=4, AUTOTHROTTLE_TARGET_CONCURRENCY=2)
    await scheduler.add(entries(60))
    assert await scheduler.delay_of("a.example") == 4

    for latency, status, least, most in (
        (1.0, 200, 0.45, 0.55),
        (4.0, 404, 1.9, 2.1),
        (0.1, 500, 1.9, 2.1),
        (0.1, 200, 0, 0.1),
    ):
        for _ in range(14):
            await done(scheduler, await claimed(scheduler), Answer(latency, status))
            clock.passes(60)
        assert least <= await scheduler.delay_of("a.example") <= most


# What robots.txt asks for


async def test_a_crawl_delay_holds_from_the_moment_it_is_known(scheduler: Scheduler, clock: Clock) -> None:
    await scheduler.add(entries(3))
    await done(scheduler, await claimed(scheduler))

    scheduler.set_crawl_delay("a.example", 10)

    assert await scheduler.delay_of("a.example") == 10
    for expected in (2, 3):
        assert await scheduler.claim() is None
        assert await scheduler.wait() == 10
        clock.passes(10)
        assert await rids(scheduler) == [expected]


async def test_a_crawl_delay_only_ever_makes_slower_and_saying_it_again_changes_nothing(make: Make, clock: Clock) -> None:
    scheduler = await make(DOWNLOAD_DELAY=5)
    await scheduler.add(entries(3))
    scheduler.set_crawl_delay("a.example", 2)
    assert await scheduler.delay_of("a.example") == 5
    scheduler.set_crawl_delay("a.example", 8)
    assert await scheduler.delay_of("a.example") == 8

    clock.passes(6)
    scheduler.set_crawl_delay("a.example", 8)

    assert await scheduler.wait() == 2


async def test_a_crawl_delay_outlives_the_last_request_of_its_host(scheduler: Scheduler, clock: Clock) -> None:
    scheduler.set_crawl_delay("a.example", 10)

    clock.passes(1e5)
    for number in range(50):
        await scheduler.add([entry(100 + number, f"host-{number}.example")])

    assert await scheduler.delay_of("a.example") == 10


# Fetches from inside a page


async def test_a_slot_that_is_reserved_is_taken_from_those_of_the_queue(make: Make) -> None:
    scheduler = await make(CONCURRENT_REQUESTS_PER_DOMAIN=2)
    await scheduler.add(entries(3))

    assert await scheduler.reserve("a.example") == 0

    assert await rids(scheduler) == [1]
    assert await scheduler.reserve("a.example") == math.inf


async def test_a_fetch_from_inside_is_charged_like_a_claim(make: Make, clock: Clock) -> None:
    scheduler = await make(DOWNLOAD_DELAY=4)
    await scheduler.add(entries(2))

    assert await scheduler.reserve("a.example") == 0

    assert await scheduler.claim() is None
    assert await scheduler.reserve("a.example") == 4
    scheduler.unreserve("a.example", GOOD)
    clock.passes(4)
    assert await scheduler.reserve("a.example") == 0


async def test_a_slot_that_is_given_back_is_free_and_what_was_learnt_counts(make: Make, clock: Clock) -> None:
    scheduler = await make(CONCURRENT_REQUESTS_PER_DOMAIN=1)
    await scheduler.add(entries(2))
    await scheduler.reserve("a.example")

    scheduler.unreserve("a.example", Answer(0.1, 429, retry_after=9))

    assert await scheduler.claim() is None
    assert await scheduler.wait() == 9
    clock.passes(9)
    assert await rids(scheduler) == [1]


async def test_a_page_never_waits_behind_itself(make: Make, clock: Clock) -> None:
    scheduler = await make(CONCURRENT_REQUESTS_PER_DOMAIN=1, DOWNLOAD_DELAY=3)
    await scheduler.add(entries(2))
    lease = await claimed(scheduler)

    assert await scheduler.reserve("a.example", own_slot=True) == 3
    clock.passes(3)
    assert await scheduler.reserve("a.example", own_slot=True) == 0
    scheduler.unreserve("a.example", GOOD, own_slot=True)

    assert (await scheduler.busiest())[0].in_flight == 1
    await done(scheduler, lease)
    assert await scheduler.claim() is None
    clock.passes(3)
    assert await rids(scheduler) == [2]


async def test_who_was_refused_a_slot_gets_the_next_one(make: Make) -> None:
    scheduler = await make(CONCURRENT_REQUESTS_PER_DOMAIN=1)
    await scheduler.add([*entries(3, "a.example"), entry(11, "b.example")])
    first = await claimed(scheduler)
    assert await scheduler.reserve("a.example") == math.inf

    await done(scheduler, first)

    assert await rids(scheduler) == [11]
    assert await scheduler.reserve("a.example") == 0
    scheduler.unreserve("a.example", GOOD)
    assert await rids(scheduler) == [2]


async def test_a_slot_is_not_kept_for_long_for_who_does_not_come_back(make: Make, clock: Clock) -> None:
    scheduler = await make(CONCURRENT_REQUESTS_PER_DOMAIN=1)
    await scheduler.add(entries(2))
    first = await claimed(scheduler)
    await scheduler.reserve("a.example")
    await done(scheduler, first)

    assert await scheduler.claim() is None
    assert 0 < await scheduler.wait() <= 1
    clock.passes(await scheduler.wait())
    assert await rids(scheduler) == [2]
