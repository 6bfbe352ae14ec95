"""Files of a job: each item once, in every format, wherever and however often the crawl is killed."""

from __future__ import annotations

import asyncio
import csv
import gzip
import io
import json
import random
import signal
from collections import Counter

import pytest

from openoctopus.testing import Site

SPIDER = """
from openoctopus import Item, Field, Request, Spider


class Odd(Item):
    key = Field()
    text = Field()


class Graph(Spider):
    name = "graph"
    custom_settings = {
        "ROBOTSTXT_OBEY": False,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
        "ITEM_PIPELINES": {"openoctopus.pipelines.DedupPipeline": {"order": 1, "fields": ["key"]}},
        "FEEDS": {
            "all.jsonl": None,
            "all.jsonl.gz": None,
            "all.json": None,
            "all.json.gz": None,
            "all.csv": None,
            "all.csv.gz": None,
            "all-utf-16.csv": {"encoding": "utf-16", "delimiter": ";"},
            "new.jsonl": {"overwrite": True},
            "new.json": {"overwrite": True},
            "new.csv": {"overwrite": True},
            "parts/%(name)s-%(batch_id)03d.jsonl": {"batch_item_count": 7},
            "parts/%(name)s-%(batch_id)03d.csv.gz": {"batch_item_count": 40, "overwrite": True},
            "class-%(item_class)s.jsonl": None,
        },
    }

    def __init__(self, site, twins="yes"):
        super().__init__()
        self.site, self.twins = site, twins

    async def start(self):
        yield {"key": "first"}
        yield Request(self.site)
        yield {"key": "second"}

    def parse(self, response):
        kind = Odd if response.url.endswith("1") else dict
        for number in range(3):
            if self.twins:
                yield {"key": f"twin {len(response.body) % 5}"}
            yield kind(key=f"{response.url}#{number}", text=response.css("h1::text").get() * 300)
        found = response.url.rsplit("/", 1)[1]
        if found and int(found) % 40 == 0:
            yield {"key": f"late {found}", f"late{found}": found}
        yield from response.follow_all(css="a")
"""
PAGES = 200
MARK = "\ufeff"


@pytest.fixture
async def site():
    pages = {"/": "<h1>/</h1>" + "".join(f"<a href='/{n}'>{n}</a>" for n in range(PAGES))}
    pages |= {f"/{n}": f"<h1>{n}</h1><a href='/{n * 7 % PAGES}'>x</a>" for n in range(PAGES)}
    async with Site(pages) as site:
        yield site


@pytest.fixture
def graph(octopus, site):
    octopus.write("graph.py", SPIDER)
    octopus.write("new.jsonl", '{"key": "old"}\n')
    octopus.write("all.jsonl", '{"key": "old"}\n')
    octopus.write("all.csv", "key,text\r\nold,\r\n")
    octopus.write("all.json", '[\n{"key": "old"}\n]\n')
    return ["runspider", "graph.py", "-a", f"site={site.url('/')}", "--job", "job", "-s", "MAX_LOST=1000"]


def expected(site, twins=True):
    found = {f"{site.url(path)}#{n}" for path in ["/", *(f"/{n}" for n in range(PAGES))] for n in range(3)}
    found |= {f"twin {n}" for n in range(5) if twins}
    return found | {"first", "second"} | {f"late {n}" for n in range(0, PAGES, 40)}


def keys_in(path):
    """The keys of all items in a file, which must be whole."""
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    if ".csv" in path.name:
        is_wide = "utf-16" in path.name
        text = io.StringIO(data.decode("utf-16" if is_wide else "utf-8"), newline="")
        rows = list(csv.DictReader(text, delimiter=";" if is_wide else ",", strict=True))
        assert not any(None in row or None in row.values() for row in rows), path
        return [row["key"] for row in rows]
    if ".jsonl" in path.name:
        assert data.endswith(b"\n") or not data, path
        return [json.loads(line)["key"] for line in data.splitlines()]
    return [item["key"] for item in json.loads(data)]


def outputs(folder):
    """What each output holds, by its name."""
    found = {path.name: keys_in(path) for path in folder.iterdir() if path.name.startswith(("all", "new"))}
    for name, pattern in [("parts", "parts/graph-*.jsonl"), ("gz parts", "parts/graph-*.csv.gz"), ("class", "class-*.jsonl")]:
        found[name] = [key for path in sorted(folder.glob(pattern)) for key in keys_in(path)]
    return found


def check(folder, site, twins=True):
    found, all_keys = outputs(folder), expected(site, twins)
    assert len(found) == 13
    for name, keys in found.items():
        old = {"old"} if name in ("all.jsonl", "all.csv", "all.json") else set()
        doubled = [key for key, times in Counter(keys).items() if times > 1]
        lost = all_keys - set(keys)
        assert not doubled, (name, len(doubled), sorted(doubled)[:3])
        assert not lost, (name, len(lost), sorted(lost)[:3])
        assert set(keys) == all_keys | old, name
    assert len(list(folder.glob("parts/graph-*.csv.gz"))) == -(-len(all_keys) // 40)
    assert not [path.name for path in folder.rglob("*") if path.suffix in (".tmp", ".wider", ".narrower")]


async def test_a_job_in_one_go(octopus, graph, site):
    ran = await octopus(*graph)

    assert ran.code == 0
    check(octopus.folder, site)


async def killed(octopus, line, seconds):
    """Start a crawl and kill it so many seconds after its first word; whether it was still there."""
    crawl = await octopus.start(*line)
    await crawl.until(" ")
    await asyncio.sleep(seconds)
    if crawl.process.returncode is None:
        crawl.process.kill()
    return (await crawl.end()).code == -signal.SIGKILL


@pytest.mark.parametrize("seed", range(2))
async def test_each_item_is_in_each_file_once_after_many_kills(octopus, graph, site, seed):
    chance = random.Random(seed)
    kills = 0
    slow = [*graph, "-s", "DOWNLOAD_DELAY=0.005"]
    while kills < 6 and await killed(octopus, slow, chance.uniform(0.05, 0.9)):
        kills += 1
    ran = await octopus(*graph)

    assert ran.code == 0
    assert kills >= 2
    check(octopus.folder, site)


@pytest.mark.parametrize(
    "place",
    ["store.write=kill#20", "store.half=kill#25", "feed.widening=kill#4", "store.flushed=kill#25", "settle.sent=kill#4",
     "settle.committed=kill#4", "job.half=kill#8", "job.committed=kill#8", "callback.out=kill#25"],
)  # fmt: skip
async def test_each_item_is_in_each_file_once_wherever_it_is_killed(octopus, graph, site, place):
    kills = 0
    while kills < 5 and (await octopus(*graph, OCTOPUS_FAILPOINTS=place)).code == -signal.SIGKILL:
        kills += 1
    ran = await octopus(*graph)

    assert ran.code == 0, ran.err
    assert kills
    check(octopus.folder, site)


async def test_a_stopped_job_goes_on_in_the_same_files(octopus, graph, site):
    crawl = await octopus.start(*graph, "-s", "DOWNLOAD_DELAY=0.005")
    await crawl.until("begins")
    while len(site.log) < 50:
        await asyncio.sleep(0.01)
    crawl.send(signal.SIGTERM)
    stopped = await crawl.end()
    new = keys_in(octopus.folder / "new.jsonl")
    ran = await octopus(*graph)

    assert (stopped.code, ran.code) == (3, 0)
    assert new == ["old"], "it is replaced at the end of the job"
    check(octopus.folder, site)
