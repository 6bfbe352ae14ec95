"""Pages that send the reader on."""

from __future__ import annotations

from typing import Any

import pytest
from aiohttp import web

from openoctopus.downloadermiddlewares import CookiesMiddleware, MetaRefreshMiddleware
from openoctopus.exceptions import TooManyRedirects
from openoctopus.http import Request, Response
from openoctopus.spider import Spider
from openoctopus.stats import Stats

URL = "http://a.example/dir/page"
HTML = {"Content-Type": "text/html; charset=utf-8"}


def refreshed(body: str, status: int = 200, headers: Any = HTML, request: Request | None = None, **options: Any) -> Any:
    request = request or Request(URL)
    response = Response(request.url, status, headers, body.encode(), request)
    return MetaRefreshMiddleware(Stats(), **options).process_response(request, response, Spider("test"))


def page(content: str) -> str:
    return f'<html><head><meta http-equiv="refresh" content="{content}"></head><body><h1>first</h1></body></html>'


@pytest.mark.parametrize(
    ("content", "url", "delay"),
    [
        ("0;url=next", "http://a.example/dir/next", 0),
        ("5; URL=next", "http://a.example/dir/next", 5),
        ("5, url = next", "http://a.example/dir/next", 5),
        ("5 url=next", "http://a.example/dir/next", 5),
        ("  0 ; next  ", "http://a.example/dir/next", 0),
        ("0;url='next'", "http://a.example/dir/next", 0),
        ("0;url=&quot;next&quot;", "http://a.example/dir/next", 0),
        ("0;url='next?a=1&amp;b=2' and more", "http://a.example/dir/next?a=1&b=2", 0),
        ("0;url=//b.example/", "http://b.example/", 0),
        ("2.9;url=next", "http://a.example/dir/next", 2),
        (".5;url=next", "http://a.example/dir/next", 0),
        ("0;url=n%C3%A4chste?q=ä", "http://a.example/dir/n%C3%A4chste?q=%C3%A4", 0),
    ],
)
def test_a_refresh_is_followed_as_browsers_do(content: str, url: str, delay: float) -> None:
    new = refreshed(page(content))

    assert (new.url, new.delay) == (url, delay)


@pytest.mark.parametrize(
    "content",
    [
        "", "x", ";url=next", "-1;url=next", "0url=next", "100;url=next", "99999999999;url=next", f"{'9' * 5000};url=next",
        "0;url=javascript:alert(1)", "0;url=file:///etc/hostname", "0;url=http://", "30", "30;url=page",
    ],
)  # fmt: skip
def test_what_leads_nowhere_is_delivered(content: str) -> None:
    assert isinstance(refreshed(page(content)), Response)


@pytest.mark.parametrize(
    "body",
    [
        "<meta content='0;url=next' http-equiv=refresh>",
        "<META HTTP-EQUIV=REFRESH CONTENT='0;URL=next'>",
        "<meta name=x http-equiv = 'Refresh' data-x content = '0;url=next' />",
        "<body><p>text<meta http-equiv=refresh content='0;url=next'>",
        "<meta http-equiv=refresh content=nonsense><meta http-equiv=refresh content='0;url=next'>",
        f"<!-- {'x' * 5000} --><meta http-equiv=refresh content='0;url=next'>",
        "<base href='/dir/'><meta http-equiv=refresh content='0;url=next'>",
    ],
)
def test_it_is_found_however_it_is_written(body: str) -> None:
    assert refreshed(body).url == "http://a.example/dir/next"


@pytest.mark.parametrize(
    "body",
    [
        "<!-- <meta http-equiv=refresh content='0;url=next'> -->",
        "<script>'<meta http-equiv=refresh content=\"0;url=next\">'</script>",
        "<noscript><meta http-equiv=refresh content='0;url=next'></noscript>",
        "<body><noscript><p><meta http-equiv=refresh content='0;url=next'></noscript>",
        "<template><meta http-equiv=refresh content='0;url=next'></template>",
        "<title><meta http-equiv=refresh content='0;url=next'></title>",
        "<p>refresh your mind</p>",
    ],
)
def test_what_is_no_refresh_is_none(body: str) -> None:
    assert isinstance(refreshed(body), Response)


def test_the_ignored_elements_can_be_chosen() -> None:
    body = "<noscript><meta http-equiv=refresh content='0;url=next'></noscript>"

    assert isinstance(refreshed(body, metarefresh_ignore_tags=()), Request)
    assert isinstance(refreshed(f"<section>{body}", metarefresh_ignore_tags=("section",)), Response)


@pytest.mark.parametrize(
    ("status", "headers", "request_"),
    [
        (404, HTML, Request(URL)),
        (200, {"Content-Type": "text/plain"}, Request(URL)),
        (200, {"Content-Type": "application/json"}, Request(URL)),
        (200, HTML, Request(URL, method="HEAD")),
        (200, HTML, Request(URL, meta={"dont_redirect": True})),
    ],
)
def test_only_a_page_that_was_had_is_followed(status: int, headers: dict[str, str], request_: Request) -> None:
    body = page("0;url=next") if "json" not in headers["Content-Type"] else '{"refresh": 1}'

    assert isinstance(refreshed(body, status, headers, request_), Response)


def test_a_refresh_asks_by_get_and_tells_no_secrets() -> None:
    headers = {"Authorization": "Bearer x", "Content-Type": "text/plain"}
    request = Request(URL, method="POST", body=b"a=1", headers=headers, meta={"redirect_times": 1})

    new = refreshed(page("0;url=http://b.example/"), request=request)

    assert (new.method, new.body, list(new.headers)) == ("GET", b"", [])
    assert new.meta["redirect_times"] == 2
    assert new.meta["redirect_reasons"] == ["meta refresh"]


def test_refreshes_count_as_redirects() -> None:
    with pytest.raises(TooManyRedirects):
        refreshed(page("0;url=next"), request=Request(URL, meta={"redirect_times": 20}), redirect_max_times=20)


async def test_a_check_for_cookies_is_passed(site: Any, crawl: Any) -> None:
    def gate(request: web.Request) -> web.Response:
        if request.cookies.get("seen") == "1":
            return web.Response(text="<h1>arrived</h1>", content_type="text/html")
        return web.Response(text=page("0"), content_type="text/html", headers={"Set-Cookie": "seen=1"})

    site.answers["/"] = gate

    answer = await crawl(MetaRefreshMiddleware(Stats()), CookiesMiddleware()).page(Request(site.url()))

    assert answer.css("h1::text").get() == "arrived"
    assert len(site.asked) == 2


async def test_a_page_that_reloads_itself_for_ever_is_read_once(site: Any, crawl: Any) -> None:
    answer = web.Response(text=page("60"), content_type="text/html", headers={"Set-Cookie": "visit=1"})
    site.answers["/"] = answer

    read = await crawl(MetaRefreshMiddleware(Stats()), CookiesMiddleware()).page(Request(site.url()))

    assert read.css("h1::text").get() == "first"
    assert len(site.asked) == 2
