"""A database that is away is waited for: nothing is lost, and no item pays for it."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from openoctopus.pipelines.sql import SqlPipeline
from openoctopus.pipelines.sql import pipeline as pipeline_module
from tests.pipelines.sql.databases import Crawl, Database, kept
from tests.servers import SERVERS, Server
from tests.services import services


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try again soon, so that the tests are quick."""
    monkeypatch.setattr(pipeline_module, "_PAUSES", dict.fromkeys(pipeline_module._PAUSES, 0.05))


async def until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)


async def connection_of(crawl: Crawl, name: str) -> int:
    async with crawl.store._database.engine.connect() as connection:
        found = await connection.exec_driver_sql(
            "SELECT pg_backend_pid()" if name == "postgresql" else "SELECT connection_id()"
        )
        return int(found.scalar())


async def test_a_connection_that_is_cut_between_batches_costs_nothing(
    remote: Database, soon: None, caplog: pytest.LogCaptureFixture
) -> None:
    async with Crawl(remote.store(key="n")) as crawl:
        for n in range(5):
            crawl.page({"n": n})
            crawl.store.flush()
            await until(lambda n=n: len(crawl.settled) == n + 1)  # type: ignore[misc]
            number = await connection_of(crawl, remote.name)
            await remote.run(f"SELECT pg_terminate_backend({number})" if remote.name == "postgresql" else f"KILL {number}")

    assert not crawl.failed
    assert await remote.rows("n") == [0, 1, 2, 3, 4]
    assert "is away, the crawl waits for it" in caplog.text
    assert "is back after" in caplog.text


async def test_a_connection_that_is_cut_within_a_batch_costs_nothing(remote: Database, soon: None) -> None:
    await kept(remote.store(key="n"), [{"n": 0, "text": "x"}])
    async with Crawl(remote.store(key="n")) as crawl:
        number = await connection_of(crawl, remote.name)
        lock = "BEGIN; LOCK TABLE {t}" if remote.name == "postgresql" else "SELECT 1 FROM {t} WHERE n = 0 FOR UPDATE"
        async with remote.engine.begin() as locked:
            await locked.exec_driver_sql(lock.removeprefix("BEGIN; ").format(t=remote.table))
            crawl.page(*[{"n": n, "text": "y"} for n in range(100)])
            crawl.store.flush()
            await asyncio.sleep(0.05)  # it waits for the lock
            kill = f"SELECT pg_terminate_backend({number})" if remote.name == "postgresql" else f"KILL {number}"
            await locked.exec_driver_sql(kill)
            await until(lambda: not crawl.store.ready)
            assert crawl.settled == []

    assert not crawl.failed
    assert sorted(await remote.rows("n")) == list(range(100))


@pytest.fixture(params=SERVERS)
async def own_server(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[tuple[Server, Database]]:
    """A server that can be killed."""
    with services.own(request.param) as server:
        database = Database(request.param, tmp_path, server.url)
        yield server, database
        await database.engine.dispose()


async def test_a_server_that_dies_and_comes_back_loses_nothing(
    own_server: tuple[Server, Database], soon: None, caplog: pytest.LogCaptureFixture
) -> None:
    server, database = own_server
    async with Crawl(database.store(key="n")) as crawl:
        for n in range(10):
            crawl.page({"n": n})
            crawl.store.flush()
            if n == 4:
                await until(lambda: bool(crawl.settled))
                server.kill()
                crawl.page({"n": 100})
                crawl.store.flush()
                await until(lambda: not crawl.store.ready)
                assert 101 not in crawl.settled
            await asyncio.sleep(0)
        settled = len(crawl.settled)
        await asyncio.sleep(0.05)
        assert len(crawl.settled) == settled
        await asyncio.to_thread(server.start)
        await database.engine.dispose()

    assert not crawl.failed
    assert sorted(await database.rows("n")) == [*range(10), 100]
    assert len(crawl.settled) == 11
    waits = [record.getMessage() for record in caplog.records if "the crawl waits for it" in record.getMessage()]
    assert waits
    assert all(database.table in wait for wait in waits)


async def test_a_table_that_was_dropped_is_waited_for(remote: Database, soon: None, caplog: pytest.LogCaptureFixture) -> None:
    async with Crawl(remote.store(key="n")) as crawl:
        crawl.page({"n": 1})
        crawl.store.flush()
        await until(lambda: bool(crawl.settled))
        await remote.run("ALTER TABLE {t} RENAME TO {t}_x")
        crawl.page({"n": 2})
        crawl.store.flush()
        await until(lambda: not crawl.store.ready)
        await remote.run("ALTER TABLE {t}_x RENAME TO {t}")

    assert not crawl.failed
    assert sorted(await remote.rows("n")) == [1, 2]
    assert f"{remote.table}" in caplog.text


async def test_a_deadlock_is_tried_again_and_not_heard_of(remote: Database, caplog: pytest.LogCaptureFixture) -> None:
    await kept(remote.store(key="n"), [{"n": n, "text": "0"} for n in range(200)])

    async def work(order: list[int], text: str) -> Crawl:
        async with Crawl(remote.store(key="n")) as crawl:
            crawl.store.max_items = 50
            for _ in range(5):
                for n in order:
                    crawl.page({"n": n, "text": text})
                await asyncio.sleep(0)
        return crawl

    crawls = await asyncio.gather(work([*range(200)], "up"), work([*reversed(range(200))], "down"))

    assert [crawl.failed for crawl in crawls] == [[], []]
    assert [len(crawl.settled) for crawl in crawls] == [1000, 1000]
    assert len(await remote.rows("n")) == 200


async def test_a_file_that_another_program_has_locked_is_waited_for(tmp_path: Path, soon: None) -> None:
    database = Database("sqlite", tmp_path, f"sqlite:///{tmp_path}/items.db")
    await kept(database.store(key="n"), [{"n": 1}])
    other = sqlite3.connect(tmp_path / "items.db", isolation_level=None)
    async with Crawl(SqlPipeline(database.url(key="n", timeout=0.05))) as crawl:
        other.execute("BEGIN IMMEDIATE")
        crawl.page({"n": 2})
        crawl.store.flush()
        await until(lambda: not crawl.store.ready)
        other.execute("ROLLBACK")

    other.close()
    assert not crawl.failed
    assert await database.rows("n") == [1, 2]
    await database.close()


async def test_a_server_that_gives_no_answer_is_away(
    remote: Database, soon: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    await kept(remote.store(key="n"), [{"n": 0}])
    monkeypatch.setattr("openoctopus.pipelines.sql.database._ANSWER", 0.1)
    async with Crawl(remote.store(key="n")) as crawl, remote.engine.begin() as locked:
        await locked.exec_driver_sql(f"SELECT * FROM {remote.table} FOR UPDATE")
        crawl.page({"n": 0}, {"n": 1})
        crawl.store.flush()
        await until(lambda: not crawl.store.ready)

    assert not crawl.failed
    assert sorted(await remote.rows("n")) == [0, 1]
    assert "it gives no answer" in caplog.text
