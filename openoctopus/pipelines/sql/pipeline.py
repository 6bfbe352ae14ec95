"""Items to a table of a database, each item once."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from time import time
from typing import Any

from openoctopus.exceptions import Retry, SettingsError
from openoctopus.pipelines.base import BatchPipeline, Receipt
from openoctopus.pipelines.classes import Taken
from openoctopus.pipelines.sql.errors import Failed, NotNow, Trouble
from openoctopus.pipelines.sql.options import is_by_class, parse, table_name
from openoctopus.pipelines.sql.table import Row
from openoctopus.pipelines.sql.values import Values
from openoctopus.plugins import load, require
from openoctopus.spider import Spider

logger = logging.getLogger(__name__)

#: Seconds before another try, by what is the matter.
_PAUSES = {Trouble.AWAY: 1.0, Trouble.BUSY: 1.0, Trouble.FULL: 5.0, Trouble.ACCESS: 5.0}
#: Seconds before the tries that a busy table is given before the crawl waits for it; with jitter.
_BUSY_PAUSES = (0.02, 0.05, 0.1, 0.2, 0.4)
#: About the bytes of a row and of a value that is no text.
_BESIDES, _NUMBER = 128, 16
_SIZED = frozenset({str, bytes})


class SqlPipeline(BatchPipeline):
    """Writes items to a table: ``SqlPipeline("postgresql://localhost/shop?table=prices&key=url")``.

    Options stand in the query of the URL or are given as keywords (``table="prices", key=["url"]``). The database is
    reached, and the table checked, before the first request. ``job`` names the crawl whose items they are.
    """

    max_items = 1000

    def __init__(self, url: str, *, job: str = "", **options: Any) -> None:
        self.target, self.options = parse(url, options)
        self._job = job
        self._table = ""
        self._values = Values(self.options.columns)
        self._database: Any = None

    def __str__(self) -> str:
        return f"table {self._table or self.options.table} of {self.target}"

    @property
    def place(self) -> str:
        """Where the items go, whatever way it is written."""
        return f"{self.options.table} of {self.target.place}"

    async def open_spider(self, spider: Spider) -> None:
        """Connect and check. Raises ``SettingsError`` that says what stands in the way, ``MissingExtra``."""
        system, options = self.target.system, self.options
        require("sqlalchemy", system.extra)
        require(system.driver, system.extra)
        self._spider = spider
        self._run = self._job or f"{spider.name} {datetime.now(UTC).isoformat()}"
        self._taken = Taken(options.item_classes)
        if not is_by_class(options.table):
            self._table = table_name(options.table, spider, "")
        self._database = load("openoctopus.pipelines.sql.database.Database")(
            load(system.dialect)(self.target), options, self._values
        )
        try:
            await self._database.open([self._table] if self._table else [])
        except NotNow as error:
            raise SettingsError(f"{self}: {error}{error.advice and f' ({error.advice})'}") from None
        except (SettingsError, Failed) as error:
            raise SettingsError(f"{self}: {error}") from None
        self.max_bytes = min(self.max_bytes, self._database.dialect.max_bytes)
        if not options.key:
            logger.info("%s: no key is given, so another run adds its items anew; key=FIELD keeps each once", self)

    def put(self, item: Any, receipt: Receipt) -> int:
        return super().put(item, receipt) if self._taken[type(item)] else 0

    def record(self, item: Any, receipt: Receipt) -> tuple[Any, int]:
        """The item as a row; what is changed in it later does not matter. Raises ``TypeError`` that names a field at fault."""
        kind = type(item)
        table = self._table or table_name(self.options.table, self._spider, kind.__name__)
        place = (self._run, receipt.rid, kind.__qualname__, receipt.ordinal)
        fetched_at = receipt.fetched_at or time()
        values = self._values.of(item)
        fitted = self._database.fit(table, values, place, fetched_at)
        if fitted is None:
            row = Row(table, kind, self._values.frozen(values), place, fetched_at)
            return row, self._size(row.values.values())
        return fitted, self._size(fitted.values)

    def _size(self, values: Collection[Any]) -> int:
        size = _BESIDES
        for value in values:
            size += len(value) if type(value) in _SIZED else _NUMBER
        self._database.dialect.check_size(size, values)
        return size

    async def write(self, items: Sequence[Any]) -> None:
        for pause in _BUSY_PAUSES:
            try:
                return await self._database.write(items)  # type: ignore[no-any-return]
            except NotNow as error:
                if error.trouble is not Trouble.BUSY:
                    raise Retry(str(error), delay=_PAUSES[error.trouble]) from None
            await asyncio.sleep(random.uniform(0.5, 1.5) * pause)
        try:
            await self._database.write(items)
        except NotNow as error:
            raise Retry(str(error), delay=_PAUSES[error.trouble]) from None

    async def close_spider(self, spider: Spider) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the database."""
        await super().close()
        database, self._database = self._database, None
        if database is not None:
            self._taken.check(self)
            await database.close()
