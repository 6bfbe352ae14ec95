"""A page: what it is, what it says, and where its links lead."""

from __future__ import annotations

from typing import Any

import pytest

from openoctopus.exceptions import InvalidRequest
from openoctopus.http import Headers, Request, Response

URL = "http://example.com/dir/page.html?x=1"


def html(markup: str, url: str = URL, codec: str = "utf-8", content_type: str = "text/html") -> Response:
    return Response(url, headers={"Content-Type": content_type}, body=markup.encode(codec))


def test_a_response_needs_only_a_url() -> None:
    response = Response(URL)

    assert (response.url, response.status, response.body, response.text) == (URL, 200, b"", "")
    assert (response.ip_address, response.protocol, response.truncated) == ("", "", False)
    assert (response.encoding, response.kind) == ("utf-8", "html")
    assert response.css("a").getall() == []
    assert response.request.url == URL
    assert repr(response) == f"<200 {URL}>"
    assert repr(Response("http://u:p@h/", 404)) == "<404 http://***@h/>"


def test_it_carries_what_its_request_carried() -> None:
    request = Request(URL, meta={"m": 1}, cb_kwargs={"k": 2})
    response = Response(URL, request=request)
    assert response.request is request
    assert (response.meta, response.cb_kwargs) == ({"m": 1}, {"k": 2})
    response.meta["n"] = 3
    assert request.meta["n"] == 3

    other = Response(URL)
    other.request = request
    assert other.meta is request.meta


def test_headers_may_be_given_in_any_form() -> None:
    headers = Headers({"A": "1"})
    assert Response(URL, headers=headers).headers is headers
    assert Response(URL, headers=[("Set-Cookie", "a"), ("set-cookie", "b")]).headers.getlist("Set-Cookie") == ["a", "b"]


# What it is

KINDS = {
    ("text/html", "{}"): "html",
    ("TEXT/HTML; charset=utf-8", "x"): "html",
    ("application/xhtml+xml", "<?xml version='1.0'?><html/>"): "html",
    ("text/xml", "<html>"): "xml",
    ("application/rss+xml; charset=utf-8", ""): "xml",
    ("image/svg+xml", "<svg/>"): "xml",
    ("application/json", "<html>"): "json",
    ("application/ld+json", ""): "json",
    ("text/json", ""): "json",
    ("", "<!DOCTYPE html><html>"): "html",
    ("", "\ufeff \n<?xml version='1.0'?><rss/>"): "xml",
    ("", "<?xml version='1.0'?><!DOCTYPE html><html/>"): "html",
    ("", "<urlset>"): "xml",
    ("", ' [{"a": 1}]'): "json",
    ("text/plain", "{}"): "json",
    ("application/octet-stream", "<feed xmlns='x'/>"): "xml",
    ("text/plain", "words"): "html",
}


@pytest.mark.parametrize(("content_type", "body", "kind"), [(*key, kind) for key, kind in KINDS.items()])
def test_its_kind_is_that_of_the_header_or_of_its_first_letters(content_type: str, body: str, kind: str) -> None:
    response = Response(URL, headers={"Content-Type": content_type} if content_type else None, body=body.encode())
    assert response.kind == kind
    assert response.selector.type == kind


def test_any_bytes_can_be_asked_for_elements() -> None:
    for content_type in ("text/html", "text/xml", "image/png", ""):
        response = Response(URL, headers={"Content-Type": content_type}, body=b"\x89PNG\r\n\x1a\n\x00\xff")
        assert response.css("h1::text").getall() == []


# What it says


def test_text_is_decoded_as_browsers_do() -> None:
    assert (
        html("<h1>Привет</h1>", codec="cp1251", content_type="text/html; charset=windows-1251").css("h1::text").get()
        == "Привет"
    )
    assert html("<meta charset=gb2312><h1>镕</h1>", codec="gb18030").encoding == "gb18030"
    assert Response(URL, body=b"\xef\xbb\xbfn\xc3\xa4\xff").text == "nä\ufffd"


def test_an_encoding_may_be_given() -> None:
    body = "é".encode("latin-1")
    assert Response(URL, body=body, encoding="iso-8859-1").encoding == "cp1252"
    assert Response(URL, body=body, headers={"Content-Type": "text/html; charset=utf-8"}, encoding="latin1").text == "é"
    assert Response(URL, body="é".encode("utf-7"), encoding="utf-7").text == "é"


@pytest.mark.parametrize(
    ("body", "content_type", "data"),
    [
        (b'{"a": "\xc3\xa9"}', "application/json", {"a": "é"}),
        (b'\xef\xbb\xbf{"a": "\xc3\xa9"}', "application/json", {"a": "é"}),
        (b'{"a": [1, 2]}', "text/html; charset=utf-8", {"a": [1, 2]}),
        (b'{"a": "\xc3\xa9"}', "application/json; charset=iso-8859-1", {"a": "é"}),
        ('{"a": "中文新闻"}'.encode("gbk"), "application/json; charset=gbk", {"a": "中文新闻"}),
        ('{"a": "é"}'.encode("utf-16"), "application/json", {"a": "é"}),
        ('{"a": "é"}'.encode("utf-16-le"), "", {"a": "é"}),
        (b'{"n": 123456789012345678901234567890}', "", {"n": 123456789012345678901234567890}),
        (b" null ", "", None),
        (b'"\\ud83d"', "", "\ud83d"),
    ],
)
def test_json_is_read_whatever_it_is_called(body: bytes, content_type: str, data: Any) -> None:
    assert Response(URL, headers={"Content-Type": content_type}, body=body).json() == data


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"{", b"\xff\xfe", b'{"a": 1} x', b"[" * 100_000, b'{"a":' * 100_000, b"9" * 5000]
)
def test_what_is_no_json_is_a_value_error(body: bytes) -> None:
    for encoding in (None, "utf-8"):
        with pytest.raises(ValueError):
            Response(URL, body=body, encoding=encoding).json()


def test_selectors_know_the_page() -> None:
    response = html("<p class=a>1 <b>two</b></p>")
    assert response.css("p.a b::text").get() == "two"
    assert response.xpath("//p[@class=$c]/b/text()", c="a").getall() == ["two"]
    assert response.re(r"<b>(\w+)") == ["two"]
    assert Response(URL, body=b'{"a": {"b": [1, "x"]}}').jmespath("a.b[1]").get() == "x"


def test_a_page_says_what_is_on_it() -> None:
    response = html(
        "<title>T</title><a href=a>x</a><form action=s><input name=q value=1></form><table><tr><td>1</td></tr></table>"
    )

    assert [link.url for link in response.links()] == ["http://example.com/dir/a"]
    assert [form.action for form in response.forms()] == ["http://example.com/dir/s"]
    assert response.tables() == [[["1"]]]
    assert isinstance(response.structured_data(), dict)


# Where its links lead


@pytest.mark.parametrize(
    ("head", "base"),
    [
        ("", URL),
        ("<base href=/other/>", "http://example.com/other/"),
        ("<bAsE HREF=/other/>", "http://example.com/other/"),
        ("<BASE HREF='//cdn.test/x'>", "http://cdn.test/x"),
        ("<base target=_blank><base href=a/><base href=b/>", "http://example.com/dir/a/"),
        ("<base href=''>", URL),
        ("<base>", URL),
        ("<!-- <base href=/wrong/> -->", URL),
        ("<script>'<base href=/wrong/>'</script>", URL),
        ("<base href='javascript:1'>", URL),
        ("<base href='data:text/html,x'>", URL),
        ("<base href='http://[broken'>", URL),
        ("<basefont href=/wrong/>", URL),
    ],
)
def test_links_are_relative_to_the_base(head: str, base: str) -> None:
    assert html(f"<html><head>{head}</head></html>").base.href == base


def test_only_html_has_a_base_element() -> None:
    assert html("<a><base href='/x/'/></a>", content_type="text/xml").base.href == URL


def test_the_base_is_found_in_utf_16() -> None:
    assert Response(URL, body='<base href="/é/">'.encode("utf-16")).base.href == "http://example.com/%C3%A9/"


@pytest.mark.parametrize(
    ("link", "url"),
    [
        ("a.html", "http://example.com/dir/a.html"),
        (" \n/a\t.html ", "http://example.com/a.html"),
        ("?p=2", "http://example.com/dir/page.html?p=2"),
        ("", URL),
        ("..\\up", "http://example.com/up"),
        ("//other.test", "http://other.test/"),
        ("中?q=中", "http://example.com/dir/%E4%B8%AD?q=%D6%D0"),
    ],
)
def test_a_link_is_joined_as_on_its_page(link: str, url: str) -> None:
    response = html("x", codec="gbk", content_type="text/html; charset=gbk")
    assert response.urljoin(link) == url
    assert response.follow(link).url == url


def test_follow_makes_a_request() -> None:
    request = html("x").follow("a", "parse_a", method="POST", meta={"m": 1}, priority=3)

    assert (request.url, request.callback, request.method) == ("http://example.com/dir/a", "parse_a", "POST")
    assert (request.meta, request.priority, request.encoding) == ({"m": 1}, 3, "utf-8")
    gbk = html("x", content_type="text/html; charset=gbk")
    assert gbk.follow("a").encoding == "gb18030"
    assert gbk.follow("a", encoding="utf-8").encoding == "utf-8"


LINKS = "<a href=one>1</a><link href=two><img src=three><a name=none>-</a><a href=''>self</a>"


def test_follow_takes_elements_attributes_and_text() -> None:
    response = html(LINKS)

    assert response.follow(response.css("a")[0]).url == "http://example.com/dir/one"
    assert response.follow(response.css("link")[0]).url == "http://example.com/dir/two"
    assert response.follow(response.css("img")[0]).url == "http://example.com/dir/three"
    assert response.follow(response.css("a::attr(href)")[0]).url == "http://example.com/dir/one"
    assert response.follow(response.xpath("//a/@href")[0]).url == "http://example.com/dir/one"
    assert response.follow(response.css("a::attr(href)").get()).url == "http://example.com/dir/one"


@pytest.mark.parametrize("link", [None, 3, b"/x", ["a"], "http://[broken"])
def test_what_is_no_link_is_refused(link: Any) -> None:
    with pytest.raises(InvalidRequest, match=r"no link|not a link"):
        html("x").follow(link)


def test_an_element_without_a_link_is_refused() -> None:
    response = html(LINKS)
    with pytest.raises(InvalidRequest, match="no link in"):
        response.follow(response.css("a")[1])
    with pytest.raises(InvalidRequest, match="no link: "):
        response.follow(response.css("a"))  # type: ignore[arg-type]
    with pytest.raises(InvalidRequest, match="a link is a str, not None"):
        response.urljoin(None)  # type: ignore[arg-type]


MANY = (
    "<a href=one>1</a><a href=' one\n'>1</a><a href=./one>1</a><a href=mailto:a@b>m</a><a href='javascript:x()'>j</a>"
    "<a href=tel:+1>t</a><a href=data:text/html,x>d</a><a>-</a><a href='http://[broken'>b</a><a href=HTTPS://Other.test>2</a>"
    "<a href=ftp://f/>f</a><a href=one#part>3</a>"
)
FOUND = ["http://example.com/dir/one", "https://other.test/", "http://example.com/dir/one#part"]


def test_follow_all_passes_over_what_is_no_page_and_what_came_before() -> None:
    response = html(MANY)

    assert [request.url for request in response.follow_all(css="a")] == FOUND
    assert [request.url for request in response.follow_all(css="a::attr(href)")] == FOUND
    assert [request.url for request in response.follow_all(xpath="//a/@href")] == FOUND
    assert [request.url for request in response.follow_all(response.css("a"))] == FOUND
    assert [request.url for request in response.follow_all(response.css("a::attr(href)").getall())] == FOUND
    assert [request.url for request in response.follow_all([None, "one", 3])] == FOUND[:1]  # type: ignore[list-item]


def test_follow_all_gives_its_options_to_each() -> None:
    one, two = html("x").follow_all(["a", "b"], "parse", meta={"m": []}, priority=2)

    assert (one.callback, one.priority, two.priority, one.meta) == ("parse", 2, 2, {"m": []})
    one.meta["n"] = 1
    assert "n" not in two.meta


def test_follow_all_needs_one_source_of_links() -> None:
    response = html(MANY)
    for wrong in ({}, {"css": "a", "xpath": "//a"}, {"links": ["a"], "css": "a"}):
        with pytest.raises(ValueError, match="give one of links, css and xpath"):
            list(response.follow_all(**wrong))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="for one there is follow"):
        list(response.follow_all("/one"))


def test_replace_keeps_everything_else() -> None:
    request = Request(URL)
    response = Response(URL, 404, {"A": "1"}, "é".encode("latin-1"), request, "latin1", "192.0.2.1", "HTTP/2")
    response.truncated, response.selector_tree = True, "lxml"
    other = response.replace(url="http://example.com/new")

    assert other.url == "http://example.com/new"
    assert (other.status, other.headers, other.text, other.request) == (404, {"A": "1"}, "é", request)
    assert (other.ip_address, other.protocol, other.truncated, other.selector_tree) == ("192.0.2.1", "HTTP/2", True, "lxml")
    assert response.replace(body=b"new", status=200).text == "new"
    assert response.replace(encoding="utf-8").text == "\ufffd"
    with pytest.raises(TypeError):
        response.replace(unknown=1)


class PdfResponse(Response):
    """A user's own kind."""


def test_a_users_own_kind_stays_what_it_is() -> None:
    assert type(PdfResponse(URL).replace(status=404)) is PdfResponse
