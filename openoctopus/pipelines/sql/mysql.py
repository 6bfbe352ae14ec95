"""MySQL and MariaDB, by asyncmy."""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import unquote

import asyncmy
import sqlalchemy as sa
from asyncmy.converters import escape_string
from asyncmy.errors import Error
from sqlalchemy.dialects import mysql
from sqlalchemy.dialects.mysql import insert
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.types import TypeEngine

from openoctopus.exceptions import SettingsError
from openoctopus.pipelines.sql.dialect import Dialect, Found, clause, split
from openoctopus.pipelines.sql.fitting import FIT, Fit, Unfit, as_naive_datetime
from openoctopus.pipelines.sql.kinds import Kind
from openoctopus.pipelines.sql.table import FETCHED_AT, ROW, Table

#: Seconds for a connection to be made.
_CONNECT = 10.0
#: Times are UTC whatever the server's zone is. What does not fit is an error and never cut to fit. The driver escapes by
#: backslashes, so they must mean that.
_SESSION = (
    "SET SESSION time_zone = '+00:00', sql_mode = CONCAT(REPLACE(@@sql_mode, 'NO_BACKSLASH_ESCAPES', ''), ',STRICT_ALL_TABLES')"
)
#: Digits of a DECIMAL, and how many of them stand behind the point.
_DIGITS, _BEHIND = 65, 30
#: How many bytes a character may take in a statement: four, or an escape of two.
_GROWTH = 4
#: Bytes around a value in a statement, and of a number.
_AROUND = 64
#: Options that go to the driver as they are.
_AS_GIVEN = ("unix_socket", "read_default_file", "read_default_group")
_FAIL: sa.ColumnElement[Any] = sa.literal_column("(SELECT 1 UNION ALL SELECT 2)")
_CHECKS = sa.text(
    "SELECT check_clause FROM information_schema.check_constraints WHERE constraint_schema = :schema AND table_name = :table"
)
_JSON_CHECK = re.compile(r"json_valid\(`(\w+)`\)")
_BLOBS = (mysql.LONGBLOB, mysql.MEDIUMBLOB, mysql.TINYBLOB)


class MySql(Dialect):
    name = "MySQL"
    types: ClassVar[Mapping[Kind, TypeEngine[Any]]] = {
        Kind.TEXT: mysql.LONGTEXT(),
        Kind.INTEGER: sa.BigInteger(),
        Kind.WIDE: mysql.DECIMAL(_DIGITS, 0),
        Kind.FLOAT: sa.Double(),
        Kind.DECIMAL: mysql.DECIMAL(_DIGITS, _BEHIND),
        Kind.BOOLEAN: sa.Boolean(),
        Kind.DATETIME: mysql.DATETIME(fsp=6),
        Kind.DATE: sa.Date(),
        Kind.TIME: mysql.TIME(fsp=6),
        Kind.BYTES: mysql.LONGBLOB(),
        Kind.NESTED: sa.JSON(),
    }
    fit: ClassVar[Mapping[Kind, Fit]] = FIT | {Kind.DATETIME: as_naive_datetime}
    identity = mysql.VARCHAR(32, charset="ascii", collation="ascii_bin")
    now = "CURRENT_TIMESTAMP(6)"
    errors = (Error,)
    table_options: ClassVar[Mapping[str, Any]] = {"mysql_charset": "utf8mb4"}
    _packet = 1 << 22

    def engine(self) -> AsyncEngine:
        return create_async_engine(
            "mysql+asyncmy://", async_creator=self._connect, pool_size=1, max_overflow=0, hide_parameters=True
        )

    async def _connect(self) -> Any:
        url, given = self.target.url, self.target.driver
        options: dict[str, Any] = {name: given[name] for name in _AS_GIVEN if name in given}
        options |= {name: unquote(value) for name, value in (("user", url.username), ("password", url.password)) if value}
        if url.hostname:
            options["host"] = url.hostname
        if url.port:
            options["port"] = url.port
        if any(name.startswith("ssl") for name in given):
            options["ssl"] = _tls(given)
        timeout = float(given.get("connect_timeout", _CONNECT))
        return await asyncmy.connect(
            database=self.target.database,
            charset="utf8mb4",
            init_command=_SESSION,
            connect_timeout=timeout,
            binary_prefix=True,
            **options,
        )

    async def started(self, connection: AsyncConnection) -> None:
        self._packet = int(await connection.scalar(sa.text("SELECT @@max_allowed_packet")))
        self.max_bytes = self._packet // _GROWTH

    def check_size(self, size: int, values: Iterable[Any]) -> None:
        if size * _GROWTH > self._packet:
            exact = sum(_escaped(value) for value in values)
            if exact > self._packet:
                raise Unfit(f"the item takes {exact:,} bytes, and the server takes {self._packet:,} (max_allowed_packet)")

    def fold(self, name: str) -> str:
        return name.lower()

    def is_name(self, name: str) -> bool:
        return len(name) <= 64 and max(name, default="") <= "\uffff"

    def own_columns(self, identity: str, created_at: str) -> list[sa.Column[Any]]:
        """InnoDB keeps rows in the order of the primary key, and hashes would scatter them."""
        _, *others = super().own_columns(identity, created_at)
        row = sa.Column(ROW, sa.BigInteger, primary_key=True, autoincrement=True)
        return [row, sa.Column(identity, self.identity, nullable=False, unique=True), *others]

    def _look(self, connection: sa.Connection, name: str) -> Found | None:
        """MariaDB has JSON as texts that are checked."""
        found = super()._look(connection, name)
        if found is not None and getattr(connection.dialect, "is_mariadb", False):
            schema, table = split(name)
            checks = connection.scalars(_CHECKS, {"schema": schema or self.target.database, "table": table})
            valid = {one[1] for check in checks if (one := _JSON_CHECK.fullmatch(check))}
            found.columns.update(dict.fromkeys(valid & found.columns.keys(), sa.JSON()))
        return found

    def kind(self, column: TypeEngine[Any]) -> Kind:
        return Kind.BYTES if isinstance(column, _BLOBS) else super().kind(column)

    def insert(self, table: Table, names: Sequence[str]) -> sa.Insert:
        into = clause(table, names)
        statement = insert(into)
        old, new = into.c, statement.inserted
        # MySQL takes a conflict with any unique index for one with ours and would write into that other row.
        first, *_ = table.conflict
        is_same = sa.and_(*[old[name].is_not_distinct_from(new[name]) for name in table.conflict])
        assigned: list[tuple[str, Any]] = [(first, sa.func.if_(is_same, old[first], _FAIL))]
        changed = table.changed(names)
        if FETCHED_AT not in names:
            assigned += [(name, new[name]) for name in changed]
        elif table.options.mode == "upsert":
            is_newer = old[FETCHED_AT].is_(None) | (old[FETCHED_AT] <= new[FETCHED_AT])
            # Assigned from left to right: the time itself comes last.
            assigned += [(name, sa.func.if_(is_newer, new[name], old[name])) for name in [*changed, FETCHED_AT]]
        return statement.on_duplicate_key_update(assigned)

    async def may_create(self, connection: AsyncConnection, name: str) -> None:
        quoted = ".".join(f"`{part}`" for part in name.split("."))
        await self._prepare(connection, f"CREATE TABLE {quoted} (a INT)")

    async def may_write(self, connection: AsyncConnection, table: Table, statement: str) -> None:
        await self._prepare(connection, statement.replace("%s", "?"))

    async def _prepare(self, connection: AsyncConnection, text: str) -> None:
        """A statement that is prepared is judged, and not carried out."""
        await connection.exec_driver_sql("SET @octopus = %s", (text,))
        await connection.exec_driver_sql("PREPARE octopus FROM @octopus")
        await connection.exec_driver_sql("DEALLOCATE PREPARE octopus")


def _escaped(value: Any) -> int:
    """Bytes of a value in a statement."""
    if type(value) is bytes:
        value = value.decode("latin-1")
        return len(escape_string(value)) + _AROUND
    return len(escape_string(value).encode()) + _AROUND if type(value) is str else _AROUND


def _tls(given: Mapping[str, str]) -> ssl.SSLContext | None:
    if given.get("ssl", "true").lower() in ("false", "0", "disabled"):
        return None
    try:
        context = ssl.create_default_context(cafile=given.get("ssl_ca"))
        if given.get("ssl_check_hostname", "true").lower() in ("false", "0"):
            context.check_hostname = False
        if "ssl_cert" in given:
            context.load_cert_chain(given["ssl_cert"], given.get("ssl_key"))
    except OSError as error:
        raise SettingsError(f"the certificates of ssl_ca, ssl_cert or ssl_key cannot be read: {error}") from error
    return context
