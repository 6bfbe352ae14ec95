"""What cannot work is said before the first request, with what to do about it."""

from __future__ import annotations

import asyncio
import secrets
import sqlite3
import sys
from pathlib import Path

import pytest

from openoctopus.exceptions import MissingExtra, SettingsError
from openoctopus.spider import Spider
from tests.pipelines.sql.databases import Database, kept


class Person:
    """A user of the server who may do only what is granted to them."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.name = f"test_{secrets.token_hex(4)}"
        self.role = self.name if database.name == "postgresql" else f"'{self.name}'@'127.0.0.1'"
        self.url = database.base.replace("root@", f"{self.name}:right@")

    async def __aenter__(self) -> Person:
        word = "LOGIN PASSWORD" if self.database.name == "postgresql" else "IDENTIFIED BY"
        await self.database.run(f"CREATE {'ROLE' if self.database.name == 'postgresql' else 'USER'} {self.role} {word} 'right'")
        if self.database.name == "mysql":
            await self.database.run(f"GRANT CREATE TEMPORARY TABLES ON test.* TO {self.role}")  # so that they may enter it
        return self

    async def granted(self, rights: str) -> None:
        await self.database.run(f"GRANT {rights} ON {{t}} TO {self.role}")

    async def __aexit__(self, *exc_info: object) -> None:
        if self.database.name == "postgresql":
            await self.database.run(f"DROP OWNED BY {self.role}", f"DROP ROLE {self.role}")
        else:
            await self.database.run(f"DROP USER {self.role}")

    def store(self, **options: object) -> object:
        return Database(self.database.name, self.database.folder, self.url).store(table=self.database.table, **options)


@pytest.mark.parametrize("exists", [True, False])
async def test_a_user_who_may_not_write(remote: Database, exists: bool) -> None:
    if exists:
        await kept(remote.store(key="n"), [{"n": 1}])
    async with Person(remote) as person:
        if exists:
            await person.granted("SELECT")
        with pytest.raises(SettingsError, match=r"GRANT|denied") as refused:
            await kept(person.store(key="n"), [])  # type: ignore[arg-type]

    assert "right@" not in str(refused.value)


async def test_a_user_who_may_only_write(remote: Database, caplog: pytest.LogCaptureFixture) -> None:
    await remote.run("CREATE TABLE {t} (_row INT, n INT NOT NULL UNIQUE, m INT)")
    async with Person(remote) as person:
        await person.granted("SELECT, INSERT, UPDATE")
        for m in (1, 2):
            crawl = await kept(person.store(key="n"), [{"n": 1, "m": m}, {"n": 2, "new": 1}])  # type: ignore[arg-type]
            assert len(crawl.failed) == 1
            assert "cannot get the column new" in crawl.errors[0]

    assert await remote.rows("n m") == [(1, 2)]


async def test_a_database_that_is_not_there(remote: Database) -> None:
    url = remote.base.rpartition("/")[0] + "/no_such_database"
    with pytest.raises(SettingsError, match="make the database first: CREATE DATABASE"):
        await kept(Database(remote.name, remote.folder, url).store(), [])


async def test_a_wrong_password(tmp_path: Path) -> None:
    database = Database("mysql", tmp_path)
    async with Person(database) as person:
        person.url = person.url.replace(":right@", ":wr0ng@")
        with pytest.raises(SettingsError, match="the user or the password is not right") as refused:
            await kept(person.store(), [])  # type: ignore[arg-type]
    await database.close()

    assert "wr0ng" not in str(refused.value)


@pytest.mark.parametrize("url", ["postgresql://root@127.0.0.1:1/x", "mysql://root@127.0.0.1:1/x"])
async def test_a_server_that_is_not_there(url: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="is the server running, and are host and port right"):
        await kept(Database(url.partition(":")[0], tmp_path, url).store(), [])


async def test_a_host_without_an_address(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="is the server running, and are host and port right"):
        await kept(Database("postgresql", tmp_path, "postgresql://root@no-such-host.invalid/x").store(), [])


async def test_a_file_that_is_none_of_sqlite(tmp_path: Path) -> None:
    (tmp_path / "items.db").write_text("url,title\n" * 1000)
    with pytest.raises(SettingsError, match="is it a file of SQLite"):
        await kept(Database("sqlite", tmp_path).store(), [])

    assert (tmp_path / "items.db").read_text().startswith("url,title\n")


async def test_a_folder_where_a_file_should_be(tmp_path: Path) -> None:
    (tmp_path / "items.db").mkdir()
    with pytest.raises(SettingsError, match="may the file and its folder be written"):
        await kept(Database("sqlite", tmp_path).store(), [])


async def test_a_file_where_its_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    with pytest.raises(SettingsError, match="its folder cannot be made: "):
        await kept(Database("sqlite", tmp_path, f"sqlite:///{tmp_path}/a/b/items.db").store(), [])


async def test_a_folder_is_made_for_a_file(tmp_path: Path) -> None:
    await kept(Database("sqlite", tmp_path, f"sqlite:///{tmp_path}/a/b/items.db").store(), [{"n": 1}])

    assert (tmp_path / "a" / "b" / "items.db").is_file()


@pytest.mark.parametrize(
    ("name", "module", "extra"),
    [
        ("postgresql", "asyncpg", "postgres"),
        ("mysql", "asyncmy", "mysql"),
        ("sqlite", "aiosqlite", "sqlite"),
        ("sqlite", "sqlalchemy", "sqlite"),
    ],
)
async def test_a_missing_driver_is_named_with_its_extra(
    name: str, module: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Database(name, tmp_path).store()
    monkeypatch.setitem(sys.modules, module, None)

    with pytest.raises(MissingExtra, match=rf"{module} is not installed: pip install 'openoctopus\[{extra}\]'"):
        await kept(store, [])


async def test_a_crawl_that_never_began_leaves_no_table(database: Database) -> None:
    store = database.store()
    await store.open()
    await store.open_spider(Spider("news"))
    await store.close()

    assert await database.columns() == set()


async def test_a_new_file_may_be_opened_by_many_at_once(tmp_path: Path) -> None:
    """While another one has locked it SQLite refuses to make its log, and does not wait."""
    other = sqlite3.connect(tmp_path / "items.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    asyncio.get_running_loop().call_later(0.2, other.rollback)
    database = Database("sqlite", tmp_path)

    await kept(database.store(key="n"), [{"n": 1}])

    other.close()
    assert await database.rows("n") == [1]
    await database.close()
