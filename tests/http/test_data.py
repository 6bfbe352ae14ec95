"""Data that waits in a queue comes back with its types, and nothing else comes out of a queue."""

from __future__ import annotations

import importlib
import math
import sys
import threading
from collections import Counter, OrderedDict, namedtuple
from datetime import UTC, datetime, time, timedelta, timezone
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.msgpack import Ext

from openoctopus.exceptions import InvalidRequest
from openoctopus.http.data import (
    BIG_INTEGER,
    ENUM,
    FORGED,
    MAPPING,
    MAX_DEPTH,
    OBJECT,
    SET,
    packed,
    trusted_packages,
    unpacked,
)
from openoctopus.items import is_item, to_dict
from openoctopus.selector import Selector
from tests.http import kinds
from tests.http.kinds import Book, Colour, CountedBook, Frozen, IntBox, Level, Model, Outer, Point, Right, Shop, Word

encoder = msgspec.msgpack.Encoder()
decoder = msgspec.msgpack.Decoder(ext_hook=unpacked)


def after_waiting(value: Any) -> Any:
    return decoder.decode(encoder.encode(packed(value, "value")))


def alike(one: Any, other: Any) -> bool:
    """Equal, of the same types all the way down, NaN included."""
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return one == other or (math.isnan(one) and math.isnan(other))
    if isinstance(one, dict):
        pairs = zip(one.items(), other.items(), strict=True)
        return len(one) == len(other) and all(alike(a, b) and alike(x, y) for (a, x), (b, y) in pairs)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(alike, one, other))
    if is_item(one):
        return alike(to_dict(one), to_dict(other))
    if isinstance(one, datetime | time):
        return (one, one.fold, str(one.tzinfo)) == (other, other.fold, str(other.tzinfo))
    return bool(one == other)


scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers().map(lambda n: n * 10**30)
    | st.floats()
    | st.text()
    | st.text(st.characters(categories=["Cs", "L"]))
    | st.binary()
    | st.decimals(allow_nan=False)
    | st.dates()
    | st.datetimes(timezones=st.none() | st.timezones() | st.just(UTC), allow_imaginary=False)
    | st.datetimes(timezones=st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes))))
    | st.times(timezones=st.none() | st.timezones())
    | st.timedeltas()
    | st.sampled_from([*Colour, *Level, *Word, *Right, Right.READ | Right.WRITE, Right(0)])
)
hashable = st.recursive(
    scalars.filter(lambda value: value == value),
    lambda part: st.tuples(part) | st.tuples(part, part) | st.frozensets(part),
    max_leaves=5,
)
nested = st.recursive(
    scalars | hashable,
    lambda part: (
        st.lists(part)
        | st.tuples(part, part)
        | st.sets(hashable)
        | st.frozensets(hashable)
        | st.dictionaries(hashable, part)
        | st.dictionaries(st.text(), part)
        | st.builds(Book, title=part)
        | st.builds(Point, part, part)
        | st.builds(Shop, st.text())
    ),
    max_leaves=12,
)


@given(nested)
@settings(max_examples=300)
def test_everything_comes_back_as_it_was(value: Any) -> None:
    assert alike(value, after_waiting(value))


def test_the_second_of_two_equal_hours_comes_back() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    for fold in (0, 1):
        value = datetime(2025, 10, 26, 2, 30, tzinfo=berlin, fold=fold)
        back = after_waiting(value)
        assert (back.fold, back.tzinfo, back.utcoffset()) == (fold, berlin, value.utcoffset())


@pytest.mark.parametrize(
    "value",
    [
        Book(title="t"),
        CountedBook(title="t", pages=1),
        Book(),
        Shop("n", 2),
        Frozen(name="n"),
        Outer.Inner((1,)),
        IntBox(content=1),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_item_of_any_kind_comes_back_as_what_it_was(value: Any) -> None:
    back = after_waiting(value)
    assert type(back) is type(value)
    assert back == value


def test_a_model_comes_back_with_what_was_set_and_what_is_its_own() -> None:
    model = Model(Number=1, nested=(Model(Number=2), {3}), more="extra")
    model._private = 7
    back = after_waiting(model)

    assert back == model
    assert back._private == 7
    assert back.model_fields_set == model.model_fields_set
    assert back.model_extra == {"more": "extra"}


def test_a_constructor_is_not_called_a_second_time() -> None:
    point = Point(2, scale=3)
    point.made.append("changed")

    assert after_waiting(point) == point
    assert after_waiting(point).made == ["made", "changed"]


def test_text_of_a_selector_is_text() -> None:
    title = Selector("<title>Título</title>").css("title::text").get()
    assert type(after_waiting(title)) is str
    assert after_waiting(title) == "Título"


def test_parts_of_wrong_unicode_come_back() -> None:
    assert after_waiting({"\ud83d": ["\udc00x", "中"]}) == {"\ud83d": ["\udc00x", "中"]}


# What cannot wait

Pair = namedtuple("Pair", "one other")
CANNOT = {
    "lock": threading.Lock(),
    "lambda": lambda: None,
    "generator": (x for x in ()),
    "range": range(3),
    "class": kinds.Plain,
    "object": kinds.Plain(),
    "local": kinds.local_point(),
    "path": Path("x"),
    "namedtuple": Pair(1, 2),
    "OrderedDict": OrderedDict(),
    "Counter": Counter("a"),
    "dict of its own": kinds.Mapped(),
    "bytearray": bytearray(),
    "complex": 1j,
    "exception": ValueError(),
    "Ext": Ext(1, b""),
}


@pytest.mark.parametrize("value", CANNOT.values(), ids=CANNOT)
def test_what_cannot_wait_is_refused_and_its_place_named(value: Any) -> None:
    with pytest.raises(InvalidRequest, match=r"meta\['x'\]\['y'\]\[1\]\[0\] is (a|of the class) "):
        packed({"a": 1, "x": {"y": [0, (value,)]}}, "meta")
    with pytest.raises(InvalidRequest, match=r"meta\['title'\] is "):
        packed(Book(title=value), "meta")
    with pytest.raises(InvalidRequest, match=r"meta\['x'\] is "):
        packed(Point(value), "meta")


def test_an_open_file_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "f").open("w") as file, pytest.raises(InvalidRequest, match=r"meta\['f'\] is a _io\.TextIOWrapper"):
        packed({"f": file}, "meta")


def test_the_refusal_says_what_may_wait() -> None:
    with pytest.raises(InvalidRequest, match="only plain data, tuple, set, dates, Decimal, Enum and items can wait in a queue"):
        packed({"x": threading.Lock()}, "meta")
    with pytest.raises(InvalidRequest, match="made inside a function: move it to a module"):
        packed({"x": kinds.local_point()}, "meta")


def test_a_class_that_its_path_does_not_lead_to_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="value is of the class abc:Hidden, which is not to be found"):
        packed(kinds.Renamed(), "value")


def test_data_that_holds_itself_is_refused() -> None:
    holder: list[Any] = [1]
    holder.append(holder)
    mapping: dict[str, Any] = {}
    mapping["self"] = (mapping,)
    for value in (holder, mapping, [holder, holder]):
        with pytest.raises(InvalidRequest, match=f"nests deeper than {MAX_DEPTH}, or holds itself"):
            packed({"x": value}, "meta")


def test_depth_has_a_limit() -> None:
    value: Any = "end"
    for _ in range(MAX_DEPTH):
        value = [value]
    assert after_waiting(value) == value
    with pytest.raises(InvalidRequest, match="nests deeper"):
        packed([[value]], "meta")


# What nobody packed


def forged(code: int, content: Any) -> bytes:
    return encoder.encode(Ext(code, encoder.encode(content)))


@given(st.integers(-128, 127), st.binary(max_size=50))
def test_forged_bytes_raise_what_is_expected_of_them(code: int, content: bytes) -> None:
    for sent in (content, encoder.encode(Ext(code, content))):
        try:
            decoder.decode(sent)
        except FORGED:
            pass


plain_data = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | st.text(st.characters(exclude_categories=["Cs"]))
    | st.binary(),
    lambda part: st.lists(part, max_size=4) | st.dictionaries(st.text(st.characters(codec="ascii")), part, max_size=3),
    max_leaves=6,
)
paths = st.sampled_from([f"{kinds.__name__}:{name}" for name in (*vars(kinds), "Outer.Inner", "Book.fields", "Gone", "")])


@given(st.integers(0, MAPPING + 2), plain_data | st.tuples(paths, plain_data).map(list))
@settings(max_examples=300)
def test_forged_data_raises_what_is_expected_of_it(code: int, content: Any) -> None:
    try:
        decoder.decode(forged(code, content))
    except FORGED:
        pass


@pytest.mark.parametrize(
    "content",
    [
        ["os:system", {}],
        ["subprocess:Popen", {"args": "x"}],
        ["builtins:dict", {}],
        ["collections:OrderedDict", {}],
        ["threading:Thread", {}],
        ["enum:Enum", {}],
        [f"{kinds.__name__}:Plain", {}],
        [f"{kinds.__name__}:Mapped", {}],
        [f"{kinds.__name__}:local_point", {}],
        [f"{kinds.__name__}:Gone", {}],
        [f"{kinds.__name__}:", {}],
        [f"{kinds.__name__}:Book.__class__", {}],
        [f"{kinds.__name__}:Book.__init__", {}],
        [f"{kinds.__name__}:Book", {"unknown": 1}],
        [f"{kinds.__name__}:Book", [["title", 1]]],
        [f"{kinds.__name__}:Book", {"__class__": 1}],
        [f"{kinds.__name__}:Point", {"__post_init__": 1}],
        [f"{kinds.__name__}:Model", {"number": 1}],
        [f"{kinds.__name__}:Model", {"__dict__": {"model_config": 1}}],
        [f"{kinds.__name__}:Colour", {}],
        ["", {}],
        [":", {}],
        [5, {}],
    ],
)
def test_only_items_are_made_from_a_path(content: Any) -> None:
    with pytest.raises(FORGED):
        decoder.decode(forged(OBJECT, content))


@pytest.mark.parametrize(
    "content",
    [
        [f"{kinds.__name__}:Book", "title"],
        [f"{kinds.__name__}:Colour", "GREEN"],
        [f"{kinds.__name__}:Colour", "__class__"],
        ["re:RegexFlag", "x"],
    ],
)
def test_only_members_are_made_of_an_enum(content: Any) -> None:
    with pytest.raises(FORGED):
        decoder.decode(forged(ENUM, content))


def test_no_module_is_imported_because_a_queue_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ownproject").mkdir()
    (tmp_path / "ownproject" / "__init__.py").write_text("")
    (tmp_path / "ownproject" / "things.py").write_text(
        "from dataclasses import dataclass\n@dataclass\nclass Thing:\n    x: int\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    sent = forged(OBJECT, ["ownproject.things:Thing", {"x": 1}])

    with pytest.raises(ValueError, match="no class of the project"):
        decoder.decode(sent)
    assert "ownproject" not in sys.modules

    monkeypatch.setattr("openoctopus.http.data.trusted_packages", trusted_packages | {"ownproject"})
    thing = decoder.decode(sent)
    assert (type(thing).__name__, thing.x) == ("Thing", 1)
    with pytest.raises(ValueError, match="no class of the project"):
        decoder.decode(forged(OBJECT, ["ownprojects.things:Thing", {"x": 1}]))


def test_a_modules_own_getattr_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "__getattr__", lambda name: pytest.fail("asked"), raising=False)
    with pytest.raises(ValueError, match="no class of the project"):
        decoder.decode(forged(OBJECT, [f"{kinds.__name__}:Lazy", {}]))


def test_deeply_nested_extensions_are_refused() -> None:
    content: Any = Ext(SET, encoder.encode([1]))
    for _ in range(5000):
        content = Ext(SET, encoder.encode([content]))
    with pytest.raises(FORGED):
        decoder.decode(encoder.encode(content))


def test_a_number_of_any_size_costs_no_more_than_its_length() -> None:
    number = 1 << 1_000_000
    assert after_waiting(number) == number
    assert decoder.decode(forged(BIG_INTEGER, b"\xff" * 10)) == -1
