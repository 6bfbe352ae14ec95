"""A request: its arguments are checked where it is made, and its copies are its own."""

from __future__ import annotations

from typing import Any

import pytest

from openoctopus.exceptions import InvalidRequest
from openoctopus.http import FormRequest, Headers, JsonRequest, Request

URL = "http://example.com/"


def parse(response: object) -> None: ...


def test_a_request_needs_only_a_url() -> None:
    request = Request(URL)

    assert (request.url, request.host, request.method, request.body) == (URL, "example.com", "GET", b"")
    assert request.callback is request.errback is request.cookies is None
    assert (request.priority, request.delay, request.depth, request.rid) == (0, 0, 0, 0)
    assert (request.dont_filter, request.encoding, request.session, request.downloader) == (False, "utf-8", "", "")
    assert (request.headers, request.meta, request.cb_kwargs) == (Headers(), {}, {})


def test_the_url_is_written_as_a_browser_writes_it() -> None:
    request = Request(" HTTP://Bücher.test:80/a b/../ü?q=中 ", encoding="gb18030")

    assert request.url == "http://xn--bcher-kva.test/%C3%BC?q=%D6%D0"
    assert request.parsed.pathname == "/%C3%BC"
    assert str(request) == repr(request) == "<GET http://xn--bcher-kva.test/%C3%BC?q=%D6%D0>"


def test_credentials_are_not_shown() -> None:
    assert str(Request("http://user:secret@example.com/")) == "<GET http://***@example.com/>"


def test_arguments_may_be_given_by_place() -> None:
    request = Request(
        URL, parse, "post", {"A": "1"}, "b", {"c": "2"}, {"m": 3}, {"k": 4}, "bad", 5, True, "latin-1", 6, "s", "d"
    )

    assert (request.callback, request.method, request.headers["a"], request.body) == (parse, "POST", "1", b"b")
    assert (request.cookies, request.meta, request.cb_kwargs, request.errback) == ({"c": "2"}, {"m": 3}, {"k": 4}, "bad")
    assert (request.priority, request.dont_filter, request.encoding, request.delay) == (5, True, "latin-1", 6.0)
    assert (request.session, request.downloader) == ("s", "d")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"url": None}, "a URL is a str, not None"),
        ({"url": ""}, "not an absolute URL"),
        ({"url": "/path"}, "not an absolute URL: '/path'"),
        ({"url": "http://a/\nb"}, "control character in the URL"),
        ({"callback": 3}, "callback is a method of the spider or its name, not 3"),
        ({"errback": ["failed"]}, "errback is a method of the spider or its name"),
        ({"method": ""}, "not an HTTP method: ''"),
        ({"method": "GET /"}, "not an HTTP method: 'GET /'"),
        ({"method": "GET\r\n"}, "not an HTTP method"),
        ({"method": None}, "not an HTTP method: None"),
        ({"headers": "x"}, "headers are a mapping or .* not 'x'"),
        ({"headers": {"A": "x\ny"}}, "control character in the header A"),
        ({"headers": {"A B": "x"}}, "not a header name: 'A B'"),
        ({"body": 3}, "body is bytes or text, not int"),
        ({"body": {"a": 1}}, "body is bytes or text, not dict"),
        ({"body": "€", "encoding": "latin-1"}, "the body cannot be written in latin-1"),
        ({"cookies": "a=b"}, "cookies are a mapping, or a list of mappings"),
        ({"cookies": ["a=b"]}, "cookies are a mapping, or a list of mappings"),
        ({"meta": [1]}, r"meta is a mapping, not \[1\]"),
        ({"cb_kwargs": "x"}, "cb_kwargs is a mapping, not 'x'"),
        ({"cb_kwargs": {1: 2}}, "cb_kwargs are keywords of the callback"),
        ({"priority": "high"}, "priority is a whole number, not 'high'"),
        ({"priority": 1.5}, "priority is a whole number, not 1.5"),
        ({"priority": True}, "priority is a whole number, not True"),
        ({"priority": float("nan")}, "priority is a whole number, not nan"),
        ({"priority": float("inf")}, "priority is a whole number, not inf"),
        ({"priority": None}, "priority is a whole number, not None"),
        ({"encoding": "klingon"}, "no such encoding: 'klingon'"),
        ({"encoding": None}, "no such encoding: None"),
        ({"delay": -1}, "delay is a number of seconds, not -1"),
        ({"delay": "1"}, "delay is a number of seconds, not '1'"),
        ({"delay": float("nan")}, "delay is a number of seconds, not nan"),
        ({"session": 3}, "session is a name, not 3"),
        ({"downloader": None}, "downloader is a name, not None"),
    ],
)
def test_a_wrong_argument_is_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidRequest, match=message):
        Request(**{"url": URL, **arguments})


def test_an_unknown_argument_is_an_error() -> None:
    with pytest.raises(TypeError, match="priorty"):
        Request(URL, priorty=1)  # type: ignore[call-arg]


def test_a_whole_number_may_be_written_as_a_float() -> None:
    priority = Request(URL, priority=2.0).priority  # type: ignore[arg-type]
    assert priority == 2
    assert type(priority) is int


@pytest.mark.parametrize("body", ["中", "中".encode("gbk"), bytearray("中".encode("gbk")), memoryview("中".encode("gbk"))])
def test_a_body_of_text_is_written_in_the_encoding(body: Any) -> None:
    made = Request(URL, method="POST", body=body, encoding="gbk").body
    assert made == b"\xd6\xd0"
    assert type(made) is bytes


def test_what_was_given_is_copied() -> None:
    headers, cookies, meta, cb_kwargs = {"A": "1"}, {"c": "1"}, {"m": 1}, {"k": 1}
    listed = [{"name": "c", "value": "1"}]
    request = Request(URL, headers=headers, cookies=cookies, meta=meta, cb_kwargs=cb_kwargs)
    other = Request(URL, cookies=listed)
    for given in (headers, cookies, meta, cb_kwargs, listed[0]):
        given["new"] = "x"

    assert request.headers == {"A": "1"}
    assert (request.cookies, request.meta, request.cb_kwargs) == ({"c": "1"}, {"m": 1}, {"k": 1})
    assert other.cookies == [{"name": "c", "value": "1"}]


def test_a_copy_has_headers_cookies_and_meta_of_its_own() -> None:
    request = Request(URL, headers={"A": "1"}, cookies={"c": "1"}, meta={"m": 1}, cb_kwargs={"k": 1})
    copy = request.copy()
    copy.headers["A"] = "2"
    copy.cookies["c"] = copy.meta["m"] = copy.cb_kwargs["k"] = "2"  # type: ignore[index, call-overload]

    assert request.headers == {"A": "1"}
    assert (request.cookies, request.meta, request.cb_kwargs) == ({"c": "1"}, {"m": 1}, {"k": 1})


def test_headers_and_meta_may_be_set_anew() -> None:
    request = Request(URL, headers={"A": "1"}, meta={"m": 1}, cb_kwargs={"k": 1})
    request.headers, request.meta, request.cb_kwargs = {"b": "2"}, None, {"l": 2}  # type: ignore[assignment]

    assert isinstance(request.headers, Headers)
    assert request.headers["B"] == "2"
    assert request.meta == {}
    assert request.cb_kwargs == {"l": 2}
    with pytest.raises(InvalidRequest, match="meta is a mapping"):
        request.meta = "x"  # type: ignore[assignment]


def test_replace_keeps_everything_else() -> None:
    request = Request(
        URL, parse, "POST", [("A", "1"), ("a", "2")], b"b", {"c": "2"}, {"m": 3}, {"k": 4}, "bad", 5, True, "gbk", 6, "s", "d"
    )
    request.depth = 3
    other = request.replace(url="http://example.com/other")

    assert other.url == "http://example.com/other"
    assert other.depth == 3
    assert other.headers.raw == [("A", "1"), ("a", "2")]
    for name in set(Request.attributes) - {"url"}:
        assert getattr(other, name) == getattr(request, name)


def test_replace_changes_what_it_is_told() -> None:
    request = Request(URL, headers={"A": "1"}, meta={"m": 1})
    other = request.replace(headers=None, meta={"n": 2}, method="PUT", priority=9)

    assert (other.headers, other.meta, other.method, other.priority) == (Headers(), {"n": 2}, "PUT", 9)
    with pytest.raises(TypeError, match="unknown"):
        request.replace(unknown=1)
    with pytest.raises(InvalidRequest, match="priority"):
        request.replace(priority="high")


class PageRequest(Request):
    """A user's own kind of request."""

    attributes = (*Request.attributes, "page")

    def __init__(self, url: str, *args: Any, page: int = 1, **options: Any) -> None:
        super().__init__(url, *args, **options)
        self.page = page


class BareRequest(Request):
    """A kind that adds nothing but a word."""

    kind_of_page = "bare"


def test_a_users_own_kind_of_request_stays_what_it_is() -> None:
    request = PageRequest(URL, parse, page=7, meta={"m": 1})
    other = request.replace(url="http://example.com/2")

    assert type(other) is PageRequest
    assert (other.page, other.meta, other.callback) == (7, {"m": 1}, parse)
    assert other.replace(page=8).page == 8
    assert type(BareRequest(URL).copy()) is BareRequest


def test_replace_can_make_another_kind_of_request() -> None:
    request = Request(URL, meta={"m": 1})

    assert request.replace(cls=PageRequest, page=3).page == 3
    form = request.replace(cls=FormRequest, formdata={"a": "b"})
    assert (form.method, form.body, form.meta) == ("GET", b"", {"m": 1})
    assert form.url == f"{URL}?a=b"
    assert type(JsonRequest(URL, data=[1]).replace(cls=Request)) is Request


def test_a_callback_is_a_method_or_a_name() -> None:
    class Spider:
        def parse(self, response: object) -> None: ...

    assert Request(URL, Spider().parse).callback is not None
    assert Request(URL, "parse", errback="failed").errback == "failed"


@pytest.mark.parametrize("method", ["get", "Post", "DELETE", "PATCH", "OPTIONS", "PROPFIND", "VERSION-CONTROL"])
def test_methods_are_written_in_capitals(method: str) -> None:
    assert Request(URL, method=method).method == method.upper()
