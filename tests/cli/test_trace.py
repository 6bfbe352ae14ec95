"""``--trace``: the history of each URL, in real processes."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
from contextlib import closing

import pytest

from openoctopus.testing import Site
from openoctopus.testing.site import slowly
from tests.cli.conftest import PATIENCE

SPIDER = """
from openoctopus import Request, Spider


class Some(Spider):
    name = "some"
    allowed_domains = ["127.0.0.1"]
    custom_settings = {"RETRY_TIMES": 1, "RETRY_DELAY": 0.1}

    def __init__(self, site):
        super().__init__()
        self.start_urls = [site]

    def parse(self, response):
        for path in ("/错误", "/moved", "/禁/1", "http://example.com/", "/bad"):
            for _ in range(2):
                yield Request(response.urljoin(path), self.read)

    def read(self, response):
        if response.url.endswith("bad"):
            raise ValueError("bad")
        if response.meta.get("redirect_times"):
            yield Request(response.urljoin("/slow"), self.read, priority=-1)
"""


@pytest.fixture
async def site():
    pages = {"/": "", "/robots.txt": (200, {}, "User-agent: *\nDisallow: /禁/\n"), "/bad": "", "/slow": slowly(60.0, "")}
    pages |= {"/%E9%94%99%E8%AF%AF": (503, {}, ""), "/%E6%96%B0": "new", "/moved": (302, {"Location": "/%E6%96%B0"}, "")}
    async with Site(pages) as site:
        yield site


@pytest.fixture
def some(octopus, site):
    octopus.write("some.py", SPIDER)
    return lambda *more: [
        "runspider", "some.py", "-a", f"site={site.url('/')}", "--job", "job", "-s", "DRAIN_SECONDS=0", *more
    ]  # fmt: skip


@pytest.fixture
def history(octopus, site):
    """What ``octopus why`` tells of the history of a path: what happened, and more about it."""

    async def ask(path):
        url = path if "://" in path else site.url(path)
        ran = await octopus("why", url, "--spider", "some.py", "-a", f"site={site.url('/')}")
        assert ran.code == 0, ran.err
        return [tuple(line.split("\t")[1:]) for line in ran.out.splitlines() if "\t" in line]

    return ask


async def busy(site, times=1):
    """Until the slow page was asked for so often, and what went before is written down."""
    async with asyncio.timeout(PATIENCE):
        while sum(visit.path == "/slow" for visit in site.log) < times:
            await asyncio.sleep(0.05)
        await asyncio.sleep(1.5)


def words(events):
    return [what for what, _ in events]


@pytest.mark.parametrize("workers", [(), ("--workers", "2")], ids=["alone", "workers"])
async def test_all_that_happened_to_a_url_is_told_also_after_a_kill(octopus, site, some, history, workers):
    crawl = await octopus.start(*some("--trace", *workers))
    await busy(site)
    crawl.send(signal.SIGKILL)
    await crawl.end()
    front = site.url("/")

    assert words(await history("/")) == ["found", "fetched", "settled"]
    failed = await history("/错误")
    assert words(failed) == ["found", "fetched", "again", "fetched", "failed"]
    assert failed[0][1] == f"link on {front}"
    assert failed[1][1].startswith("status 503, 0 bytes, in 0.")
    assert failed[2][1].endswith("an attempt was spent")
    assert failed[4][1] == "http_503: status 503"
    moved, target = await history("/moved"), await history("/新")
    assert moved[-1] == ("moved", f"to {site.url('/%E6%96%B0')}")
    assert target[0] == ("found", f"redirect on {site.url('/moved')}")
    assert words(target) == ["found", "fetched", "settled"]
    assert (await history("/禁/1"))[1] == ("refused", "robots.txt forbids")
    assert await history("http://example.com/") == [("refused", f"OffsiteMiddleware, on {front}")]
    assert (await history("/bad"))[-1] == ("failed", "callback:ValueError: read: bad")


async def test_a_later_run_adds_to_it_and_a_fresh_one_begins_anew(octopus, site, some, history):
    for times in (1, 2):
        crawl = await octopus.start(*some("--trace"))
        await busy(site, times)
        crawl.send(signal.SIGTERM)
        await crawl.end()
    kept = await history("/slow")

    crawl = await octopus.start(*some("--fresh"))
    await busy(site, 3)
    crawl.send(signal.SIGTERM)
    await crawl.end()

    assert words(kept) == ["found", "again", "again"]
    assert kept[-1][1] == "in 0.0 s, without an attempt"
    assert await history("/slow") == []


async def test_a_trace_that_cannot_be_written_costs_the_crawl_nothing(octopus, site, some):
    site.pages["/slow"] = slowly(2.0, "")
    crawl = await octopus.start(*some("--trace"))
    await crawl.until("begins")
    with closing(sqlite3.connect(octopus.folder / ".octopus/jobs/job/trace.sqlite")) as database:
        database.execute("DROP TABLE events")
    ran = await crawl.end()

    assert ran.code == 0
    assert "the trace cannot be written" in ran.err


async def test_where_there_can_be_no_trace_that_is_told(octopus, some):
    without_job = await octopus("runspider", "some.py", "-a", "site=http://127.0.0.1/", "--trace")
    (octopus.folder / ".octopus/jobs/job/trace.sqlite").mkdir(parents=True)
    in_the_way = await octopus(*some("--trace"))

    assert without_job.code == in_the_way.code == 2
    assert without_job.err.startswith("octopus: TRACE is kept with a job, and needs a name for it: --job NAME")
    assert "cannot keep the trace in " in in_the_way.err
