"""What every scheduler promises about leases, workers that die, and the entries they may have died of."""

from __future__ import annotations

import math

from openoctopus.scheduler import Scheduler
from openoctopus.scheduler.base import DONE, Again, Fail, Move
from tests.contracts.conftest import Make
from tests.scheduler.virtual import GOOD, Clock, balanced, claimed, done, entries, entry, rids

# Leases that run out


async def test_a_lease_that_runs_out_lets_another_worker_have_the_entry(make: Make, clock: Clock) -> None:
    scheduler = await make(lease_seconds=60)
    await scheduler.add([entry(1)])
    late = await claimed(scheduler, "slow")

    assert await scheduler.wait("other") == 60
    clock.passes(59)
    assert await scheduler.claim("other") is None
    clock.passes(1)
    second = await claimed(scheduler, "other")

    assert (second.rid, second.entry.lost, second.entry.attempts) == (1, 1, 0)
    assert second.token != late.token


async def test_who_comes_late_changes_nothing_at_all(make: Make, clock: Clock) -> None:
    scheduler = await make(lease_seconds=60)
    await scheduler.add([entry(1)])
    late = await claimed(scheduler, "slow")
    clock.passes(60)
    second = await claimed(scheduler, "other")
    before = str(scheduler.counts), [str(load) for load in await scheduler.busiest()]

    scheduler.fetched(late, GOOD)
    for outcome in (DONE, Again(), Again(5.0), Fail("late"), Move(entry(2), 70)):
        await scheduler.settle([(late, outcome)])
    assert await scheduler.extend([late]) == [late]

    assert (str(scheduler.counts), [str(load) for load in await scheduler.busiest()]) == before
    await done(scheduler, second)
    assert (scheduler.counts.done, scheduler.counts.pending) == (1, 0)


async def test_a_lease_that_is_extended_in_time_is_kept(make: Make, clock: Clock) -> None:
    scheduler = await make(lease_seconds=60)
    await scheduler.add(entries(2))
    kept, lost = await claimed(scheduler, "a"), await claimed(scheduler, "b")

    clock.passes(50)
    assert await scheduler.extend([kept]) == []
    clock.passes(50)

    assert (await claimed(scheduler, "c")).rid == lost.rid
    assert await scheduler.extend([kept, lost]) == [lost]
    await done(scheduler, kept)
    assert scheduler.counts.done == 1


async def test_without_a_limit_a_lease_is_held_for_ever(scheduler: Scheduler, clock: Clock) -> None:
    await scheduler.add([entry(1)])
    lease = await claimed(scheduler)

    clock.passes(1e9)

    assert await scheduler.claim() is None
    assert await scheduler.wait() == math.inf
    await done(scheduler, lease)
    assert scheduler.counts.done == 1


async def test_a_worker_that_comes_back_after_its_lease_ran_out_gets_work_again(make: Make, clock: Clock) -> None:
    scheduler = await make(lease_seconds=60)
    await scheduler.add(entries(2))
    await claimed(scheduler)
    await scheduler.release("")
    suspect = await claimed(scheduler)

    clock.passes(60)

    assert suspect.entry.lost == 1
    assert (await claimed(scheduler)).entry.lost == 2


# Workers that die


async def test_the_entries_of_a_dead_worker_wait_again_at_once(scheduler: Scheduler) -> None:
    await scheduler.add(entries(3))
    lost = [await claimed(scheduler, "doomed"), await claimed(scheduler, "doomed")]
    await claimed(scheduler, "other")

    assert await scheduler.release("doomed") == 2
    assert await scheduler.release("doomed") == 0

    again = await claimed(scheduler, "new")
    assert (again.rid, again.entry.lost, again.entry.attempts) == (lost[0].rid, 1, 0)
    assert (scheduler.counts.queued, scheduler.counts.leased) == (1, 2)


async def test_a_page_that_was_read_is_not_to_blame_for_the_death_of_its_worker(make: Make) -> None:
    scheduler = await make()
    await scheduler.add(entries(2))
    read, unread = await claimed(scheduler, "doomed"), await claimed(scheduler, "doomed")
    scheduler.read(read)

    assert await scheduler.release("doomed") == 2

    lost = {lease.rid: lease.entry.lost for lease in [await claimed(scheduler, "x"), await claimed(scheduler, "y")]}
    assert lost == {read.rid: 0, unread.rid: 1}


async def test_what_its_worker_settled_before_it_died_stays_settled(scheduler: Scheduler) -> None:
    await scheduler.add(entries(2))
    await done(scheduler, await claimed(scheduler, "doomed"))
    await claimed(scheduler, "doomed")

    assert await scheduler.release("doomed") == 1
    assert scheduler.counts.done == 1


async def test_an_entry_that_three_workers_died_of_has_failed(scheduler: Scheduler) -> None:
    await scheduler.add([entry(1)])

    for number in range(3):
        await claimed(scheduler, f"doomed-{number}")
        await scheduler.release(f"doomed-{number}")

    assert await scheduler.claim("another") is None
    assert [(failed.entry.rid, failed.reason, failed.entry.lost) for failed in await scheduler.failed()] == [
        (1, "worker_lost", 3)
    ]
    assert [failed.entry.rid for failed in await scheduler.take_given_up()] == [1]
    assert balanced(scheduler)


async def test_how_many_deaths_an_entry_may_cost_is_a_setting(make: Make) -> None:
    scheduler = await make(MAX_LOST=1)
    await scheduler.add([entry(1)])
    await claimed(scheduler, "doomed")

    await scheduler.release("doomed")

    assert scheduler.counts.failed == 1


async def test_the_slots_of_a_dead_worker_are_free_once_whether_it_had_fetched_or_not(make: Make) -> None:
    scheduler = await make(CONCURRENT_REQUESTS_PER_DOMAIN=2)
    await scheduler.add(entries(6))
    fetched, _ = await claimed(scheduler, "doomed"), await claimed(scheduler, "doomed")
    scheduler.fetched(fetched, GOOD)

    await scheduler.release("doomed")

    assert (await scheduler.busiest())[0].in_flight == 0
    held = [await claimed(scheduler, f"w{number}") for number in range(2)]
    assert [lease.rid for lease in held] == [1, 2]
    assert await scheduler.claim("w3") is None


# Suspects travel alone


async def suspects(scheduler: Scheduler, count: int) -> None:
    """Entries of which a worker may have died."""
    await scheduler.add(entries(count, first=901, lost=1))


async def test_a_suspect_goes_first_to_a_worker_that_holds_nothing(scheduler: Scheduler) -> None:
    await suspects(scheduler, 1)
    await scheduler.add([entry(1, "b.example", priority=9)])

    assert (await claimed(scheduler, "new")).rid == 901


async def test_a_worker_that_holds_something_gets_no_suspect_and_is_not_held_up_by_it(scheduler: Scheduler) -> None:
    await scheduler.add([entry(1), entry(2)])
    await claimed(scheduler, "busy")
    await suspects(scheduler, 1)

    assert await rids(scheduler, "busy") == [2]
    assert (await claimed(scheduler, "idle")).rid == 901


async def test_a_worker_with_a_suspect_gets_nothing_else_until_it_is_settled(scheduler: Scheduler) -> None:
    await suspects(scheduler, 2)
    await scheduler.add(entries(2, "b.example"))
    suspect = await claimed(scheduler, "new")

    assert await scheduler.claim("new") is None
    assert await scheduler.wait("new") == math.inf
    scheduler.fetched(suspect, GOOD)
    assert await scheduler.claim("new") is None
    await done(scheduler, suspect)
    assert (await claimed(scheduler, "new")).rid == 902


async def test_others_work_on_while_a_suspect_is_out(scheduler: Scheduler) -> None:
    await suspects(scheduler, 1)
    await scheduler.add(entries(2))
    await claimed(scheduler, "new")

    assert await rids(scheduler, "other") == [1, 2]


async def test_workers_that_never_rest_give_way_to_a_suspect_after_a_while(scheduler: Scheduler, clock: Clock) -> None:
    await scheduler.add(entries(50, "b.example"))
    held = await claimed(scheduler, "busy")
    await suspects(scheduler, 1)

    for _ in range(20):
        clock.passes(0.75)
        lease = await scheduler.claim("busy")
        await done(scheduler, held)
        held = lease or await claimed(scheduler, "busy")
        if held.rid == 901:
            break

    assert held.rid == 901
    assert clock.now <= 1012


async def test_nobody_gives_way_to_a_suspect_that_may_not_go_yet(scheduler: Scheduler, clock: Clock) -> None:
    await scheduler.add(entries(3, "b.example"))
    await claimed(scheduler, "busy")
    await suspects(scheduler, 1)
    scheduler.set_crawl_delay("a.example", 60)

    clock.passes(30)

    assert await rids(scheduler, "busy") == [2, 3]


async def test_a_suspect_waits_for_its_hosts_turn(scheduler: Scheduler, clock: Clock) -> None:
    await suspects(scheduler, 1)
    scheduler.set_crawl_delay("a.example", 30)
    await scheduler.add([entry(1, "b.example")])

    await done(scheduler, await claimed(scheduler, "new"))
    assert await scheduler.claim("new") is None
    assert await scheduler.wait("new") == 30
    clock.passes(30)
    assert (await claimed(scheduler, "new")).rid == 901


async def test_a_suspect_that_is_tried_again_is_still_a_suspect(scheduler: Scheduler) -> None:
    await suspects(scheduler, 1)
    await scheduler.add([entry(1)])

    await scheduler.settle([(await claimed(scheduler, "new"), Again())])

    again = await claimed(scheduler, "new")
    assert (again.rid, again.entry.attempts, again.entry.lost) == (901, 1, 1)
    assert await scheduler.claim("new") is None


async def test_an_entry_that_is_added_with_a_death_on_its_account_is_a_suspect(scheduler: Scheduler) -> None:
    await scheduler.add([entry(1, lost=2), entry(2)])

    assert await rids(scheduler, "new") == [1]
    assert await rids(scheduler, "other") == [2]
    await scheduler.release("new")
    assert [failed.reason for failed in await scheduler.failed()] == ["worker_lost"]
