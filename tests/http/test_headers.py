"""Header fields: found whatever their case, kept in order, and never a way to smuggle in another one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openoctopus.exceptions import InvalidRequest
from openoctopus.http import Headers


def test_a_field_is_found_whatever_its_case() -> None:
    headers = Headers({"Content-Type": "text/html"})

    assert headers["content-type"] == headers.get("CONTENT-TYPE") == "text/html"
    assert "CONTENT-type" in headers
    assert "Content-Typ" not in headers


def test_a_missing_field_has_a_default_or_is_a_key_error() -> None:
    headers = Headers()

    assert headers.get("X") is None
    assert headers.get("X", "y") == "y"
    assert headers.getlist("X") == []
    with pytest.raises(KeyError):
        headers["X"]
    with pytest.raises(KeyError):
        del headers["X"]


def test_names_and_duplicates_stay_in_order_as_they_were_written() -> None:
    headers = Headers([("X-Multi", "one"), ("host", "h"), ("x-multi", "two")])

    assert headers.raw == [("X-Multi", "one"), ("host", "h"), ("x-multi", "two")]
    assert headers["X-MULTI"] == "one"
    assert headers.getlist("X-multi") == ["one", "two"]
    assert list(headers) == ["X-Multi", "host"]
    assert len(headers) == 2
    assert dict(headers) == {"X-Multi": "one", "host": "h"}


def test_setting_a_field_replaces_all_of_its_name_in_its_place() -> None:
    headers = Headers([("A", "1"), ("B", "2"), ("C", "3"), ("b", "4")])
    headers["b"] = "5"
    assert headers.raw == [("A", "1"), ("b", "5"), ("C", "3")]

    headers["D"] = "6"
    assert headers.raw[-1] == ("D", "6")


def test_a_refused_value_leaves_the_field_as_it_was() -> None:
    headers = Headers({"A": "1"})
    with pytest.raises(InvalidRequest):
        headers["A"] = "x\r\ny"
    assert headers.raw == [("A", "1")]


def test_none_removes_a_field() -> None:
    headers = Headers({"A": "1", "B": None, "C": "2"})
    headers["a"] = None

    assert headers.raw == [("C", "2")]


def test_a_list_repeats_a_field() -> None:
    headers = Headers({"Accept": ["a", "b"]})
    headers["X"] = ("1", None, 2)

    assert headers.raw == [("Accept", "a"), ("Accept", "b"), ("X", "1"), ("X", "2")]


def test_deleting_removes_every_field_of_the_name() -> None:
    headers = Headers([("A", "1"), ("B", "2"), ("a", "3")])
    del headers["A"]
    assert headers.raw == [("B", "2")]


def test_adding_keeps_what_is_there() -> None:
    headers = Headers({"Cookie": "a=1"})
    headers.add("cookie", "b=2")
    assert headers.getlist("Cookie") == ["a=1", "b=2"]


def test_a_default_is_only_set_where_there_is_none() -> None:
    headers = Headers({"A": "1"})

    assert headers.setdefault("a", "2") == "1"
    assert headers.setdefault("B", " 3 ") == "3"
    assert headers.setdefault("C") is None
    assert headers.raw == [("A", "1"), ("B", "3")]


def test_bytes_and_numbers_are_taken() -> None:
    headers = Headers({b"X-Bytes": b"caf\xe9", "Content-Length": 12})
    assert headers.raw == [("X-Bytes", "caf\xe9"), ("Content-Length", "12")]


@pytest.mark.parametrize(
    ("value", "bytes_sent"),
    [
        ("plain", b"plain"),
        ("café", b"caf\xe9"),
        ("中文", "中文".encode()),
        (b"\xe4\xb8\xad", "中".encode()),
        (" a\t ", b"a"),
        ("a\tb", b"a\tb"),
    ],
)
def test_text_beyond_latin_1_is_sent_as_utf_8(value: str | bytes, bytes_sent: bytes) -> None:
    assert Headers({"X": value})["X"].encode("latin-1") == bytes_sent


@pytest.mark.parametrize("value", [{"a": 1}, object(), {"a"}])
def test_a_value_that_is_neither_text_nor_number_is_named(value: object) -> None:
    with pytest.raises(InvalidRequest, match="the header X-Odd is text or a number, not"):
        Headers({"X-Odd": value})


@pytest.mark.parametrize("values", ["Accept: x", b"x", 5, ["ab", "c"], [("a",)], [None]])
def test_what_are_no_headers_is_refused(values: object) -> None:
    with pytest.raises(InvalidRequest, match="headers are a mapping or"):
        Headers(values)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["", "a b", "a:", "a\n", "\0", "ü", b"\xff", None, 3, "a\r\nb"])
def test_what_is_no_name_is_refused(name: object) -> None:
    with pytest.raises(InvalidRequest, match="not a header name"):
        Headers([(name, "x")])  # type: ignore[list-item]


@given(st.text(max_size=30), st.sampled_from("\r\n\0\x01\x1f\x7f"), st.text(max_size=30), st.booleans())
def test_a_control_character_is_refused_wherever_it_stands(before: str, control: str, after: str, as_bytes: bool) -> None:
    text = f"{before}{control}{after}"
    value = text.encode("utf-8", "replace") if as_bytes else text
    for attempt in (
        lambda: Headers({"X": value}),
        lambda: Headers({"X": ["fine", value]}),
        lambda: Headers().add("X", value),
        lambda: Headers().setdefault("X", value),
        lambda: Headers().__setitem__("X", value),
    ):
        with pytest.raises(InvalidRequest, match="control character in the header X"):
            attempt()


@given(st.text(), st.binary())
def test_any_text_is_a_value_of_one_line_or_refused(text: str, data: bytes) -> None:
    for value in (text, data):
        try:
            kept = Headers({"X": value})["X"]
        except InvalidRequest:
            continue
        assert not set("\r\n\0") & set(kept)
        assert Headers({"X": kept})["X"] == kept
        kept.encode("latin-1")


@given(st.lists(st.tuples(st.sampled_from(["A", "a", "B", "Content-Type", "content-TYPE"]), st.sampled_from("xyz"))))
def test_headers_behave_as_a_multi_dict(pairs: list[tuple[str, str]]) -> None:
    headers = Headers(pairs)

    assert headers.raw == pairs
    for name in ("a", "b", "CONTENT-type", "z"):
        values = [value for key, value in pairs if key.lower() == name.lower()]
        assert headers.getlist(name) == values
        assert headers.get(name) == (values[0] if values else None)
        assert (name in headers) == bool(values)
    assert len(headers) == len(list(headers)) == len({key.lower() for key, _ in pairs})
    assert bool(headers) == bool(pairs)


def test_copies_are_independent_and_keep_duplicates() -> None:
    headers = Headers([("A", "1"), ("a", "2")])
    for other in (headers.copy(), Headers(headers)):
        assert other == headers
        other["A"] = "3"
    assert headers.raw == [("A", "1"), ("a", "2")]


def test_equality_ignores_the_case_of_names() -> None:
    assert Headers({"A": "1"}) == Headers({"a": "1"}) == {"a": "1"}
    assert Headers({"A": "1"}) != Headers({"A": "2"})
    assert Headers([("A", "1"), ("B", "2")]) != Headers([("B", "2"), ("A", "1")])
    assert Headers([("A", "1"), ("B", "2")]) == {"b": "2", "a": "1"}
    assert Headers() != "A"


def test_received_pairs_are_taken_as_they_came() -> None:
    pairs = [("x odd", "a\x01b"), ("X", "")]
    headers = Headers.received(pairs)
    assert headers.raw is pairs
    assert headers["X ODD"] == "a\x01b"
