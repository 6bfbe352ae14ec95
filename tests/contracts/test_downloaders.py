"""What every downloader promises about requests and the heads of answers."""

from __future__ import annotations

import asyncio

import pytest

from openoctopus.exceptions import InvalidRequest
from openoctopus.http import Request
from tests.downloaders.engines import ENGINES, fetch, opened
from tests.downloaders.servers import Asked, RawServer, head, reply

PAGE = b"<!DOCTYPE html><h1>fine</h1>"


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def test_a_page_comes_with_all_that_is_known_of_it(engine):
    async with RawServer(reply(PAGE, "Content-Type: text/html", "X-One: 1")) as server:
        request = Request(server.url("/a?b=c#d"))
        async with opened(engine) as downloaders:
            response = await downloaders.fetch(request)

    assert (response.status, response.body, response.url) == (200, PAGE, request.url)
    assert (response.ip_address, response.protocol) == ("127.0.0.1", "HTTP/1.1")
    assert response.headers["content-type"] == "text/html"
    assert response.request is request
    assert not response.truncated
    assert server.asked[0].target == "/a?b=c"


TOLERATED = {
    "no reason phrase": b"HTTP/1.1 200\r\nContent-Length: 28\r\n\r\n",
    "lines end with LF": b"HTTP/1.1 200 OK\nContent-Length: 28\n\n",
    "HTTP/1.0, until close": b"HTTP/1.0 200 OK\r\n\r\n",
    "until close": b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n",
    "empty lines before": b"\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 28\r\n\r\n",
    "early hints": head("HTTP/1.1 103 Early Hints", "Link: </a.css>; rel=preload")
    + head("HTTP/1.1 200 OK", "Content-Length: 28"),
    "100 before": head("HTTP/1.1 100 Continue") * 3 + head("HTTP/1.1 200 OK", "Content-Length: 28"),
    "20 kB header": head("HTTP/1.1 200 OK", "X-Long: " + "a" * 20_000, "Content-Length: 28"),
    "240 kB of headers": head("HTTP/1.1 200 OK", *[f"X-{n}: " + "a" * 20_000 for n in range(12)], "Content-Length: 28"),
    "400 headers": head("HTTP/1.1 200 OK", *[f"X-{n}: 1" for n in range(400)], "Content-Length: 28"),
    "non-standard encoding": head("HTTP/1.1 200 OK", "Transfer-Encoding: identity"),
}


@pytest.mark.parametrize("start", TOLERATED.values(), ids=TOLERATED)
async def test_a_head_that_browsers_read_is_read(engine, start):
    async with RawServer(start + PAGE) as server:
        response = await fetch(engine, server.url())

    assert (response.status, response.body) == (200, PAGE)


#: aiohttp's parser refuses these; that costs a page on few sites, and its strictness cannot be relaxed.
ONLY_WREQ = {
    "same length twice": head("HTTP/1.1 200 OK", "Content-Length: 28", "Content-Length: 28"),
    "line without colon": head("HTTP/1.1 200 OK", "font-src 'self' www.example.com;", "Content-Length: 28"),
    "space before colon": head("HTTP/1.1 200 OK", "X-Odd : 1", "Content-Length: 28"),
    "length twice in one line": head("HTTP/1.1 200 OK", "Content-Length: 28, 28"),
}


@pytest.mark.parametrize("start", ONLY_WREQ.values(), ids=ONLY_WREQ)
async def test_a_head_that_is_a_little_broken_is_read_by_wreq(start):
    async with RawServer(start + PAGE) as server:
        response = await fetch("http", server.url())

    assert (response.status, response.body) == (200, PAGE)


async def test_a_folded_header_is_one_line(engine):
    async with RawServer(reply(PAGE, "Content-Type: text/html;", "  charset=windows-1251")) as server:
        response = await fetch(engine, server.url())

    assert response.headers["Content-Type"].split() == ["text/html;", "charset=windows-1251"]
    assert response.encoding == "cp1251"


async def test_duplicate_headers_are_kept_in_order_and_bytes_stay_bytes(engine):
    answer = reply(PAGE, "X-Multi: one", "x-multi: two", "Set-Cookie: a=1", "Set-Cookie: b=2", "X-Raw: é\xff")
    async with RawServer(answer) as server:
        response = await fetch(engine, server.url())

    assert response.headers.getlist("X-Multi") == ["one", "two"]
    assert response.headers.getlist("Set-Cookie") == ["a=1", "b=2"]
    assert response.headers["X-Raw"].encode("latin-1") == b"\xe9\xff"


async def test_a_status_that_nobody_registered_is_a_status(engine):
    async with RawServer(reply(PAGE, status="999 Request denied")) as server:
        response = await fetch(engine, server.url())

    assert (response.status, response.body) == (999, PAGE)


async def test_chunk_extensions_and_trailers_are_no_data(engine):
    chunks = b"A;name=value\r\n" + PAGE[:10] + b"\r\n12\r\n" + PAGE[10:] + b"\r\n0\r\nX-Sum: 1\r\n\r\n"
    async with RawServer(head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "Trailer: X-Sum") + chunks) as server:
        response = await fetch(engine, server.url())

    assert response.body == PAGE


@pytest.mark.parametrize("status", ["204 No Content", "304 Not Modified"])
async def test_an_answer_without_a_body_has_none(engine, status):
    async with RawServer(head(f"HTTP/1.1 {status}", "Content-Encoding: gzip", "ETag: x")) as server:
        response = await fetch(engine, server.url())

    assert (str(response.status), response.body) == (status[:3], b"")


async def test_an_announced_length_of_what_is_not_sent_is_no_body(engine):
    async with RawServer(head("HTTP/1.1 200 OK", "Content-Length: 999999999", "Content-Encoding: br, br, br")) as server:
        response = await fetch(engine, server.url(), method="HEAD", options={"DOWNLOAD_MAXSIZE": 1000})

    assert (response.status, response.body) == (200, b"")
    assert server.asked[0].method == "HEAD"


async def test_a_redirect_is_an_answer_and_cookies_are_not_kept(engine):
    moved = head("HTTP/1.1 302 Found", "Location: /next", "Set-Cookie: a=1; Path=/", "Content-Length: 0")
    async with RawServer(moved, keep=True) as server, opened(engine) as downloaders:
        first = await downloaders.fetch(Request(server.url()))
        await downloaders.fetch(Request(server.url()))

    assert (first.status, first.headers["Location"]) == (302, "/next")
    assert [asked.target for asked in server.asked] == ["/", "/"]
    assert server.asked[1].header("Cookie") is None


async def stray(asked: Asked) -> None:
    """More bytes than the answer may have: a body after HEAD, or five more than announced."""
    await asked.send(reply(PAGE), b"" if asked.method == "HEAD" else b"EXTRA")


@pytest.mark.parametrize("method", ["HEAD", "GET"])
async def test_stray_bytes_are_not_the_next_answer(method):
    """Not promised by aiohttp: its parser fails the answer itself when more follows."""
    async with RawServer(stray, reply(b"second"), keep=True) as server, opened("http") as downloaders:
        first = await downloaders.fetch(Request(server.url(), method=method))
        second = await downloaders.fetch(Request(server.url("/next")))

    assert first.body == (b"" if method == "HEAD" else PAGE)
    assert second.body == b"second"


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "PURGE"])
async def test_a_method_may_be_any_token(engine, method):
    async with RawServer(reply(b"")) as server:
        await fetch(engine, server.url(), method=method)

    assert server.asked[0].method == method


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
async def test_a_body_is_sent_as_its_bytes(engine, method):
    body = bytes(range(256)) * 100
    async with RawServer(reply()) as server:
        await fetch(engine, server.url(), method=method, body=body)

    assert server.asked[0].body == body
    assert server.asked[0].header("Content-Length") == str(len(body))


async def test_a_post_without_a_body_says_so(engine):
    async with RawServer(reply()) as server:
        await fetch(engine, server.url(), method="POST")

    assert server.asked[0].header("Content-Length") == "0"


async def test_headers_are_sent_as_they_were_written_and_nothing_is_made_up(engine):
    headers = [("User-Agent", "me"), ("X-Second", "2"), ("ACCEPT", "*/*"), ("X-Twice", "a"), ("X-Twice", "b"), ("x-utf", "é中")]
    async with RawServer(reply()) as server:
        await fetch(engine, server.url(), headers=headers)

    sent = [pair for pair in server.asked[0].headers if pair[0] not in ("Host", "Accept-Encoding", "Connection")]
    assert sent == [*headers[:5], ("x-utf", "é中".encode().decode("latin-1"))]
    assert server.asked[0].headers[0] == ("Host", f"127.0.0.1:{server.port}")
    assert server.asked[0].header("Accept-Encoding") == "gzip, deflate, br, zstd"


async def test_what_the_request_accepts_is_not_changed(engine):
    async with RawServer(reply()) as server:
        await fetch(engine, server.url(), headers={"Accept-Encoding": "identity"})

    assert [value for name, value in server.asked[0].headers if name.lower() == "accept-encoding"] == ["identity"]


async def test_a_request_cannot_lie_about_its_length(engine):
    headers = {"Content-Length": "3", "Transfer-Encoding": "chunked"}
    async with RawServer(reply()) as server:
        await fetch(engine, server.url(), method="POST", headers=headers, body=b"abcdef")

    assert server.asked[0].body == b"abcdef"
    assert server.asked[0].header("Transfer-Encoding") is None
    assert server.asked[0].header("Content-Length") == "6"


async def test_credentials_in_a_url_are_sent_as_browsers_send_them(engine):
    async with RawServer(reply()) as server:
        await fetch(engine, server.url().replace("://", "://user:p%40ss@"))

    assert server.asked[0].header("Authorization") == "Basic dXNlcjpwQHNz"


async def test_proxies_of_the_environment_are_not_our_business(engine, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with RawServer(reply(PAGE)) as server:
        response = await fetch(engine, server.url())

    assert response.body == PAGE


@pytest.mark.parametrize(
    "url", ["ftp://127.0.0.1/", "file:///etc/passwd", "gopher://127.0.0.1/", "data:text/html,hi", "ws://127.0.0.1/"]
)
async def test_only_http_is_fetched(engine, url):
    with pytest.raises(InvalidRequest, match="only http and https"):
        await fetch(engine, url)


async def test_connections_are_kept(engine):
    async with RawServer(reply(PAGE), keep=True) as server, opened(engine) as downloaders:
        for _ in range(5):
            await downloaders.fetch(Request(server.url()))

    assert server.connections == 1


async def test_many_requests_are_under_way_at_once(engine):
    together = asyncio.Barrier(20)

    async def when_all_are_here(asked: Asked) -> None:
        await together.wait()
        await asked.send(reply(asked.target.encode()))

    async with RawServer(when_all_are_here) as server, opened(engine) as downloaders:
        pages = await asyncio.gather(*(downloaders.fetch(Request(server.url(f"/{n}"))) for n in range(20)))

    assert [page.body for page in pages] == [f"/{n}".encode() for n in range(20)]
