from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import pytest

from openoctopus.http import Request, Response
from openoctopus.testing.bench import BenchPages, BenchSite, BenchSpider


async def get(client: aiohttp.ClientSession, request: Request) -> Response:
    async with client.get(request.url) as answer:
        return Response(request.url, answer.status, list(answer.headers.items()), await answer.read(), request)


async def walk(spider: BenchSpider) -> tuple[list[Response], list[Any]]:
    """Every page that the spider asks for, and every item that it makes."""
    pages: list[Response] = []
    items: list[Any] = []
    waiting = [request async for request in spider.start()]
    async with aiohttp.ClientSession() as client:
        while waiting:
            page = await get(client, waiting.pop())
            pages.append(page)
            for one in (page.request.callback or spider.parse)(page):
                (waiting if isinstance(one, Request) else items).append(one)
    return pages, items


async def read_all(site: BenchSite, sent: bytes) -> bytes:
    reader, writer = await asyncio.open_connection(*site.url().removeprefix("http://").rstrip("/").split(":"))
    writer.write(sent)
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer


@pytest.mark.parametrize(("pages", "articles"), [(3, 1), (23, 20), (100, 94), (500, 475)])
async def test_the_graph_has_exactly_so_many_pages_and_each_is_reached_once(pages, articles):
    site = BenchSite(BenchPages(pages))
    await site.open()
    try:
        had, items = await walk(BenchSpider(site=site.url()))
    finally:
        await site.close()

    assert len(had) == len({page.url for page in had}) == pages
    assert {page.status for page in had} == {200}
    assert len(items) == len({item["url"] for item in items}) == BenchPages(pages).articles == articles
    assert all(item["title"] and item["author"] and item["date"] and item["content"] for item in items)


@pytest.mark.parametrize("size", [2_000, 5_000, 44_000])
def test_articles_have_about_the_wanted_size_and_links_to_others(size):
    pages = dict(BenchPages(100, size).responses())
    articles = {path: b"".join(parts).partition(b"\r\n\r\n")[2] for path, parts in pages.items() if b"/a-" in path}

    for body in articles.values():
        assert size <= len(body) < size * 1.1 + 1_000
        links = Response("http://127.0.0.1/", body=body, encoding="utf-8").css("a::attr(href)").getall()
        assert links
        assert {link.encode() for link in links} <= set(articles)


def test_the_same_numbers_make_the_same_pages():
    assert dict(BenchPages(60).responses()) == dict(BenchPages(60).responses())


async def test_requests_may_come_in_pieces_and_several_at_once():
    site = BenchSite(BenchPages(30))
    await site.open()
    host, port = site.url().removeprefix("http://").rstrip("/").split(":")
    reader, writer = await asyncio.open_connection(host, port)

    writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET /robots.txt HTTP/1.1\r\nHost: x\r\n\r\nGET /no")
    await writer.drain()
    await asyncio.sleep(0.01)
    writer.write(b"where HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    await site.close()

    first, second, third = answer.split(b"HTTP/1.1 ")[1:]
    assert (first[:6], second[:6], third[:13]) == (b"200 OK", b"200 OK", b"404 Not Found")
    assert b"section-link" in first
    assert second.endswith(b"Allow: /\n")


async def test_an_endless_request_is_cut_off():
    site = BenchSite(BenchPages(3))
    await site.open()

    with pytest.raises(ConnectionResetError):
        await read_all(site, b"GET /" + b"a" * 200_000)
    await site.close()


async def test_closing_breaks_kept_connections():
    site = BenchSite(BenchPages(3))
    await site.open()
    reader, writer = await asyncio.open_connection(*site.url().removeprefix("http://").rstrip("/").split(":"))
    writer.write(b"GET / HTTP/1.1\r\n\r\n")
    await reader.readuntil(b"</html>\n")

    await site.close()

    assert await reader.read() == b""
    writer.close()
    await writer.wait_closed()
    with pytest.raises(ConnectionRefusedError):
        await read_all(site, b"")
