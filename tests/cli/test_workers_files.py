"""Files that several workers write to: each item once when the crawl has ended, whatever was killed meanwhile."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import signal

import pytest

from tests.cli.test_job_files import PAGES, SPIDER, check, expected, keys_in, site

__all__ = ["site"]


def begin(octopus):
    """The folder as it is before any crawl: files that have something in them."""
    for left in octopus.folder.iterdir():
        if left.is_dir():
            shutil.rmtree(left)
        else:
            left.unlink()
    octopus.write("graph.py", SPIDER)
    octopus.write("new.jsonl", '{"key": "old"}\n')
    octopus.write("all.jsonl", '{"key": "old"}\n')
    octopus.write("all.csv", "key,text\r\nold,\r\n")
    octopus.write("all.json", '[\n{"key": "old"}\n]\n')


@pytest.fixture
def graph(octopus, site):
    begin(octopus)
    return lambda *more: [
        "runspider", "graph.py", "-a", f"site={site.url('/')}", "--workers", "3", "-s", "MAX_LOST=1000",
        "-a", "twins=", "-s", "ITEM_PIPELINES={}", *more,
    ]  # fmt: skip


async def crawling(crawl, count=3):
    """The processes of the workers, once they crawl."""
    while sum("crawler: graph begins" in line for line in crawl.err) < count:
        await crawl.until("crawler: graph begins")
    with open(f"/proc/{crawl.process.pid}/task/{crawl.process.pid}/children") as file:
        return [int(number) for number in file.read().split()]


@pytest.mark.parametrize("job", [(), ("--job", "job")], ids=["no job", "job"])
async def test_workers_share_files(octopus, graph, site, job):
    ran = await octopus(*graph(*job))

    assert ran.code == 0, ran.err
    check(octopus.folder, site, twins=False)
    assert not list(octopus.folder.rglob("*.parts"))
    assert f"all.csv: {len(expected(site, twins=False)):,} items of 3 segments" in ran.err


async def test_workers_that_are_killed_lose_and_double_nothing(octopus, graph, site):
    chance = random.Random(1)
    crawl = await octopus.start(*graph("-s", "DOWNLOAD_DELAY=0.03"))
    for _ in range(4):
        os.kill(chance.choice(await crawling(crawl)), signal.SIGKILL)
        await asyncio.sleep(0.3)
    ran = await crawl.end()

    assert ran.code == 0, ran.err
    assert "SIGKILL" in ran.err
    check(octopus.folder, site, twins=False)
    assert not list(octopus.folder.rglob("*.parts"))


@pytest.mark.parametrize("way", [signal.SIGKILL, signal.SIGTERM], ids=lambda way: way.name)
async def test_a_job_of_workers_goes_on_and_its_files_are_made_at_its_end(octopus, graph, site, way):
    for _ in range(2):
        crawl = await octopus.start(*graph("--job", "job", "-s", "DOWNLOAD_DELAY=0.03"))
        await crawling(crawl)
        await asyncio.sleep(0.5)
        crawl.send(way)
        await crawl.end()
        assert keys_in(octopus.folder / "new.jsonl") == ["old"]
        assert keys_in(octopus.folder / "all.csv") == ["old"]
    ran = await octopus(*graph("--job", "job"))

    assert ran.code == 0, ran.err
    check(octopus.folder, site, twins=False)
    assert not list(octopus.folder.rglob("*.parts"))


@pytest.mark.parametrize("place", ["store.half=kill@0.03", "store.flushed=kill@0.03", "settle.committed=kill@0.1"])
async def test_workers_that_die_where_they_write(octopus, graph, site, place):
    broken = ""
    for _ in range(20):  # until one dies, which is by chance
        begin(octopus)
        broken = (await octopus(*graph("--job", "job"), OCTOPUS_FAILPOINTS=place)).err
        if "SIGKILL" in broken:
            break
    ran = await octopus(*graph("--job", "job"))

    assert "SIGKILL" in broken
    assert ran.code == 0, ran.err
    check(octopus.folder, site, twins=False)


async def test_what_a_killed_crawl_wrote_is_published_by_hand(octopus, graph, site):
    crawl = await octopus.start(*graph("-s", "DOWNLOAD_DELAY=0.03"))
    await crawling(crawl)
    while len(site.log) < PAGES // 4:
        await asyncio.sleep(0.01)
    await asyncio.sleep(1.2)
    busy = await octopus("publish", "all.csv")
    crawl.send(signal.SIGKILL)
    await crawl.end()
    refused = await octopus(*graph())
    before = keys_in(octopus.folder / "all.csv")
    made = await octopus("publish", "all.csv")
    again = await octopus("publish", "all.csv")
    by_folder = await octopus("publish", "new.json.parts")

    assert busy.code == 2
    assert "a crawl is writing to" in busy.err
    assert refused.code == 2
    assert "has items of another crawl that are not in" in refused.err
    assert before == ["old"]
    assert made.code == 0, made.err
    found = keys_in(octopus.folder / "all.csv")
    assert made.out.startswith(f"all.csv: {len(found) - 1:,} items of 3 segments")
    assert len(found) == len(set(found)) > 10
    assert again.code == 2
    assert "there are no segments for all.csv" in again.err
    assert by_folder.code == 0, by_folder.err
    assert set(keys_in(octopus.folder / "new.json")) <= expected(site, twins=False)


async def test_a_job_that_was_published_by_hand_goes_on(octopus, graph, site):
    crawl = await octopus.start(*graph("--job", "job", "-s", "DOWNLOAD_DELAY=0.03"))
    await crawling(crawl)
    await asyncio.sleep(1.5)
    crawl.send(signal.SIGKILL)
    await crawl.end()
    for name in ("all.csv", "new.json", "all.json.gz"):
        made = await octopus("publish", name)
        assert made.out.endswith("; its job may go on, so the segments stay\n"), made.err
    assert len(keys_in(octopus.folder / "all.csv")) > 10
    ran = await octopus(*graph("--job", "job"))

    assert ran.code == 0, ran.err
    check(octopus.folder, site, twins=False)
