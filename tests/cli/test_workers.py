"""``--workers``: one crawl in several processes, whatever becomes of any of them."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sqlite3
import time
from collections import Counter
from contextlib import closing

import pytest

from openoctopus import Spider, crawl
from openoctopus.exceptions import SettingsError
from openoctopus.testing import Site, slowly
from tests.cli.conftest import linked

SPIDER = """
import os
import signal
import sys
import time

from openoctopus import Spider


class Many(Spider):
    name = "many"

    def __init__(self, site):
        super().__init__()
        self.start_urls = [site]
        self.logger.info("process %d", os.getpid())

    def parse(self, response):
        yield {"url": response.url, "process": os.getpid()}
        yield from response.follow_all(css="a")
        if "/poison" in response.url:
            os.kill(os.getpid(), signal.SIGKILL)
        while "/stuck" in response.url:
            time.sleep(0.01)
"""
PAGES = 300
TABLE = ("-o", "sqlite:///items.db?table=items&key=url")


@pytest.fixture
async def site():
    async with Site(linked(PAGES)) as site:
        yield site


@pytest.fixture
def many(octopus, site):
    """The arguments that crawl ``site`` in three processes."""
    octopus.write("many.py", SPIDER)
    return lambda *more, path="/": ["runspider", "many.py", "-a", f"site={site.url(path)}", "--workers", "3", *more]


def rows(octopus):
    with closing(sqlite3.connect(octopus.folder / "items.db")) as database:
        return database.execute("SELECT url, process FROM items").fetchall()


def everything(site):
    return sorted(site.url(path) for path in site.pages if path != "/robots.txt")


def processes(lines):
    return [int(found[1]) for line in lines if (found := re.search(r"process (\d+)$", line.strip()))]


async def started(crawl, count=3):
    """Wait for so many workers that crawl; their processes."""
    while sum("crawler: many begins" in line for line in crawl.err) < count:
        await crawl.until("crawler: many begins")
    return processes(crawl.err)


def lives(process):
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def gone(process, within):
    """Whether it is gone in so many seconds."""
    until = time.monotonic() + within
    while lives(process) and time.monotonic() < until:
        await asyncio.sleep(0.02)
    return not lives(process)


# What users get


async def test_three_workers_find_every_page_once(octopus, site, many):
    ran = await octopus(*many(*TABLE, "-s", "DOWNLOAD_DELAY=0.005"))

    visits = Counter(visit.path for visit in site.log if visit.path != "/robots.txt")
    assert ran.code == 0, ran.err
    assert set(visits) == {path for path in site.pages if path != "/robots.txt"}
    assert set(visits.values()) == {1}
    assert sorted(url for url, _ in rows(octopus)) == everything(site)
    assert len({process for _, process in rows(octopus)}) > 1
    assert "many: finished after" in ran.err
    assert re.search(rf"pages +{PAGES + 1} ", ran.err)
    assert re.search(rf"items +{PAGES + 1} ", ran.err)
    assert re.search(rf"statuses +{PAGES + 1} × 200", ran.err)
    assert re.search(rf"requests +{PAGES + 1} queued, \d+ duplicates left out\n", ran.err)


async def test_hosts_are_spared_by_all_workers_together(octopus, site, many):
    for path in list(site.pages)[:40]:
        site.pages[path] = slowly(0.05, site.pages[path]) if path not in ("/", "/robots.txt") else site.pages[path]

    ran = await octopus(*many("-s", "CONCURRENT_REQUESTS_PER_DOMAIN=4"))

    assert ran.code == 0
    assert max(visit.concurrent for visit in site.log) <= 4


async def test_workers_is_a_setting_too_and_the_progress_is_that_of_all(octopus, site, many):
    arguments = [one for one in many("-s", "WORKERS=2", "-s", "LOGSTATS_INTERVAL=0.1") if one not in ("--workers", "3")]
    crawl = await octopus.start(*arguments, "-s", "DOWNLOAD_DELAY=0.005")

    await crawl.until("2 workers")
    ran = await crawl.end()

    pages = [int(found[1]) for found in re.finditer(r"progress: (\d+) pages", ran.err)]
    assert ran.code == 0
    assert pages == sorted(pages)
    assert len({count for count in pages if 0 < count < PAGES}) > 3
    assert len(processes(ran.err.splitlines())) == 2


async def test_all_workers_write_one_log(octopus, many):
    ran = await octopus(*many("-s", "LOG_FILE=many.log", "-s", "LOG_JSON=1"))

    lines = [json.loads(line) for line in (octopus.folder / "many.log").read_text().splitlines()]
    assert len(processes([line["message"] for line in lines])) == 3
    assert lines[-1]["message"] == "summary"
    assert lines[-1]["stats"]["item_scraped_count"] == PAGES + 1
    assert lines[-1]["stats"]["finish_reason"] == "finished"
    assert ran.err.startswith("many: finished after")


async def test_on_a_terminal_there_is_one_view_of_all(octopus, many):
    ran = await octopus.on_terminal(*many("-s", "DOWNLOAD_DELAY=0.005"))

    assert ran.code == 0, ran.err
    assert "── " in ran.err
    assert "127.0.0.1" in ran.err
    assert "process " in ran.err


async def test_limits_hold_for_the_crawl_as_a_whole(octopus, site, many):
    ran = await octopus(*many("-s", "CLOSESPIDER_PAGECOUNT=60", "-s", "CONCURRENT_REQUESTS=2"))

    assert ran.code == 0
    assert "many: closespider_pagecount after" in ran.err
    assert 60 <= len(site.log) - 1 < 90


async def test_a_spider_ends_the_crawl_of_all(octopus, site, many):
    closing = "from openoctopus.exceptions import CloseSpider\n" + SPIDER
    octopus.write("many.py", closing + "        if '/7' in response.url:\n            raise CloseSpider('enough')\n")

    ran = await octopus(*many())

    assert ran.code == 0
    assert "many: enough after" in ran.err
    assert len(site.log) < PAGES


# What dies


async def test_what_a_killed_worker_held_is_crawled_by_others(octopus, site, many):
    crawl = await octopus.start(*many(*TABLE, "-s", "DOWNLOAD_DELAY=0.01"))
    victim = (await started(crawl))[1]
    await asyncio.sleep(0.5)

    os.kill(victim, signal.SIGKILL)
    ran = await crawl.end()

    assert ran.code == 0, ran.err
    assert sorted(url for url, _ in rows(octopus)) == everything(site)
    assert "was ended by SIGKILL" in ran.err
    assert len(processes(ran.err.splitlines())) == 4


async def test_workers_that_die_again_and_again_lose_nothing(octopus, site, many):
    ran = await octopus(
        *many(*TABLE, "-s", "MAX_LOST=100", "-s", "DOWNLOAD_DELAY=0.01"), OCTOPUS_FAILPOINTS="claim.got=kill#60"
    )

    assert ran.code == 0, ran.err
    assert ran.err.count("was ended by SIGKILL") >= 4
    assert sorted(url for url, _ in rows(octopus)) == everything(site)


async def test_a_page_that_kills_is_failed_and_takes_no_other_with_it(octopus, site, many):
    site.pages["/poison"] = "poison"
    site.pages["/"] += "<a href='/poison'>p</a>"

    ran = await octopus(*many(*TABLE))

    assert ran.code == 0, ran.err
    assert "1 failed" in ran.err
    assert "1 × worker lost" in ran.err
    assert {*everything(site)} - {site.url("/poison")} <= {url for url, _ in rows(octopus)}
    assert Counter(visit.path for visit in site.log)["/poison"] == 3


async def test_a_callback_that_never_returns_ends_its_worker_only(octopus, site, many):
    site.pages["/stuck"] = "stuck"
    site.pages["/"] += "<a href='/stuck'>s</a>"

    ran = await octopus(*many(*TABLE, "-s", "CALLBACK_TIMEOUT=1.5", "-s", "MAX_LOST=1"))

    assert ran.code == 0, ran.err
    assert "gave no sign of life for" in ran.err
    assert "worker lost" in ran.err


async def test_a_worker_that_stands_still_is_ended_and_its_pages_are_crawled(octopus, site, many):
    crawl = await octopus.start(*many(*TABLE, "-s", "CALLBACK_TIMEOUT=1.5", "-s", "DOWNLOAD_DELAY=0.02"))
    victim = (await started(crawl))[1]
    await asyncio.sleep(0.3)

    os.kill(victim, signal.SIGSTOP)
    ran = await crawl.end()

    assert ran.code == 0, ran.err
    assert sorted(url for url, _ in rows(octopus)) == everything(site)
    assert ran.err.count("gave no sign of life") == 1


async def test_no_worker_outlives_its_supervisor(octopus, site, many):
    site.pages["/stuck"] = "stuck"
    site.pages["/"] = "<a href='/stuck'>s</a>" + site.pages["/"]
    crawl = await octopus.start(*many("-s", "DOWNLOAD_DELAY=0.01"))
    workers = await started(crawl)
    await asyncio.sleep(0.3)
    assert all(map(lives, workers))

    crawl.send(signal.SIGKILL)

    assert [await gone(worker, 2) for worker in workers] == [True] * 3


async def test_a_spider_that_dies_while_it_is_imported_is_not_tried_for_ever(octopus, many):
    octopus.write("many.py", f"{SPIDER}\nif 'openoctopus.workers' in sys.orig_argv:\n    os._exit(7)\n")

    ran = await octopus(*many())

    assert ran.code == 1
    assert "worker 1 ended with exit code 7" in ran.err
    assert "worker 1 died 4 times before it had begun: it is not started again" in ran.err
    assert "many: workers_lost after" in ran.err


# How it ends


@pytest.fixture
def slow_pages(site):
    for n in range(100):
        site.pages[f"/{n}"] = slowly(1.0, f"<h1>{n}</h1>")
    for n in range(100, PAGES):
        site.pages[f"/{n}"] = slowly(20.0, f"<h1>{n}</h1>")
    return site


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_one_signal_completes_what_is_under_way_in_all_workers(octopus, slow_pages, many, number):
    crawl = await octopus.start(*many(*TABLE, "-s", "CONCURRENT_REQUESTS=2", "-s", "LOGSTATS_INTERVAL=0.1"))
    await crawl.until("6 under way")

    crawl.send(number)
    ran = await crawl.end()

    assert ran.code == 3, ran.err
    assert f"{number.name}: completing what is under way; once more to hurry" in ran.err
    assert len(rows(octopus)) >= 7
    assert f"{PAGES + 1 - len(rows(octopus))} left" in ran.err
    assert "was ended by" not in ran.err


async def test_two_signals_give_back_what_is_under_way(octopus, slow_pages, many):
    slow_pages.pages["/"] = "".join(f"<a href='/{n}'>{n}</a>" for n in range(100, 200))
    crawl = await octopus.start(*many("-s", "LOGSTATS_INTERVAL=0.1"))
    await crawl.until("8 under way")

    crawl.send(signal.SIGINT)
    await crawl.until("once more to hurry")
    began = time.monotonic()
    crawl.send(signal.SIGINT)
    ran = await crawl.end()

    assert time.monotonic() - began < 4
    assert ran.code == 3, ran.err
    assert "100 left" in ran.err


async def test_three_signals_end_everything_at_once(octopus, site, many):
    site.pages["/"] = "<a href='/stuck'>s</a>" * 5
    site.pages["/stuck"] = "stuck"
    crawl = await octopus.start(*many())
    workers = await started(crawl)
    await asyncio.sleep(0.3)

    for _ in range(3):
        crawl.send(signal.SIGINT)
        await asyncio.sleep(0.05)
    ran = await crawl.end()

    assert ran.code == 130
    assert [await gone(worker, 2) for worker in workers] == [True] * 3


async def test_a_signal_while_the_workers_start_ends_them(octopus, many):
    crawl = await octopus.start(*many())
    await crawl.until("3 workers")

    crawl.send(signal.SIGTERM)
    ran = await crawl.end()

    assert ran.code == 3, ran.err


async def test_a_start_that_raises_is_told_once_and_ends_in_failure(octopus, many):
    octopus.write("many.py", SPIDER + "\n    async def start(self):\n        yield 1 / 0\n")

    ran = await octopus(*many())

    assert ran.code == 1
    assert ran.err.count("ZeroDivisionError") == 2  # once in the log, once in the summary


# Wrong use


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("-a", "color=red"), "unexpected keyword argument 'color'"),
        (("-o", "-"), "several workers cannot write to -"),
        (("-s", 'ITEM_PIPELINES={"no.Such": 1}'), "cannot load 'no.Such'"),
    ],
)
async def test_wrong_use_is_told_once(octopus, many, more, told):
    ran = await octopus(*many(*more))

    assert ran.code == 2
    assert ran.err.count(told) == 1
    assert ran.err.splitlines()[-1].startswith("octopus: ")


async def test_what_a_pipeline_raises_when_it_is_opened_ends_the_crawl(octopus, many):
    octopus.write("many.py", f"{SPIDER}\nclass Broken:\n    def open_spider(self, spider):\n        raise KeyError('no')\n")

    ran = await octopus(*many("-s", 'ITEM_PIPELINES={"many.Broken": 1}'))

    assert ran.code == 1
    assert "worker 1 failed: KeyError: 'no'" in ran.err
    assert ran.err.count("Traceback") == 1


async def test_what_a_part_raises_when_it_is_closed_is_a_failure(octopus, many):
    octopus.write("many.py", f"{SPIDER}\nfrom openoctopus.extensions import Extension\n\n\n" + CLOSES_BADLY)

    ran = await octopus(*many("-s", 'EXTENSIONS={"many.Broken": 1}'))

    assert ran.code == 1
    assert ran.err.splitlines()[-1] == "octopus: worker 1 failed: ValueError: cannot close"


CLOSES_BADLY = """
class Broken(Extension):
    async def close(self):
        import multiprocessing
        if multiprocessing.current_process().name == "worker-1":
            raise ValueError("cannot close")
"""


async def test_what_a_worker_started_itself_holds_nothing_up(octopus, many):
    octopus.write("many.py", SPIDER + "\n    def closed(self, reason):\n" + STARTS_ANOTHER)

    began = time.monotonic()
    ran = await octopus(*many())

    assert ran.code == 0
    assert time.monotonic() - began < 9


STARTS_ANOTHER = """
        import subprocess
        subprocess.Popen(["sleep", "10"], stdout=subprocess.DEVNULL, start_new_session=True)
"""


async def test_the_memory_of_all_processes_counts(octopus, site, many):
    ran = await octopus(*many("-s", "DOWNLOAD_DELAY=0.02", "-s", "MEMUSAGE_LIMIT_MB=150"))

    assert ran.code == 3, ran.err
    assert "many: memusage_exceeded after" in ran.err
    assert len(site.log) < PAGES


async def test_from_python_a_crawl_has_one_process():
    with pytest.raises(SettingsError, match="octopus runspider"):
        await crawl(Spider, WORKERS=2)
