"""The bench site: a link graph of plain pages from a server so fast that only the crawler is measured.

``python -m openoctopus.testing.bench --port 0 --pages 10000 --size 5000`` prints its address; ``BenchSpider`` crawls it.
"""

from __future__ import annotations

import asyncio
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any, ClassVar, cast

from openoctopus.http import Request, Response
from openoctopus.spider import Spider
from openoctopus.testing.process import port, serve

PER_LIST = 20
SECTIONS = 10
#: Different bodies of articles; every article has a head of its own and one of these.
BODIES = 32

_HEAD = b"HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n"
_NOT_FOUND = (_HEAD % (b"404 Not Found", b"text/plain", 0), b"")
#: A request longer than this is no crawler's.
_MAX_REQUEST = 1 << 16
_VOCABULARY = (
    "market report growth region analyst officials capital measure energy transport education health science culture "
    "weather technology company quarter policy council village river mountain train station airport bridge research "
    "student data network software climate carbon ocean naïve café Zürich déjà 北京 新闻 東京 Москва Ελλάδα — €uro &amp;"
)
_WORDS = _VOCABULARY.split()


class BenchPages:
    """An index, lists in up to ten sections, and articles of about ``size`` bytes: exactly ``pages`` pages, at least 3."""

    def __init__(self, pages: int = 10_000, size: int = 5_000) -> None:
        self.lists = -(-(pages - 1) // (PER_LIST + 1))
        #: How many items a crawl finds.
        self.articles = pages - 1 - self.lists
        self._size = size
        self._random = Random(f"bench {pages} {size}")

    def responses(self) -> Iterator[tuple[bytes, tuple[bytes, bytes]]]:
        """The path of each page, and the two parts of its response; the second one is shared by many."""
        yield b"/robots.txt", _whole(b"text/plain", b"User-agent: *\nAllow: /\n")
        yield b"/", _whole(b"text/html; charset=utf-8", self._index().encode())
        for number in range(self.lists):
            yield _list_path(number).encode(), _whole(b"text/html; charset=utf-8", self._list(number).encode())
        bodies = [self._body().encode() for _ in range(BODIES)]
        for number in range(self.articles):
            head, body = self._article_head(number).encode(), bodies[number % BODIES]
            header = _HEAD % (b"200 OK", b"text/html; charset=utf-8", len(head) + len(body))
            yield _article_path(number).encode(), (header + head, body)

    def _index(self) -> str:
        sections = range(min(SECTIONS, self.lists))
        links = "\n".join(f'<h2><a class="section-link" href="{_list_path(n)}">Section {n}</a></h2>' for n in sections)
        return f'{_top("Index")}<div class="sections">\n{links}\n</div></body></html>\n'

    def _list(self, number: int) -> str:
        articles = range(number * PER_LIST, min((number + 1) * PER_LIST, self.articles))
        teasers = "\n".join(self._teaser(n) for n in articles)
        following = number + SECTIONS
        link = f'<a class="next-page" href="{_list_path(following)}">Next</a>' if following < self.lists else ""
        return f'{_top(f"List {number}")}<div class="article-list">\n{teasers}\n</div>\n{link}</body></html>\n'

    def _teaser(self, number: int) -> str:
        return f'<div class="teaser"><h2>{_link(number, "title")}</h2><p class="sum">{self._sentence()}</p></div>'

    def _article_head(self, number: int) -> str:
        date = f"2025-{number % 12 + 1:02}-{number % 28 + 1:02}T{number % 24:02}:00:00Z"
        return (
            f'{_top(f"Story {number}")}<article class="article"><h1 class="article-title">Story {number}</h1>\n'
            f'<p class="meta"><span class="author-name">Author {number % 97}</span> '
            f'<time class="pub-date" datetime="{date}">today</time></p>\n'
        )

    def _body(self) -> str:
        """Text, links and scripts in the proportions of a news site, until the article has its size."""
        paragraphs, related, scripts = "", "", ""
        wanted = self._size - len(self._article_head(0))
        while len(paragraphs) + len(related) + len(scripts) < wanted:
            text = " ".join(self._sentence() for _ in range(4))
            paragraphs += f"<p>{text} <em>See</em> {self._some_link('title')} <strong>too</strong>.</p>\n"
            related += f'<li class="rel-item"><div class="t">{self._some_link("rel")}</div></li>\n'
            scripts += f"track({{text: '{self._sentence()}', enabled: true, url: '/api?a=1&b=<x>'}});\n"
        return (
            f'<div class="article-content">\n{paragraphs}</div></article>\n'
            f'<aside class="sidebar"><ul>\n{related}</ul></aside>\n'
            f"<script>\n{scripts}</script></body></html>\n"
        )

    def _some_link(self, kind: str) -> str:
        return _link(self._random.randrange(self.articles), kind)

    def _sentence(self) -> str:
        return " ".join(self._random.choices(_WORDS, k=self._random.randint(8, 18))).capitalize() + "."


def _list_path(number: int) -> str:
    """Lists are dealt to the sections in turn: 0, 10, 20... are the first section's."""
    return f"/s{number % SECTIONS}/list-{number // SECTIONS + 1}.html"


def _article_path(number: int) -> str:
    return f"/s{number // PER_LIST % SECTIONS}/a-{number:06}.html"


def _link(number: int, kind: str) -> str:
    return f'<a class="{kind}" href="{_article_path(number)}"><span>Story {number}</span></a>'


def _top(title: str) -> str:
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>\n'
        '<link rel="stylesheet" href="/static/main.css"></head>\n<body>\n'
    )


def _whole(content_type: bytes, body: bytes) -> tuple[bytes, bytes]:
    return _HEAD % (b"200 OK", content_type, len(body)), body


class Connection(asyncio.Protocol):
    """HTTP/1.1 as far as a crawler of plain pages needs it: GET, kept connections, several requests in one packet."""

    def __init__(self, site: BenchSite) -> None:
        self._site = site
        self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's class is none of asyncio's
        self._site.transports.add(self._transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._site.transports.discard(self._transport)

    def data_received(self, data: bytes) -> None:
        *requests, self._rest = (self._rest + data).split(b"\r\n\r\n")
        if len(self._rest) > _MAX_REQUEST:
            self._transport.abort()
            return
        responses = self._site.responses
        parts: list[bytes] = []
        for request in requests:
            parts += responses.get(request[4 : request.find(b" ", 4)], _NOT_FOUND)
        self._transport.writelines(parts)
        if requests and b"onnection: close" in requests[-1]:
            self._transport.close()


class BenchSite:
    """Serves ``BenchPages`` on 127.0.0.1."""

    def __init__(self, pages: BenchPages, port: int = 0) -> None:
        self.transports: set[asyncio.Transport] = set()
        self._pages = pages
        self._port = port

    async def open(self) -> None:
        """Make all the pages, then listen. Raises ``OSError`` if the port is taken."""
        self.responses = dict(self._pages.responses())
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: Connection(self), "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Stop listening, and break the connections."""
        self._server.close()
        for transport in list(self.transports):
            transport.abort()
        await self._server.wait_closed()

    def url(self) -> str:
        """The index page."""
        return f"http://127.0.0.1:{self._port}/"


class BenchSpider(Spider):
    """Index, lists, articles; an item for each article. ``-a site=URL`` says where the bench site is."""

    name = "bench"
    custom_settings: ClassVar[Mapping[str, Any]] = {"CONCURRENT_REQUESTS": 64, "CONCURRENT_REQUESTS_PER_DOMAIN": 64}

    def __init__(self, site: str = "http://127.0.0.1:8000/", **arguments: Any) -> None:
        super().__init__(**arguments)
        self.start_urls = [site]

    def parse(self, response: Response) -> Iterator[Request]:
        yield from response.follow_all(css="a.section-link", callback=self.parse_list)

    def parse_list(self, response: Response) -> Iterator[Request]:
        yield from response.follow_all(css="div.article-list h2 a", callback=self.parse_article)
        yield from response.follow_all(css="a.next-page", callback=self.parse_list)

    def parse_article(self, response: Response) -> Iterator[dict[str, Any]]:
        yield {
            "url": response.url,
            "title": response.css("h1.article-title::text").get(),
            "author": response.css("span.author-name::text").get(),
            "date": response.css("time.pub-date::attr(datetime)").get(),
            "content": "\n".join(response.css("div.article-content p::text").getall()),
        }


def main() -> None:
    parser = ArgumentParser(prog="python -m openoctopus.testing.bench", description="Serve the bench site on loopback.")
    parser.add_argument("--port", type=port, default=8000, help="0: any free one (default: 8000)")
    parser.add_argument("--pages", type=int, default=10_000, help="pages in all (default: 10000)")
    parser.add_argument("--size", type=int, default=5_000, help="bytes of an article, about (default: 5000)")
    parser.add_argument("--until-eof", action="store_true", help="stop when standard input ends")
    options = parser.parse_args()
    serve(BenchSite(BenchPages(options.pages, options.size), options.port), until_eof=options.until_eof)


if __name__ == "__main__":
    main()
