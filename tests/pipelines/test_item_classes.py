"""A store takes the items of the classes that it was asked for, a file as a table does."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from openoctopus.exceptions import SettingsError
from openoctopus.items import Field, Item
from openoctopus.pipelines import BatchPipeline, SqlPipeline
from openoctopus.pipelines.feeds import FeedPipeline
from openoctopus.spider import Spider


class Book(Item):
    title = Field()


class Novel(Book):
    hero = Field()


class Author(Item):
    name = Field()


def in_file(folder: Path) -> list[str]:
    return [json.loads(line)["title"] for line in (folder / "items.jsonl").read_text("utf-8").splitlines()]


def in_table(folder: Path) -> list[str]:
    with closing(sqlite3.connect(folder / "items.db")) as connection:
        return [title for (title,) in connection.execute("SELECT title FROM items ORDER BY rowid")]


#: How a store in a folder is made, and the titles in it.
STORES: dict[str, tuple[Callable[..., BatchPipeline], Callable[[Path], list[str]]]] = {
    "file": (lambda folder, **options: FeedPipeline(folder / "items.jsonl", **options), in_file),
    "table": (lambda folder, **options: SqlPipeline(f"sqlite:///{folder}/items.db?table=items", **options), in_table),
}


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest) -> Any:
    return STORES[request.param]


@pytest.mark.parametrize(
    "wanted", [[Book], ["Book"], [f"{__name__}.Book"], ["Novel", Book], "Book", f"Novel, {__name__}.Book"], ids=str
)
async def test_items_of_these_classes_and_their_subclasses_are_taken(
    tmp_path: Path, crawl: Any, store: Any, wanted: Any
) -> None:
    make, titles = store
    async with crawl(make(tmp_path, item_classes=wanted)) as running:
        running.put(Book(title="a"), Author(name="b"), Novel(title="c", hero="d"), {"title": "e"})

    assert titles(tmp_path) == ["a", "c"]
    assert len(running.settled) == 4


async def test_classes_that_never_come_are_said(
    tmp_path: Path, crawl: Any, store: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async with crawl(store[0](tmp_path, item_classes=["Bock"])) as running:
        running.put(Book(title="a"), Author(name="b"))

    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [
        f"{running.store}: no item of the item_classes asked for came, only Author, Book"
    ]


async def test_nothing_is_said_where_no_item_came(
    tmp_path: Path, crawl: Any, store: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async with crawl(store[0](tmp_path, item_classes=["Book"])):
        pass

    assert not [record for record in caplog.records if record.levelname == "WARNING"]


async def test_a_class_that_is_not_there_is_said_at_the_start(tmp_path: Path, store: Any) -> None:
    with pytest.raises(SettingsError, match=r"cannot load 'shop.items.Book'"):
        await store[0](tmp_path, item_classes=["shop.items.Book"]).open_spider(Spider("news"))

    assert os.listdir(tmp_path) == []
