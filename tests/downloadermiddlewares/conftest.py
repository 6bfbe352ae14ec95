"""A site on the loopback that answers to every host name, and middlewares around a plain client."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.test_utils import RawTestServer
from yarl import URL

from openoctopus.downloadermiddlewares.base import DownloaderMiddleware, Fetch, Moved, compose
from openoctopus.exceptions import ConnectionFailed, Retry
from openoctopus.http import Headers, Request, Response
from openoctopus.spider import Spider

Answer = web.Response | Callable[[web.Request], web.Response]


class EveryName(AbstractResolver):
    """Each host name is this machine."""

    async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET) -> list[ResolveResult]:
        return [ResolveResult(hostname=host, host="127.0.0.1", port=port, family=socket.AF_INET, proto=0, flags=0)]

    async def close(self) -> None: ...


@dataclass
class Asked:
    """One request as it arrived."""

    method: str
    host: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Site:
    """Answers by path; a list of answers is used up one by one, its last stays."""

    answers: dict[str, Answer | list[Answer]] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    port: int = 0

    def url(self, path: str = "/", host: str = "a.example") -> str:
        return f"http://{host}:{self.port}{path}"

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        headers = {name.lower(): value for name, value in request.headers.items()}
        host = request.host.partition(":")[0]
        self.asked.append(Asked(request.method, host, request.raw_path, headers, await request.read()))
        answer = self.answers.get(request.raw_path.partition("?")[0], web.Response(status=404))
        if isinstance(answer, list):
            answer = answer.pop(0) if len(answer) > 1 else answer[0]
        if isinstance(answer, web.Response):
            return web.Response(body=answer.body, status=answer.status, headers=answer.headers)
        return answer(request)  # type: ignore[arg-type]

    def paths(self) -> list[str]:
        return [one.path for one in self.asked]


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    site = Site()
    async with RawTestServer(site.answer) as server:
        site.port = server.port or 0
        yield site


@pytest.fixture
async def client() -> AsyncIterator[Fetch]:
    """Fetches as a request says, without any wisdom of its own."""
    connector = aiohttp.TCPConnector(resolver=EveryName(), use_dns_cache=False)
    plain = aiohttp.DummyCookieJar()
    async with aiohttp.ClientSession(connector=connector, cookie_jar=plain, skip_auto_headers=["User-Agent"]) as session:

        async def fetch(request: Request) -> Response:
            url = URL(request.url.partition("#")[0], encoded=True)
            # aiohttp writes header values as UTF-8; ours are their bytes.
            headers = [
                (name, value.encode("latin-1").decode("utf-8", "surrogateescape")) for name, value in request.headers.raw
            ]
            body = request.body or None
            try:
                async with session.request(request.method, url, headers=headers, data=body, allow_redirects=False) as answer:
                    raw = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in answer.raw_headers]
                    return Response(request.url, answer.status, Headers.received(raw), await answer.read(), request)
            except aiohttp.ClientConnectionError as error:
                raise ConnectionFailed(str(error)) from error

        yield fetch


class Crawl:
    """Middlewares around a fetch; ``page`` carries one request to its end as an engine would, without the pauses."""

    def __init__(self, fetch: Fetch, *middlewares: DownloaderMiddleware, spider: Spider | None = None) -> None:
        self.spider = spider or Spider("test")
        self.fetch = compose(middlewares, fetch, self.spider)
        self.pauses: list[float] = []

    async def page(self, request: Request) -> Response:
        attempts = 0
        while True:
            if attempts:
                request.meta["retry_times"] = attempts
            try:
                return await self.fetch(request)
            except Moved as moved:
                request = moved.request
                self.pauses += [request.delay] if request.delay else []
            except Retry as retry:
                attempts += 1
                self.pauses.append(retry.delay)
            await asyncio.sleep(0)


@pytest.fixture
def crawl(client: Fetch) -> Callable[..., Crawl]:
    def crawl_with(*middlewares: DownloaderMiddleware, **options: Any) -> Crawl:
        return Crawl(client, *middlewares, **options)

    return crawl_with
