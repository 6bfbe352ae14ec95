"""A row that the database refuses is found in its batch and becomes a failed item; the rest is stored."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from openoctopus.pipelines.sql.errors import Trouble
from tests.pipelines.sql.databases import Crawl, Database, kept

_COLUMNS = "slug {text} UNIQUE, code VARCHAR(3) CHECK (length(code) < 4), n SMALLINT CHECK (n BETWEEN 1 AND 32767)"
TABLE = {
    "postgresql": f"CREATE TABLE {{t}} (url TEXT UNIQUE, {_COLUMNS.format(text='TEXT')}, must TEXT NOT NULL)",
    "mysql": "CREATE TABLE {t} (_row INT AUTO_INCREMENT PRIMARY KEY, url VARCHAR(99) UNIQUE,"
    f" {_COLUMNS.format(text='VARCHAR(99)')}, must TEXT NOT NULL)",
    "sqlite": f"CREATE TABLE {{t}} (url TEXT UNIQUE, {_COLUMNS.format(text='TEXT')}, must TEXT NOT NULL)",
}
BAD: list[dict[str, Any]] = [{"slug": "taken"}, {"code": "long"}, {"n": 0}, {"n": 40_000}, {"must": None}]


def good(n: int) -> dict[str, Any]:
    return {"url": str(n), "slug": f"s{n}", "code": "abc", "n": 1, "must": "x"}


@pytest.mark.parametrize("bad", BAD, ids=range(len(BAD)))
@pytest.mark.parametrize("mode", ["upsert", "insert"])
async def test_what_an_existing_table_refuses_costs_only_its_own_item(
    database: Database, bad: dict[str, Any], mode: str
) -> None:
    await database.run(TABLE[database.name])
    await kept(database.store(key="url", mode=mode), [good(0) | {"slug": "taken"}])

    items = [good(n) | (bad if n == 37 else {}) for n in range(1, 100)]
    async with asyncio.timeout(30):  # it is not tried again: the pauses would take minutes
        crawl = await kept(database.store(key="url", mode=mode), items, retry_times=50)

    assert [item["url"] for item, _ in crawl.failed] == ["37"]
    assert type(crawl.failed[0][1]).__name__ == "RefusedRow"
    assert "INSERT" not in crawl.errors[0]
    assert sorted(await database.rows("url"), key=int) == [str(n) for n in range(100) if n != 37]
    assert (await database.rows("url slug"))[0] == ("0", "taken")
    assert len(crawl.settled) == 99


async def test_many_of_them_are_all_found(database: Database) -> None:
    await database.run(TABLE[database.name])
    items = [good(n) | ({"code": "long"} if n % 7 == 0 else {}) for n in range(60)]

    crawl = await kept(database.store(key="url"), items)

    assert sorted(int(item["url"]) for item, _ in crawl.failed) == [n for n in range(60) if n % 7 == 0]
    assert len(await database.rows("url")) == 60 - len(crawl.failed)


async def test_a_value_that_fits_no_more_is_refused_in_a_waiting_batch_too(database: Database) -> None:
    """The table is made from the first batch while the second one already waits."""
    async with Crawl(database.store(key="url")) as crawl:
        crawl.store.max_items = 2
        crawl.page(*[{"url": str(n), "n": "many" if n == 5 else n} for n in range(8)])

    assert [item["url"] for item, _ in crawl.failed] == ["5"]
    assert sorted(await database.rows("n")) == [0, 1, 2, 3, 4, 6, 7]


async def test_a_statement_that_takes_too_long_for_the_server_costs_its_item(tmp_path: Path) -> None:
    database = Database("postgresql", tmp_path)
    slow = (
        "CREATE FUNCTION {t}_f() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN IF NEW.n = 3 THEN PERFORM pg_sleep(5); END IF; RETURN NEW; END $$"
    )
    await kept(database.store(key="n"), [{"n": 0}])
    await database.run(slow, "CREATE TRIGGER x BEFORE INSERT ON {t} FOR EACH ROW EXECUTE FUNCTION {t}_f()")

    store = type(database.store())(database.url(key="n", statement_timeout=200))
    crawl = await kept(store, [{"n": n} for n in range(5)])
    await database.run("DROP TABLE {t}", "DROP FUNCTION {t}_f")

    assert [item for item, _ in crawl.failed] == [{"n": 3}]
    assert "statement timeout" in crawl.errors[0]
    assert crawl.settled != []
    await database.close()


async def test_a_lock_that_is_held_for_long_is_waited_for(remote: Database, caplog: pytest.LogCaptureFixture) -> None:
    await kept(remote.store(key="n"), [{"n": 0}])
    async with Crawl(remote.store(key="n")) as crawl:
        async with crawl.store._database.engine.begin() as connection:
            limit = "SET lock_timeout = '10ms'" if remote.name == "postgresql" else "SET SESSION innodb_lock_wait_timeout = 0"
            await connection.exec_driver_sql(limit)
        async with remote.engine.begin() as locked:
            await locked.exec_driver_sql(f"SELECT * FROM {remote.table} FOR UPDATE")
            crawl.page({"n": 0}, {"n": 1})
            crawl.store.flush()
            async with asyncio.timeout(10):
                while crawl.store.ready:
                    await asyncio.sleep(0.01)

    assert not crawl.failed
    assert sorted(await remote.rows("n")) == [0, 1]
    assert "is away, the crawl waits for it" in caplog.text


async def test_an_item_that_no_packet_can_carry_costs_only_itself(tmp_path: Path) -> None:
    database = Database("mysql", tmp_path)
    async with Crawl(database.store(key="n")) as crawl:
        most = crawl.store._database.dialect._packet
        fits = [{"n": n, "text": "'" * (most // 2 - 10_000)} for n in range(2)]
        crawl.page(
            fits[0], {"n": 5, "text": "'" * (most // 2)}, {"n": 6, "data": b"\0" * (most // 2)}, fits[1], {"n": 7, "text": "x"}
        )

    assert [item["n"] for item, _ in crawl.failed] == [5, 6]
    assert "max_allowed_packet" in crawl.errors[0]
    assert sorted(await database.rows("n")) == [0, 1, 7]
    await database.close()


async def test_a_disk_that_is_full_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("openoctopus.pipelines.sql.pipeline._PAUSES", dict.fromkeys(Trouble, 0.02))
    database = Database("sqlite", tmp_path)
    await kept(database.store(key="n"), [{"n": 0, "text": "x"}])
    async with Crawl(database.store(key="n")) as crawl:
        engine = crawl.store._database.engine
        async with engine.connect() as connection:
            await connection.exec_driver_sql("PRAGMA max_page_count = 5")
        crawl.page(*[{"n": n, "text": "x" * 1000} for n in range(100)])
        crawl.store.flush()
        async with asyncio.timeout(10):
            while crawl.store.ready:
                await asyncio.sleep(0.01)
        async with engine.connect() as connection:
            await connection.exec_driver_sql("PRAGMA max_page_count = 100000")

    assert not crawl.failed
    assert sorted(await database.rows("n")) == list(range(100))
    assert "database or disk is full" in caplog.text
    await database.close()
