"""What every scheduler promises about entries: who goes first, and what becomes of whom."""

from __future__ import annotations

import math

from openoctopus.scheduler import Scheduler
from openoctopus.scheduler.base import DONE, Again, Fail, Move
from tests.contracts.conftest import Make
from tests.scheduler.virtual import Clock, balanced, claimed, done, entries, entry, rids, served

# What is added


async def test_an_empty_scheduler_has_nothing_to_give(scheduler: Scheduler) -> None:
    assert await scheduler.claim() is None
    assert not await scheduler.runnable()
    assert await scheduler.wait() == math.inf
    assert scheduler.counts.pending == 0


async def test_an_entry_is_added_once_whatever_became_of_it(scheduler: Scheduler) -> None:
    assert await scheduler.add([entry(1), entry(1), entry(2)]) == [True, False, True]

    first = await claimed(scheduler)
    assert await scheduler.add([entry(1), entry(2)]) == [False, False]
    await done(scheduler, first)
    await scheduler.settle([(await claimed(scheduler), Fail("broken"))])

    assert await scheduler.add([entry(1), entry(2)]) == [False, False]
    assert await scheduler.claim() is None
    assert (scheduler.counts.added, scheduler.counts.duplicates) == (2, 5)


async def test_what_is_refused_leaves_no_trace(scheduler: Scheduler) -> None:
    await scheduler.add([entry(1, "a.example")])

    await scheduler.add([entry(1, "b.example", priority=9)])

    assert [load.host for load in await scheduler.busiest()] == ["a.example"]
    assert await served(scheduler) == [1]
    assert scheduler.counts.added == 1


async def test_every_entry_is_in_one_state_at_any_time(make: Make, clock: Clock) -> None:
    scheduler = await make(lease_seconds=60)
    await scheduler.add([*entries(8), entry(20, delay=5)])
    assert balanced(scheduler)

    for outcome in (DONE, Again(), Again(3.0), Again(spent=False), Fail("x"), Move(entry(30, "b.example"), 31)):
        await scheduler.settle([(await claimed(scheduler), outcome)])
        assert balanced(scheduler)
    await claimed(scheduler, "doomed")
    await scheduler.release("doomed")
    assert balanced(scheduler)
    await claimed(scheduler)
    clock.passes(61)
    await scheduler.claim()
    assert balanced(scheduler)
    assert scheduler.counts.added == 10


async def test_what_is_finished_stays_finished(make: Make, clock: Clock) -> None:
    scheduler = await make(lease_seconds=60)
    await scheduler.add(entries(3))

    await served(scheduler)
    clock.passes(1e6)

    assert scheduler.counts.pending == 0
    assert await scheduler.claim() is None
    assert (await scheduler.wait(), await scheduler.runnable()) == (math.inf, False)


# Who goes first


async def test_within_a_host_the_best_priority_goes_first_then_the_oldest(scheduler: Scheduler) -> None:
    await scheduler.add([entry(1), entry(2, priority=5), entry(3), entry(4, priority=5), entry(5, priority=-1)])

    assert await served(scheduler) == [2, 4, 1, 3, 5]


async def test_between_hosts_the_best_priority_goes_first(scheduler: Scheduler) -> None:
    await scheduler.add([entry(1, "a.example"), entry(2, "b.example", priority=7), entry(3, "c.example", priority=9)])

    assert await served(scheduler) == [3, 2, 1]


async def test_hosts_of_one_priority_take_turns(scheduler: Scheduler) -> None:
    await scheduler.add(entries(3, "a.example"))
    await scheduler.add(entries(3, "b.example", first=11))
    await scheduler.add(entries(3, "c.example", first=21))

    assert await served(scheduler) == [1, 11, 21, 2, 12, 22, 3, 13, 23]


async def test_a_more_urgent_entry_lifts_its_host(scheduler: Scheduler) -> None:
    await scheduler.add([entry(1, "a.example"), entry(2, "b.example", priority=3)])

    await scheduler.add([entry(3, "a.example", priority=5)])

    assert await served(scheduler) == [3, 2, 1]


async def test_a_page_that_is_continued_goes_before_all_of_its_host_but_lifts_no_other_host(scheduler: Scheduler) -> None:
    await scheduler.add([entry(1, "a.example"), entry(2, "b.example", priority=3), entry(3, "a.example", priority=5)])
    lease = await claimed(scheduler)

    await scheduler.settle([(lease, Move(entry(4, "a.example"), 104))])

    assert lease.rid == 3
    assert await served(scheduler) == [2, 4, 1]


async def test_a_page_that_is_continued_holds_back_no_urgent_one(scheduler: Scheduler) -> None:
    await scheduler.add(
        [entry(1, "a.example", priority=9), entry(2, "a.example", priority=8), entry(3, "b.example", priority=7)]
    )
    lease = await claimed(scheduler)

    await scheduler.settle([(lease, Move(entry(4, "a.example"), 104))])

    assert await served(scheduler) == [4, 2, 3]


async def test_a_delayed_entry_goes_when_its_time_has_come_and_not_before(scheduler: Scheduler, clock: Clock) -> None:
    await scheduler.add([entry(1, delay=10), entry(2, delay=4)])
    assert (scheduler.counts.queued, scheduler.counts.delayed) == (0, 2)

    assert await scheduler.claim() is None
    assert await scheduler.wait() == 4
    clock.passes(4)
    assert await scheduler.runnable()
    assert await served(scheduler) == [2]
    assert await scheduler.wait() == 6
    clock.passes(6)
    assert await served(scheduler) == [1]


async def test_nobody_waits_for_a_delayed_entry(scheduler: Scheduler) -> None:
    await scheduler.add([entry(1, priority=9, delay=60), entry(2)])

    assert await served(scheduler) == [2]


# What becomes of an entry


async def test_an_entry_is_in_one_hand_only(scheduler: Scheduler) -> None:
    await scheduler.add(entries(3))

    assert [(await claimed(scheduler, worker)).rid for worker in ("a", "b", "a")] == [1, 2, 3]
    assert await scheduler.claim("b") is None


async def test_settling_twice_counts_once(scheduler: Scheduler) -> None:
    await scheduler.add(entries(2))
    lease = await claimed(scheduler)

    await scheduler.settle([(lease, DONE), (lease, Fail("late"))])
    await scheduler.settle([(lease, Again())])

    assert (scheduler.counts.done, scheduler.counts.failed, scheduler.counts.queued) == (1, 0, 1)


async def test_another_try_spends_an_attempt_and_waits_its_turn(scheduler: Scheduler, clock: Clock) -> None:
    await scheduler.add(entries(2))
    lease = await claimed(scheduler)

    await scheduler.settle([(lease, Again(delay=2.0))])

    assert await served(scheduler) == [2]
    assert await scheduler.wait() == 2
    clock.passes(2)
    again = await claimed(scheduler)
    assert (again.rid, again.entry.attempts, again.entry.lost) == (1, 1, 0)


async def test_what_is_given_back_spends_nothing_and_goes_first(scheduler: Scheduler) -> None:
    await scheduler.add(entries(3))
    lease = await claimed(scheduler)

    await scheduler.settle([(lease, Again(spent=False))])

    back = await claimed(scheduler)
    assert (back.rid, back.entry.attempts, back.entry.lost) == (1, 0, 0)


async def test_what_is_given_back_for_later_comes_back_later(scheduler: Scheduler, clock: Clock) -> None:
    await scheduler.add(entries(2))

    await scheduler.settle([(await claimed(scheduler), Again(30.0, spent=False))])

    assert await served(scheduler) == [2]
    clock.passes(30)
    assert (await claimed(scheduler)).entry.attempts == 0


async def test_a_failed_entry_is_kept_with_its_reason(scheduler: Scheduler) -> None:
    await scheduler.add([entry(1), entry(2)])
    await scheduler.settle([(await claimed(scheduler), Again())])

    await scheduler.settle([(await claimed(scheduler), Fail("http_500", "status 500"))])
    await scheduler.settle([(await claimed(scheduler), Fail("dns", "no address"))])

    kept = [(failed.entry.rid, failed.reason, failed.detail, failed.entry.attempts) for failed in await scheduler.failed()]
    assert kept == [(2, "http_500", "status 500", 0), (1, "dns", "no address", 1)]
    assert scheduler.counts.failed == 2


async def test_no_more_failed_entries_are_kept_than_asked_for_but_all_are_counted(make: Make) -> None:
    scheduler = await make(MAX_FAILED=2)
    await scheduler.add(entries(4))

    for _ in range(4):
        await scheduler.settle([(await claimed(scheduler), Fail("x"))])

    assert [failed.entry.rid for failed in await scheduler.failed()] == [3, 4]
    assert scheduler.counts.failed == 4


async def test_a_moved_entry_is_not_filtered_keeps_its_attempts_and_is_done_itself(scheduler: Scheduler) -> None:
    await scheduler.add([entry(1, "a.example"), entry(2, "b.example"), entry(50, "b.example")])
    await scheduler.settle([(await claimed(scheduler), Again())])
    moved = next(lease for lease in (await claimed(scheduler), await claimed(scheduler)) if lease.rid == 1)

    await scheduler.settle([(moved, Move(entry(3, "b.example"), 50))])

    lease = await claimed(scheduler)
    assert (lease.rid, lease.entry.attempts, scheduler.counts.done) == (3, 1, 1)


async def test_where_an_entry_moved_to_is_seen_from_then_on(scheduler: Scheduler) -> None:
    await scheduler.add([entry(1)])

    await scheduler.settle([(await claimed(scheduler), Move(entry(2, "b.example"), 70))])

    assert await scheduler.add([entry(70, "b.example"), entry(2, "b.example")]) == [False, False]
    assert await served(scheduler) == [2]


async def test_a_move_whose_rid_is_its_fingerprint_is_not_lost(scheduler: Scheduler) -> None:
    await scheduler.add([entry(1)])

    await scheduler.settle([(await claimed(scheduler), Move(entry(2), 2))])

    assert await served(scheduler) == [2]


async def test_a_page_that_is_moved_twice_to_the_same_place_is_there_once(make: Make, clock: Clock) -> None:
    scheduler = await make(lease_seconds=60)
    await scheduler.add([entry(1)])
    late = await claimed(scheduler)
    await scheduler.settle([(late, Move(entry(2, "b.example"), 70))])

    await scheduler.settle([(late, Move(entry(2, "b.example"), 70))])

    assert await served(scheduler) == [2]
    assert scheduler.counts.added == 2


async def test_a_moved_entry_waits_for_its_own_delay(scheduler: Scheduler, clock: Clock) -> None:
    await scheduler.add([entry(1)])

    await scheduler.settle([(await claimed(scheduler), Move(entry(2, "b.example", delay=3), 70))])

    assert await scheduler.claim() is None
    clock.passes(3)
    assert await rids(scheduler) == [2]


# Pauses


async def test_a_pause_stops_claims_and_nothing_else(make: Make, clock: Clock) -> None:
    scheduler = await make(lease_seconds=60)
    await scheduler.add(entries(3))
    lease = await claimed(scheduler)

    scheduler.pause(True)
    await scheduler.add([entry(4)])
    await done(scheduler, lease)

    assert await scheduler.claim() is None
    assert (await scheduler.runnable(), await scheduler.wait()) == (False, math.inf)
    assert (scheduler.counts.queued, scheduler.counts.done) == (3, 1)
    scheduler.pause(False)
    assert await scheduler.runnable()
    assert await served(scheduler) == [2, 3, 4]


# What is known of hosts


async def test_what_is_remembered_is_recalled_until_its_time_is_over(scheduler: Scheduler, clock: Clock) -> None:
    await scheduler.remember("robots:http://a.example", b"=rules", 60)
    await scheduler.remember("robots:http://b.example", b"", 60)

    assert await scheduler.recall("robots:http://a.example") == b"=rules"
    assert await scheduler.recall("robots:http://b.example") == b""
    assert await scheduler.recall("robots:http://c.example") is None
    await scheduler.remember("robots:http://a.example", b"=more", 90)
    clock.passes(60)
    assert await scheduler.recall("robots:http://a.example") == b"=more"
    assert await scheduler.recall("robots:http://b.example") is None


async def test_the_busiest_and_the_slowest_hosts_can_be_seen(scheduler: Scheduler) -> None:
    await scheduler.add([*entries(3, "a.example"), *entries(2, "b.example", first=11), entry(21, "c.example")])
    lease = await claimed(scheduler)

    assert [(load.host, load.queued, load.in_flight) for load in await scheduler.busiest(2)] == [
        ("a.example", 2, 1),
        ("b.example", 2, 0),
    ]
    assert await scheduler.slowest() == []
    await done(scheduler, lease)
    assert [(load.host, load.latency) for load in await scheduler.slowest(5)] == [("a.example", 0.1)]
