"""A request that waited is the request that was made; what is none is refused."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openoctopus.exceptions import InvalidRequest
from openoctopus.http import FormRequest, JsonRequest, Request
from openoctopus.http.codec import VERSION, freeze, thaw, url_in_frozen
from tests.http.kinds import Book, Colour, Model

URL = "http://example.com/"


def name_of(callback: Any) -> str:
    return callback if isinstance(callback, str) else str(callback.__name__)


def after_waiting(request: Request) -> Request:
    return thaw(freeze(request, name_of))


def parse(response: object) -> None: ...


def test_a_plain_link_takes_few_bytes() -> None:
    assert len(freeze(Request("http://example.com/a", "parse"), name_of)) == len("http://example.com/a") + len("parse") + 9


def test_every_argument_comes_back() -> None:
    request = Request(
        "http://example.com/中?q=中", parse, "PUT", [("A", "1"), ("a", "é"), ("B", "中")], b"\0\xff", {"c": "1"},
        {"m": (1, {2})}, {"k": Decimal("1.10")}, "failed", -5, True, "gbk", 0, "s", "d",
    )  # fmt: skip
    request.depth = 3
    back = after_waiting(request)

    assert back.callback == "parse"
    assert back.depth == 3
    assert back.headers.raw == request.headers.raw
    for name in set(Request.attributes) - {"callback", "headers"}:
        assert getattr(back, name) == getattr(request, name), name


def test_what_was_not_given_is_not_there() -> None:
    back = after_waiting(Request(URL))

    assert back.callback is back.errback is back.cookies is None
    assert (back.method, back.body, back.headers.raw, back.meta, back.cb_kwargs) == ("GET", b"", [], {}, {})


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (JsonRequest, {"data": {"a": ["中", None]}}),
        (FormRequest, {"formdata": {"a": "1"}}),
        (FormRequest, {"formdata": {"a": "1"}, "files": {"f": b"\0"}}),
        (FormRequest, {"formdata": {"a": "1"}, "method": "GET"}),
    ],
)
def test_forms_and_json_are_sent_as_they_were_made(kind: type[Request], options: dict[str, Any]) -> None:
    request = kind(URL, **options)
    back = after_waiting(request)

    assert (back.url, back.method, back.body) == (request.url, request.method, request.body)
    assert back.headers.raw == request.headers.raw


def test_callbacks_receive_the_objects_that_were_yielded() -> None:
    given = {
        "item": Book(title="t", price=Decimal("9.99")),
        "model": Model(Number=1),
        "colour": Colour.PAIR,
        "when": datetime(2025, 10, 26, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"), fold=1),
        "pages": {1: "a", (2, 3): "b"},
    }
    back = after_waiting(Request(URL, cb_kwargs=given)).cb_kwargs

    assert back == given
    assert [type(value) for value in back.values()] == [type(value) for value in given.values()]


def test_meta_may_have_keys_of_any_kind_that_can_wait() -> None:
    meta = {1: "a", None: "b", ("c", 2): "d", "\ud800": "e", Colour.RED: "f"}
    assert after_waiting(Request(URL, meta=meta)).meta == meta


def test_cookies_as_a_list_come_back() -> None:
    cookies = [{"name": "a", "value": "1", "domain": "example.com", "secure": True}]
    assert after_waiting(Request(URL, cookies=cookies)).cookies == cookies


@given(st.dictionaries(st.text(), st.integers() | st.text() | st.lists(st.none() | st.floats(allow_nan=False))))
def test_meta_comes_back(meta: dict[str, Any]) -> None:
    assert after_waiting(Request(URL, meta=meta)).meta == meta


@pytest.mark.parametrize("field", ["meta", "cb_kwargs"])
def test_what_cannot_wait_is_refused_with_its_place(field: str) -> None:
    request = Request(URL, **{field: {"x": {"y": object()}}})  # type: ignore[arg-type]
    with pytest.raises(InvalidRequest, match=rf"<GET {URL}> cannot be kept: {field}\['x'\]\['y'\] is a builtins.object"):
        freeze(request, name_of)


def test_what_was_set_to_nonsense_is_refused() -> None:
    request = Request(URL)
    for name, value in {"priority": 1 << 70, "body": object(), "session": "\ud800"}.items():
        wrong = request.copy()
        setattr(wrong, name, value)
        with pytest.raises(InvalidRequest, match=f"<GET {URL}> cannot be kept"):
            freeze(wrong, name_of)


def test_a_callback_that_has_no_name_is_refused_by_who_names_it() -> None:
    def refuse(callback: Any) -> str:
        raise InvalidRequest("a lambda has no name")

    with pytest.raises(InvalidRequest, match="a lambda has no name"):
        freeze(Request(URL, lambda response: None), refuse)


# What nobody froze

WHOLE = freeze(
    Request(URL, "parse", "POST", {"A": "1"}, b"body", {"c": "1"}, {"m": (1, {2}), "b": Book(title="t")}, {"k": Colour.RED}),
    name_of,
)


def thawed_or_refused(data: bytes) -> None:
    try:
        assert isinstance(thaw(data), Request)
    except InvalidRequest:
        pass


@given(st.binary(max_size=200))
def test_any_bytes_are_a_request_or_refused(data: bytes) -> None:
    thawed_or_refused(data)


@given(
    st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), min_size=1, max_size=4), st.integers(0, len(WHOLE))
)
@settings(max_examples=500)
def test_a_frozen_request_that_was_changed_is_a_request_or_refused(changes: list[tuple[int, int]], length: int) -> None:
    data = bytearray(WHOLE)
    for place, value in changes:
        data[place] = value
    thawed_or_refused(bytes(data))
    thawed_or_refused(bytes(data[:length]))
    thawed_or_refused(bytes(data[length:] + data[:length]))


@pytest.mark.parametrize(
    "forged",
    [
        {},
        {"u": "/path"},
        {"u": "http://example.com/\r\nHost: evil"},
        {"u": 5},
        {"u": URL, "m": "GET\r\nX: y"},
        {"u": URL, "h": [["A", "x\r\nB: y"]]},
        {"u": URL, "h": [["A:", "x"]]},
        {"u": URL, "h": {"A": "x"}},
        {"u": URL, "k": "c=1"},
        {"u": URL, "t": [1]},
        {"u": URL, "a": {"1": 1, 2: 3}},
        {"u": URL, "n": "klingon"},
        {"u": URL, "b": "text"},
        {"u": URL, "p": "high"},
        {"u": URL, "p": 1.5},
        {"u": URL, "f": "yes"},
        {"u": URL, "c": ["parse"]},
        {"u": URL, "s": None},
        [URL],
        None,
    ],
)
def test_a_forged_request_is_checked_like_any_other(forged: Any) -> None:
    with pytest.raises(InvalidRequest):
        thaw(msgspec.msgpack.encode(forged))


def test_a_request_of_another_layout_is_refused() -> None:
    for version in (0, VERSION + 1):
        with pytest.raises(InvalidRequest, match=f"frozen by layout {version}, this is layout {VERSION}"):
            thaw(msgspec.msgpack.encode({"u": URL, "v": version}))
    assert thaw(msgspec.msgpack.encode({"u": URL, "new": 1})).url == URL


@pytest.mark.parametrize("length", [1, 100, 1000, 70_000])
def test_frozen_requests_are_found_by_their_url(length: int) -> None:
    url = f"http://a/{'x' * length}"
    many = {"headers": {"A": "b"}, "body": "c", "cookies": {"a": "b"}, "session": "s", "downloader": "d", "priority": 1}
    frozen = [
        freeze(request, str) for request in (Request(url), Request(url, "read", "POST", errback="e", meta={"a": 1}, **many))
    ]
    others = [freeze(request, str) for request in (Request(f"{url}x"), Request("http://b/", headers={"Referer": url}))]

    assert all(1 <= one.find(url_in_frozen(url)) <= 3 for one in frozen)
    assert not any(1 <= one.find(url_in_frozen(url)) <= 3 for one in others)
