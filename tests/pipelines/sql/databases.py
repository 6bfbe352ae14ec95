"""The databases that the tests of tables run over: PostgreSQL, MariaDB, and a file of SQLite."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy.ext.asyncio import AsyncEngine

from openoctopus.pipelines.base import Receipt
from openoctopus.pipelines.sql import SqlPipeline
from openoctopus.pipelines.sql.dialect import Dialect
from openoctopus.pipelines.sql.options import parse
from openoctopus.plugins import load
from openoctopus.spider import Spider
from tests.servers import SERVERS
from tests.services import services

NAMES = [*SERVERS, "sqlite"]


class Database:
    """One database, and a table in it that nobody else uses."""

    def __init__(self, name: str, folder: Path, base: str = "") -> None:
        self.name = name
        self.folder = folder
        self.base = base or (services.url(name) if name in SERVERS else f"sqlite:///{folder}/items.db")
        self.table = f"test_{secrets.token_hex(6)}"
        self.dialect: Dialect = load(parse(self.base, {})[0].system.dialect)(parse(self.base, {})[0])
        self._engine: AsyncEngine | None = None

    @property
    def engine(self) -> AsyncEngine:
        if self._engine is None:
            self._engine = self.dialect.engine()
        return self._engine

    def url(self, **options: Any) -> str:
        given = {"table": self.table} | options
        return f"{self.base}?" + "&".join(f"{name}={quote(str(value))}" for name, value in given.items())

    def store(self, **options: Any) -> SqlPipeline:
        options.setdefault("table", self.table)
        return SqlPipeline(self.base, **options)

    async def run(self, *statements: str) -> None:
        async with self.engine.begin() as connection:
            for statement in statements:
                await connection.exec_driver_sql(statement.format(t=self.table))

    async def rows(self, columns: str = "*", table: str = "") -> list[Any]:
        """The rows in the order of their coming."""
        order = {"postgresql": "ctid", "mysql": "_row", "sqlite": "rowid"}[self.name]
        quoted = ", ".join(self.quoted(one) for one in columns.split()) if columns != "*" else "*"
        name = ".".join(self.quoted(one) for one in (table or self.table).split("."))
        async with self.engine.connect() as connection:
            found = await connection.exec_driver_sql(f"SELECT {quoted} FROM {name} ORDER BY {order}")
            rows = [tuple(row) for row in found]
        return [row[0] for row in rows] if len(columns.split()) == 1 and columns != "*" else rows

    async def one(self, sql: str) -> Any:
        async with self.engine.connect() as connection:
            return (await connection.exec_driver_sql(sql.format(t=self.table))).scalar()

    def quoted(self, name: str) -> str:
        return f"`{name}`" if self.name == "mysql" else f'"{name}"'

    async def columns(self) -> set[str]:
        async with self.engine.connect() as connection:
            found = await self.dialect.look(connection, self.table)
        return set(found.columns) if found else set()

    async def close(self) -> None:
        if self.name != "sqlite":
            await self.run("DROP TABLE IF EXISTS {t}")
        await self.engine.dispose()


class Crawl:
    """Opens a store, is given the items of pages, writes what waits, and closes the store."""

    def __init__(self, store: SqlPipeline, retry_times: int = 0, spider: str = "news") -> None:
        self.store = store
        self.spider = Spider(spider)
        self.retry_times = retry_times
        self.settled: list[int] = []
        self.failed: list[tuple[Any, Exception]] = []
        self._pages = 0

    async def __aenter__(self) -> Crawl:
        await self.store.open()
        try:
            await self.store.open_spider(self.spider)
        except BaseException:
            await self.store.close()
            raise
        self.store.begin(lambda failed: self.failed.append((failed.item, failed.error)), self.retry_times)
        return self

    def page(self, *items: Any, rid: int = 0, at: float = 0.0) -> None:
        """Read a page: all its items come one after the other."""
        self._pages += 1
        receipt = Receipt(lambda page: self.settled.append(page.rid))
        receipt.rid, receipt.fetched_at = rid or self._pages, at
        for item in items:
            receipt.ordinal += 1
            try:
                self.store.put(item, receipt)
            except TypeError as error:
                self.failed.append((item, error))
        receipt.close()

    async def __aexit__(self, *exc_info: object) -> None:
        try:
            await self.store.finish()
        finally:
            await self.store.close_spider(self.spider)
            await self.store.close()

    @property
    def errors(self) -> list[str]:
        return [str(error) for _, error in self.failed]


async def kept(store: SqlPipeline, items: Iterable[Any], **options: Any) -> Crawl:
    """Take items, each as the page of its own, through a crawl that ends."""
    async with Crawl(store, **options) as crawl:
        for item in items:
            crawl.page(item)
    return crawl
