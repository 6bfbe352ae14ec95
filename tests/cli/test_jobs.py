"""``--job``: a crawl that goes on where it ended, in real processes."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
from contextlib import closing

import pytest

from openoctopus.testing import Site
from tests.cli.conftest import linked

SPIDER = """
from openoctopus import Spider


class Many(Spider):
    name = "many"
    custom_settings = {"DOWNLOAD_DELAY": 0.01, "RANDOMIZE_DOWNLOAD_DELAY": False}

    def __init__(self, site):
        super().__init__()
        self.start_urls = [site]

    def parse(self, response):
        yield {"url": response.url}
        yield from response.follow_all(css="a")
"""
PAGES = 150


@pytest.fixture
async def site():
    async with Site(linked(PAGES)) as site:
        yield site


@pytest.fixture
def many(octopus, site):
    octopus.write("many.py", SPIDER)
    return lambda *more: [
        "runspider", "many.py", "-a", f"site={site.url('/')}", "--job", "job", "-o", "sqlite:///items.db?table=items&key=url",
        "-s", "LOGSTATS_INTERVAL=0.1", *more,
    ]  # fmt: skip


async def asked_for(site, pages):
    while len(site.log) < pages:
        await asyncio.sleep(0.01)


def stored(octopus):
    with closing(sqlite3.connect(octopus.folder / "items.db")) as database:
        return sorted(url for (url,) in database.execute("SELECT url FROM items"))


def expected(site):
    return sorted([site.url("/"), *(site.url(f"/{n}") for n in range(PAGES))])


@pytest.mark.parametrize("workers", [(), ("--workers", "2")], ids=["alone", "workers"])
@pytest.mark.parametrize("way", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda way: way.name)
async def test_a_job_goes_on_where_it_ended(octopus, site, many, way, workers):
    crawl = await octopus.start(*many(*workers))
    await asked_for(site, 20)
    crawl.send(way)
    ended = await crawl.end()
    asked = len(site.log)

    ran = await octopus(*many(*workers))

    assert ended.code == (-signal.SIGKILL if way is signal.SIGKILL else 3)
    assert ran.code == 0
    assert "job job goes on, begun on " in ran.err
    assert "job        job, run 2: " in ran.err
    assert 0 < asked < PAGES
    assert stored(octopus) == expected(site)


@pytest.mark.parametrize("workers", [(), ("--workers", "2")], ids=["alone", "workers"])
async def test_what_was_done_is_not_done_again(octopus, site, many, workers):
    crawl = await octopus.start(*many(*workers))
    await asked_for(site, 20)
    crawl.send(signal.SIGTERM)
    await crawl.end()

    ran = await octopus(*many(*workers))

    assert len(site.log) == PAGES + 2, "one for each page, and for robots.txt"
    assert f"job        job, run 2: {PAGES + 1} pages and {PAGES + 1} items in all" in ran.err


async def test_a_second_process_is_refused(octopus, many):
    crawl = await octopus.start(*many())
    await crawl.until("begins")

    second = await octopus(*many())

    assert second.code == 2
    assert second.err.startswith(f"octopus: process {crawl.process.pid} is crawling job job")


async def test_a_finished_job_says_so_and_may_begin_anew(octopus, site, many):
    first, second, third = await octopus(*many()), await octopus(*many()), await octopus(*many("--fresh"))

    assert (first.code, second.code, third.code) == (0, 0, 0)
    assert second.err.startswith("octopus: job job was finished on 20")
    assert "--fresh" in second.err
    assert len(site.log) == 2 * (PAGES + 2)


async def test_a_scheduler_that_keeps_nothing_is_refused(octopus, many):
    ran = await octopus(*many("-s", "SCHEDULER=openoctopus.scheduler.MemoryScheduler"))

    assert ran.code == 2
    assert "keeps no JOB" in ran.err


async def test_a_name_that_is_no_file_name_is_refused(octopus, many):
    ran = await octopus(*many("--job", "../up"))

    assert ran.code == 2
    assert "JOB must be a name of up to 60 letters" in ran.err


async def test_a_job_that_is_lost_ends_with_its_own_code(octopus, site, many):
    crawl = await octopus.start(*many())
    await asked_for(site, 20)
    (octopus.folder / ".octopus/jobs/job/job.sqlite").unlink()

    ran = await crawl.end()

    assert ran.code == 4
    assert "job job cannot be written" in ran.err
