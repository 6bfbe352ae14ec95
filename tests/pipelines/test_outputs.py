"""What a crawl's outputs are made of, and what is said of those that cannot be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from openoctopus.exceptions import SettingsError
from openoctopus.pipelines import SqlPipeline
from openoctopus.pipelines.feeds import FeedPipeline
from openoctopus.pipelines.outputs import stores_of
from openoctopus.settings import Settings

SECRET = "s3cr3t-p%40ss"


def outputs(*targets: str, **options: Any) -> list[Any]:
    """The stores of a crawl with these ``-o``."""
    return list(stores_of(Settings.load({"test": options}), [(target, False) for target in targets]))


def test_outputs_come_in_order_and_take_the_defaults_of_the_settings() -> None:
    settings = Settings(
        FEEDS={"a.csv": None, Path("b.json"): {"fields": ["x"], "encoding": None, "overwrite": True}},
        FEED_EXPORT_ENCODING="gb18030",
        FEED_EXPORT_FIELDS=("url", "title"),
    )

    stores = stores_of(settings, [("c.jsonl", False), ("-:json", True)])
    a, b, c, d = [store for store in stores if isinstance(store, FeedPipeline)]

    assert [feed.target for feed in (a, b, c, d)] == ["a.csv", "b.json", "c.jsonl", "-"]
    assert [feed.options.overwrite for feed in (a, b, c, d)] == [False, True, False, True]
    assert [list(feed.options.fields) for feed in (a, b, c)] == [["url", "title"], ["x"], ["url", "title"]]
    assert [feed.options.encoding for feed in (a, b, c)] == ["gb18030", "utf-8", "gb18030"]


def test_outputs_are_files_and_tables() -> None:
    feeds = {"sqlite:///a.db": {"table": "t", "key": ["url"], "item_classes": [dict]}, "items.jsonl": {}}

    stores = outputs("items.csv", "sqlite:///b.db?table=u", FEEDS=feeds, FEED_EXPORT_FIELDS=["url"], JOB="nightly")

    assert list(map(str, stores)) == [
        "table t of sqlite:///a.db", "output items.jsonl", "output items.csv", "table u of sqlite:///b.db"
    ]  # fmt: skip
    assert [type(store) for store in stores[:2]] == [SqlPipeline, FeedPipeline]


def test_outputs_may_be_written_as_json() -> None:
    (feed,) = outputs(FEEDS='{"items.csv": {"fields": ["b", "a"], "delimiter": ";"}}')

    assert list(feed.options.fields) == ["b", "a"]
    assert feed.options.delimiter == ";"


@pytest.mark.parametrize(
    ("one", "again"),
    [
        *[("items.csv", again) for again in ("items.csv", "./items.csv", "items.csv:jsonl", "sub/../items.csv")],
        ("-", "-:csv"),
        ("sqlite:///a.db?table=t", "sqlite:///a.db?table=t&key=x"),
        ("sqlite:///a.db?table=t", "sqlite:///./a.db?table=t"),
        ("mysql://a@h/d?table=t", f"mariadb://b:{SECRET}@h/d?table=t"),
    ],
)
def test_the_same_target_twice_is_refused(one: str, again: str) -> None:
    for given in (lambda: outputs(one, again), lambda: outputs(again, FEEDS={one: {}})):
        with pytest.raises(SettingsError, match="two outputs write to one place: ") as refused:
            given()
        assert "s3cr3t" not in str(refused.value)


@pytest.mark.parametrize(
    ("feeds", "added", "said"),
    [
        ({}, [("sqlite:///a.db", True)], "cannot be replaced: use -o"),
        ({"sqlite:///a.db": {"overwrite": True}}, [], "cannot be replaced: use -o"),
        ({"sqlite:///a.db": {"format": "csv"}}, [], "no option 'format'"),
        ({"items.csv": "csv"}, [], "needs a mapping of options"),
        ({f"mysql://u:{SECRET}@h/d": "csv"}, [], "needs a mapping of options"),
        ({f"ftp://u:{SECRET}@h/d": "csv"}, [], "needs a mapping of options"),
    ],
)
def test_outputs_that_cannot_be(feeds: Any, added: list[tuple[str, bool]], said: str) -> None:
    with pytest.raises(SettingsError) as refused:
        stores_of(Settings.load({"test": {"FEEDS": feeds}}), added)

    assert said in str(refused.value)
    assert "s3cr3t" not in str(refused.value)


@pytest.mark.parametrize("scheme", ["s3", "ftp", "mongodb", "oracle", "mssql+pyodbc", "https", "gs", "x"])
@pytest.mark.parametrize("rest", ["h/items.csv", "h/items:csv", "[", "h/d?password={}"])
def test_what_nothing_writes_to_is_refused_without_its_password(scheme: str, rest: str) -> None:
    target = f"{scheme}://user:{SECRET}@{rest.format(SECRET)}"
    for made in (lambda: outputs(target), lambda: outputs(FEEDS={target: {}}), lambda: FeedPipeline(target)):
        with pytest.raises(SettingsError, match=r"to files, to - \(stdout\) and to databases, not to") as refused:
            made()
        assert scheme in str(refused.value)
        assert "s3cr3t" not in str(refused.value)
