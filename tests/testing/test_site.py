from __future__ import annotations

import asyncio
import gzip
import logging
import ssl
import time
from collections.abc import AsyncIterator

import aiohttp
import pytest
import trustme
from aiohttp import web

from openoctopus.http import Headers, Response
from openoctopus.testing import Site, cut, in_turn, slowly, zipped


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(auto_decompress=False) as session:
        yield session


async def get(client: aiohttp.ClientSession, url: str, **options: object) -> Response:
    async with client.get(url, allow_redirects=False, **options) as answer:
        headers = Headers.received([(key.decode(), value.decode()) for key, value in answer.raw_headers])
        return Response(url, answer.status, headers, await answer.read())


async def test_a_page_is_a_text_bytes_a_status_json_or_all_three_parts(client):
    pages = {
        "/": "<p>naïve</p>",
        "/bytes": b"\xff\xfe",
        "/gone": 410,
        "/object": {"名": [1, None]},
        "/list": [1, 2],
        "/parts": (201, {"X-Kind": "odd", "Content-Type": "text/plain"}, b"made"),
        "/twice": (200, [("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")], {"a": 1}),
    }

    async with Site(pages) as site:
        answers = {path: await get(client, site.url(path)) for path in [*pages, "/nowhere"]}

    assert {path: answer.status for path, answer in answers.items()} == {
        "/": 200, "/bytes": 200, "/gone": 410, "/object": 200, "/list": 200, "/parts": 201, "/twice": 200, "/nowhere": 404,
    }  # fmt: skip
    assert answers["/"].text == "<p>naïve</p>"
    assert answers["/"].headers["Content-Type"] == "text/html; charset=utf-8"
    assert answers["/bytes"].body == b"\xff\xfe"
    assert answers["/bytes"].headers["Content-Type"] == "text/html"
    assert answers["/object"].json() == {"名": [1, None]}
    assert answers["/list"].headers["Content-Type"] == "application/json"
    assert (answers["/parts"].body, answers["/parts"].headers["X-Kind"]) == (b"made", "odd")
    assert answers["/twice"].headers.getlist("Set-Cookie") == ["a=1", "b=2"]
    assert answers["/twice"].json() == {"a": 1}


@pytest.mark.parametrize("charset", ["gb18030", "big5", "shift_jis", "euc-kr", "windows-1251"])
async def test_a_text_is_sent_in_the_charset_of_its_headers(client, charset):
    text = {"shift_jis": "日本語", "euc-kr": "한국어", "windows-1251": "Привет"}.get(charset, "中文")

    async with Site({"/": (200, {"Content-Type": f"text/html; charset={charset}"}, text)}) as site:
        answer = await get(client, site.url())

    assert answer.body == text.encode(charset)
    assert answer.text == text


@pytest.mark.parametrize(
    ("path", "content_type"), [("/robots.txt", "text/plain"), ("/sitemap.xml", "application/xml"), ("/a.html", "text/html")]
)
async def test_the_content_type_follows_the_path(client, path, content_type):
    async with Site({path: "text", "/bytes" + path: b"bytes"}) as site:
        assert (await get(client, site.url(path))).headers["Content-Type"] == f"{content_type}; charset=utf-8"
        assert (await get(client, site.url("/bytes" + path))).headers["Content-Type"] == content_type


async def test_a_page_may_be_a_function_of_the_request(client):
    async def echo(request: web.Request) -> tuple[int, dict[str, str], bytes]:
        return 200, {}, await request.read()

    pages = {
        "/query": lambda request: request.query["name"],
        "/echo": echo,
        "/own": lambda request: web.Response(text="mine", status=202),
        "/chosen": lambda request: in_turn(418),
    }

    async with Site(pages) as site:
        assert (await get(client, site.url("/query?name=%E5%90%8D"))).text == "名"
        assert (await get(client, site.url("/echo"), data=b"back")).body == b"back"
        assert (await get(client, site.url("/own"))).status == 202
        assert (await get(client, site.url("/chosen"))).status == 418


async def test_a_path_is_looked_up_with_its_query_then_without_then_decoded(client):
    async with Site({"/a?b=1": "one", "/a": "any", "/中文": "zh"}) as site:
        texts = [(await get(client, site.url(path))).text for path in ("/a?b=1", "/a?b=2", "/a", "/%E4%B8%AD%E6%96%87?c")]

    assert texts == ["one", "any", "any", "zh"]


async def test_a_site_can_stand_for_a_proxy(client):
    async with Site({"http://shop.test/": "by proxy"}) as site:
        answer = await get(client, "http://shop.test/", proxy=site.url(""))

    assert answer.text == "by proxy"
    assert [(visit.path, visit.host) for visit in site.log] == [("http://shop.test/", "shop.test")]


async def test_head_has_the_headers_of_the_page_and_no_body(client):
    async with Site({"/": "hello"}) as site, client.head(site.url()) as answer:
        assert (answer.status, answer.headers["Content-Length"]) == (200, "5")
        assert await answer.read() == b""


async def test_pages_may_change_while_the_site_is_open(client):
    async with Site() as site:
        before = await get(client, site.url("/new"))
        site.pages["/new"] = "here"
        after = await get(client, site.url("/new"))

    assert (before.status, after.status) == (404, 200)


async def test_the_log_holds_what_was_really_sent():
    async with Site({"/form": 204}) as site:
        reader, writer = await asyncio.open_connection(*site.url().removeprefix("http://").rstrip("/").split(":"))
        packed = gzip.compress(b"x" * 100, mtime=0)
        writer.write(
            b"PUT /form?x=%%zz&y=a+b HTTP/1.1\r\nHost: 127.0.0.1\r\nx-ODD: one\r\nX-Odd: two\r\nUser-Agent:  me \r\n"
            b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed) + packed
        )
        before = time.monotonic()
        assert (await reader.readline()).startswith(b"HTTP/1.1 204")
        writer.close()

    (visit,) = site.log
    assert (visit.method, visit.path, visit.body, visit.host) == ("PUT", "/form?x=%zz&y=a+b", packed, "127.0.0.1")
    assert visit.headers.raw[1:4] == [("x-ODD", "one"), ("X-Odd", "two"), ("User-Agent", "me")]
    assert (visit.connection, visit.concurrent) == (1, 1)
    assert before - 1 < visit.time <= time.monotonic()


async def test_the_log_tells_connections_and_concurrency_apart(client):
    async with Site({"/": slowly(0.02, "ok")}, hosts=("127.0.0.1", "127.0.0.2")) as site:
        second = site.url("/", "127.0.0.2")
        await asyncio.gather(*[get(client, url) for url in (site.url(), site.url(), second)])
        await get(client, site.url())

    assert [visit.host for visit in site.log].count("127.0.0.1") == 3
    assert max(visit.concurrent for visit in site.log if visit.host == "127.0.0.1") == 2
    assert [visit.concurrent for visit in site.log if visit.host == "127.0.0.2"] == [1]
    assert {visit.connection for visit in site.log[:3]} == {1, 2, 3}
    assert site.log[3].connection in (1, 2, 3)
    assert site.log[3].concurrent == 1


async def test_in_turn_answers_each_page_once_and_the_last_one_for_ever(client):
    async with Site({"/": in_turn(503, (429, {"Retry-After": "1"}, ""), "here")}) as site:
        statuses = [(await get(client, site.url())).status for _ in range(4)]

    assert statuses == [503, 429, 200, 200]


async def test_slowly_takes_its_time(client):
    async with Site({"/": slowly(0.03, in_turn(202))}) as site:
        started = time.monotonic()
        answer = await get(client, site.url())

    assert answer.status == 202
    assert time.monotonic() - started >= 0.03


async def test_zipped_packs_only_for_those_who_take_it(client):
    body = "<p>你好</p>".encode("gb18030") * 50

    async with Site({"/": zipped(body)}) as site:
        packed = await get(client, site.url(), headers={"Accept-Encoding": "gzip, br"})
        plain = await get(client, site.url(), headers={"Accept-Encoding": "identity"})

    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.body) == body
    assert plain.body == body


async def test_cut_breaks_off_a_body(client):
    async with Site({"/": cut(b"x" * 100, 60)}) as site, client.get(site.url()) as answer:
        assert answer.headers["Content-Length"] == "100"
        with pytest.raises(aiohttp.ClientPayloadError):
            await answer.read()


async def test_a_handler_that_raises_answers_500_and_is_logged(client, caplog):
    def broken(request: web.Request) -> str:
        raise ZeroDivisionError("in the handler")

    async with Site({"/": broken}) as site:
        answer = await get(client, site.url())

    assert answer.status == 500
    assert [record.exc_info[1].args for record in caplog.records if record.exc_info] == [("in the handler",)]


async def test_closing_breaks_off_what_is_slow_and_logs_nothing(client, caplog):
    caplog.set_level(logging.INFO)
    site = Site({"/": slowly(60, "never")})
    await site.open()
    waiting = asyncio.ensure_future(get(client, site.url()))
    while not site.log:
        await asyncio.sleep(0.005)

    started = time.monotonic()
    await site.close()

    assert time.monotonic() - started < 1
    with pytest.raises(aiohttp.ClientConnectionError):
        await waiting
    with pytest.raises(aiohttp.ClientConnectorError):
        await get(client, site.url())
    assert caplog.records == []


async def test_a_taken_port_is_an_error_and_leaves_nothing_open():
    async with Site() as site:
        port = int(site.url().rstrip("/").rpartition(":")[2])

        with pytest.raises(OSError, match="address already in use"):
            await Site(hosts=("127.0.0.2", "127.0.0.1"), port=port).open()
        async with Site(hosts=("127.0.0.2",), port=port) as freed:
            assert freed.url() == f"http://127.0.0.2:{port}/"


async def test_url_keeps_a_name_that_is_none_of_the_hosts():
    async with Site() as site:
        assert site.url("/x", host="shop.test") == site.url("/x").replace("127.0.0.1", "shop.test")


async def test_a_site_speaks_tls():
    authority = trustme.CA()
    server, trusting = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH), ssl.create_default_context()
    authority.issue_cert("127.0.0.1").configure_cert(server)
    authority.configure_trust(trusting)

    site, connector = Site({"/": "secret"}, ssl_context=server), aiohttp.TCPConnector(ssl=trusting)
    async with site, aiohttp.ClientSession(connector=connector) as session:
        answer = await get(session, site.url())

    assert site.url().startswith("https://127.0.0.1:")
    assert answer.text == "secret"
