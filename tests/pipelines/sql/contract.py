"""The tables of databases as members of the contract suite of stores, read by clients of their own."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import asyncmy
import asyncpg

from openoctopus.pipelines.base import BatchPipeline
from openoctopus.pipelines.sql import SqlPipeline
from tests.servers import MariaDb, apart
from tests.services import services

Rows = list[dict[str, str]]


def name_in(folder: Path) -> str:
    """The table that belongs to a test's folder."""
    return f"test_{blake2b(str(folder).encode(), digest_size=6).hexdigest()}"


class TableStore(NamedTuple):
    """How a store is made, read and removed again."""

    make: Callable[[Path], BatchPipeline]
    read: Callable[[Path], Rows]
    drop: Callable[[Path], object]


async def postgresql(statement: str) -> Rows:
    connection = await asyncpg.connect(services.url("postgresql"))
    try:
        return [dict(row) for row in await connection.fetch(statement)]
    except asyncpg.UndefinedTableError:
        return []
    finally:
        await connection.close()


async def mysql(statement: str) -> Rows:
    connection = await asyncmy.connect(**MariaDb.arguments(services.url("mysql")), charset="utf8mb4", autocommit=True)
    try:
        async with connection.cursor(asyncmy.cursors.DictCursor) as cursor:
            await cursor.execute(statement)
            return [dict(row) for row in await cursor.fetchall()]
    except asyncmy.errors.ProgrammingError:
        return []
    finally:
        await connection.ensure_closed()


def served(scheme: str, run: Callable[[str], Any], order: str) -> TableStore:
    return TableStore(
        lambda folder: SqlPipeline(services.url(scheme), table=name_in(folder), key="url"),
        lambda folder: apart(lambda: run(f"SELECT url, title FROM {name_in(folder)} ORDER BY {order}")),
        lambda folder: apart(lambda: run(f"DROP TABLE IF EXISTS {name_in(folder)}")),
    )


def in_file(folder: Path) -> Rows:
    with sqlite3.connect(folder / "items.db") as connection:
        connection.row_factory = sqlite3.Row
        try:
            rows = [dict(row) for row in connection.execute("SELECT url, title FROM items ORDER BY rowid")]
        except sqlite3.OperationalError:
            rows = []
    connection.close()
    return rows


TABLES = {
    "postgresql": served("postgresql", postgresql, "ctid"),
    "mysql": served("mysql", mysql, "_row"),
    "sqlite": TableStore(
        lambda folder: SqlPipeline(f"sqlite:///{folder}/items.db?table=items&key=url"), in_file, lambda folder: None
    ),
}
