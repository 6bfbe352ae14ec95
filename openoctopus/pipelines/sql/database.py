"""One database while the crawl runs: what its tables are, how they grow, and rows written in transactions."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine
from sqlalchemy.schema import ExecutableDDLElement

from openoctopus.exceptions import SettingsError
from openoctopus.failpoints import hit
from openoctopus.pipelines.sql.columns import columns_for, new_columns
from openoctopus.pipelines.sql.dialect import Dialect, Found
from openoctopus.pipelines.sql.errors import Failed, NotNow, RefusedRow, Trouble, advice, said, trouble
from openoctopus.pipelines.sql.fitting import Fit
from openoctopus.pipelines.sql.kinds import Kind
from openoctopus.pipelines.sql.options import SqlOptions
from openoctopus.pipelines.sql.table import (
    FETCHED_AT,
    ID,
    KEY,
    MOST_PLANS,
    Column,
    Fitted,
    NewField,
    Place,
    Row,
    Table,
    is_own,
    key_column,
)
from openoctopus.pipelines.sql.values import Values

logger = logging.getLogger(__name__)

#: Seconds that the database may take for one batch.
_ANSWER = 60.0
#: The same for a change of a table, which may have to read all its rows.
_CHANGE = 600.0


class Database:
    """Tables of one database, by one connection."""

    def __init__(self, dialect: Dialect, options: SqlOptions, values: Values) -> None:
        self.dialect = dialect
        self.options = options
        self._values = values
        self._engine: AsyncEngine | None = None
        #: By name.
        self.tables: dict[str, Table] = {}
        self._identity = key_column(options.key) if options.key else ID
        #: Tables that we may not widen.
        self._fixed: set[str] = set()
        self._errors: tuple[type[Exception], ...] = (DBAPIError, OSError, *dialect.errors)
        self._statements: dict[tuple[str, tuple[str, ...]], str] = {}

    async def open(self, names: Iterable[str]) -> None:
        """Connect, and see that these tables can be written or made. Nothing is changed.

        Raises ``SettingsError`` for a table that cannot serve, ``NotNow`` or ``Failed`` for what the database says.
        """
        for name in names:
            self._check_table_name(name)
        with self._judged():
            await self._open(names)

    async def _open(self, names: Iterable[str]) -> None:
        self._engine = self.dialect.engine()
        async with self.engine.connect() as connection:
            await self.dialect.started(connection)
            await connection.commit()
            for name in names:
                found = await self.dialect.look(connection, name)
                await connection.rollback()
                if found is None:
                    await self.dialect.may_create(connection, name)
                else:
                    table = self._learn(name, found)
                    if table.identity not in table.lacks:
                        statement = self._statement(table, table.least)
                        await self.dialect.may_write(connection, table, statement)

    async def close(self) -> None:
        if self._engine is not None:
            await self._engine.dispose()

    @property
    def engine(self) -> AsyncEngine:
        assert self._engine is not None, "the database is open"
        return self._engine

    # What tables are

    def _check_table_name(self, name: str) -> None:
        parts = name.split(".")
        if len(parts) > 2 or not all(part.isidentifier() and self.dialect.is_name(part) for part in parts):
            raise SettingsError(
                f"{name!r:.80} cannot be a table: write table=name, of up to 63 letters, digits and underscores"
                " (a schema may stand before it, as in table=shop.prices)"
            )

    def _learn(self, name: str, found: Found) -> Table:
        """A table that exists. Raises ``SettingsError`` if items cannot be told apart in it."""
        dialect = self.dialect
        identity = self._identity_in(name, found)
        columns = {dialect.fold(one): self._column(one, found) for one in found.columns if not is_own(one)}
        missing = [one for one in self.options.columns if dialect.fold(one) not in columns]
        if missing and self.options.on_new_field == "refuse":
            raise SettingsError(f"the table {name} has no column {', '.join(missing)}")
        times = self._times(name, found)
        own = [identity, FETCHED_AT if times else ""] if self.options.on_new_field == "add" else []
        lacks = [one for one in own if one and one not in found.columns]
        table = Table(name, columns, self.options, identity=identity, times=times, fold=dialect.fold, lacks=lacks)
        self.tables[name] = table
        self._statements.clear()
        return table

    def _times(self, name: str, found: Found) -> Fit | None:
        """How the time of fetching is written, if there is a column for it or will be."""
        if FETCHED_AT in found.columns:
            return self._column(FETCHED_AT, found).fit
        if self.options.on_new_field == "add" and name not in self._fixed:
            return self.dialect.fit[Kind.DATETIME]
        logger.info("the table %s has no %s: of two items with one key the last that is written stays", name, FETCHED_AT)
        return None

    def _column(self, name: str, found: Found) -> Column:
        kind = self.dialect.kind(found.columns[name])
        return Column(name, kind, self.dialect.fit_for(found.columns[name], kind))

    def _identity_in(self, name: str, found: Found) -> str:
        """The store's own column that tells items apart; empty if the columns of the key do."""
        own = self._identity
        if own in found.columns:
            if frozenset({own}) in found.unique:
                return own
            raise SettingsError(f"the column {own} of {name} is not unique: {self.dialect.unique_index_sql(name, [own])}")
        made_with = [one for one in found.columns if one == ID or one.startswith(KEY)]
        if made_with:
            raise SettingsError(f"the table {name} was made with another key (see {made_with[0]}): give that, or another table")
        key = self.options.key
        if key:
            self._check_unique(name, found)
            return ""
        if self.options.on_new_field == "add":
            return own
        raise SettingsError(
            f"the table {name} has no column {own} to tell items apart: give a key=..., or have it added (on_new_field=add)"
        )

    def _check_unique(self, name: str, found: Found) -> None:
        fold = self.dialect.fold
        key = frozenset(map(fold, self.options.key))
        if key in {frozenset(map(fold, one)) for one in found.unique}:
            return
        missing = key - set(map(fold, found.columns))
        if missing:
            raise SettingsError(f"the table {name} has no column {', '.join(sorted(missing))}, which is its key")
        sql = self.dialect.unique_index_sql(name, self.options.key)
        raise SettingsError(f"nothing makes {', '.join(self.options.key)} unique in the table {name}; run this first: {sql}")

    # How they grow

    async def table_for(self, name: str, rows: Sequence[Row]) -> Table:
        """The table of some items, made or widened for them. Raises ``Unfit`` or ``RefusedRow`` if that cannot be."""
        table = self.tables.get(name) or await self._looked(name) or await self._made(name, rows)
        if self.options.on_new_field != "add":
            return table
        new = new_columns(table, rows, self.dialect.check_name)
        return await self._widened(table, new) if new or table.lacks else table

    async def _looked(self, name: str) -> Table | None:
        async with self.engine.connect() as connection:
            found = await self.dialect.look(connection, name)
        return None if found is None else self._learn(name, found)

    async def _made(self, name: str, rows: Sequence[Row]) -> Table:
        self._check_table_name(name)
        columns = columns_for(rows, self.options, self.dialect.check_name)
        error = await self._run(self.dialect.create(name, columns, self._identity, self.options.created_at))
        table = await self._looked(name)
        if table is None:
            raise RefusedRow(f"the table {name} cannot be made: {error}")
        logger.info("table %s made: %s", name, shown(columns))
        return table

    async def _widened(self, table: Table, new: Mapping[str, Kind]) -> Table:
        name, lacks = table.name, table.lacks
        errors = [await self._run(one) for one in self.dialect.widen(name, new, lacks)]
        error = next(filter(None, errors), "")
        wide = await self._looked(name)
        if wide is not None and wide.lacks == [FETCHED_AT]:
            self._fixed.add(name)
            wide = await self._looked(name)
        if wide is None or wide.lacks:
            raise NotNow(Trouble.ACCESS, f"the table {name} cannot get the column {', '.join(lacks)}: {error}")
        if missing := [one for one in new if wide.column(one) is None]:
            raise RefusedRow(f"the table {name} cannot get the column {', '.join(missing)}: {error}")
        logger.info("table %s widened: %s", name, ", ".join(filter(None, [*lacks, shown(new)])))
        return wide

    async def _run(self, statement: ExecutableDDLElement) -> str:
        """Change a table. What is refused may have been done by another worker already, so it is returned."""
        try:
            async with asyncio.timeout(_CHANGE), self.engine.begin() as connection:
                await connection.execute(statement)
        except DBAPIError as error:
            if trouble(error) in (Trouble.DATA, Trouble.ACCESS, Trouble.UNKNOWN):
                return said(error)
            raise
        return ""

    # How they are written

    def fit(self, name: str, values: Mapping[str, Any], place: Place, fetched_at: float) -> Fitted | None:
        """An item as its table has it; ``None`` where the table must first be made or widened.

        Raises ``Unfit`` for one that has no place in it.
        """
        table = self.tables.get(name)
        if table is None:
            for field in values:
                self.dialect.check_name(field)
            return None
        plan = table.plan(values)
        if plan.others and self.options.on_new_field != "ignore" and (lacking := table.lacking(values)):
            for field in lacking:
                self.dialect.check_name(field)
            if self.options.on_new_field == "refuse":
                raise NewField(f"the table {name} has no column {', '.join(lacking)}")
            return None
        return None if table.lacks else table.fit(plan, values, place, fetched_at, self._values.plain)

    async def write(self, records: Sequence[Row | Fitted]) -> None:
        """Write items in one transaction; one row for each identity. Raises ``NotNow``, ``Failed`` or ``Unfit``."""
        with self._judged():
            rows = await self._fitted(records)
            async with asyncio.timeout(_ANSWER), self.engine.begin() as connection:
                for name, own in rows.items():
                    for statement, values in self._statements_for(self.tables[name], own):
                        await self.dialect.write(connection, statement, values)
                        hit("store.half")

    @contextmanager
    def _judged(self) -> Iterator[None]:
        """Say what the database's errors mean, without the statement and its values."""
        try:
            yield
        except self._errors as error:
            what = trouble(error)
            if what is Trouble.DATA:
                raise RefusedRow(said(error)) from None
            if what is Trouble.UNKNOWN:
                raise Failed(said(error)) from None
            raise NotNow(what, said(error), advice(error)) from None

    async def _fitted(self, records: Sequence[Row | Fitted]) -> dict[str, list[Fitted]]:
        """The rows by table, in the order of their coming."""
        unfitted: dict[str, list[Row]] = {}
        for record in records:
            if isinstance(record, Row):
                unfitted.setdefault(record.table, []).append(record)
        for name, rows in unfitted.items():
            await self.table_for(name, rows)
        fitted: dict[str, list[Fitted]] = {}
        for record in records:
            row = self._fit(record) if isinstance(record, Row) else record
            fitted.setdefault(record.table, []).append(row)
        return fitted

    def _fit(self, row: Row) -> Fitted:
        table = self.tables[row.table]
        return table.fit(table.plan(row.values), row.values, row.place, row.fetched_at, self._values.plain)

    def _statements_for(self, table: Table, rows: Sequence[Fitted]) -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
        """A field that an item does not have stays as it is in its row: items with the same fields are written together."""
        alike: dict[tuple[str, ...], list[tuple[Any, ...]]] = {}
        for row in table.merged(rows):
            alike.setdefault(row.columns, []).append(row.values)
        for columns, values in alike.items():
            statement = self._statements.get((table.name, columns))
            if statement is None:
                if len(self._statements) >= MOST_PLANS:
                    self._statements.clear()
                statement = self._statements[table.name, columns] = self._statement(table, columns)
            yield statement, values

    def _statement(self, table: Table, columns: Sequence[str]) -> str:
        return self.dialect.statement(table, columns, self.engine.dialect)


def shown(columns: Mapping[str, Kind]) -> str:
    return ", ".join(f"{name} ({kind.value})" for name, kind in columns.items())
