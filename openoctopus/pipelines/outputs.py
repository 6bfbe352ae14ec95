"""The stores that a crawl's outputs name: files, and tables of databases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from openoctopus.exceptions import SettingsError
from openoctopus.pipelines.feeds import DISCARD, FeedPipeline, Share, SharedFeed
from openoctopus.pipelines.sql import SqlPipeline, is_sql
from openoctopus.settings import Settings, masked

Store = FeedPipeline | SqlPipeline


def stores_of(settings: Settings, outputs: Iterable[tuple[str, bool]] = (), share: Share | None = None) -> list[Store]:
    """``FEEDS``, then each ``-o`` and ``-O`` as its target and whether it replaces what was there.

    ``share`` is this process's share in files that several workers write to. Raises ``SettingsError`` for a target named
    twice, for one that nothing writes to, and for one that several workers cannot write to.
    """
    added = [(target, {"overwrite": replaces}) for target, replaces in outputs]
    stores: dict[str, Store] = {}
    for target, options in [*settings.FEEDS.items(), *added]:
        if not isinstance(options or {}, Mapping):
            raise SettingsError(f"FEEDS: {masked('', target)} needs a mapping of options, such as {{'fields': ['url']}}")
        store = _table(settings, target, options or {}) if is_sql(target) else _file(settings, target, options or {}, share)
        if store.place in stores:
            raise SettingsError(f"two outputs write to one place: {store}")
        stores[store.place] = store
    return list(stores.values())


def _file(settings: Settings, target: Any, options: Mapping[str, Any], share: Share | None) -> FeedPipeline:
    given = {"encoding": settings.FEED_EXPORT_ENCODING, "fields": settings.FEED_EXPORT_FIELDS} | dict(options)
    return SharedFeed(target, share, **given) if share and target != DISCARD else FeedPipeline(target, **given)


def _table(settings: Settings, target: Any, options: Mapping[str, Any]) -> SqlPipeline:
    table = SqlPipeline(target, job=settings.JOB, **{name: value for name, value in options.items() if name != "overwrite"})
    if options.get("overwrite"):
        raise SettingsError(f"the {table} cannot be replaced: use -o, with key=... so that new items change their rows")
    return table
