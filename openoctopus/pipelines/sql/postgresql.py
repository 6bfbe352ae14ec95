"""PostgreSQL, by asyncpg."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import asyncpg
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB, insert
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.types import TypeEngine

from openoctopus.exceptions import SettingsError
from openoctopus.pipelines.sql.dialect import Dialect, split
from openoctopus.pipelines.sql.fitting import FIT, Fit, Unfit, as_naive_datetime, as_nested, as_text
from openoctopus.pipelines.sql.kinds import Kind
from openoctopus.pipelines.sql.onconflict import on_conflict
from openoctopus.pipelines.sql.table import Table

logger = logging.getLogger(__name__)

#: Seconds for a connection to be made.
_CONNECT = 10.0


def _text(value: Any) -> str:
    text = value if type(value) is str and value.isascii() else as_text(value)
    if "\0" in text:
        raise Unfit("PostgreSQL keeps no NUL characters in text")
    return text


def _nested(value: Any) -> str:
    text = as_nested(value)
    if "\\u0000" in text:
        raise Unfit("PostgreSQL keeps no NUL characters in JSON")
    return text


class PostgreSql(Dialect):
    name = "PostgreSQL"
    types: ClassVar[Mapping[Kind, TypeEngine[Any]]] = {
        Kind.TEXT: sa.Text(),
        Kind.INTEGER: sa.BigInteger(),
        Kind.WIDE: sa.Numeric(),
        Kind.FLOAT: sa.Double(),
        Kind.DECIMAL: sa.Numeric(),
        Kind.BOOLEAN: sa.Boolean(),
        Kind.DATETIME: sa.DateTime(timezone=True),
        Kind.DATE: sa.Date(),
        Kind.TIME: sa.Time(),
        Kind.BYTES: sa.LargeBinary(),
        Kind.NESTED: JSONB(),
    }
    fit = FIT | {Kind.TEXT: _text, Kind.NESTED: _nested}
    now = "now()"
    errors = (asyncpg.PostgresError, asyncpg.InterfaceError)

    def engine(self) -> AsyncEngine:
        return create_async_engine(
            "postgresql+asyncpg://", async_creator=self._connect, pool_size=1, max_overflow=0, hide_parameters=True
        )

    async def _connect(self) -> Any:
        return await asyncpg.connect(self.target.dsn, timeout=_CONNECT)

    async def started(self, connection: AsyncConnection) -> None:
        encoding = await connection.scalar(sa.text("SHOW server_encoding"))
        if encoding != "UTF8":
            logger.warning("%s is in %s: an item with a character that it lacks fails", self.target, encoding)

    def kind(self, column: TypeEngine[Any]) -> Kind:
        return Kind.OTHER if isinstance(column, sa.Enum) else super().kind(column)

    def fit_for(self, column: TypeEngine[Any], kind: Kind) -> Fit:
        if kind is Kind.DATETIME and not getattr(column, "timezone", False):
            return as_naive_datetime
        return super().fit_for(column, kind)

    def insert(self, table: Table, names: Sequence[str]) -> sa.Insert:
        return on_conflict(insert, table, names)

    async def may_create(self, connection: AsyncConnection, name: str) -> None:
        schema, _ = split(name)
        place = sa.bindparam("schema", schema) if schema else sa.func.current_schema()
        if not await connection.scalar(sa.select(sa.func.has_schema_privilege(place, "CREATE"))):
            raise SettingsError(f"the user may not make tables here: GRANT CREATE ON SCHEMA {schema or 'public'} TO ...")

    async def may_write(self, connection: AsyncConnection, table: Table, statement: str) -> None:
        place = ".".join(f'"{part}"' for part in table.name.split("."))
        rights = ["SELECT", "INSERT", *(["UPDATE"] if table.options.mode == "upsert" else ())]
        for right in rights:
            if not await connection.scalar(sa.select(sa.func.has_any_column_privilege(place, right))):
                raise SettingsError(f"the user may not write to the table: GRANT {', '.join(rights)} ON {table.name} TO ...")
