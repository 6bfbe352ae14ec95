"""A dead host delays the crawl, it does not excuse it: what every scheduler promises about hosts that do not answer."""

from __future__ import annotations

import pytest

from openoctopus.scheduler import Scheduler
from openoctopus.scheduler.base import Again, Answer, Fail, Lease
from openoctopus.scheduler.hosts import DEAD_AFTER, DEAD_PAUSE, DEAD_PAUSE_MAX
from tests.contracts.conftest import Make
from tests.scheduler.virtual import GOOD, UNREACHABLE, Clock, balanced, claimed, done, entries, entry, rids, served

#: A host that is alive but never has time, so that not only dead hosts are left.
ELSEWHERE = "elsewhere.example"


async def fails(scheduler: Scheduler, worker: str = "") -> int:
    """One entry finds nobody, and will be tried again at once; its rid."""
    lease = await claimed(scheduler, worker)
    scheduler.fetched(lease, UNREACHABLE)
    await scheduler.settle([(lease, Again())])
    return lease.rid


async def claimed_after(scheduler: Scheduler, clock: Clock, seconds: float) -> Lease:
    clock.passes(seconds)
    return await claimed(scheduler)


async def dies(scheduler: Scheduler) -> None:
    for _ in range(DEAD_AFTER):
        await fails(scheduler)


async def given_up(scheduler: Scheduler) -> list[int]:
    return sorted(failed.entry.rid for failed in await scheduler.failed() if failed.reason == "host_unreachable")


@pytest.fixture
async def scheduler(make: Make) -> Scheduler:
    """One entry of another host is under way all the time."""
    scheduler = await make()
    await scheduler.add([entry(999, ELSEWHERE)])
    await claimed(scheduler, "elsewhere")
    return scheduler


async def test_a_host_that_keeps_failing_is_left_alone_for_growing_pauses(scheduler: Scheduler, clock: Clock) -> None:
    await scheduler.add(entries(30))
    await dies(scheduler)

    pauses = []
    for _ in range(7):
        assert await scheduler.claim() is None
        pauses.append(await scheduler.wait())
        clock.passes(pauses[-1])
        await fails(scheduler)

    assert pauses == [DEAD_PAUSE * 2**number for number in range(5)] + [DEAD_PAUSE_MAX] * 2


async def test_a_failure_now_and_then_kills_no_host(scheduler: Scheduler) -> None:
    await scheduler.add(entries(30))

    for _ in range(3):
        for _ in range(DEAD_AFTER - 1):
            await fails(scheduler)
        await done(scheduler, await claimed(scheduler), Answer(0.1, 500))

    assert await scheduler.runnable()


async def test_a_dead_host_is_tried_by_one_request_at_a_time(scheduler: Scheduler, clock: Clock) -> None:
    await scheduler.add(entries(30))
    await dies(scheduler)

    clock.passes(DEAD_PAUSE)

    assert len(await rids(scheduler)) == 1


async def test_requests_that_were_under_way_when_it_died_do_not_make_the_pause_longer(scheduler: Scheduler) -> None:
    await scheduler.add(entries(30))

    for lease in [await claimed(scheduler) for _ in range(8)]:
        scheduler.fetched(lease, UNREACHABLE)

    assert await scheduler.wait() == DEAD_PAUSE


async def test_a_host_that_comes_back_goes_on(scheduler: Scheduler, clock: Clock) -> None:
    await scheduler.add(entries(20))
    await dies(scheduler)
    clock.passes(DEAD_PAUSE)

    await done(scheduler, await claimed(scheduler), Answer(0.1, 404))

    assert len(await rids(scheduler)) == 8
    assert not (await scheduler.busiest())[0].dead
    assert await given_up(scheduler) == []


async def test_an_answer_that_was_under_way_when_the_host_seemed_dead_ends_its_pause(scheduler: Scheduler) -> None:
    await scheduler.add(entries(20))
    slow = await claimed(scheduler)
    await dies(scheduler)
    assert await scheduler.claim() is None

    await done(scheduler, slow)

    assert len(await rids(scheduler)) == 8


async def test_a_host_that_comes_back_still_has_the_time_that_it_asked_for(scheduler: Scheduler, clock: Clock) -> None:
    await scheduler.add(entries(20))
    slow = await claimed(scheduler)
    await dies(scheduler)

    await done(scheduler, slow, Answer(0.1, 503, retry_after=100))

    assert await scheduler.claim() is None
    assert await scheduler.wait() == 100


async def test_attempts_are_spent_by_real_failures_only(scheduler: Scheduler, clock: Clock) -> None:
    await scheduler.add(entries(12))
    await dies(scheduler)
    clock.passes(DEAD_PAUSE)
    await fails(scheduler)
    clock.passes(2 * DEAD_PAUSE)

    await done(scheduler, await claimed(scheduler))

    leases = [await claimed(scheduler) for _ in range(8)]
    attempts = {lease.rid: lease.entry.attempts for lease in leases}
    assert attempts == {8: 0, 9: 0, 10: 0, 11: 0, 12: 0, 1: 1, 2: 1, 3: 1}


async def test_while_other_hosts_are_alive_nothing_is_given_up(scheduler: Scheduler, clock: Clock) -> None:
    await scheduler.add(entries(3))
    await dies(scheduler)

    for _ in range(10):
        clock.passes(DEAD_PAUSE_MAX)
        await fails(scheduler)

    assert scheduler.counts.failed == 0


async def test_others_are_not_held_up_by_dead_hosts(scheduler: Scheduler) -> None:
    await scheduler.add(entries(20, priority=9))
    await dies(scheduler)
    await scheduler.add(entries(5, "b.example", first=101))

    assert await served(scheduler) == [101, 102, 103, 104, 105]


async def test_tries_of_dead_hosts_come_after_all_that_can_be_had_of_the_living(scheduler: Scheduler, clock: Clock) -> None:
    for number in range(20):
        await scheduler.add(entries(10, f"dead{number}.example", first=100 * number + 1001, priority=9))
        await dies(scheduler)
    clock.passes(DEAD_PAUSE)
    await scheduler.add(entries(5, "b.example", first=101, priority=-9))

    claimed_now = await rids(scheduler)

    assert claimed_now[:5] == [101, 102, 103, 104, 105]
    assert len(claimed_now) == 5 + 20


async def test_a_host_that_came_back_has_its_turn_among_the_living(scheduler: Scheduler, clock: Clock) -> None:
    await scheduler.add(entries(10, "a.example", priority=5))
    slow = await claimed(scheduler)
    await dies(scheduler)
    clock.passes(DEAD_PAUSE)
    await scheduler.add(entries(2, "b.example", first=101))
    assert await scheduler.runnable()

    await done(scheduler, slow)

    assert (await claimed(scheduler)).entry.host == "a.example"


# When only dead hosts are left


async def test_the_only_host_is_given_its_pause_then_one_try_then_its_entries_fail(make: Make, clock: Clock) -> None:
    scheduler = await make()
    await scheduler.add(entries(20))
    await dies(scheduler)
    assert await scheduler.claim() is None
    assert await given_up(scheduler) == []

    clock.passes(DEAD_PAUSE)
    probe = await fails(scheduler)

    assert await given_up(scheduler) == list(range(1, 21))
    assert probe in await given_up(scheduler)
    assert (scheduler.counts.pending, await scheduler.claim()) == (0, None)
    assert balanced(scheduler)
    assert all(failed.entry.attempts <= 1 for failed in await scheduler.failed())


async def test_an_only_host_that_comes_back_in_time_is_crawled_to_the_end(make: Make, clock: Clock) -> None:
    scheduler = await make()
    await scheduler.add(entries(20))
    await dies(scheduler)

    clock.passes(DEAD_PAUSE)

    assert len(await served(scheduler)) == 20


async def test_hosts_long_dead_are_each_tried_once_more_at_once(make: Make, clock: Clock) -> None:
    scheduler = await make()
    await scheduler.add([entry(999, ELSEWHERE)])
    alive = await claimed(scheduler, "elsewhere")
    hosts = ["a.example", "b.example", "c.example"]
    for number, host in enumerate(hosts):
        await scheduler.add(entries(10, host, first=100 * number + 1))
        await dies(scheduler)
    clock.passes(DEAD_PAUSE)
    for _ in hosts:
        await fails(scheduler)
    assert await scheduler.claim() is None

    await done(scheduler, alive)

    assert await scheduler.wait() == 0
    assert await scheduler.runnable()
    probes = [await claimed(scheduler) for _ in hosts]
    assert {lease.entry.host for lease in probes} == set(hosts)
    assert await scheduler.claim() is None
    for lease in (probes[0], probes[2]):
        scheduler.fetched(lease, UNREACHABLE)
        await scheduler.settle([(lease, Again())])
    await done(scheduler, probes[1])
    assert len(await served(scheduler)) == 9
    assert (scheduler.counts.pending, len(await given_up(scheduler)), (await given_up(scheduler))[-1] // 100) == (0, 20, 2)


async def test_what_is_delayed_fails_with_its_dead_host(make: Make, clock: Clock) -> None:
    scheduler = await make()
    await scheduler.add([*entries(9), entry(10, delay=3600)])
    await dies(scheduler)
    lease = await claimed_after(scheduler, clock, DEAD_PAUSE)

    scheduler.fetched(lease, UNREACHABLE)

    assert 10 in await given_up(scheduler)
    assert scheduler.counts.delayed == 0
    await scheduler.settle([(lease, Again(60.0))])
    assert scheduler.counts.pending == 0
    assert balanced(scheduler)


async def test_a_suspect_fails_with_its_dead_host(make: Make, clock: Clock) -> None:
    scheduler = await make()
    await scheduler.add([*entries(6), entry(7)])
    await dies(scheduler)
    clock.passes(DEAD_PAUSE)
    await claimed(scheduler, "doomed")
    await scheduler.release("doomed")

    await fails(scheduler, "new")

    assert scheduler.counts.pending == 0
    assert len(await given_up(scheduler)) == 7


async def test_a_page_that_is_still_read_may_lead_elsewhere_so_nothing_is_given_up_yet(make: Make, clock: Clock) -> None:
    scheduler = await make()
    await scheduler.add([entry(999, ELSEWHERE)])
    reading = await claimed(scheduler, "elsewhere")
    scheduler.fetched(reading, GOOD)
    await scheduler.add(entries(9))
    await dies(scheduler)
    for _ in range(3):
        clock.passes(DEAD_PAUSE_MAX)
        await fails(scheduler)
    assert await given_up(scheduler) == []

    await scheduler.add([entry(1000, ELSEWHERE)])
    await done(scheduler, reading)

    assert (await served(scheduler))[0] == 1000
    assert await given_up(scheduler) == []


async def test_what_the_scheduler_gives_up_by_itself_is_told_once(make: Make, clock: Clock) -> None:
    scheduler = await make()
    await scheduler.add([*entries(8), entry(9, delay=3600)])
    await dies(scheduler)
    lease = await claimed_after(scheduler, clock, DEAD_PAUSE)
    assert await scheduler.take_given_up() == []

    scheduler.fetched(lease, UNREACHABLE)
    await scheduler.settle([(lease, Fail("connection", "refused"))])

    told = await scheduler.take_given_up()
    assert sorted(failed.entry.rid for failed in told) == await given_up(scheduler)
    assert len(told) == 8
    assert {failed.reason for failed in told} == {"host_unreachable"}
    assert await scheduler.take_given_up() == []


async def test_thousands_of_dead_hosts_cost_one_pause_and_one_more_try_each(make: Make, clock: Clock) -> None:
    """Sixteen at a time, each try takes a second; the pauses of all pass together."""
    scheduler, hosts, at_once = await make(), 2000, 16
    for number in range(hosts):
        await scheduler.add(entries(DEAD_AFTER + 5, f"h{number}.example", first=100 * number + 1))
    began, tries = clock.now, 0

    while scheduler.counts.pending:
        leases = [lease for _ in range(at_once) if (lease := await scheduler.claim()) is not None]
        tries += len(leases)
        clock.passes(1.0)
        for lease in leases:
            scheduler.fetched(lease, UNREACHABLE)
        await scheduler.settle([(lease, Again(1.0)) for lease in leases])

    assert scheduler.counts.failed == hosts * (DEAD_AFTER + 5)
    assert tries == hosts * (DEAD_AFTER + 1)
    assert clock.now - began <= tries / at_once + DEAD_PAUSE + 5


async def test_an_entry_that_was_given_up_by_others_keeps_their_reason(make: Make, clock: Clock) -> None:
    scheduler = await make()
    await scheduler.add(entries(9))
    await dies(scheduler)
    lease = await claimed_after(scheduler, clock, DEAD_PAUSE)
    scheduler.fetched(lease, UNREACHABLE)

    await scheduler.settle([(lease, Fail("connection", "refused"))])

    assert [failed.reason for failed in await scheduler.failed()].count("connection") == 1
    assert scheduler.counts.pending == 0


async def test_a_probe_that_is_given_back_or_needs_no_fetch_gives_nothing_up(make: Make, clock: Clock) -> None:
    scheduler = await make()
    await scheduler.add(entries(9))
    await dies(scheduler)
    lease = await claimed_after(scheduler, clock, DEAD_PAUSE)

    await scheduler.settle([(lease, Again(spent=False))])
    await scheduler.settle([(await claimed(scheduler), Fail("ignored"))])

    assert await given_up(scheduler) == []
    await fails(scheduler)
    assert scheduler.counts.pending == 0


async def test_what_is_added_after_a_host_was_given_up_is_tried_once_more(make: Make, clock: Clock) -> None:
    scheduler = await make()
    await scheduler.add(entries(9))
    await dies(scheduler)
    clock.passes(DEAD_PAUSE)
    await fails(scheduler)

    await scheduler.add([entry(21), entry(22)])

    assert await scheduler.runnable()
    assert await fails(scheduler) == 21
    assert (await given_up(scheduler))[-2:] == [21, 22]
    await scheduler.add([entry(31)])
    assert await served(scheduler) == [31]


async def test_a_fetch_from_inside_finds_out_that_a_host_is_dead_or_back(scheduler: Scheduler, clock: Clock) -> None:
    await scheduler.add(entries(3))
    for _ in range(DEAD_AFTER):
        assert await scheduler.reserve("a.example") == 0
        scheduler.unreserve("a.example", UNREACHABLE)

    assert await scheduler.claim() is None
    assert await scheduler.reserve("a.example") == DEAD_PAUSE
    clock.passes(DEAD_PAUSE)
    assert await scheduler.reserve("a.example") == 0
    scheduler.unreserve("a.example", GOOD)
    assert len(await rids(scheduler)) == 3
