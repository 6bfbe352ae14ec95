"""A small web site on loopback, so that a spider is tested over a real connection."""

from __future__ import annotations

import asyncio
import gzip
import inspect
import json
import ssl
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from pathlib import PurePosixPath
from typing import Any, NamedTuple, Self

from aiohttp import web
from aiohttp.web_protocol import RequestHandler
from multidict import CIMultiDict

from openoctopus.http import Headers
from openoctopus.http.encoding import header_encoding
from openoctopus.http.headers import HeaderValues

#: What a page may be: HTML as text or bytes, a bare status, JSON data, ``(status, headers, body)``, aiohttp's own response.
Answer = str | bytes | int | dict[str, Any] | list[Any] | tuple[int, HeaderValues, Any] | web.StreamResponse
#: A function of the request, plain or async, that returns an answer or another function.
Handler = Callable[[web.Request], Any]
Page = Answer | Handler

_CONTENT_TYPES = {".txt": "text/plain", ".xml": "application/xml", ".json": "application/json", ".csv": "text/csv"}
#: Longest request line and header that are read, in bytes: tests of clients send strange ones.
_MAX_LINE = 1 << 16
#: Seconds that answers under way may still take when the site closes.
_PATIENCE = 0.05


class Visit(NamedTuple):
    """One request, as it arrived."""

    #: When, in seconds of ``time.monotonic()``.
    time: float
    method: str
    #: What was asked for, query included, as the client wrote it.
    path: str
    #: In the client's order and spelling.
    headers: Headers
    #: As it was sent: not decompressed.
    body: bytes
    #: The host that was asked, without the port.
    host: str
    #: The connection it came by: 1 is the first one made to this site.
    connection: int
    #: How many requests this host was answering at that moment, this one included.
    concurrent: int


class Site:
    """Serve ``pages``, a mapping of paths to what they answer, on loopback addresses::

        async with Site({"/": "<a href='/1'>one</a>", "/1": 503, "/api": {"a": 1}}) as site:
            ...  # crawl site.url("/")
        assert [visit.path for visit in site.log] == ["/", "/1"]

    A text is sent in UTF-8 unless its headers name another charset; bytes are sent as they are, without a charset. A path
    is looked up with its query first, then without, percent-decoded; other paths answer 404. ``pages`` may be changed at
    any time. ``hosts`` are addresses such as ``127.0.0.1`` and ``127.0.0.2``, each a host of its own for politeness; with
    ``port`` 0 each gets a free port. A handler that raises answers 500 and its traceback is logged.
    """

    def __init__(
        self,
        pages: Mapping[str, Page] | None = None,
        *,
        hosts: tuple[str, ...] = ("127.0.0.1",),
        port: int = 0,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        self.pages: dict[str, Page] = dict(pages or {})
        self.hosts = hosts
        #: Every request so far, in the order of arrival.
        self.log: list[Visit] = []
        self._port = port
        self._ssl_context = ssl_context
        self._ports: dict[str, int] = {}
        self._connections: dict[RequestHandler, int] = {}
        self._answering: Counter[str] = Counter()

    async def open(self) -> None:
        """Listen. Raises ``OSError`` if an address cannot be had."""
        application = web.Application(client_max_size=0)
        application.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(
            application,
            access_log=None,
            auto_decompress=False,
            handler_cancellation=True,
            max_field_size=_MAX_LINE,
            max_line_size=_MAX_LINE,
            shutdown_timeout=_PATIENCE,
        )
        await self._runner.setup()
        try:
            for host in self.hosts:
                await self._listen(host)
        except OSError:
            await self._runner.cleanup()
            raise

    async def _listen(self, host: str) -> None:
        await web.TCPSite(self._runner, host, self._port, ssl_context=self._ssl_context).start()
        self._ports[host] = self._runner.addresses[-1][1]

    async def close(self) -> None:
        """Stop listening, and end the answers under way."""
        await self._runner.cleanup()

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    def url(self, path: str = "/", host: str = "") -> str:
        """The URL of a path, on the first host or the given one; a name that is none of ours gets the first one's port."""
        port = self._ports.get(host, self._ports[self.hosts[0]])
        scheme = "https" if self._ssl_context else "http"
        return f"{scheme}://{host or self.hosts[0]}:{port}{path}"

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        host = request.host.rpartition(":")[0] or request.host
        self._answering[host] += 1
        try:
            self.log.append(await self._visit(request, host))
            return await _response(request, self._page(request))
        finally:
            self._answering[host] -= 1

    async def _visit(self, request: web.Request, host: str) -> Visit:
        arrived, concurrent = time.monotonic(), self._answering[host]
        connection = self._connections.setdefault(request.protocol, len(self._connections) + 1)
        fields = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in request.raw_headers]
        body = await request.read()
        return Visit(
            arrived, request.method, request.raw_path, Headers.received(fields), body, host, connection, concurrent
        )  # fmt: skip

    def _page(self, request: web.Request) -> Page:
        for path in (request.raw_path, request.path):
            if path in self.pages:
                return self.pages[path]
        return 404


async def _response(request: web.Request, page: Page | Awaitable[Page]) -> web.StreamResponse:
    """Ask a handler until it gives an answer, and put that into HTTP."""
    while callable(page) or inspect.isawaitable(page):
        page = await page if inspect.isawaitable(page) else page(request)
    if isinstance(page, web.StreamResponse):
        return page
    if isinstance(page, int):
        page = (page, {}, "")
    status, values, body = page if isinstance(page, tuple) else (200, {}, page)
    headers = Headers(values)
    headers.setdefault("Content-Type", _content_type(request.path, body))
    return web.Response(status=status, headers=CIMultiDict(headers.raw), body=_encoded(body, headers["Content-Type"]))


def _content_type(path: str, body: Any) -> str:
    if isinstance(body, dict | list):
        return "application/json"
    content_type = _CONTENT_TYPES.get(PurePosixPath(path).suffix, "text/html")
    return f"{content_type}; charset=utf-8" if isinstance(body, str) else content_type


def _encoded(body: Any, content_type: str) -> bytes:
    if isinstance(body, bytes):
        return body
    text = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
    return text.encode(header_encoding(content_type) or "utf-8")


def in_turn(*pages: Page) -> Handler:
    """Each page once, then the last one again and again: ``in_turn(503, 503, "<p>here you are</p>")``."""
    waiting = list(pages)
    return lambda request: waiting.pop(0) if len(waiting) > 1 else waiting[0]


def slowly(seconds: float, page: Page) -> Handler:
    """A page that takes its time."""

    async def answer(request: web.Request) -> Page:
        await asyncio.sleep(seconds)
        return page

    return answer


def zipped(body: bytes, content_type: str = "text/html") -> Handler:
    """A page that is compressed for clients that take gzip."""
    packed = gzip.compress(body, mtime=0)

    def answer(request: web.Request) -> Page:
        if "gzip" not in request.headers.get("Accept-Encoding", ""):
            return 200, {"Content-Type": content_type, "Vary": "Accept-Encoding"}, body
        return 200, {"Content-Type": content_type, "Vary": "Accept-Encoding", "Content-Encoding": "gzip"}, packed

    return answer


def cut(body: bytes, at: int) -> Handler:
    """An HTML page that announces all of its body and breaks off after ``at`` bytes."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/html", "Content-Length": str(len(body))})
        response.force_close()
        await response.prepare(request)
        await response.write(body[:at])
        return response

    return answer
