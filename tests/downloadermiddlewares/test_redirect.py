"""Redirects."""

from __future__ import annotations

from typing import Any

import pytest
from aiohttp import web

from openoctopus.downloadermiddlewares import RedirectMiddleware
from openoctopus.downloadermiddlewares.redirect import target
from openoctopus.exceptions import RefusedRequest, TooManyRedirects
from openoctopus.http import Request, Response
from openoctopus.spider import Spider
from openoctopus.stats import Stats

FROM = "http://a.example/dir/page?q=1"


def redirected(request: Request, status: int = 302, location: str | None = "next", **options: Any) -> Request | Response:
    headers = {} if location is None else {"Location": location}
    response = Response(request.url, status, headers, request=request)
    return RedirectMiddleware(Stats(), **options).process_response(request, response, Spider("test"))


def followed(request: Request, status: int = 302, location: str = "next", **options: Any) -> Request:
    new = redirected(request, status, location, **options)
    assert isinstance(new, Request)
    return new


async def test_a_page_is_had_where_it_went(site: Any, crawl: Any) -> None:
    site.answers = {
        "/": web.Response(status=301, headers={"Location": "/%D8%A7?sig=a%2Fb"}),
        "/%D8%A7": web.Response(status=302, headers={"Location": f"//b.example:{site.port}/end"}),
        "/end": web.Response(text="arrived"),
    }
    stats = Stats()

    page = await crawl(RedirectMiddleware(stats)).page(Request(site.url("/#part")))

    assert page.body == b"arrived"
    assert page.url == site.url("/end#part", "b.example")
    assert site.paths() == ["/", "/%D8%A7?sig=a%2Fb", "/end"]
    assert page.meta["redirect_urls"] == [site.url("/#part"), site.url("/%D8%A7?sig=a%2Fb#part")]
    assert page.meta["redirect_reasons"] == [301, 302]
    assert page.meta["redirect_times"] == 2
    assert stats.get("redirect/count") == 2


async def test_bytes_of_a_location_are_kept_as_they_came(site: Any, crawl: Any) -> None:
    site.answers = {"/": web.Response(status=302, headers={"Location": "/اعزام"}), "/end": web.Response()}

    await crawl(RedirectMiddleware(Stats())).page(Request(site.url()))

    assert site.paths()[1] == "/%D8%A7%D8%B9%D8%B2%D8%A7%D9%85"


@pytest.mark.parametrize(
    ("location", "url"),
    [
        ("next", "http://a.example/dir/next"),
        ("/next", "http://a.example/next"),
        ("?p=2", "http://a.example/dir/page?p=2"),
        ("//b.example/x", "http://b.example/x"),
        ("///b.example/x", "http://b.example/x"),
        ("/\\b.example/x", "http://b.example/x"),
        ("HTTPS://B.example:443/x", "https://b.example/x"),
        (" next ", "http://a.example/dir/next"),
        ("a b", "http://a.example/dir/a%20b"),
        ("/foo%27bar%2Fx%28y%29.txt?e=%7E", "http://a.example/foo%27bar%2Fx%28y%29.txt?e=%7E"),
        ("/\xd6\xd0\xce\xc4", "http://a.example/%D6%D0%CE%C4"),
        ("//b\xc3\xbccher.example/", "http://xn--bcher-kva.example/"),
        ("/x?q=\xe9", "http://a.example/x?q=%E9"),
        ("/x#there", "http://a.example/x#there"),
        ("/x#", "http://a.example/x#"),
        ("file:///etc/hostname", None),
        ("ftp://b.example/", None),
        ("data:text/html,x", None),
        ("javascript:alert(1)", None),
        ("mailto:a@b.example", None),
        ("http://", None),
        ("http://[::1/", None),
        ("http://a b/", None),
    ],
)
def test_a_location_is_read_as_browsers_do(location: str, url: str | None) -> None:
    assert target(Request(FROM), location) == url


def test_a_fragment_is_inherited() -> None:
    assert target(Request(FROM + "#/section"), "next") == "http://a.example/dir/next#/section"
    assert target(Request(FROM + "#/section"), "next#own") == "http://a.example/dir/next#own"


@pytest.mark.parametrize("location", [None, "", "file:///etc/hostname", "http://"])
def test_a_redirect_to_nowhere_is_delivered(location: str | None) -> None:
    answer = redirected(Request(FROM), 302, location)

    assert isinstance(answer, Response)
    assert answer.status == 302


@pytest.mark.parametrize("status", [200, 300, 304, 305, 306, 404])
def test_other_statuses_are_no_redirects(status: int) -> None:
    assert isinstance(redirected(Request(FROM), status), Response)


@pytest.mark.parametrize(
    ("meta", "spider_list", "delivered"),
    [
        ({"dont_redirect": True}, (), True),
        ({"handle_httpstatus_all": True}, (), True),
        ({"handle_httpstatus_list": [302]}, (), True),
        ({"handle_httpstatus_list": [404]}, (), False),
        ({}, (302,), True),
        ({}, (301,), False),
    ],
)
def test_who_asks_for_the_redirect_itself_gets_it(meta: dict[str, Any], spider_list: tuple[int, ...], delivered: bool) -> None:
    request = Request(FROM, meta=meta)
    spider = Spider("test")
    spider.handle_httpstatus_list = spider_list
    response = Response(FROM, 302, {"Location": "next"}, request=request)

    assert (RedirectMiddleware(Stats()).process_response(request, response, spider) is response) is delivered


@pytest.mark.parametrize(
    ("method", "status", "then", "keeps_body"),
    [
        ("GET", 301, "GET", False), ("GET", 307, "GET", False), ("HEAD", 302, "HEAD", False), ("HEAD", 303, "HEAD", False),
        ("POST", 301, "GET", False), ("POST", 302, "GET", False), ("POST", 303, "GET", False),
        ("POST", 307, "POST", True), ("POST", 308, "POST", True),
        ("PUT", 301, "PUT", True), ("PUT", 302, "PUT", True), ("PUT", 303, "GET", False), ("PUT", 308, "PUT", True),
        ("DELETE", 302, "DELETE", False), ("DELETE", 303, "GET", False), ("PATCH", 307, "PATCH", True),
    ],
)  # fmt: skip
def test_the_method_is_kept_or_becomes_get(method: str, status: int, then: str, keeps_body: bool) -> None:
    body = b"" if method in ("GET", "HEAD", "DELETE") else b"a=1"
    headers = {"Content-Type": "text/plain", "Content-Language": "de", "X-Mine": "1"}

    new = followed(Request(FROM, method=method, body=body, headers=headers), status)

    assert new.method == then
    assert new.body == (b"a=1" if keeps_body else b"")
    assert new.headers["X-Mine"] == "1"
    if then == "GET" != method:
        assert "Content-Type" not in new.headers
        assert "Content-Language" not in new.headers


@pytest.mark.parametrize("status", [307, 308])
def test_a_body_does_not_go_to_another_origin(status: int) -> None:
    request = Request(FROM, method="POST", body=b"secret")

    with pytest.raises(RefusedRequest, match="allow_cross_origin_body"):
        redirected(request, status, "http://b.example/")

    request.meta["allow_cross_origin_body"] = True
    assert followed(request, status, "http://b.example/").body == b"secret"


ORIGINS = ["http://a.example", "https://a.example", "http://a.example:8080", "http://b.example", "http://www.a.example"]


@pytest.mark.parametrize("to", ORIGINS)
@pytest.mark.parametrize("start", ORIGINS)
def test_credentials_do_not_go_to_another_origin(start: str, to: str) -> None:
    headers = {"Authorization": "Bearer x", "Cookie": "a=1", "Proxy-Authorization": "Basic x", "Host": "h", "X-Mine": "1"}
    meta = {"http_user": "u", "http_pass": "p", "mine": 1}
    request = Request(start + "/", headers=headers, cookies={"b": "2"}, meta=meta)

    new = followed(request, 302, to + "/x")

    stays = start == to
    assert ("Authorization" in new.headers) is stays
    assert ("Cookie" in new.headers) is stays
    assert ("Host" in new.headers) is stays
    assert ("http_pass" in new.meta) is stays
    assert "Proxy-Authorization" not in new.headers
    assert new.headers["X-Mine"] == "1"
    assert new.meta["mine"] == 1
    # What was given with a request is in the jar by now, or belongs nowhere else.
    assert not new.cookies


def test_user_and_password_of_the_url_are_not_carried() -> None:
    request = Request("http://me:secret@a.example/dir/page")

    assert followed(request, 302, "next").url == "http://a.example/dir/next"
    assert followed(request, 302, "http://b.example/").url == "http://b.example/"


@pytest.mark.parametrize(
    ("referer", "location", "told"),
    [
        ("https://s.example/list?secret=1", "https://a.example/x", "https://s.example/list?secret=1"),
        ("https://s.example/list?secret=1", "https://b.example/x", "https://s.example/"),
        ("https://s.example/list?secret=1", "http://b.example/x", None),
        ("http://s.example/list", "http://b.example/x", "http://s.example/"),
    ],
)
def test_another_origin_is_told_less_of_where_the_link_was(referer: str, location: str, told: str | None) -> None:
    request = Request("https://a.example/page", headers={"Referer": referer})

    assert followed(request, 302, location).headers.get("Referer") == told


def test_it_is_the_same_page() -> None:
    request = Request(
        FROM, "read", errback="failed", cb_kwargs={"k": 1}, meta={"m": 1}, priority=7, session="s", dont_filter=True, delay=9.0,
        downloader="browser",
    )  # fmt: skip
    request.depth = 3

    new = followed(request)

    assert (new.callback, new.errback, new.cb_kwargs, new.meta["m"]) == ("read", "failed", {"k": 1}, 1)
    assert (new.priority, new.session, new.dont_filter, new.downloader, new.depth) == (7, "s", True, "browser", 3)
    assert new.delay == 0.0
    assert request.meta == {"m": 1}


async def test_a_loop_comes_to_an_end(site: Any, crawl: Any) -> None:
    site.answers = {
        "/": web.Response(status=302, headers={"Location": "/b"}),
        "/b": web.Response(status=302, headers={"Location": "/"}),
    }

    with pytest.raises(TooManyRedirects):
        await crawl(RedirectMiddleware(Stats(), redirect_max_times=5)).page(Request(site.url()))

    assert len(site.asked) == 6
