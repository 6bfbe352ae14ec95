"""What goes into a table comes out of it; what does not fit its column costs only its own item."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

import pytest

from openoctopus.items import Field, Item
from tests.pipelines.sql.databases import Database, kept

SHANGHAI = timezone(timedelta(hours=8))
UNIVERSAL = "00000000-0000-0000-0000-000000000007"


class Color(Enum):
    RED = "red"
    ONE = 1


@dataclass
class Inner:
    name: str
    at: date


TEXTS = [
    "标题 🐙👩‍👩‍👧 \U0001f9ff",
    "é\u0301",
    "\u202eabc",
    "quote ' \" ` \\ ; -- %s %(x)s :x $1 {}",
    "line\r\n\ttab",
    "x" * 1_000_000,
    "🐙" * 250_000,
    " spaces ",
    "",
    "\x01\x1a\x7f",
    "NULL",
    "0x41",
    "\ufeff",
]


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
async def test_texts_come_back_as_they_are(database: Database, text: str) -> None:
    await kept(database.store(), [{"text": text}])

    assert await database.rows("text") == [text]


@pytest.mark.parametrize("number", [0, -1, 2**31, 2**63 - 1, -(2**63)])
async def test_whole_numbers_of_64_bits(database: Database, number: int) -> None:
    await kept(database.store(), [{"n": number}])

    assert await database.rows("n") == [number]


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 10**40, -(10**60)])
async def test_larger_numbers_keep_all_digits(database: Database, number: int) -> None:
    await kept(database.store(), [{"n": number}, {"n": 5}])

    assert [int(n) for n in await database.rows("n")] == [number, 5]


@pytest.mark.parametrize("number", [0.1, -1.5, 1e300, 5e-324, 1.7976931348623157e308, 123456789.123456789])
async def test_floats_keep_every_bit(database: Database, number: float) -> None:
    await kept(database.store(), [{"n": number}])

    assert await database.rows("n") == [number]


@pytest.mark.parametrize(
    "number", ["12.50", "-0.000000000000000000000000000001", "1E+3", "99999999999999999999999999999999999.99"]
)
async def test_decimals_keep_every_digit(database: Database, number: str) -> None:
    await kept(database.store(), [{"n": Decimal(number)}])

    assert [Decimal(n) for n in await database.rows("n")] == [Decimal(number)]


async def test_no_numbers_become_null(database: Database, caplog: pytest.LogCaptureFixture) -> None:
    await kept(database.store(), [{"n": 1.5}, {"n": float("nan")}, {"n": float("-inf")}, {"n": Decimal("NaN")}])

    assert await database.rows("n") == [1.5, None, None, None]
    assert caplog.text.count("is no number") == 1


async def test_true_and_false(database: Database) -> None:
    await kept(database.store(), [{"ok": True}, {"ok": False}, {"ok": None}, {"ok": 1}])

    assert [None if ok is None else bool(ok) for ok in await database.rows("ok")] == [True, False, None, True]


@pytest.mark.parametrize(
    "moment",
    [
        datetime(2024, 5, 6, 7, 8, 9, 123456, tzinfo=SHANGHAI),
        datetime(2024, 5, 5, 23, 8, 9, 123456, tzinfo=UTC),
        datetime(2024, 5, 5, 23, 8, 9, 123456),
    ],
    ids=["with a zone", "in UTC", "without a zone"],
)
async def test_moments_are_kept_in_utc(database: Database, moment: datetime) -> None:
    await kept(database.store(), [{"at": moment}])

    expected = datetime(2024, 5, 5, 23, 8, 9, 123456, tzinfo=UTC)
    found = (await database.rows("at"))[0]
    read = datetime.fromisoformat(found) if isinstance(found, str) else found
    assert (read if read.tzinfo else read.replace(tzinfo=UTC)) == expected


@pytest.mark.parametrize("value", [date(2024, 2, 29), date(1, 1, 1), date(9999, 12, 31)])
async def test_days(database: Database, value: date) -> None:
    await kept(database.store(), [{"day": value}])

    assert str((await database.rows("day"))[0]) == value.isoformat()


async def test_times_of_day(database: Database) -> None:
    await kept(database.store(), [{"at": time(7, 8, 9, 123456)}])

    found = (await database.rows("at"))[0]
    assert found == (timedelta(hours=7, minutes=8, seconds=9, microseconds=123456) if database.name == "mysql" else found)
    assert str(found) in ("07:08:09.123456", "7:08:09.123456")


@pytest.mark.parametrize("data", [b"", b"\x00\xff\x80'\"\\", bytes(range(256)) * 400])
async def test_bytes(database: Database, data: bytes) -> None:
    await kept(database.store(), [{"data": data}])

    assert await database.rows("data") == [data]


NESTED: list[tuple[Any, Any]] = [
    ({"a": [1, {"b": None}], "名": "值 🐙"}, {"a": [1, {"b": None}], "名": "值 🐙"}),
    ([], []),
    ({}, {}),
    (("a", "b"), ["a", "b"]),
    ({3, 1, 2}, [1, 2, 3]),
    (Inner("x", date(2024, 1, 2)), {"name": "x", "at": "2024-01-02"}),
    ([Decimal("1.50"), datetime(2024, 1, 2, tzinfo=UTC), Color.RED], ["1.50", "2024-01-02T00:00:00+00:00", "red"]),
    ([2**70, 0.1, True], [2**70, 0.1, True]),
    ([float("nan")], [None]),
]


@pytest.mark.parametrize(("value", "expected"), NESTED, ids=range(len(NESTED)))
async def test_nested_values_are_json(database: Database, value: Any, expected: Any) -> None:
    await kept(database.store(), [{"tags": value}])

    found = (await database.rows("tags"))[0]
    assert (json.loads(found) if isinstance(found, str) else found) == expected


async def test_a_field_that_is_a_text_now_and_a_list_then_is_json(database: Database) -> None:
    for _ in range(2):
        await kept(database.store(job="one"), [{"tags": "a"}, {"tags": ["a", "b"]}, {"tags": 5}])

    found = await database.rows("tags")
    assert [json.loads(one) if isinstance(one, str) and one[:1] in '"[5' else one for one in found] == ["a", ["a", "b"], 5]


@pytest.mark.parametrize(
    ("value", "expected"),
    [(Color.RED, "red"), (UUID(UNIVERSAL), UNIVERSAL), (PurePosixPath("/a/b"), "/a/b"), (type("Str", (str,), {})("x"), "x"),
     (time(7, tzinfo=SHANGHAI), "07:00:00+08:00")],
)  # fmt: skip
async def test_what_becomes_text(database: Database, value: Any, expected: str) -> None:
    await kept(database.store(), [{"value": value}])

    assert await database.rows("value") == [expected]


async def test_a_length_of_time_is_seconds(database: Database) -> None:
    await kept(database.store(), [{"length": timedelta(minutes=1, milliseconds=500)}])

    assert await database.rows("length") == [60.5]


async def test_half_a_surrogate_pair_becomes_a_replacement_character(database: Database) -> None:
    crawl = await kept(database.store(key="url"), [{"url": "a", "title": "bad \ud83d", "tags": ["\ud83d"]}])

    assert not crawl.failed
    assert await database.rows("title") == ["bad \N{REPLACEMENT CHARACTER}"]


@pytest.mark.parametrize("value", ["a\0b", ["a\0b"]], ids=["text", "nested"])
async def test_nul_characters_are_kept_where_the_database_has_them(database: Database, value: Any) -> None:
    crawl = await kept(database.store(key="url"), [{"url": "a", "x": "y", "z": ["y"]}, {"url": "b", "x": value, "z": value}])

    if database.name == "postgresql":
        assert "PostgreSQL keeps no NUL characters in" in crawl.errors[0]
        assert await database.rows("url") == ["a"]
    else:
        assert not crawl.failed
        assert json.loads((await database.rows("z"))[1]) == value
        assert type(value) is list or (await database.rows("x"))[1] == value


MISFITS = [
    ("n", 5, "many"),
    ("n", 5, "007"),
    ("n", 5, 5.5),
    ("n", 5, 2**63),
    ("n", 5, [5]),
    ("n", 5, "9" * 5000),
    ("n", 5, 10**5000),
    ("n", 5.5, "1,5"),
    ("n", 5.5, "nan"),
    ("n", 5.5, 10**400),
    ("n", Decimal("5.5"), "x"),
    ("n", True, 2),
    ("n", True, "yes"),
    ("n", datetime(2024, 1, 1), "tomorrow"),
    ("n", date(2024, 1, 1), datetime(2024, 1, 1, 5)),
    ("n", time(5), time(5, tzinfo=UTC)),
    ("n", b"x", 5),
    ("n", "text", b"\xff"),
    ("n", "text", 10**5000),
]
#: What fits after all: SQLite keeps decimal numbers as texts, and true and false are small numbers in MySQL.
FITTING_AFTER_ALL = [("sqlite", Decimal, "x"), ("mysql", bool, 2)]


@pytest.mark.parametrize(("name", "first", "other"), MISFITS, ids=range(len(MISFITS)))
async def test_a_value_that_does_not_fit_costs_only_its_own_item(database: Database, name: str, first: Any, other: Any) -> None:
    await kept(database.store(key="url"), [{"url": "0", name: first}])

    crawl = await kept(
        database.store(key="url"), [{"url": "1", name: first}, {"url": "2", name: other}, {"url": "3", name: first}]
    )

    refused = [] if (database.name, type(first), other) in FITTING_AFTER_ALL else ["2"]
    assert [item["url"] for item, _ in crawl.failed] == refused
    assert all(error.startswith("field n: ") for error in crawl.errors)
    assert sorted(await database.rows("url")) == [url for url in "0123" if url not in refused]


FITTING = [
    (5, "6", 6),
    (5, 7.0, 7),
    (5, True, 1),
    (5, Decimal("8"), 8),
    (5.5, 6, 6.0),
    (5.5, "6.25", 6.25),
    ("text", 5, "5"),
    ("text", 1.5, "1.5"),
    ("text", True, "True"),
    ("text", date(2024, 1, 2), "2024-01-02"),
    ("text", ["a"], '["a"]'),
    ("text", b"bytes", "bytes"),
]


@pytest.mark.parametrize(("first", "other", "expected"), FITTING, ids=range(len(FITTING)))
async def test_a_value_of_another_type_that_loses_nothing_is_taken(
    database: Database, first: Any, other: Any, expected: Any
) -> None:
    await kept(database.store(key="url"), [{"url": "0", "n": first}])

    crawl = await kept(database.store(key="url"), [{"url": "1", "n": other}])

    assert not crawl.failed
    assert (await database.rows("n"))[1] == expected


async def test_a_serializer_is_asked(database: Database) -> None:
    class Priced(Item):
        price = Field(serializer=lambda value: value.strip("€ "))

    await kept(database.store(), [Priced(price="12 €")])

    assert await database.rows("price") == ["12"]


async def test_a_later_change_of_an_item_does_not_matter(database: Database) -> None:
    item: dict[str, Any] = {"tags": ["a"], "title": "as yielded"}
    for _ in range(2):  # the table is new, then it is known
        crawl_items = iter([item])
        await kept(database.store(job="one"), crawl_items)
        item["tags"].append("b")

    found = (await database.rows("tags"))[0]
    assert (json.loads(found) if isinstance(found, str) else found) in (["a"], ["a", "b"])


async def test_what_no_database_can_have_names_its_field(database: Database) -> None:
    loop: list[Any] = []
    loop.append(loop)
    crawl = await kept(database.store(), [{"a": 1}, {"a": object()}, {"a": {"b": [object()]}}, {"a": loop}])

    assert [error.split(":")[0] for error in crawl.errors] == ["field a", "field a['b'][0]", "field a"]
    assert await database.rows("a") == [1]
