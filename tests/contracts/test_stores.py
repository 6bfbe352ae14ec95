"""What every store promises; a new one joins by a line in ``STORES``."""

from __future__ import annotations

import asyncio
import csv
import dataclasses
import gzip
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import pytest

from openoctopus.items import Field, Item
from openoctopus.pipelines import BatchPipeline
from openoctopus.pipelines.base import Receipt
from openoctopus.pipelines.feeds import FeedPipeline
from openoctopus.runner import new_runner
from openoctopus.spider import Spider
from tests.pipelines.sql.contract import TABLES
from tests.servers import SERVERS
from tests.services import services

Rows = list[dict[str, str]]


class Store(NamedTuple):
    """How a store is made in an empty folder, and how a reader finds its items there."""

    make: Callable[[Path], BatchPipeline]
    read: Callable[[Path], Rows]
    #: Removes what is not in the folder.
    drop: Callable[[Path], object] = lambda folder: None


def feed(name: str, decode: Callable[[bytes], Rows], **options: Any) -> Store:
    def read(folder: Path) -> Rows:
        files = sorted(folder.iterdir(), key=lambda path: (len(path.name), path.name))
        return [row for path in files if path.suffix != ".tmp" for row in decode(path.read_bytes())]

    return Store(lambda folder: FeedPipeline(folder / name, **options), read)


def jsonl(data: bytes) -> Rows:
    assert not data or data.endswith(b"\n")
    return [json.loads(line) for line in data.split(b"\n")[:-1]]


def table(data: bytes) -> Rows:
    return list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline="")))


STORES = {
    "jsonl": feed("items.jsonl", jsonl),
    "json": feed("items.json", json.loads),
    "csv": feed("items.csv", table),
    "jsonl.gz": feed("items.jsonl.gz", lambda data: jsonl(gzip.decompress(data))),
    "json.gz": feed("items.json.gz", lambda data: json.loads(gzip.decompress(data))),
    "csv.gz": feed("items.csv.gz", lambda data: table(gzip.decompress(data))),
    "json indented": feed("items.json", json.loads, indent=2),
    "json in gb18030": feed("items.json", lambda data: json.loads(data.decode("gb18030")), encoding="gb18030"),
    "csv with a mark": feed("items.csv", table, encoding="utf-8-sig"),
    "jsonl in parts": feed("items-%(batch_id)d.jsonl", jsonl, batch_item_count=7),
    "json in parts": feed("items-%(batch_id)d.json", json.loads, batch_item_count=7),
    "csv in parts": feed("items-%(batch_id)d.csv", table, batch_item_count=7),
    **{name: Store(*store) for name, store in TABLES.items()},
}
REPLACING = {
    "jsonl anew": feed("items.jsonl", jsonl, overwrite=True),
    "json anew": feed("items.json", json.loads, overwrite=True),
    "csv anew": feed("items.csv", table, overwrite=True),
    "csv.gz anew": feed("items.csv.gz", lambda data: table(gzip.decompress(data)), overwrite=True),
}
every = pytest.mark.parametrize("store", [pytest.param(s, id=name) for name, s in (STORES | REPLACING).items()])
appending = pytest.mark.parametrize("store", [pytest.param(s, id=name) for name, s in STORES.items()])


@pytest.fixture(autouse=True)
def _clean(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[None]:
    """A server must be there for its store, and keeps nothing of the test."""
    store = request.getfixturevalue("store")
    for name in SERVERS:
        if store is STORES[name]:
            services.url(name)
    yield
    store.drop(tmp_path)


class Crawl:
    """Opens a store, hands it items, and closes it as a crawl does."""

    def __init__(self, store: Store, folder: Path) -> None:
        self.pipeline = store.make(folder)
        self.settled: list[str] = []
        self.failed: list[Any] = []

    async def __aenter__(self) -> Crawl:
        await self.pipeline.open()
        answer = self.pipeline.open_spider(Spider("news"))
        if answer is not None:
            await answer
        self.pipeline.begin(lambda failed: self.failed.append(failed.item), 0)
        return self

    def put(self, *items: Any) -> None:
        for item in items:
            receipt = Receipt(lambda _, name=str(item): self.settled.append(name))
            try:
                self.pipeline.put(item, receipt)
            except TypeError:
                self.failed.append(item)
            receipt.close()

    async def __aexit__(self, *exc_info: object) -> None:
        await self.pipeline.finish()
        answer = self.pipeline.close_spider(Spider("news"))
        if answer is not None:
            await answer
        await self.pipeline.close()


def some(count: int, start: int = 0) -> Rows:
    return [{"url": f"https://example.com/{n}", "title": f'标题 "{n}", né\n🐙'} for n in range(start, start + count)]


@every
async def test_items_arrive_in_order_and_whole(store: Store, tmp_path: Path) -> None:
    async with Crawl(store, tmp_path) as crawl:
        crawl.put(*some(50))

    assert store.read(tmp_path) == some(50)
    assert crawl.settled == [str(item) for item in some(50)]


@appending
async def test_a_page_is_settled_only_when_its_item_can_be_read(store: Store, tmp_path: Path) -> None:
    read: list[int] = []
    async with Crawl(store, tmp_path) as crawl:
        for number in range(5):
            receipt = Receipt(lambda _: read.append(len(store.read(tmp_path))))
            crawl.pipeline.put(some(1, number)[0], receipt)
            receipt.close()
            assert len(read) == number
            crawl.pipeline.flush()
            async with asyncio.timeout(5):
                while len(read) <= number:
                    await asyncio.sleep(0.001)

    assert read == [1, 2, 3, 4, 5]


@appending
async def test_what_a_reader_finds_is_whole_after_each_batch(store: Store, tmp_path: Path) -> None:
    async with Crawl(store, tmp_path) as crawl:
        for number in range(5):
            crawl.put(*some(5, number * 5))
            crawl.pipeline.flush()
            async with asyncio.timeout(5):
                while len(crawl.settled) < number * 5 + 5:
                    await asyncio.sleep(0.001)
            assert store.read(tmp_path) == some(number * 5 + 5)


@every
async def test_many_batches_lose_nothing(store: Store, tmp_path: Path) -> None:
    async with Crawl(store, tmp_path) as crawl:
        crawl.pipeline.max_items = 13
        for number in range(0, 200, 20):
            crawl.put(*some(20, number))
            await asyncio.sleep(0)

    assert store.read(tmp_path) == some(200)


@every
async def test_an_item_that_cannot_be_kept_costs_only_itself(store: Store, tmp_path: Path) -> None:
    bad = {"url": "https://example.com/bad", "title": object()}
    async with Crawl(store, tmp_path) as crawl:
        crawl.put(some(1)[0], bad, some(1, 1)[0])

    assert store.read(tmp_path) == some(2)
    assert crawl.failed == [bad]


@every
async def test_a_later_change_of_an_item_does_not_matter(store: Store, tmp_path: Path) -> None:
    item = {"url": "https://example.com/0", "title": "as yielded"}
    async with Crawl(store, tmp_path) as crawl:
        crawl.put(item)
        item["title"] = "changed"

    assert store.read(tmp_path) == [{"url": "https://example.com/0", "title": "as yielded"}]


class Article(Item):
    url = Field()
    title = Field()


@dataclasses.dataclass
class Note:
    url: str
    title: str


@every
@pytest.mark.parametrize("kind", [dict, Article, Note])
async def test_every_kind_of_item_is_kept(store: Store, tmp_path: Path, kind: Callable[..., Any]) -> None:
    async with Crawl(store, tmp_path) as crawl:
        crawl.put(*[kind(**item) for item in some(3)])

    assert store.read(tmp_path) == some(3)


@every
async def test_half_a_surrogate_pair_does_not_lose_the_item(store: Store, tmp_path: Path) -> None:
    async with Crawl(store, tmp_path) as crawl:
        crawl.put({"url": "a", "title": "bad \ud83d end"}, {"url": "b", "title": "good"})

    assert [row["url"] for row in store.read(tmp_path)] == ["a", "b"]
    assert store.read(tmp_path)[0]["title"] == "bad \N{REPLACEMENT CHARACTER} end"


@appending
async def test_a_second_crawl_adds_to_the_first(store: Store, tmp_path: Path) -> None:
    for start in (0, 10, 20):
        async with Crawl(store, tmp_path) as crawl:
            crawl.put(*some(10, start))

    assert sorted(row["url"] for row in store.read(tmp_path)) == sorted(row["url"] for row in some(30))


@pytest.mark.parametrize("store", [pytest.param(s, id=name) for name, s in REPLACING.items()])
async def test_a_second_crawl_takes_the_place_of_the_first(store: Store, tmp_path: Path) -> None:
    for start in (0, 10):
        async with Crawl(store, tmp_path) as crawl:
            crawl.put(*some(10, start))

    assert store.read(tmp_path) == some(10, 10)
    assert len(list(tmp_path.iterdir())) == 1


@every
async def test_a_crawl_that_never_began_leaves_things_as_they_were(store: Store, tmp_path: Path) -> None:
    async with Crawl(store, tmp_path) as crawl:
        crawl.put(*some(5))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    pipeline = store.make(tmp_path)
    answer = pipeline.open_spider(Spider("news"))
    if answer is not None:
        await answer
    await pipeline.close()

    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@every
async def test_a_crawl_without_items_leaves_a_store_that_can_be_read(store: Store, tmp_path: Path) -> None:
    async with Crawl(store, tmp_path):
        pass

    assert store.read(tmp_path) == []


@appending
async def test_a_crawl_goes_on_where_one_without_items_was(store: Store, tmp_path: Path) -> None:
    async with Crawl(store, tmp_path):
        pass
    async with Crawl(store, tmp_path) as crawl:
        crawl.put(*some(3))

    assert store.read(tmp_path) == some(3)


@every
def test_a_busy_crawl_lets_it_write(store: Store, tmp_path: Path) -> None:
    with new_runner() as runner:
        assert runner.run(_written_beside_work(store, tmp_path)) == 2000


async def _written_beside_work(store: Store, folder: Path) -> int:
    """How many of 2,000 items are stored while the loop is busy for ten seconds, and pauses for moments only."""
    async with Crawl(store, folder) as crawl:
        crawl.put(*some(2000))
        crawl.pipeline.flush()
        end = perf_counter() + 10
        while len(crawl.settled) < 2000 and perf_counter() < end:
            turn = perf_counter() + 0.0002
            while perf_counter() < turn:
                sum(range(30))
            await asyncio.sleep(0)
        return len(crawl.settled)
