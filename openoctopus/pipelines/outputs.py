"""The stores that a crawl's outputs name: files, and tables of databases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from openoctopus.exceptions import SettingsError
from openoctopus.pipelines.base import BatchPipeline
from openoctopus.pipelines.feeds import feeds_of
from openoctopus.pipelines.sql import SqlPipeline, is_sql
from openoctopus.settings import Settings, masked


def stores_of(settings: Settings, outputs: Iterable[tuple[str, bool]] = ()) -> list[BatchPipeline]:
    """``FEEDS``, then each ``-o`` and ``-O`` as its target and whether it replaces what was there; files come first.

    Raises ``SettingsError`` for a target named twice, and for one that nothing writes to.
    """
    given = list(outputs)
    for target in [*settings.FEEDS, *(target for target, _ in given)]:
        _check(str(target))
    tables = [_table(settings, target, options) for target, options in settings.FEEDS.items() if is_sql(target)]
    tables += [_table(settings, target, {"overwrite": True} if over else {}) for target, over in given if is_sql(target)]
    places = [str(table) for table in tables]
    for place in places:
        if places.count(place) > 1:
            raise SettingsError(f"two outputs write to the {place}")
    files = settings.model_copy(update={"FEEDS": {name: one for name, one in settings.FEEDS.items() if not is_sql(name)}})
    return [*feeds_of(files, [(target, over) for target, over in given if not is_sql(target)]), *tables]


def _check(target: str) -> None:
    scheme, is_url, _ = target.partition("://")
    if is_url and scheme.lower() != "file" and not is_sql(target):
        raise SettingsError(f"items can be written to files, to - (stdout) and to databases, not to {masked('', target)}")


def _table(settings: Settings, target: Any, options: Any) -> SqlPipeline:
    if not isinstance(options or {}, Mapping):
        raise SettingsError(f"FEEDS: {masked('', target)} needs a mapping of options, such as {{'key': 'url'}}")
    given = dict(options or {})
    table = SqlPipeline(target, job=settings.JOB, **{k: v for k, v in given.items() if k != "overwrite"})
    if given.get("overwrite"):
        raise SettingsError(f"the {table} cannot be replaced: use -o, with key=... so that new items change their rows")
    return table
