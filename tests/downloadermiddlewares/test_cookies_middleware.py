"""Cookies on their way."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from openoctopus.downloadermiddlewares import CookiesMiddleware, RedirectMiddleware, RetryMiddleware
from openoctopus.downloadermiddlewares import cookies as module
from openoctopus.exceptions import ConnectionFailed, InvalidRequest, SettingsError
from openoctopus.http import Request, Response
from openoctopus.spider import Spider
from openoctopus.stats import Stats


def sets(*headers: str, **options: Any) -> web.Response:
    answer = web.Response(**options)
    for header in headers:
        answer.headers.add("Set-Cookie", header)
    return answer


def sent(site: Any) -> list[str | None]:
    return [one.headers.get("cookie") for one in site.asked]


async def fetch_all(crawler: Any, *requests: Request) -> None:
    for request in requests:
        await crawler.page(request)


async def test_what_a_server_sets_is_sent_back(site: Any, crawl: Any) -> None:
    site.answers = {"/": sets("check=QUJDRA/Zz+k=; Path=/; Max-Age=60", 'j={"a":[1,2]}; Path=/', "k=v; Path=/other")}

    await fetch_all(
        crawl(CookiesMiddleware()), Request(site.url()), Request(site.url("/x")), Request(site.url("/x", "b.example"))
    )

    assert sent(site) == [None, 'check=QUJDRA/Zz+k=; j={"a":[1,2]}', None]


async def test_a_redirect_sees_the_cookie_that_came_with_it(site: Any, crawl: Any) -> None:
    site.answers = {
        "/": sets("v=old"),
        "/r": sets("v=new; Path=/", status=302, headers={"Location": "/end"}),
        "/end": web.Response(),
    }
    crawler = crawl(RedirectMiddleware(Stats()), CookiesMiddleware())

    await fetch_all(crawler, Request(site.url()), Request(site.url("/r")))

    assert sent(site) == [None, "v=old", "v=new"]


async def test_a_redirect_may_change_a_cookie_that_was_given(site: Any, crawl: Any) -> None:
    site.answers = {"/": sets("v=new; Path=/", status=302, headers={"Location": "/end"}), "/end": web.Response()}
    crawler = crawl(RedirectMiddleware(Stats()), CookiesMiddleware())

    await crawler.page(Request(site.url(), cookies={"v": "old", "w": "1"}))

    assert sent(site) == ["v=old; w=1", "v=new; w=1"]


async def test_another_try_sees_the_cookie_of_the_first(site: Any, crawl: Any) -> None:
    site.answers = {"/": [sets("v=new; Path=/", status=503), web.Response()]}

    await crawl(RetryMiddleware(Stats()), CookiesMiddleware()).page(Request(site.url(), headers={"Cookie": "mine=1"}))

    assert sent(site) == ["mine=1", "mine=1; v=new"]


async def test_sessions_do_not_see_each_other(site: Any, crawl: Any) -> None:
    site.answers = {"/": sets("who=first")}
    url = site.url()
    crawler = crawl(CookiesMiddleware())

    await fetch_all(crawler, Request(url, session="A"), Request(url + "x", session="B"), Request(url + "x", session="A"))
    await fetch_all(
        crawler, Request(url + "x"), Request(url + "x", meta={"cookiejar": "A"}), Request(url + "x", meta={"cookiejar": 1})
    )

    assert sent(site) == [None, None, "who=first", None, "who=first", None]


async def test_given_cookies_stay_with_their_host(site: Any, crawl: Any) -> None:
    site.answers = {"/": web.Response(status=302, headers={"Location": site.url("/x", "evil.example")}), "/x": web.Response()}
    crawler = crawl(RedirectMiddleware(Stats()), CookiesMiddleware())

    await fetch_all(crawler, Request(site.url(), cookies={"session": "s1"}), Request(site.url("/x")))

    assert sent(site) == ["session=s1", None, "session=s1"]


async def test_cookies_are_given_in_detail(site: Any, crawl: Any) -> None:
    cookies = [
        {"name": "all", "value": "1", "domain": "a.example"},
        {"name": "here", "value": "2", "path": "/x"},
        {"name": "safe", "value": "3", "secure": True},
    ]
    crawler = crawl(CookiesMiddleware())

    await fetch_all(crawler, Request(site.url("/x"), cookies=cookies), Request(site.url("/", "www.a.example")))

    assert sent(site) == ["here=2; all=1", "all=1"]


async def test_a_given_cookie_that_cannot_be_sent_is_an_error(site: Any, crawl: Any) -> None:
    with pytest.raises(InvalidRequest, match="cookie"):
        await crawl(CookiesMiddleware()).page(Request(site.url(), cookies={"a": "1\r\nX-Evil: 1"}))

    assert site.asked == []


async def test_a_cookie_header_goes_out_once_and_is_not_kept(site: Any, crawl: Any) -> None:
    site.answers = {"/": sets("a=jar", "b=jar")}
    crawler = crawl(CookiesMiddleware())

    await fetch_all(crawler, Request(site.url()), Request(site.url(), headers={"Cookie": "a=mine; c=3"}), Request(site.url()))

    assert sent(site) == [None, "a=mine; c=3; b=jar", "a=jar; b=jar"]


async def test_a_cookie_header_follows_on_its_own_origin_only(site: Any, crawl: Any) -> None:
    site.answers = {
        "/": web.Response(status=302, headers={"Location": "/here"}),
        "/here": web.Response(status=302, headers={"Location": site.url("/there", "b.example")}),
        "/there": web.Response(),
    }

    await crawl(RedirectMiddleware(Stats()), CookiesMiddleware()).page(Request(site.url(), headers={"Cookie": "mine=1"}))

    assert sent(site) == ["mine=1", "mine=1", None]


async def test_a_request_may_leave_the_jar_alone(site: Any, crawl: Any) -> None:
    site.answers = {"/": sets("a=jar"), "/other": sets("b=jar; Path=/")}
    apart = {"dont_merge_cookies": True}
    crawler = crawl(CookiesMiddleware())

    await fetch_all(
        crawler,
        Request(site.url()),
        Request(site.url("/other"), meta=apart),
        Request(site.url("/other"), meta=apart, cookies={"own": "1"}),
        Request(site.url("/other"), meta=apart, headers={"Cookie": "literal=1"}),
        Request(site.url()),
    )

    assert sent(site) == [None, None, "own=1", "literal=1", "a=jar"]


async def test_given_cookies_apart_from_the_jar_follow_on_their_own_origin(site: Any, crawl: Any) -> None:
    site.answers = {"/": web.Response(status=302, headers={"Location": "/end"}), "/end": web.Response()}
    request = Request(site.url(), meta={"dont_merge_cookies": True}, cookies={"own": "1"})

    await crawl(RedirectMiddleware(Stats()), CookiesMiddleware()).page(request)

    assert sent(site) == ["own=1", "own=1"]


async def test_a_request_is_left_as_it_was_given(site: Any, crawl: Any) -> None:
    site.answers = {"/": sets("a=jar")}
    crawler = crawl(CookiesMiddleware())
    plain, literal = Request(site.url()), Request(site.url(), headers={"X-Mine": "1", "Cookie": "mine=1"})

    await fetch_all(crawler, Request(site.url()), plain, literal)
    with pytest.raises(ConnectionFailed):
        await crawler.page(lost := Request("http://a.example:9/", cookies={"a": "1"}))

    assert plain.headers.raw == lost.headers.raw == []
    assert literal.headers.raw == [("X-Mine", "1"), ("Cookie", "mine=1")]


async def test_a_browsers_last_address_sets_the_cookies() -> None:
    middleware = CookiesMiddleware()
    request = Request("http://a.example/")
    response = Response("http://b.example/", 200, {"Set-Cookie": "a=1"}, request=request)

    middleware.process_response(request, response, Spider("test"))

    assert [cookie["domain"] for cookie in middleware.jars[""].dump()] == ["b.example"]


async def test_cookies_come_from_a_file(site: Any, crawl: Any, tmp_path: Path, caplog: Any) -> None:
    file = tmp_path / "cookies.txt"
    file.write_text("# Netscape HTTP Cookie File\n.a.example\tTRUE\t/\tFALSE\t0\tsid\t1\nnonsense\n")
    middleware = CookiesMiddleware(cookies_file=str(file))
    await middleware.open()

    await fetch_all(
        crawl(middleware), Request(site.url("/", "www.a.example")), Request(site.url("/", "www.a.example"), session="other")
    )

    assert sent(site) == ["sid=1", None]
    assert "not a cookie: 3" in caplog.text


async def test_cookies_come_from_a_browsers_export(site: Any, crawl: Any, tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    file.write_text(
        json.dumps({"cookies": [{"name": "sid", "value": "你", "domain": ".a.example", "path": "/", "expires": -1}]})
    )
    middleware = CookiesMiddleware(cookies_file=str(file))
    await middleware.open()

    await crawl(middleware).page(Request(site.url()))

    assert sent(site) == ["sid=你"]


async def test_a_missing_file_is_said_at_the_start() -> None:
    with pytest.raises(SettingsError, match="COOKIES_FILE"):
        await CookiesMiddleware(cookies_file="/nowhere/cookies.txt").open()


async def test_cookies_are_logged_if_asked(site: Any, crawl: Any, caplog: Any) -> None:
    site.answers = {"/": sets("a=1", "b=2; Domain=com")}
    caplog.set_level(logging.INFO)

    await fetch_all(crawl(CookiesMiddleware(cookies_debug=True)), Request(site.url()), Request(site.url()))

    assert "cookie set by" in caplog.text
    assert "cookie refused by" in caplog.text
    assert f"cookies sent to <GET {site.url()}>: a=1" in caplog.text


async def test_sessions_are_bounded(monkeypatch: pytest.MonkeyPatch, site: Any, crawl: Any) -> None:
    monkeypatch.setattr(module, "MAX_JARS", 3)
    site.answers = {"/": sets("a=1")}
    middleware = CookiesMiddleware()

    await fetch_all(crawl(middleware), *(Request(site.url(), session=name) for name in ["A", "B", "C", "A", "D"]))

    assert list(middleware.jars) == ["C", "A", "D"]
