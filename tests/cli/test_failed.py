"""``octopus jobs``, ``queue`` and ``failed``: what people see and do with a job, running or not."""

from __future__ import annotations

import asyncio
import json
import signal

import pytest

from openoctopus.testing import Site
from tests.cli.conftest import PATIENCE

SPIDER = """
from openoctopus import Request, Spider


class Some(Spider):
    name = "some"
    custom_settings = {"RETRY_TIMES": 0, "ROBOTSTXT_OBEY": False}

    def __init__(self, site, slow=0):
        super().__init__()
        self.start_urls, self.slow = [site], int(slow)

    def parse(self, response):
        for n in range(1, 5):
            yield Request(response.urljoin(f"/错误/{n}"), self.read, headers={"Authorization": "Basic abc"}, meta={"n": n})
        yield from (Request(response.urljoin(f"/{n}"), self.read, priority=n % 2) for n in range(1, 5))
        yield from (Request(response.urljoin(f"/slow/{n}"), self.read, delay=3600) for n in range(self.slow))

    def read(self, response):
        yield {"url": response.url}
"""


BROKEN = {f"/%E9%94%99%E8%AF%AF/{n}": (500, {}, "") for n in range(1, 5)}
MENDED = dict.fromkeys(BROKEN, "mended")


@pytest.fixture
async def site():
    async with Site({"/": ""} | {f"/{n}": "" for n in range(1, 5)} | BROKEN) as site:
        yield site


@pytest.fixture
def some(octopus, site):
    octopus.write("some.py", SPIDER)
    return lambda *more: ["runspider", "some.py", "-a", f"site={site.url('/')}", "--job", "job", "-o", "items.jsonl", *more]


@pytest.fixture
async def finished(octopus, some):
    ran = await octopus(*some())
    assert ran.code == 0, ran.err


async def until(octopus, words, *command):
    """Ask until these words are in the answer."""
    async with asyncio.timeout(PATIENCE):
        while words not in (await octopus(*command)).out:
            await asyncio.sleep(0.1)


async def test_failed_requests_are_listed_by_reason(octopus, finished):
    ran = await octopus("failed", "list")

    assert ran.code == 0
    what, reason, times, _, url = ran.out.strip().split("\t")
    assert (what, reason, times) == ("request", "http_500", "4")
    assert "/%E9%94%99%E8%AF%AF/" in url


async def test_what_is_known_of_them_is_shown_without_secrets(octopus, finished):
    ran = await octopus("failed", "show", "--limit", "1")

    assert ran.out.count("reason    http_500") == 1
    assert 'meta      {"n": ' in ran.out
    assert "callback  read" in ran.out
    assert '"Authorization": "***"' in ran.out
    assert "Basic abc" not in ran.out


async def test_they_are_exported_as_json_lines(octopus, finished):
    ran = await octopus("failed", "export", "failed.jsonl")

    lines = [json.loads(line) for line in (octopus.folder / "failed.jsonl").read_text("utf-8").splitlines()]
    assert "4 failures are in failed.jsonl" in ran.out
    assert sorted(line["meta"]["n"] for line in lines) == [1, 2, 3, 4]
    assert {line["reason"] for line in lines} == {"http_500"}


async def test_they_are_retried_when_the_job_goes_on(octopus, site, some, finished):
    site.pages.update(MENDED)

    asked = await octopus("failed", "retry", "--reason", "http_500")
    ran = await octopus(*some())

    assert "4 failed requests and 0 failed items wait for the next run" in asked.out
    assert ran.code == 0
    urls = [json.loads(line)["url"] for line in (octopus.folder / "items.jsonl").read_text("utf-8").splitlines()]
    assert len(urls) == len(set(urls)) == 8
    assert (await octopus("failed", "list")).out == ""


async def test_another_reason_is_left_alone(octopus, finished):
    ran = await octopus("failed", "retry", "--reason", "timeout")

    assert "0 failed requests and 0 failed items wait" in ran.out
    assert "http_500\t4" in (await octopus("failed", "list")).out
    assert "finished" in (await octopus("jobs")).out


async def test_forgotten_ones_are_not_fetched_again(octopus, site, some, finished):
    ran = await octopus("failed", "purge", "--yes")

    assert "4 failed requests and 0 failed items are forgotten" in ran.out
    assert (await octopus("failed", "list")).out == ""
    assert (await octopus(*some())).err.startswith("octopus: job job was finished")


async def test_a_running_job_takes_them_up(octopus, site, some):
    crawl = await octopus.start(*some("-a", "slow=2"))
    await until(octopus, "http_500\t4", "failed", "list")
    site.pages.update(MENDED)

    asked = await octopus("failed", "retry")
    await until(octopus, "done\t9", "queue")
    crawl.send(signal.SIGTERM)
    await crawl.end()

    assert f"process {crawl.process.pid} was asked to retry 4 failed requests and 0 failed items of job job" in asked.out
    urls = [json.loads(line)["url"] for line in (octopus.folder / "items.jsonl").read_text("utf-8").splitlines()]
    assert len(urls) == len(set(urls)) == 8


async def test_a_running_job_forgets_them(octopus, some):
    crawl = await octopus.start(*some("-a", "slow=2"))
    await until(octopus, "http_500\t4", "failed", "list")

    await octopus("failed", "purge", "--yes", "--reason", "http_500")
    async with asyncio.timeout(PATIENCE):
        while (await octopus("failed", "list")).out:
            await asyncio.sleep(0.1)

    crawl.send(signal.SIGTERM)
    assert (await crawl.end()).code == 3


async def test_what_waits_is_shown(octopus, some):
    crawl = await octopus.start(*some("-a", "slow=3"))
    await until(octopus, "done\t5", "queue")
    running = json.loads((await octopus("queue", "--json")).out)
    crawl.send(signal.SIGTERM)
    await crawl.end()
    stopped = json.loads((await octopus("queue", "--json")).out)

    assert (running["state"], running["pid"]) == ("running", crawl.process.pid)
    assert (running["delayed"], running["done"], running["failed"]) == (3, 5, 4)
    assert (stopped["state"], stopped["pid"], stopped["delayed"], stopped["under_way"]) == ("stopped", None, 3, 0)
    assert stopped["hosts"][0]["host"] == "127.0.0.1"
    assert stopped["priorities"] == [{"priority": 0, "waiting": 3}]


async def test_jobs_are_listed(octopus, some, finished):
    await octopus(*some("--job", "other", "-s", "CLOSESPIDER_PAGECOUNT=1"))

    out = (await octopus("jobs")).out.splitlines()

    assert out[0].startswith("job\tsome\tfinished 20")
    assert out[1].startswith("other\tsome\tstopped")


@pytest.mark.parametrize("command", [["queue"], ["failed", "list"], ["failed", "retry"], ["failed", "purge", "--yes"]])
async def test_without_a_job_it_is_said(octopus, command):
    ran = await octopus(*command)

    assert ran.code == 2
    assert "which job? --job NAME: there are none in .octopus/jobs" in ran.err


async def test_of_several_jobs_one_must_be_named(octopus, some, finished):
    await octopus(*some("--job", "other"))

    ran, wrong = await octopus("queue"), await octopus("queue", "--job", "third")

    assert (ran.code, wrong.code) == (2, 2)
    assert "which job? --job NAME: one of job, other" in ran.err
    assert "there is no job third in .octopus/jobs; there are: job, other" in wrong.err


async def test_a_broken_off_job_says_so(octopus, site, some):
    crawl = await octopus.start(*some("-a", "slow=2"))
    await until(octopus, "done\t5", "queue")
    crawl.send(signal.SIGKILL)
    await crawl.end()

    assert "broken off" in (await octopus("jobs")).out


async def test_a_table_on_a_terminal(octopus, some, finished):
    queue, failed = await octopus.on_terminal("queue"), await octopus.on_terminal("failed", "list", width=60)

    assert "requests" in queue.err
    assert "http_500" in failed.err
    assert "for example" in failed.err


FUSSY = """
from pathlib import Path

from openoctopus import Spider
from openoctopus.exceptions import RefusedItem


class Fussy:
    def process_item(self, item, spider):
        if item["n"] % 2 and not Path("mended").exists():
            raise RefusedItem(f"{item['n']} is odd")
        return item


class After:
    def process_item(self, item, spider):
        with open("after.txt", "a") as file:
            print(item["n"], file=file)
        return item


class Items(Spider):
    name = "items"
    custom_settings = {"ROBOTSTXT_OBEY": False, "ITEM_PIPELINES": {Fussy: 1, After: 2}}

    def __init__(self, site):
        super().__init__()
        self.start_urls = [site]

    def parse(self, response):
        yield from ({"n": n, "词": "数据"} for n in range(6))
"""


@pytest.fixture
async def fussy(octopus, site):
    octopus.write("fussy.py", FUSSY)
    line = ["runspider", "fussy.py", "-a", f"site={site.url('/')}", "--job", "items", "-o", "items.jsonl"]
    ran = await octopus(*line)
    assert ran.code == 0, ran.err
    return line


async def test_failed_items_are_listed_and_shown(octopus, site, fussy):
    listed, shown, exported = [
        await octopus(*line) for line in (["failed", "list"], ["failed", "show"], ["failed", "export", "-"])
    ]

    what, reason, times, _, url = listed.out.strip().split("\t")
    assert (what, reason, times, url) == ("item", "RefusedItem", "3", site.url("/"))
    assert shown.out.count("pipeline  Fussy") == 3
    assert "detail    1 is odd" in shown.out
    assert [json.loads(line)["item"] for line in exported.out.splitlines()] == [{"n": n, "词": "数据"} for n in (1, 3, 5)]


async def test_failed_items_pass_the_rest_of_the_way_in_the_next_run(octopus, fussy):
    octopus.write("mended", "")

    asked = await octopus("failed", "retry")
    ran = await octopus(*fussy)

    assert "0 failed requests and 3 failed items wait for the next run" in asked.out
    assert ran.code == 0
    items = [json.loads(line)["n"] for line in (octopus.folder / "items.jsonl").read_text("utf-8").splitlines()]
    assert items == [0, 2, 4, 1, 3, 5]
    assert (octopus.folder / "after.txt").read_text().split() == ["0", "2", "4", "1", "3", "5"]
    assert (await octopus("failed", "list")).out == ""
    assert (await octopus(*fussy)).err.startswith("octopus: job items was finished")


async def test_one_of_several_workers_retries_failed_items(octopus, fussy):
    octopus.write("mended", "")
    await octopus("failed", "retry")

    ran = await octopus(*fussy[:-2], "--workers", "3")

    assert ran.code == 0, ran.err
    assert (octopus.folder / "after.txt").read_text().split() == ["0", "2", "4", "1", "3", "5"]
    assert (await octopus("failed", "list")).out == ""


async def test_items_that_fail_again_are_kept_again(octopus, fussy):
    await octopus("failed", "retry")
    await octopus(*fussy)

    assert "item\tRefusedItem\t3" in (await octopus("failed", "list")).out
    assert "finished" in (await octopus("jobs")).out


async def test_failed_items_are_forgotten(octopus, fussy):
    assert "0 failed requests and 3 failed items are forgotten" in (await octopus("failed", "purge", "--yes")).out
    assert (await octopus("failed", "list")).out == ""
