from __future__ import annotations

import dataclasses
import json
import math
from collections import Counter, OrderedDict, deque, namedtuple
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from fractions import Fraction
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

import attrs
import msgspec
import pydantic
import pytest

from openoctopus.items import Field, Item
from openoctopus.pipelines.feeds import FeedPipeline
from openoctopus.selector import Selector

Point = namedtuple("Point", "x y")


class Color(Enum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Word(StrEnum):
    YES = "yes"


class Marked(str):
    __slots__ = ("origin",)


class Shop(Item):
    name = Field()
    price = Field(serializer=lambda price: f"{price} €")


@dataclasses.dataclass
class Link:
    url: str
    rank: int = dataclasses.field(default=1, metadata={"serializer": str})


@attrs.define
class Tag:
    word: str


class Page(pydantic.BaseModel):
    model_config = {"extra": "allow"}
    url: str
    size: int = pydantic.Field(default=0, json_schema_extra={"serializer": hex})


class Row(msgspec.Struct):
    cell: int


VALUES = [
    (None, None), (True, True), (0, 0), (-5, -5), (1.5, 1.5), ("", ""), ("文", "文"),
    (2**200, 2**200),
    (math.nan, None), (math.inf, None), (Decimal("NaN"), None),
    (Decimal("12.50"), "12.50"),
    (Fraction(1, 4), 0.25),
    (datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC), "2024-05-06T07:08:09+00:00"),
    (datetime(2024, 5, 6, 7, 8, 9, 10), "2024-05-06T07:08:09.000010"),
    (date(2024, 5, 6), "2024-05-06"),
    (time(7, 8), "07:08:00"),
    (timedelta(hours=1, milliseconds=500), 3600.5),
    (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    (PurePosixPath("a/b"), "a/b"),
    ("größe".encode(), "größe"),
    (b"\xff\xd8\xff", "/9j/"),
    (bytearray(b"ab"), "ab"),
    (memoryview(b"ab"), "ab"),
    ((1, 2), [1, 2]),
    ({3, 1, 2}, [1, 2, 3]),
    (frozenset({"b", "a"}), ["a", "b"]),
    (deque([1]), [1]),
    (range(3), [0, 1, 2]),
    (Point(1, 2), [1, 2]),
    (OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
    (Counter("aa"), {"a": 2}),
    ({1: "a", None: "b", False: "c", 1.5: "d", date(2024, 5, 6): "e", Color.RED: "f"},
     {"1": "a", "null": "b", "false": "c", "1.5": "d", "2024-05-06": "e", "red": "f"}),
    (Color.RED, "red"), (Level.HIGH, 3), (Word.YES, "yes"),
    (Marked("x"), "x"),
    (Shop(name="a", price=Decimal("1.10")), {"name": "a", "price": "1.10 €"}),
    (Link("u"), {"url": "u", "rank": "1"}),
    (Tag("w"), {"word": "w"}),
    (Page(url="u", size=255, more=[1]), {"url": "u", "size": "0xff", "more": [1]}),
    (Row(1), {"cell": 1}),
    ([Link("u", 2), {"deep": [{"er": {Tag("x").word}}]}], [{"url": "u", "rank": "2"}, {"deep": [{"er": ["x"]}]}]),
]  # fmt: skip


def as_json(item: Any) -> Any:
    record, _ = FeedPipeline("items.jsonl").prepare(item)
    return json.loads(record.data)


@pytest.mark.parametrize(("value", "expected"), VALUES)
def test_a_value_is_written_as_json_data(value: Any, expected: Any) -> None:
    assert as_json({"value": value}) == {"value": expected}
    assert as_json({"inside": [{"value": value}]}) == {"inside": [{"value": expected}]}


@pytest.mark.parametrize("item", [value for value, _ in VALUES if isinstance(value, Shop | Link | Tag | Page)])
def test_every_kind_of_item_is_an_object(item: Any) -> None:
    assert as_json(item) == as_json({"value": item})["value"]


@pytest.mark.parametrize(
    ("item", "where"),
    [
        ({"ok": 1, "bad": object()}, "field bad: a builtins.object cannot be written"),
        ({"a": {"b": [1, {"c": lambda: 1}]}}, r"field a\['b'\]\[1\]\['c'\]: a builtins.function cannot"),
        ({"title": Selector(text="<p>x</p>").css("p")}, r"field title\[0\]: a openoctopus.selector\S+Selector cannot"),
        ({"gen": (n for n in range(3))}, "field gen: a builtins.generator"),
        ({"keys": {(1, 2): 3}}, r"field keys\[\(1, 2\)\]: a builtins.tuple cannot"),
        ({"c": 1 + 2j}, "field c: a builtins.complex"),
        (Link(url=object()), "field url: a builtins.object"),  # type: ignore[arg-type]
        ({"same": {1: "a", "1": "b"}}, "two names are the same"),
    ],
)
def test_a_value_without_a_place_is_refused_by_its_field(item: Any, where: str) -> None:
    with pytest.raises(TypeError, match=where):
        as_json(item)


def test_an_item_that_holds_itself_is_refused() -> None:
    item: dict[str, Any] = {"a": []}
    item["a"].append(item)

    with pytest.raises(TypeError, match="holds itself"):
        as_json(item)


@pytest.mark.parametrize("item", ["text", 5, None, [1], object()])
def test_what_is_no_item_is_refused(item: Any) -> None:
    with pytest.raises(TypeError):
        as_json(item)


def test_an_empty_item_is_an_empty_object() -> None:
    assert as_json({}) == {}
    assert as_json(Shop()) == {}


def test_no_number_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    feed = FeedPipeline("items.jsonl")
    for value in (math.nan, math.inf, math.nan):
        feed.prepare({"a": value})

    assert [record.message for record in caplog.records] == [
        "a value of nan is no number that JSON knows: it is written as null, and so are all like it"
    ]


def test_surrogates_are_mended_everywhere() -> None:
    assert as_json({"a\ud800": ["\udc00x", {"b": "\ud83d\ude00 \ud83d"}]}) == {"a\ufffd": ["\ufffdx", {"b": "😀 \ufffd"}]}


def test_fields_are_chosen_ordered_and_renamed() -> None:
    feed = FeedPipeline("items.jsonl", fields={"price": "Preis", "name": "Name"})
    record, _ = feed.prepare(Shop(name="a", price=2))

    assert record.data == '{"Preis":"2 €","Name":"a"}\n'.encode()
    assert feed.prepare({"name": "b", "bad": object()})[0].data == b'{"Name":"b"}\n'
