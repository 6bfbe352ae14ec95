"""What is known of one table, and how an item becomes one of its rows."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any, NamedTuple

from openoctopus.pipelines.sql.fitting import Fit, Unfit
from openoctopus.pipelines.sql.kinds import Kind
from openoctopus.pipelines.sql.options import SqlOptions
from openoctopus.pipelines.sql.values import PLAIN
from openoctopus.pipelines.values import Unwritable

#: The column of an item's identity where no key is given, and what such a column begins with where one is.
ID = "_id"
KEY = "_key_"
#: When the page of an item was fetched; the newest wins.
FETCHED_AT = "_fetched_at"
#: MySQL keeps rows in the order of their primary key: that of their coming.
ROW = "_row"


#: Shapes of items that are remembered; a site may name fields as it likes.
MOST_PLANS = 1000
#: (run, rid, class, ordinal): which item of which page it is.
Place = tuple[str, int, str, int]


class Row(NamedTuple):
    """An item whose table must first be made or widened."""

    table: str
    item_class: type
    values: dict[str, Any]
    place: Place
    #: Seconds since the epoch.
    fetched_at: float


class Fitted(NamedTuple):
    """An item as its table has it: the columns, the store's own first, and their values."""

    table: str
    identity: Hashable
    fetched_at: float
    columns: tuple[str, ...]
    values: tuple[Any, ...]


class Column(NamedTuple):
    name: str
    kind: Kind
    fit: Fit


class Plan(NamedTuple):
    """How items with the same fields become rows."""

    columns: tuple[str, ...]
    #: Each field that has a column, in their order.
    fits: tuple[tuple[str, Fit], ...]
    #: The other fields.
    others: tuple[str, ...]
    #: Where the values of the key stand among them; -1: nowhere.
    key: tuple[int, ...]


class MissingKey(Unfit):
    """The item lacks a field of the key."""


class NewField(Unfit):
    """The item has a field that its table has no column for."""


def key_column(key: Iterable[str]) -> str:
    """The column that holds the hash of these fields, named after them so that no other key can be mistaken for it."""
    name = KEY + "_".join(sorted(key))
    return name if len(name.encode()) <= 60 else KEY + hashed(sorted(key))


def hashed(parts: Iterable[Any]) -> str:
    """32 hexadecimal digits that stand for some values; no two lists of as many values read the same."""
    texts = [part if type(part) is str else str(part) for part in parts]
    whole = texts[0] if len(texts) == 1 else "".join([f"{len(text)}:{text}" for text in texts])
    return blake2b(whole.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def is_own(name: str) -> bool:
    """Whether a column of this name is the store's own."""
    return name in (ID, FETCHED_AT, ROW) or name.startswith(KEY)


class Table:
    """A table that exists."""

    def __init__(
        self,
        name: str,
        columns: Mapping[str, Column],
        options: SqlOptions,
        *,
        identity: str,
        times: Fit | None,
        fold: Callable[[str], str],
        lacks: Sequence[str] = (),
    ) -> None:
        self.name = name
        self.options = options
        #: The store's own column that tells items apart; empty: the columns of the key do.
        self.identity = identity
        #: How the time of fetching is written; ``None``: the table has no column for it.
        self.times = times
        self.fold = fold
        #: The store's own columns that are still to be added.
        self.lacks = lacks
        #: By folded name.
        self.columns = dict(columns)
        self._by_field: dict[str, Column] = {}
        self._last: tuple[float, Any] = (-1.0, None)
        self._plans: dict[tuple[str, ...], Plan] = {}

    @property
    def conflict(self) -> list[str]:
        """The columns that are unique together."""
        return [self.identity] if self.identity else [self.columns[self.fold(name)].name for name in self.options.key]

    @property
    def least(self) -> list[str]:
        """The columns that every row has."""
        is_timed = self.times is not None and FETCHED_AT not in self.lacks
        return [*self.conflict, *([FETCHED_AT] if is_timed else ())]

    def column(self, field: str) -> Column | None:
        """The column of a field."""
        column = self._by_field.get(field)
        if column is None and isinstance(field, str) and (column := self.columns.get(self.fold(field))) is not None:
            self._by_field[field] = column
        return column

    def plan(self, values: Mapping[str, Any]) -> Plan:
        """How items with these fields become rows. Raises ``Unfit`` where two of them belong into one column."""
        fields = tuple(values)
        plan = self._plans.get(fields)
        if plan is None:
            if len(self._plans) >= MOST_PLANS:
                self._plans.clear()
            plan = self._plans[fields] = self._planned(fields)
        return plan

    def lacking(self, values: Mapping[str, Any]) -> list[str]:
        """The fields with a value that have no column."""
        return [name for name in self.plan(values).others if values[name] is not None]

    def fit(
        self, plan: Plan, values: Mapping[str, Any], place: Place, fetched_at: float, plain: Callable[[Any], Any]
    ) -> Fitted:
        """An item's values as a row; ``plain`` reads those of other types. Fields without a column are left out.

        Raises ``Unfit`` that names the field at fault, and what ``plain`` raises.
        """
        try:
            row = [
                None if (value := values[name]) is None else fit(value if type(value) in PLAIN else plain(value))
                for name, fit in plan.fits
            ]
        except TypeError:
            row = self._fitted_one_by_one(plan, values, plain)
        identity = hashed(self._key(plan, row) if plan.key else place)
        own: tuple[Any, ...] = (identity,) if self.identity else ()
        if self.times is not None:
            if fetched_at != self._last[0]:  # items of one page come together
                self._last = (fetched_at, self.times(datetime.fromtimestamp(fetched_at, UTC)))
            own += (self._last[1],)
        return Fitted(self.name, identity, fetched_at, plan.columns, (*own, *row))

    def _fitted_one_by_one(self, plan: Plan, values: Mapping[str, Any], plain: Callable[[Any], Any]) -> list[Any]:
        """The same where a value becomes NULL on its way, or does not fit."""
        row = []
        for name, fit in plan.fits:
            try:
                value = plain(values[name])
                row.append(None if value is None else fit(value))
            except Unfit as error:
                raise Unfit(f"field {name}: {error}") from None
            except Unwritable as error:
                error.path.insert(0, name)
                raise
        return row

    def _key(self, plan: Plan, row: Sequence[Any]) -> list[Any]:
        """The values of the key. Raises ``MissingKey`` if the row lacks one."""
        values = [row[place] if place >= 0 else None for place in plan.key]
        if None in values or "" in values:
            missing = [name for name, value in zip(self.options.key, values, strict=True) if value is None or value == ""]
            raise MissingKey(f"the item has no {', '.join(missing)}, which is its key in {self.name}")
        return values

    def _planned(self, fields: tuple[str, ...]) -> Plan:
        found = [(name, column) for name in fields if (column := self.column(name)) is not None]
        names = [column.name for _, column in found]
        if len(set(names)) < len(names):
            raise Unfit(f"two of the fields {', '.join(map(str, fields))} belong into one column of {self.name}")
        own = self.least if self.identity else self.least[len(self.conflict) :]
        keys = [self.column(name) for name in self.options.key]
        key = tuple(names.index(one.name) if one is not None and one.name in names else -1 for one in keys)
        others = tuple(name for name in fields if self.column(name) is None)
        return Plan(tuple(own + names), tuple((name, column.fit) for name, column in found), others, key)

    def changed(self, names: Iterable[str]) -> list[str]:
        """Which of these columns a row of before takes over from a new one, besides the time of its fetching."""
        if self.options.mode == "insert":
            return []
        fixed = {self.identity, FETCHED_AT, *self.conflict}
        chosen = {self.fold(name) for name in self.options.update}
        return [name for name in names if name not in fixed and (not chosen or self.fold(name) in chosen)]

    def merged(self, rows: Sequence[Fitted]) -> Sequence[Fitted]:
        """One row for each identity, as if they had been written one after the other."""
        if len({row.identity for row in rows}) == len(rows):
            return rows
        found: dict[Hashable, Fitted] = {}
        for row in rows:
            before = found.setdefault(row.identity, row)
            is_newer = self.times is None or row.fetched_at >= before.fetched_at
            if before is not row and self.options.mode == "upsert" and is_newer:
                found[row.identity] = self._over(before, row)
        return list(found.values())

    def _over(self, before: Fitted, row: Fitted) -> Fitted:
        """What stands in the table when one row has been written over another."""
        new = dict(zip(row.columns, row.values, strict=True))
        kept = dict(zip(before.columns, before.values, strict=True))
        kept |= {name: new[name] for name in (*self.changed(new), FETCHED_AT) if name in new}
        return Fitted(row.table, row.identity, row.fetched_at, tuple(kept), tuple(kept.values()))
