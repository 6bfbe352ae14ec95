"""Which columns the items of a batch need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from openoctopus.pipelines.sql.kinds import Kind, declared, joined, kind_of
from openoctopus.pipelines.sql.options import SqlOptions
from openoctopus.pipelines.sql.table import Row, Table


def columns_for(rows: Sequence[Row], options: SqlOptions, check_name: Callable[[Any], None]) -> dict[str, Kind]:
    """The columns of a new table: what the classes declare, else what the values need, in the order they came.

    A field that has no value yet gets its column when the first one comes. Raises ``Unfit`` for a name that cannot be one.
    """
    kinds = _declared(dict.fromkeys(row.item_class for row in rows))
    told = {name for name, kind in kinds.items() if kind is not None}
    for row in rows:
        for name, value in row.values.items():
            if name not in told:
                kinds[name] = joined((kinds.get(name), kind_of(value)))
    if options.columns:
        kinds = {name: kinds.get(name) for name in options.columns}
    if options.on_new_field != "add":  # no later value will tell
        kinds = {name: kind or Kind.TEXT for name, kind in kinds.items()}
    for name in kinds:
        check_name(name)
    return {name: kind for name, kind in kinds.items() if kind is not None}


def _declared(classes: Iterable[type]) -> dict[str, Kind | None]:
    kinds: dict[str, Kind | None] = {}
    for item_class in classes:
        for name, kind in declared(item_class).items():
            kinds[name] = joined((kinds.get(name), kind))
    return kinds


def new_columns(table: Table, rows: Sequence[Row], check_name: Callable[[Any], None]) -> dict[str, Kind]:
    """The columns that a table lacks for these items. Raises ``Unfit`` for a name that cannot be one."""
    told = _declared(dict.fromkeys(row.item_class for row in rows))
    new: dict[str, Kind | None] = {}
    for row in rows:
        for name in table.lacking(row.values):
            check_name(name)
            new[name] = told.get(name) or joined((new.get(name), kind_of(row.values[name])))
    return {name: kind for name, kind in new.items() if kind is not None}
