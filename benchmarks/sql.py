"""How fast items go into tables: our store, the driver's own ``executemany``, and a statement and a commit for each item.

``python -m benchmarks.sql [postgresql|mysql|sqlite ...] [--items 20000] [--rounds 5]``: all write the same items by their
key, as durably as each other, in turns. The driver writes them twice: the very rows of our table by our statement, and rows
without our columns. Ratios are medians over rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import sqlite3
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from statistics import median
from time import perf_counter, process_time
from typing import Any

import asyncmy
import asyncpg

from openoctopus.pipelines import SqlPipeline
from openoctopus.pipelines.base import Receipt
from openoctopus.runner import new_runner
from openoctopus.spider import Spider

Item = dict[str, Any]
Row = tuple[Any, ...]
#: Rows that the drivers write in one transaction, as our store does.
TOGETHER = SqlPipeline.max_items


def items_of(count: int, dearer: float = 1.0) -> list[Item]:
    """Items as a shop has them: a kilobyte each."""
    text = "A sentence of a description, and 一句话 of another. " * 16
    return [
        {
            "url": f"https://example.com/products/{n}",
            "title": f"Product {n} 产品",
            "body": text,
            "price": n / 7 * dearer,
            "stock": n % 100,
            "is_new": n % 2 == 0,
        }
        for n in range(count)
    ]


#: An item as the drivers take it.
row_of = itemgetter("url", "title", "body", "price", "stock", "is_new")


class Driver(ABC):
    """A database by its driver alone."""

    url: str
    upsert: str
    table: str

    @abstractmethod
    async def open(self) -> None:
        """Connect."""

    async def empty(self) -> None:
        """Make the driver's table anew, and see that ours is not there."""
        await self.drop()
        await self.run(self.table)

    async def drop(self) -> None:
        for table in ("bench_ours", "bench_driver"):
            await self.run(f"DROP TABLE IF EXISTS {table}")

    @abstractmethod
    async def run(self, statement: str) -> None:
        """Change a table."""

    @abstractmethod
    async def together(self, statement: str, many: Sequence[Row]) -> None:
        """Write rows by ``executemany`` in one transaction."""

    @abstractmethod
    async def alone(self, row: Row) -> None:
        """Write one row and commit."""

    @abstractmethod
    async def close(self) -> None:
        """Disconnect."""


class PostgreSql(Driver):
    url = "postgresql://root@127.0.0.1:5432/test"
    table = (
        "CREATE TABLE bench_driver (url TEXT PRIMARY KEY, title TEXT, body TEXT, price DOUBLE PRECISION, stock BIGINT,"
        " is_new BOOLEAN)"
    )
    upsert = (
        "INSERT INTO bench_driver VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (url) DO UPDATE SET title = excluded.title,"
        " body = excluded.body, price = excluded.price, stock = excluded.stock, is_new = excluded.is_new"
    )

    async def open(self) -> None:
        self.connection = await asyncpg.connect(self.url)

    async def run(self, statement: str) -> None:
        await self.connection.execute(statement)

    async def together(self, statement: str, many: Sequence[Row]) -> None:
        async with self.connection.transaction():
            await self.connection.executemany(statement, many)

    async def alone(self, row: Row) -> None:
        await self.connection.execute(self.upsert, *row)

    async def close(self) -> None:
        await self.connection.close()


class MySql(Driver):
    url = "mysql://root@127.0.0.1:3306/test"
    table = (
        "CREATE TABLE bench_driver (url VARCHAR(500) CHARACTER SET ascii COLLATE ascii_bin PRIMARY KEY, title LONGTEXT,"
        " body LONGTEXT, price DOUBLE, stock BIGINT, is_new BOOL) CHARACTER SET utf8mb4"
    )
    upsert = (
        "INSERT INTO bench_driver VALUES (%s, %s, %s, %s, %s, %s) ON DUPLICATE KEY UPDATE title = VALUES(title),"
        " body = VALUES(body), price = VALUES(price), stock = VALUES(stock), is_new = VALUES(is_new)"
    )

    async def open(self) -> None:
        self.connection = await asyncmy.connect(host="127.0.0.1", user="root", database="test", charset="utf8mb4")

    async def run(self, statement: str) -> None:
        async with self.connection.cursor() as cursor:
            await cursor.execute(statement)
        await self.connection.commit()

    async def together(self, statement: str, many: Sequence[Row]) -> None:
        async with self.connection.cursor() as cursor:
            await cursor.executemany(statement, many)
        await self.connection.commit()

    async def alone(self, row: Row) -> None:
        async with self.connection.cursor() as cursor:
            await cursor.execute(self.upsert, row)
        await self.connection.commit()

    async def close(self) -> None:
        await self.connection.ensure_closed()


class Sqlite(Driver):
    """The driver in a thread, as it has to be in a crawl."""

    table = (
        "CREATE TABLE bench_driver (url TEXT PRIMARY KEY, title TEXT, body TEXT, price DOUBLE, stock INTEGER, is_new BOOLEAN)"
    )
    upsert = (
        "INSERT INTO bench_driver VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (url) DO UPDATE SET title = excluded.title,"
        " body = excluded.body, price = excluded.price, stock = excluded.stock, is_new = excluded.is_new"
    )

    async def open(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.path = f"{self.folder.name}/bench.db"
        self.url = f"sqlite:///{self.path}"
        self.connection = sqlite3.connect(self.path, check_same_thread=False, isolation_level=None)
        self.connection.execute("PRAGMA journal_mode=WAL")

    async def run(self, statement: str) -> None:
        self.connection.execute(statement)

    async def together(self, statement: str, many: Sequence[Row]) -> None:
        await asyncio.to_thread(self._together, statement, many)

    def _together(self, statement: str, many: Sequence[Row]) -> None:
        self.connection.execute("BEGIN")
        self.connection.executemany(statement, many)
        self.connection.execute("COMMIT")

    async def alone(self, row: Row) -> None:
        await asyncio.to_thread(self.connection.execute, self.upsert, row)

    async def close(self) -> None:
        self.connection.close()
        self.folder.cleanup()


WAYS = {
    "ours": "our store, from items to commits",
    "write": "its write alone, rows ready",
    "same": "the driver's executemany of the same rows",
    "driver": "the same in a table with url as its key",
    "one by one": "a statement and a commit each",
}
DRIVERS: dict[str, Callable[[], Driver]] = {"postgresql": PostgreSql, "mysql": MySql, "sqlite": Sqlite}


class Ours:
    """Our store, opened as a crawl opens it: what that takes is not counted, as connecting the driver is not."""

    def __init__(self, driver: Driver) -> None:
        self.store = SqlPipeline(driver.url, table="bench_ours", key="url", created_at="")
        self.pages = 0

    async def open(self) -> None:
        await self.store.open_spider(Spider("bench"))
        self.store.begin(_fail, 0)

    async def put(self, items: Sequence[Item]) -> None:
        """Pages of ten items each, until all of them are durable."""
        pages = range(0, len(items), 10)
        owed = len(pages)
        done = asyncio.Event()

        def settle(page: Receipt) -> None:
            nonlocal owed
            owed -= 1
            if not owed:
                done.set()

        for start in pages:
            self.pages += 1
            page = Receipt(settle)
            page.rid, page.fetched_at = self.pages, 1.7e9 + self.pages
            for item in items[start : start + 10]:
                page.ordinal += 1
                self.store.put(item, page)
            page.close()
            await asyncio.sleep(0)  # a crawl gives the loop its turns
        self.store.flush()
        await done.wait()

    @property
    def statement(self) -> str:
        return str(next(iter(self.store._database._statements.values())))

    def rows(self, items: Sequence[Item]) -> list[Any]:
        """Items as ``write`` takes them."""
        page = Receipt(lambda page: None)
        page.fetched_at = 1.7e9 + self.pages
        return [self.store.record(item, page)[0] for item in items]

    async def write(self, rows: Sequence[Any]) -> None:
        """The same without what is done when an item comes."""
        for start in range(0, len(rows), TOGETHER):
            await self.store.write(rows[start : start + TOGETHER])

    async def close(self) -> None:
        await self.store.finish()
        await self.store.close()


def _fail(item: Any, error: Exception) -> None:
    raise error


async def in_batches(driver: Driver, statement: str, rows: Sequence[Row]) -> None:
    for start in range(0, len(rows), TOGETHER):
        await driver.together(statement, rows[start : start + TOGETHER])


async def one_by_one(driver: Driver, items: Sequence[Item]) -> None:
    for item in items:
        await driver.alone(row_of(item))


class Speed:
    """Items per second and microseconds of our processor per item, round by round."""

    def __init__(self) -> None:
        self.rates: list[float] = []
        self.costs: list[float] = []

    async def take(self, work: Any, count: int) -> None:
        since, cpu = perf_counter(), process_time()
        await work
        self.rates.append(count / (perf_counter() - since))
        self.costs.append((process_time() - cpu) / count * 1e6)

    def __str__(self) -> str:
        return f"{median(self.rates):>9,.0f} items/s {median(self.costs):>7.1f} µs of CPU"


def ratio(one: Iterable[float], other: Iterable[float]) -> float:
    return median(a / b for a, b in zip(one, other, strict=True))


async def compare(name: str, count: int, rounds: int) -> None:
    """All ways in turns: new rows first, then the same rows with other prices."""
    many = {"new": items_of(count), "changed": items_of(count, 1.5)}
    few = {what: given[: max(count // 20, 200)] for what, given in many.items()}
    speeds = {(way, what): Speed() for way in WAYS for what in many}
    for _ in range(rounds):
        driver = DRIVERS[name]()
        await driver.open()
        await driver.empty()
        store = Ours(driver)
        await store.open()
        await store.put(few["new"][:1])  # the table is made
        for what in many:
            await speeds["ours", what].take(store.put(many[what]), count)
            await speeds["driver", what].take(in_batches(driver, driver.upsert, list(map(row_of, many[what]))), count)
        for way in ("write", "same"):
            await driver.run("DELETE FROM bench_ours")
            for what in many:
                rows = store.rows(many[what])
                if way == "write":
                    work = store.write(rows)
                else:
                    work = in_batches(driver, store.statement, [row.values for row in rows])
                await speeds[way, what].take(work, count)
        await store.close()
        await driver.empty()
        for what in many:
            await speeds["one by one", what].take(one_by_one(driver, few[what]), len(few[what]))
        await driver.drop()
        await driver.close()
    for what in many:
        show(name, what, speeds)


def show(name: str, what: str, speeds: Mapping[tuple[str, str], Speed]) -> None:
    print(f"{name}, {what} rows")
    for way, text in WAYS.items():
        print(f"  {text:<42} {speeds[way, what]}")
    driver, single = speeds["driver", what].rates, speeds["one by one", what].rates
    same = speeds["same", what].rates
    print(f"  our write to the driver's executemany of the same rows: {ratio(speeds['write', what].rates, same):.2f}")
    print(f"  our store to the same: {ratio(speeds['ours', what].rates, same):.2f}")
    print(f"  our store to the driver's executemany with url as the key: {ratio(speeds['ours', what].rates, driver):.2f}")
    print(f"  our store to one by one: {ratio(speeds['ours', what].rates, single):.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("databases", nargs="*", metavar="DATABASE", help=f"{', '.join(DRIVERS)}; all of them by default")
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    with new_runner() as runner:
        for name in given.databases or DRIVERS:
            runner.run(compare(name, given.items, given.rounds))


if __name__ == "__main__":
    main()
