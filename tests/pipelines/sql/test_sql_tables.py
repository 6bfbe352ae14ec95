"""How a table comes to be, how it grows, and how one that exists is used as it is."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import attrs
import pytest
from pydantic import BaseModel

from openoctopus.exceptions import SettingsError
from openoctopus.items import Field, Item
from openoctopus.pipelines.base import Receipt
from openoctopus.pipelines.sql.kinds import Kind
from tests.pipelines.sql.databases import Crawl, Database, kept


@dataclass
class Plain:
    url: str
    price: Decimal | None = None
    tags: list[str] | None = None
    seen: datetime | None = None
    count: int = 0


@attrs.define
class Attrs:
    url: str
    price: Decimal | None = None
    tags: list[str] | None = None
    seen: datetime | None = None
    count: int = 0


class Model(BaseModel):
    url: str
    price: Decimal | None = None
    tags: list[str] | None = None
    seen: datetime | None = None
    count: int = 0


class Typed(Item):
    url = Field(type=str)
    price = Field(type=Decimal)
    tags = Field(type=list)
    seen = Field(type=datetime)
    count = Field(type=int)


async def kinds(database: Database) -> dict[str, Kind]:
    async with database.engine.connect() as connection:
        found = await database.dialect.look(connection, database.table)
    assert found is not None
    return {name: database.dialect.kind(column) for name, column in found.columns.items()}


@pytest.mark.parametrize("item_class", [Plain, Attrs, Model, Typed])
async def test_a_class_says_what_its_columns_are(database: Database, item_class: Any) -> None:
    crawl = await kept(database.store(), [item_class(url="a")])

    found = await kinds(database)
    expected = {"url": Kind.TEXT, "price": Kind.DECIMAL, "tags": Kind.NESTED, "seen": Kind.DATETIME, "count": Kind.INTEGER}
    if database.name == "sqlite":
        expected["price"] = Kind.TEXT
    assert not crawl.failed
    assert {name: found[name] for name in expected} == expected


async def test_else_the_values_of_the_first_batch_say_it(database: Database) -> None:
    items = [{"n": 1, "mixed": 1, "f": 1, "none": None}, {"n": None, "mixed": "text", "f": 1.5, "late": True}]
    await kept(database.store(), items)

    found = await kinds(database)
    assert [found["n"], found["mixed"], found["f"]] == [Kind.INTEGER, Kind.TEXT, Kind.FLOAT]
    assert "none" not in found


async def test_a_row_knows_when_it_was_made(database: Database) -> None:
    store = {"key": "url"}
    before = datetime.now(UTC).replace(tzinfo=None)
    await kept(database.store(**store), [{"url": "a"}])
    made = await database.rows("created_at")
    await kept(database.store(**store), [{"url": "a", "n": 1}])

    assert await database.rows("created_at") == made
    moment = datetime.fromisoformat(made[0]) if isinstance(made[0], str) else made[0].replace(tzinfo=None)
    assert abs((moment - before).total_seconds()) < 5


async def test_that_column_may_be_named_left_out_or_belong_to_the_item(database: Database) -> None:
    await kept(database.store(created_at="made"), [{"n": 1}])
    assert "made" in await database.columns()
    await database.run("DROP TABLE {t}")

    await kept(database.store(created_at=""), [{"n": 1}])
    assert await database.columns() & {"made", "created_at"} == set()
    await database.run("DROP TABLE {t}")

    await kept(database.store(), [{"created_at": "by the item"}])
    assert await database.rows("created_at") == ["by the item"]


async def test_a_new_field_gets_a_column(database: Database) -> None:
    for _ in range(2):
        await kept(database.store(key="url"), [{"url": "a"}])
        await kept(database.store(key="url"), [{"url": "b", "n": 1}, {"url": "c", "名": "值", "n": 2}])

    assert sorted(await database.rows("url n 名")) == [("a", None, None), ("b", 1, None), ("c", 2, "值")]


async def test_a_field_gets_its_column_when_its_first_value_tells_what_it_is(database: Database) -> None:
    async with Crawl(database.store(key="url")) as crawl:
        crawl.store.max_items = 1
        crawl.page({"url": "a", "price": None}, {"url": "b", "price": 5})

    assert (await kinds(database))["price"] is Kind.INTEGER


async def test_new_fields_can_be_ignored(database: Database) -> None:
    store = {"key": "url", "on_new_field": "ignore"}
    await kept(database.store(**store), [{"url": "a", "n": 1}])
    crawl = await kept(database.store(**store), [{"url": "b", "other; DROP TABLE x": 1, "new": 2}])

    assert not crawl.failed
    assert sorted(await database.rows("url n")) == [("a", 1), ("b", None)]
    assert "new" not in await database.columns()


async def test_new_fields_can_be_refused(database: Database) -> None:
    store = {"key": "url", "on_new_field": "refuse"}
    await kept(database.store(**store), [{"url": "a", "n": 1, "none": None}])
    crawl = await kept(database.store(**store), [{"url": "b", "new": 2}, {"url": "c", "n": 3, "none": "x", "absent": None}])

    assert crawl.errors == [f"the table {database.table} has no column new"]
    assert sorted(await database.rows("url n none")) == [("a", 1, None), ("c", 3, "x")]


async def test_only_the_columns_asked_for_are_written(database: Database) -> None:
    await kept(database.store(key="url", columns="url,title"), [{"url": "a", "title": "x", "bad name": 1, "html": "y" * 99}])

    assert await database.columns() >= {"url", "title"}
    assert "html" not in await database.columns()


async def test_only_the_items_asked_for_are_written(database: Database) -> None:
    crawl = await kept(database.store(item_classes="Plain"), [Plain("a"), Model(url="b"), {"url": "c"}])

    assert await database.rows("url") == ["a"]
    assert crawl.settled == [2, 3, 1]


async def test_each_class_may_have_its_table(database: Database) -> None:
    prefix = database.table
    await kept(database.store(table=prefix + "_%(item_class)s", key="url"), [Plain("a"), Model(url="b"), {"url": "c"}])

    tables = [f"{prefix}_{name}" for name in ("Plain", "Model", "dict")]
    found = [await database.rows("url", table) for table in tables]
    for table in tables:
        await database.run(f"DROP TABLE {database.quoted(table)}")
    assert found == [["a"], ["b"], ["c"]]


async def test_the_table_is_named_after_the_spider_where_nothing_else_is_said(database: Database) -> None:
    database.table = database.table + "_my_spider"
    await kept(database.store(table="%(name)s", key="url"), [{"url": "a"}], spider=database.table.replace("_", "-"))

    assert await database.rows("url") == ["a"]


EXISTING = {
    "postgresql": "CREATE TABLE {t} (id SERIAL PRIMARY KEY, url VARCHAR(20) NOT NULL UNIQUE, n INT, at TIMESTAMP, tags TEXT[])",
    "mysql": "CREATE TABLE {t} (_row INT AUTO_INCREMENT PRIMARY KEY, url VARCHAR(20) NOT NULL UNIQUE, n INT,"
    " at TIMESTAMP NULL, tags JSON)",
    "sqlite": "CREATE TABLE {t} (id INTEGER PRIMARY KEY, url VARCHAR(20) NOT NULL UNIQUE, n INT, at TIMESTAMP, tags JSON)",
}


@pytest.mark.parametrize("policy", ["add", "ignore", "refuse"])
async def test_a_table_that_exists_is_used_as_it_is(database: Database, policy: str) -> None:
    await database.run(EXISTING[database.name])
    item = {"url": "a", "n": 1, "at": datetime(2024, 5, 6, 7, tzinfo=UTC), "tags": ["x"]}

    for n in (1, 2):
        crawl = await kept(database.store(key="url", on_new_field=policy), [item | {"n": n}])
        assert not crawl.failed

    assert await database.rows("url n") == [("a", 2)]
    assert "2024-05-06 07:00:00" in str((await database.rows("at"))[0])
    assert ("_fetched_at" in await database.columns()) is (policy == "add")


async def test_in_such_a_table_the_page_that_was_fetched_last_wins_too(database: Database) -> None:
    await database.run(EXISTING[database.name], "INSERT INTO {t} (url, n) VALUES ('a', 0)")
    async with Crawl(database.store(key="url")) as crawl:
        crawl.store.max_items = 1
        crawl.page({"url": "a", "n": 2}, at=2000.0)
        crawl.page({"url": "a", "n": 1}, at=1000.0)

    assert await database.rows("url n") == [("a", 2)]


async def test_a_key_that_nothing_makes_unique_is_refused_with_the_sql_that_helps(database: Database) -> None:
    kind = "VARCHAR(100)" if database.name == "mysql" else "TEXT"
    await database.run(
        f"CREATE TABLE {{t}} ({'_row INT, ' if database.name == 'mysql' else ''}url {kind}, shop {kind}, UNIQUE (shop))"
    )

    with pytest.raises(SettingsError, match="nothing makes url unique") as refused:
        await kept(database.store(key="url"), [])

    await database.run(str(refused.value).partition("run this first: ")[2])
    await kept(database.store(key="url"), [{"url": "a"}])
    assert await database.rows("url") == ["a"]


async def test_an_index_on_a_part_of_the_rows_or_values_is_none(database: Database) -> None:
    if database.name == "mysql":
        await database.run("CREATE TABLE {t} (_row INT, url TEXT, UNIQUE (url(10)))")
    else:
        await database.run("CREATE TABLE {t} (url TEXT)", "CREATE UNIQUE INDEX {t}_u ON {t} (url) WHERE url > 'b'")

    with pytest.raises(SettingsError, match="nothing makes url unique"):
        await kept(database.store(key="url"), [])


async def test_a_key_that_is_no_column_is_refused(database: Database) -> None:
    await database.run(EXISTING[database.name])

    with pytest.raises(SettingsError, match="has no column sku, which is its key"):
        await kept(database.store(key="sku"), [])


async def test_a_table_that_exists_serves_without_a_key(database: Database) -> None:
    await database.run(EXISTING[database.name], "INSERT INTO {t} (url, n) VALUES ('old', 0)")
    with pytest.raises(SettingsError, match="has no column _id to tell items apart"):
        await kept(database.store(on_new_field="ignore"), [])

    for _ in range(2):
        await kept(database.store(job="one"), [{"url": "a", "n": 1}, {"url": "b", "n": 2}])

    assert sorted(await database.rows("url")) == ["a", "b", "old"]


async def test_two_workers_may_make_and_widen_the_same_table(database: Database) -> None:
    async def work(number: int) -> Crawl:
        return await kept(database.store(key="url"), [{"url": f"{number}-{n}", f"f{n}": n} for n in range(3)], retry_times=5)

    crawls = await asyncio.gather(*map(work, range(4)))

    assert [crawl.errors for crawl in crawls] == [[]] * 4
    assert len(await database.rows("url f0 f1 f2")) == 12


async def test_a_batch_may_have_more_values_than_a_statement(database: Database) -> None:
    """SQLite takes 32,766 values at once, or 250,000 where a distribution allows more."""
    items = [{"n": n} | {f"field_{column}": n * column for column in range(260)} for n in range(999)]
    await kept(database.store(key="n"), items[:1])
    async with Crawl(database.store(key="n")) as crawl:
        await crawl.store.write([crawl.store.record(item, Receipt(lambda page: None))[0] for item in items])

    assert await database.rows("n field_259") == [(n, n * 259) for n in range(999)]
