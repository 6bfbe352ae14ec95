"""A site that knows what a crawl of it must find: a graph of pages and items, the same for the same seed, and a log."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import Collection
from random import Random
from typing import Self

#: Children of a page, so that every page is found from the first one; and links to any page besides, mostly known ones.
FAN_OUT, DUPLICATES = 4, 6
#: Every so-manieth page comes in two pieces, without an announced length.
IN_PIECES = 4
#: Every so-manieth page has a twin: the page after it holds the same text.
TWINS = 5


class Graph:
    """``pages`` pages, numbered from 0, on ``hosts`` addresses: 127.0.0.1, 127.0.0.2..."""

    def __init__(self, pages: int, *, hosts: int = 4, seed: int = 1, poison: int = 0, twins: bool = False) -> None:
        self.pages = pages
        self.hosts = [f"127.0.0.{number + 1}" for number in range(hosts)]
        self.seed = seed
        #: Whether some pages hold a text that another one holds too.
        self.twins = twins
        #: The pages that kill whoever reads them; none has children, so that every other page can be found.
        self.poison = frozenset(Random(f"poison {seed}").sample(range(pages // 2, pages), poison))

    def children(self, page: int) -> range:
        return range(page * FAN_OUT + 1, min((page + 1) * FAN_OUT + 1, self.pages))

    def known(self, page: int) -> int:
        """The other links of a page lead to pages below this number."""
        return self.pages

    def links(self, page: int) -> list[int]:
        random = Random(f"{self.seed} {page}")
        links = [*self.children(page), *(random.randrange(self.known(page)) for _ in range(DUPLICATES))]
        random.shuffle(links)
        return links

    def items(self, page: int) -> list[str]:
        """The items of a page by their keys: one to three."""
        return [f"{page}-{number}" for number in range(1 + page % 3)]

    def twin(self, page: int) -> str:
        """A text that two pages share, of which one may be kept; empty for most."""
        number = page // TWINS
        return f"twin {number}" if self.twins and page % TWINS < 2 and number * TWINS + 1 < self.pages else ""

    def found(self, unread: Collection[int]) -> set[int]:
        """The pages that a crawl finds which cannot read some of them."""
        found, waiting = {0}, [0]
        while waiting:
            page = waiting.pop()
            new = {*self.links(page)} - found if page not in unread else set()
            found |= new
            waiting += new
        return found

    def expected(self, unread: Collection[int] = ()) -> set[str]:
        """The keys of all items on the pages that are found and read, and the texts of twins."""
        pages = self.found({*unread} | self.poison) - {*unread} - self.poison
        return {key for page in pages for key in (*self.items(page), self.twin(page)) if key}

    def url(self, page: int, port: int) -> str:
        return f"http://{self.hosts[page % len(self.hosts)]}:{port}/{'poison' if page in self.poison else 'page'}/{page}"

    def body(self, page: int, port: int) -> bytes:
        items = [f'<li class="item" id="{key}">text of {key}</li>' for key in self.items(page)]
        if twin := self.twin(page):
            items.append(f'<li class="twin">{twin}</li>')
        links = [f'<a href="{self.url(link, port)}">{link}</a>' for link in self.links(page)]
        return f"<!DOCTYPE html><title>{page}</title><ul>{''.join(items)}</ul>{' '.join(links)}".encode()


class ChaosSite:
    """Serves a graph from the running loop, each page after up to ``latency`` seconds, and keeps its own log."""

    def __init__(self, graph: Graph, *, latency: float = 0.02) -> None:
        self.graph = graph
        self.latency = latency
        #: How often each page was asked for.
        self.asked: Counter[int] = Counter()
        #: Requests that have no answer yet: whoever made them holds their leases.
        self.under_way = 0
        self.news = asyncio.Event()
        self.port = 0
        self._random = Random(f"latency {graph.seed}")
        self._servers: list[asyncio.Server] = []
        self.connections: set[asyncio.Transport] = set()

    @property
    def url(self) -> str:
        """Where a crawl begins."""
        return self.graph.url(0, self.port)

    @property
    def requests(self) -> int:
        return self.asked.total()

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        for host in self.graph.hosts:
            server = await loop.create_server(lambda: _Connection(self), host, self.port, family=socket.AF_INET)
            self.port = server.sockets[0].getsockname()[1]
            self._servers.append(server)
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        for server in self._servers:
            server.close()
        for connection in list(self.connections):
            connection.abort()
        await asyncio.sleep(0)

    async def asked_for(self, requests: int) -> None:
        """Wait until so many requests have come in all."""
        while self.requests < requests:
            self.news.clear()
            await self.news.wait()

    def delay(self) -> float:
        return self._random.random() * self.latency


class _Connection(asyncio.Protocol):
    """One connection of a client, which sends one request after the other."""

    def __init__(self, site: ChaosSite) -> None:
        self._site = site
        self._rest = b""
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._site.connections.add(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._site.connections.discard(self._transport)
        if self._timer is not None:
            self._timer.cancel()
            self._answered()

    def data_received(self, data: bytes) -> None:
        self._rest += data
        head, end, self._rest = self._rest.partition(b"\r\n\r\n")
        if not end:
            self._rest = head
            return
        path = head[4 : head.index(b" ", 4)].decode()
        kind, _, number = path.strip("/").partition("/")
        if kind not in ("page", "poison"):
            self._transport.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            return
        site, page = self._site, int(number)
        site.asked[page] += 1
        site.under_way += 1
        site.news.set()
        self._timer = asyncio.get_running_loop().call_later(site.delay(), self._answer, page)

    def _answer(self, page: int) -> None:
        body = self._site.graph.body(page, self._site.port)
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"
        if page % IN_PIECES:
            self._transport.write(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            self._answered()
            return
        half = len(body) // 2
        self._transport.write(head + b"Transfer-Encoding: chunked\r\n\r\n" + _chunk(body[:half]))
        self._timer = asyncio.get_running_loop().call_later(self._site.delay(), self._end, body[half:])

    def _end(self, rest: bytes) -> None:
        self._transport.write(_chunk(rest) + _chunk(b""))
        self._answered()

    def _answered(self) -> None:
        self._timer = None
        self._site.under_way -= 1


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


class Chains(Graph):
    """``width`` chains of pages that start at the first one: few requests wait at any time, however many pages there are."""

    width = 64

    def children(self, page: int) -> range:
        if page == 0:
            return range(1, min(self.width + 1, self.pages))
        return range(page + self.width, min(page + self.width + 1, self.pages))

    def known(self, page: int) -> int:
        return page + 1
