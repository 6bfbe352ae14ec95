"""SQLite, by aiosqlite."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import Any, ClassVar

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.exc import OperationalError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.types import TypeEngine

from openoctopus.exceptions import SettingsError
from openoctopus.folders import make_folder_of
from openoctopus.pipelines.sql.dialect import Dialect
from openoctopus.pipelines.sql.fitting import FIT, as_date, as_datetime, as_decimal, as_text, as_time, as_wide
from openoctopus.pipelines.sql.kinds import Kind
from openoctopus.pipelines.sql.onconflict import on_conflict
from openoctopus.pipelines.sql.table import Table

#: Values that one statement may have.
_VARIABLES = 32_766 if sqlite3.sqlite_version_info >= (3, 32) else 999
#: Statements of many rows are large, and the driver would keep more of them.
_KEPT_STATEMENTS = 8
#: Seconds to wait for another program's lock before the crawl says that it waits.
_BUSY = 5.0


def _datetime(value: Any) -> str:
    moment: datetime = as_datetime(value)
    return moment.replace(tzinfo=None).isoformat(" ", "microseconds")


class Sqlite(Dialect):
    name = "SQLite"
    types: ClassVar[Mapping[Kind, TypeEngine[Any]]] = {
        Kind.TEXT: sa.Text(),
        Kind.INTEGER: sa.Integer(),
        # SQLite has no exact numbers beyond 64 bits; as text all digits are kept.
        Kind.WIDE: sa.Text(),
        Kind.FLOAT: sa.Double(),
        Kind.DECIMAL: sa.Text(),
        Kind.BOOLEAN: sa.Boolean(),
        Kind.DATETIME: sa.DateTime(),
        Kind.DATE: sa.Date(),
        Kind.TIME: sa.Time(),
        Kind.BYTES: sa.LargeBinary(),
        Kind.NESTED: sa.JSON(),
    }
    fit = FIT | {
        Kind.WIDE: lambda value: str(as_wide(value)),
        Kind.DECIMAL: lambda value: str(as_decimal(value)),
        Kind.DATETIME: _datetime,
        Kind.DATE: lambda value: as_date(value).isoformat(),
        Kind.TIME: lambda value: as_time(value).isoformat(),
        Kind.OTHER: as_text,
    }
    errors = (sqlite3.Error,)
    now = "(strftime('%Y-%m-%d %H:%M:%f', 'now'))"

    def engine(self) -> AsyncEngine:
        path = self.target.path
        try:
            make_folder_of(path)
        except OSError as error:
            raise SettingsError(f"its folder cannot be made: {error.strerror}") from error
        # The driver's thread would outlive a file that cannot be opened.
        sqlite3.connect(path).close()
        url = sa.URL.create("sqlite+aiosqlite", database=path)
        given = {"timeout": float(self.target.driver.get("timeout", _BUSY)), "cached_statements": _KEPT_STATEMENTS}
        return create_async_engine(url, connect_args=given, pool_size=1, max_overflow=0, hide_parameters=True)

    async def started(self, connection: AsyncConnection) -> None:
        """A new file gets a log of its own, so that readers and the crawl do not wait for each other."""
        if await connection.scalar(sa.text("SELECT count(*) FROM sqlite_master")):
            return
        try:
            await connection.exec_driver_sql("PRAGMA journal_mode=WAL")
        except OperationalError as error:
            # SQLite does not wait here; whoever has it locked is a worker that does the same, or has begun to fill it.
            if getattr(error.orig, "sqlite_errorcode", 0) != sqlite3.SQLITE_BUSY:
                raise

    def unique_indexes(self, connection: sa.Connection, schema: str | None, table: str) -> list[list[Any]]:
        found = connection.exec_driver_sql(f'PRAGMA index_list("{table}")').mappings().all()
        names = [one["name"].replace('"', '""') for one in found if one["unique"] and not one["partial"]]
        return [list(connection.exec_driver_sql(f'PRAGMA index_info("{name}")').scalars(2)) for name in names]

    def fold(self, name: str) -> str:
        return name.lower()

    def insert(self, table: Table, names: Sequence[str]) -> sa.Insert:
        return on_conflict(insert, table, names)

    async def may_create(self, connection: AsyncConnection, name: str) -> None:
        await connection.exec_driver_sql("BEGIN IMMEDIATE")
        await connection.rollback()

    async def may_write(self, connection: AsyncConnection, table: Table, statement: str) -> None:
        await self.may_create(connection, table.name)

    async def write(self, connection: AsyncConnection, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Many rows by one statement: the driver's ``executemany`` would wait for a busy interpreter after each row."""
        driver: Any = (await connection.get_raw_connection()).driver_connection
        row = f"({', '.join('?' * len(rows[0]))})"
        most = _VARIABLES // len(rows[0])
        for start in range(0, len(rows), most):
            some = rows[start : start + most]
            await driver.execute(statement.replace(row, ", ".join([row] * len(some)), 1), tuple(chain.from_iterable(some)))
