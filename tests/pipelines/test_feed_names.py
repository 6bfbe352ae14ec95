from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openoctopus.exceptions import SettingsError
from openoctopus.items import Field, Item
from openoctopus.pipelines.feeds import FeedPipeline
from openoctopus.pipelines.feeds.names import safe
from openoctopus.spider import Spider


class Book(Item):
    title = Field()


class Author(Item):
    name = Field()


async def test_placeholders_are_filled(tmp_path: Path, crawl: Any) -> None:
    name = "%(name)s/%(city)s-%(time)s-%(page)03d-100%%.jsonl"
    async with crawl(FeedPipeline(tmp_path / name), Spider("news", city="北京", page=7)) as running:
        running.put({"a": 1})

    (path,) = (tmp_path / "news").iterdir()
    assert re.fullmatch(r"北京-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-007-100%\.jsonl", path.name)


async def test_parts_are_numbered(tmp_path: Path, crawl: Any) -> None:
    async with crawl(FeedPipeline(tmp_path / "%(batch_id)02d.csv", batch_item_count=2)) as running:
        running.put(*[{"n": n} for n in range(5)])

    assert {path.name: path.read_text().split() for path in tmp_path.iterdir()} == {
        "01.csv": ["n", "0", "1"],
        "02.csv": ["n", "2", "3"],
        "03.csv": ["n", "4"],
    }


async def test_each_item_class_may_have_its_file(tmp_path: Path, crawl: Any) -> None:
    async with crawl(FeedPipeline(tmp_path / "%(item_class)s.csv")) as running:
        running.put(Book(title="Walden"), Author(name="Thoreau"), Book(title="Cape Cod"), {"x": 1})

    assert {path.name: path.read_text().split("\n") for path in tmp_path.iterdir()} == {
        "Book.csv": ["title", "Walden", "Cape Cod", ""],
        "Author.csv": ["name", "Thoreau", ""],
        "dict.csv": ["x", "1", ""],
    }


async def test_each_item_class_counts_its_own_parts(tmp_path: Path, crawl: Any) -> None:
    async with crawl(FeedPipeline(tmp_path / "%(item_class)s-%(batch_id)d.jsonl", batch_item_count=2)) as running:
        running.put(*[Book(title=str(n)) for n in range(3)], *[Author(name=str(n)) for n in range(2)])

    assert sorted(path.name for path in tmp_path.iterdir()) == ["Author-1.jsonl", "Book-1.jsonl", "Book-2.jsonl"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("%(nmae)s.csv", r"nothing stands for %\(nmae\)s"),
        ("%(start)s.csv", r"nothing stands for %\(start\)s"),
        ("%(_fetch)s.csv", r"nothing stands for %\(_fetch\)s"),
        ("%(__class__)s.csv", r"nothing stands for %\(__class__\)s"),
        ("%(name)d.csv", "needs a number"),
    ],
)
async def test_a_placeholder_that_nothing_stands_for_is_refused_at_the_start(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        await FeedPipeline(tmp_path / name).open_spider(Spider("news"))


@pytest.mark.parametrize("name", ["100%.csv", "%s.csv", "%(name).csv", "%(name)x.csv", "%(name.__class__)s.csv", "{name}%"])
def test_a_stray_percent_sign_is_refused(name: str) -> None:
    with pytest.raises(SettingsError, match="write %% for a percent sign"):
        FeedPipeline(f"{name}:csv")


HOSTILE = [
    "../../etc/passwd", "..", ".", "", "/etc/passwd", "\\\\server\\share", "C:\\x", "a/b", "a\\b", "~root",
    "x\x00y", "a\nb", "  ", ".hidden", "\u202egpj.exe", "长" * 300, "x" * 300, "con:", "a|b", "\ud800",
    "%2e%2e%2f", "..%2f", "....//", "\u2028", "%(time)s",
]  # fmt: skip


@pytest.mark.parametrize("value", HOSTILE)
@pytest.mark.parametrize("name", ["%(city)s.jsonl", "%(city)s/items.jsonl", "sub/%(city)s/%(city)s.jsonl"])
async def test_no_value_leads_out_of_the_folder(tmp_path: Path, crawl: Any, name: str, value: str) -> None:
    folder = tmp_path / "out"
    async with crawl(FeedPipeline(folder / name), Spider("news", city=value)) as running:
        running.put({"a": 1})

    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    (file,) = (path for path in folder.rglob("*") if path.is_file())
    assert len(file.relative_to(folder).parts) == name.count("/") + 1


@given(st.text(st.characters()))
def test_any_value_is_one_part_of_a_name(value: str) -> None:
    name = safe(value)

    assert name
    assert os.path.basename(name) == name
    assert not name.startswith(".")
    assert len(name.encode()) <= 100
    assert not set(name) & set('/\\:*?"<>|\0\n')
