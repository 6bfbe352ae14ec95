"""Signals end every crawl that is entered, and belong to the program again afterwards."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import threading
import weakref

import pytest

from openoctopus import Request, Spider, crawl
from openoctopus.interrupts import SIGNALS, Interrupts
from openoctopus.testing import Site, slowly


class Crawl:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def stop(self, reason: str = "shutdown") -> None:
        self.told.append(reason)

    def hurry(self) -> None:
        self.told.append("hurry")


@pytest.fixture(autouse=True)
def own_signals():
    """Whatever a test leaves behind goes."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def handlers() -> list[object]:
    return [signal.getsignal(number) for number in SIGNALS]


async def arrive(number: int = signal.SIGINT) -> None:
    os.kill(os.getpid(), number)
    await asyncio.sleep(0.01)


@pytest.mark.parametrize("number", SIGNALS)
async def test_once_lets_it_end_and_twice_hurries_it(number, caplog):
    one = Crawl()
    with Interrupts(one, 60.0):
        await arrive(number)
        assert one.told == ["shutdown"]
        await arrive(number)

    assert one.told == ["shutdown", "hurry"]
    name = signal.Signals(number).name
    assert [message.partition(":")[0] for message in caplog.messages] == [name, name]


async def test_what_is_under_way_has_so_many_seconds(caplog):
    one = Crawl()
    with Interrupts(one, 0.03):
        await arrive(signal.SIGTERM)
        assert one.told == ["shutdown"]
        await asyncio.sleep(0.04)

    assert one.told == ["shutdown", "hurry"]
    assert caplog.messages[-1].startswith("0.03 seconds are over: ")


async def test_a_crawl_that_ended_in_time_is_not_hurried():
    one = Crawl()
    with Interrupts(one, 0.02):
        await arrive()
    await asyncio.sleep(0.03)

    assert one.told == ["shutdown"]


async def test_several_crawls_are_ended_together_and_one_that_leaves_takes_no_signal_from_the_others():
    first, second = Crawl(), Crawl()
    with Interrupts(second, 60.0):
        with Interrupts(first, 60.0):
            pass
        await arrive()
        with Interrupts(first, 60.0):
            await arrive()

    assert second.told == ["shutdown", "hurry"]
    assert first.told == ["shutdown"]


async def test_signals_are_the_programs_again_afterwards():
    before = handlers()
    with Interrupts(Crawl(), 1.0):
        assert handlers() != before
    assert handlers() == before


async def test_a_signal_that_the_program_handles_or_ignores_stays_its_own():
    handled = []
    signal.signal(signal.SIGTERM, lambda number, frame: handled.append(number))
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    before, one = handlers(), Crawl()
    with Interrupts(one, 1.0):
        await arrive(signal.SIGTERM)
        await arrive(signal.SIGHUP)
        assert one.told == []
        await arrive(signal.SIGINT)

    assert handled == [signal.SIGTERM]
    assert one.told == ["shutdown"]
    assert handlers() == before


async def test_a_handler_that_was_set_meanwhile_stays():
    def own(number, frame) -> None: ...

    with Interrupts(Crawl(), 1.0):
        signal.signal(signal.SIGTERM, own)

    assert signal.getsignal(signal.SIGTERM) is own


def test_in_another_thread_nothing_is_done():
    before, seen = handlers(), []

    async def enter() -> None:
        with Interrupts(Crawl(), 1.0):
            seen.append(handlers())

    thread = threading.Thread(target=lambda: asyncio.run(enter()))
    thread.start()
    thread.join()

    assert seen == [before]


def test_asyncio_run_keeps_its_own_ctrl_c_after_a_crawl():
    async def twice() -> bool:
        before = signal.getsignal(signal.SIGINT)
        with Interrupts(Crawl(), 1.0):
            assert signal.getsignal(signal.SIGINT) is not before
        return signal.getsignal(signal.SIGINT) is before

    assert asyncio.run(twice())
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_nothing_of_a_crawl_is_kept_after_it():
    async def enter() -> Crawl:
        one = Crawl()
        with Interrupts(one, 1.0):
            return one

    ended = weakref.ref(asyncio.run(enter()))
    gc.collect()

    assert ended() is None


# Real crawls


class Slow(Spider):
    """Two pages; the second one takes its time."""

    name = "slow"

    async def start(self):
        yield Request(f"{self.site}quick")
        yield Request(f"{self.site}slow")

    def parse(self, response):
        yield {"url": response.url}


@pytest.fixture
async def site():
    async with Site({"/quick": "<h1>x</h1>", "/slow": slowly(20.0, "<h1>y</h1>")}) as site:
        yield site


async def until_asked(site: Site, times: int) -> None:
    async with asyncio.timeout(10):
        while sum(visit.path == "/slow" for visit in site.log) < times:
            await asyncio.sleep(0.01)


def options(site: Site) -> dict[str, object]:
    return {"site": site.url(), "ROBOTSTXT_OBEY": False, "keep_items": True, "DRAIN_SECONDS": 0.1}


async def test_two_crawls_at_once_end_by_one_ctrl_c(site):
    before = handlers()
    both = asyncio.gather(crawl(Slow, **options(site)), crawl(Slow, **options(site)))
    await until_asked(site, 2)

    os.kill(os.getpid(), signal.SIGINT)
    async with asyncio.timeout(5):
        results = await both

    assert [(result.reason, len(result.items)) for result in results] == [("shutdown", 1)] * 2
    assert handlers() == before


async def test_a_crawl_in_a_thread_leaves_the_signals_to_the_program(site):
    site.pages["/slow"] = "<h1>quick now</h1>"
    before = handlers()
    result = await asyncio.to_thread(lambda: asyncio.run(crawl(Slow, **options(site))))

    assert (result.reason, len(result.items)) == ("finished", 2)
    assert handlers() == before
