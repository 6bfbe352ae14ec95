"""What the three databases have in common: how a table is looked at, made, widened and written."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import CreateColumn, CreateIndex, CreateTable, ExecutableDDLElement
from sqlalchemy.sql import quoted_name
from sqlalchemy.types import TypeEngine

from openoctopus.pipelines.sql.fitting import FIT, Fit, Unfit
from openoctopus.pipelines.sql.kinds import Kind
from openoctopus.pipelines.sql.options import Target
from openoctopus.pipelines.sql.table import FETCHED_AT, ID, Table, is_own


class Found(NamedTuple):
    """What a database tells of a table."""

    columns: dict[str, TypeEngine[Any]]
    #: Columns that are unique together.
    unique: list[frozenset[str]]


class Dialect(ABC):
    """One database. The only place that knows its driver, its types and its words."""

    name: ClassVar[str]
    #: What a column of a kind is there, and how a value becomes one of it.
    types: ClassVar[Mapping[Kind, TypeEngine[Any]]]
    fit: ClassVar[Mapping[Kind, Fit]] = FIT
    #: The column of an identity.
    identity: ClassVar[TypeEngine[Any]] = sa.String(32)
    #: The time at which a row is made.
    now: ClassVar[str]
    #: What the driver raises.
    errors: ClassVar[tuple[type[Exception], ...]]
    table_options: ClassVar[Mapping[str, Any]] = {}
    #: Bytes of items that may be written together.
    max_bytes = 1 << 20
    #: Bytes of one item at most.
    max_row = 1 << 29

    def __init__(self, target: Target) -> None:
        self.target = target

    @abstractmethod
    def engine(self) -> AsyncEngine:
        """A new engine with one connection; nothing is connected yet."""

    @abstractmethod
    def insert(self, table: Table, names: Sequence[str]) -> sa.Insert:
        """The statement that writes one row, and says what happens where one of the same identity stands."""

    @abstractmethod
    async def may_create(self, connection: AsyncConnection, name: str) -> None:
        """Raises ``SettingsError`` or the database's error if a table cannot be made. Nothing is left behind."""

    @abstractmethod
    async def may_write(self, connection: AsyncConnection, table: Table, statement: str) -> None:
        """The same for rows in a table, as this statement writes them. Nothing is written."""

    @abstractmethod
    async def started(self, connection: AsyncConnection) -> None:
        """Learn what the server is like."""

    def check_size(self, size: int, values: Iterable[Any]) -> None:
        """Raises ``Unfit`` for a row that no statement can carry; ``size`` is about its bytes."""
        if size > self.max_row:
            raise Unfit(f"the item takes {size:,} bytes, and {self.name} takes {self.max_row:,}")

    def fold(self, name: str) -> str:
        """Names that fold to the same are the same to the database."""
        return name

    def is_name(self, name: str) -> bool:
        """Whether the database takes it for a column, a table or an index without cutting it."""
        return len(name.encode()) <= 63

    def check_name(self, name: Any) -> None:
        """Raises ``Unfit`` for what cannot be a column: names are letters, digits and underscores, of any script."""
        if not isinstance(name, str) or not name.isidentifier() or not self.is_name(name):
            raise Unfit(f"{name!r:.80} cannot be a column in {self.name}: it takes up to 63 letters, digits and underscores")
        if is_own(name):
            raise Unfit(f"the field {name} is named as a column of the store's own: rename it, or leave it out by columns=...")

    # Looking

    async def look(self, connection: AsyncConnection, name: str) -> Found | None:
        """What is known of a table; ``None`` if there is none."""
        return await connection.run_sync(self._look, name)

    def _look(self, connection: sa.Connection, name: str) -> Found | None:
        inspector = sa.inspect(connection)
        schema, table = split(name)
        if not inspector.has_table(table, schema):
            return None
        columns = {column["name"]: column["type"] for column in inspector.get_columns(table, schema)}
        primary = inspector.get_pk_constraint(table, schema)["constrained_columns"]
        unique = [frozenset(names) for names in (primary, *self.unique_indexes(connection, schema, table)) if names]
        return Found(columns, unique)

    def unique_indexes(self, connection: sa.Connection, schema: str | None, table: str) -> list[list[Any]]:
        """The columns of each index that allows no value twice, over all rows and by their whole values."""
        found = sa.inspect(connection).get_indexes(table, schema)
        return [one["column_names"] for one in found if one["unique"] and is_whole(one)]

    def kind(self, column: TypeEngine[Any]) -> Kind:
        """What sort a column of an existing table is."""
        for bases, kind in _BY_TYPE:
            if isinstance(column, bases):
                return kind
        return Kind.OTHER

    def fit_for(self, column: TypeEngine[Any], kind: Kind) -> Fit:
        """How a value becomes one of this very column."""
        return self.fit[kind]

    # Making

    def own_columns(self, identity: str, created_at: str) -> list[sa.Column[Any]]:
        """The columns that a new table has besides the fields."""
        own: list[sa.Column[Any]] = [sa.Column(identity, self.identity, primary_key=True)]
        own.append(sa.Column(FETCHED_AT, self.types[Kind.DATETIME]))
        if created_at:
            own.append(sa.Column(created_at, self.types[Kind.DATETIME], server_default=sa.text(self.now), nullable=False))
        return own

    def create(self, name: str, columns: Mapping[str, Kind], identity: str, created_at: str) -> ExecutableDDLElement:
        """The statement that makes a table; ``created_at`` names a column for the time, unless a field has that name."""
        own = self.own_columns(identity, "" if created_at in columns else created_at)
        fields = [sa.Column(quoted_name(field, True), self.types[kind]) for field, kind in columns.items()]
        return CreateTable(self.as_made(name, [*own, *fields]))

    def as_made(self, name: str, columns: Sequence[sa.Column[Any]]) -> sa.Table:
        schema, table = split(name)
        schema = schema and quoted_name(schema, True)
        return sa.Table(quoted_name(table, True), sa.MetaData(), *columns, schema=schema, **self.table_options)

    def widen(self, name: str, columns: Mapping[str, Kind], own: Sequence[str]) -> list[ExecutableDDLElement]:
        """The statements that add columns; ``own`` names those of the store that are missing."""
        kinds = {name: self.types[kind] for name, kind in columns.items()}
        types = {ID: self.identity, FETCHED_AT: self.types[Kind.DATETIME]}
        made = [sa.Column(quoted_name(one, True), type_) for one, type_ in kinds.items()]
        made += [sa.Column(one, types[one]) for one in own]
        table = self.as_made(name, made)
        found: list[ExecutableDDLElement] = [AddColumn(table, column) for column in made]
        if ID in own:
            found.append(self.unique_index(table, [ID]))
        return found

    def unique_index(self, table: sa.Table, names: Sequence[str]) -> CreateIndex:
        name = quoted_name(f"{table.name}_{'_'.join(names)}"[:60], True)
        return CreateIndex(sa.Index(name, *[table.c[one] for one in names], unique=True))

    def unique_index_sql(self, name: str, key: Sequence[str]) -> str:
        """What a person may run to make a key unique."""
        table = self.as_made(name, [sa.Column(quoted_name(one, True), sa.Text()) for one in key])
        return str(self.unique_index(table, key).compile(dialect=self.engine_dialect))

    @property
    def engine_dialect(self) -> sa.Dialect:
        return sa.make_url(f"{self.target.scheme}+{self.target.system.driver}://").get_dialect()()

    # Writing

    def statement(self, table: Table, names: Sequence[str], dialect: sa.Dialect) -> str:
        """SQL for rows with values in the order of these columns."""
        compiled = self.insert(table, names).compile(dialect=dialect, column_keys=list(names))
        assert list(compiled.positiontup or ()) == list(names), "values stand where their columns do"
        return str(compiled)

    async def write(self, connection: AsyncConnection, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Write rows in the transaction of the connection."""
        await connection.exec_driver_sql(statement, list(rows))


class AddColumn(ExecutableDDLElement):
    """``ALTER TABLE ... ADD COLUMN``."""

    def __init__(self, table: sa.Table, column: sa.Column[Any]) -> None:
        self.table, self.column = table, column


@compiles(AddColumn)
def _add_column(element: AddColumn, compiler: Any, **_: Any) -> str:
    column = compiler.process(CreateColumn(element.column))
    return f"ALTER TABLE {compiler.preparer.format_table(element.table)} ADD COLUMN {column}"


def clause(table: Table, names: Iterable[str]) -> sa.TableClause:
    """The table as a statement names it. Its columns have no type, so that the server knows best what they take."""
    schema, name = split(table.name)
    columns: list[sa.ColumnClause[Any]] = [sa.column(quoted_name(one, True)) for one in names]
    return sa.table(quoted_name(name, True), *columns, schema=schema and quoted_name(schema, True))


def split(name: str) -> tuple[str | None, str]:
    """A schema, if one is named, and a table."""
    schema, _, table = name.rpartition(".")
    return schema or None, table


def is_whole(index: Mapping[str, Any]) -> bool:
    """Whether an index covers all rows by their whole values."""
    told = index.get("dialect_options", {})
    return not any(name.endswith(("_where", "_length")) and value for name, value in told.items())


#: The first that fits decides.
_BY_TYPE: tuple[tuple[Any, Kind], ...] = (
    (sa.Boolean, Kind.BOOLEAN),
    (sa.Integer, Kind.INTEGER),
    (sa.Float, Kind.FLOAT),
    (sa.Numeric, Kind.DECIMAL),
    (sa.DateTime, Kind.DATETIME),
    (sa.Date, Kind.DATE),
    (sa.Time, Kind.TIME),
    (sa.JSON, Kind.NESTED),
    (sa.Enum, Kind.TEXT),
    (sa.String, Kind.TEXT),
    ((sa.LargeBinary, sa.BINARY, sa.VARBINARY), Kind.BYTES),
)
