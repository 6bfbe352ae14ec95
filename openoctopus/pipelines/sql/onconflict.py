"""``INSERT ... ON CONFLICT``, as PostgreSQL and SQLite have it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sqlalchemy as sa

from openoctopus.pipelines.sql.dialect import clause
from openoctopus.pipelines.sql.table import FETCHED_AT, Table


def on_conflict(insert: Callable[..., Any], table: Table, names: Sequence[str]) -> sa.Insert:
    """The statement that writes one row by the dialect's ``insert``; of two rows the one that was fetched last stays."""
    into = clause(table, names)
    statement = insert(into)
    changed = table.changed(names)
    is_timed = FETCHED_AT in names
    if table.options.mode == "insert" or not (changed or is_timed):
        return statement.on_conflict_do_nothing(index_elements=table.conflict)  # type: ignore[no-any-return]
    new = statement.excluded
    if not is_timed:
        return statement.on_conflict_do_update(  # type: ignore[no-any-return]
            index_elements=table.conflict, set_={name: new[name] for name in changed}
        )
    before = into.c[FETCHED_AT]
    return statement.on_conflict_do_update(  # type: ignore[no-any-return]
        index_elements=table.conflict,
        set_={name: new[name] for name in [*changed, FETCHED_AT]},
        where=before.is_(None) | (before <= new[FETCHED_AT]),
    )
