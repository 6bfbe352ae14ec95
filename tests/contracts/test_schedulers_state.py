"""What every scheduler promises about the state of other parts, and about who draws the first requests."""

from __future__ import annotations

from openoctopus.scheduler import Scheduler
from openoctopus.scheduler.base import DONE
from tests.scheduler.virtual import claimed, entry


async def test_state_is_kept_with_the_pages_that_are_settled(scheduler: Scheduler) -> None:
    await scheduler.add([entry(1)])
    lease = await claimed(scheduler)

    await scheduler.settle([(lease, DONE)], {"file:a": b"10", "file:b": b"20", "cookies": b"c"})
    await scheduler.settle([], {"file:a": b"30"})

    assert await scheduler.kept("file:") == {"file:a": b"30", "file:b": b"20"}
    assert await scheduler.kept("nothing") == {}


async def test_an_empty_value_takes_its_key_away(scheduler: Scheduler) -> None:
    await scheduler.settle([], {"a": b"1", "b": b"2"})
    await scheduler.settle([], {"a": b"", "c": b""})

    assert await scheduler.kept("") == {"b": b"2"}


async def test_one_worker_draws_the_first_requests(scheduler: Scheduler) -> None:
    assert await scheduler.claim_start("a")
    assert await scheduler.claim_start("a")
    assert not await scheduler.claim_start("b")


async def test_another_worker_draws_the_first_requests_if_that_one_dies(scheduler: Scheduler) -> None:
    assert await scheduler.claim_start("a")

    await scheduler.release("a")

    assert await scheduler.claim_start("b")
    assert not await scheduler.claim_start("a")


async def test_first_requests_that_are_drawn_are_not_drawn_again(scheduler: Scheduler) -> None:
    assert await scheduler.claim_start("a")
    await scheduler.end_start()
    await scheduler.release("a")

    assert not await scheduler.claim_start("b")


async def test_first_requests_may_come_until_somebody_says_that_there_are_no_more(scheduler: Scheduler) -> None:
    assert scheduler.starting
    await scheduler.claim_start("a")
    await scheduler.release("a")
    assert scheduler.starting

    await scheduler.claim_start("b")
    await scheduler.end_start(drawn=False)

    assert not scheduler.starting
    assert not await scheduler.claim_start("c")


async def test_the_hosts_that_first_requests_name_are_known(scheduler: Scheduler) -> None:
    scheduler.add_start_host("a.example")
    scheduler.add_start_host("a.example")

    assert scheduler.start_hosts == {"a.example"}
