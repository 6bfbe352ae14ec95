"""The HTTP libraries as directly as they can be used: ``fetch(path)`` gives a body."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import cast

import aiohttp
import httptools
import wreq

Fetch = Callable[[str], Awaitable[bytes]]


@asynccontextmanager
async def with_aiohttp(origin: str, concurrency: int) -> AsyncIterator[Fetch]:
    connector = aiohttp.TCPConnector(limit=concurrency)
    async with aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar()) as session:

        async def fetch(path: str) -> bytes:
            async with session.get(origin + path) as response:
                return await response.read()

        yield fetch


@asynccontextmanager
async def with_wreq(origin: str, concurrency: int) -> AsyncIterator[Fetch]:
    client = wreq.Client()

    async def fetch(path: str) -> bytes:
        response = await client.get(origin + path)
        return bytes(await response.bytes())

    yield fetch


class Connection(asyncio.Protocol):
    """One kept connection, read by httptools: no less can be done for a response in Python."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._parser = httptools.HttpResponseParser(self)

    def request(self, path: str) -> asyncio.Future[bytes]:
        self._chunks: list[bytes] = []
        self._answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._transport.write(b"GET %b HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: */*\r\n\r\n" % path.encode())
        return self._answer

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_body(self, body: bytes) -> None:
        self._chunks.append(body)

    def on_message_complete(self) -> None:
        self._answer.set_result(b"".join(self._chunks))

    def close(self) -> None:
        self._transport.close()


@asynccontextmanager
async def with_sockets(origin: str, concurrency: int) -> AsyncIterator[Fetch]:
    host, _, port = origin.removeprefix("http://").partition(":")
    free: list[Connection] = []

    async def fetch(path: str) -> bytes:
        if free:
            connection = free.pop()
        else:
            _, connection = await asyncio.get_running_loop().create_connection(Connection, host, int(port))
        body = await connection.request(path)
        free.append(connection)
        return body

    yield fetch
    for connection in free:
        connection.close()


CLIENTS = {"aiohttp": with_aiohttp, "wreq": with_wreq, "raw": with_sockets}
