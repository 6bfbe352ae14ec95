"""Servers on the loopback that answer byte by byte as a test says, and write down what they were asked."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import struct
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Self

LAST_LINE = b"\r\n\r\n"


@dataclass
class Asked:
    """One request that arrived, and the wire to answer it on."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes
    connection: int
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    keep: bool = False

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)

    async def send(self, *parts: bytes) -> None:
        for part in parts:
            self.writer.write(part)
            await self.writer.drain()

    def reset(self) -> None:
        """Break the connection with a TCP reset."""
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


Answer = bytes | Callable[[Asked], Awaitable[None]]


def reply(body: bytes = b"ok", *headers: str, status: str = "200 OK") -> bytes:
    """A well-formed answer with its Content-Length."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode("latin-1") + LAST_LINE + body


def head(*lines: str) -> bytes:
    return "\r\n".join(lines).encode("latin-1") + LAST_LINE


class Listener(ABC):
    """Accepts connections, carries each in a task, and ends them all when it is left."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self._context = context
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()
        self.connections = 0
        self.port = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=self._context, backlog=256)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for writer in self._writers:
            writer.transport.abort()
        await asyncio.sleep(0)

    @property
    def open_connections(self) -> int:
        return len(self._writers)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.create_task(self._carry(reader, writer, self.connections))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
        self._writers.add(writer)
        try:
            await self.converse(reader, writer, number)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()
            with contextlib.suppress(OSError, ssl.SSLError):
                await writer.wait_closed()

    @abstractmethod
    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
        """Talk over one connection, the ``number``-th, until it is to be closed."""


async def read_request(reader: asyncio.StreamReader) -> tuple[str, str, list[tuple[str, str]], bytes]:
    lines = (await reader.readuntil(LAST_LINE)).decode("latin-1").split("\r\n")
    method, target, _ = lines[0].split(" ", 2)
    headers = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines[1:] if line)]
    length = next((int(value) for name, value in headers if name.lower() == "content-length"), 0)
    return method, target, headers, await reader.readexactly(length)


class RawServer(Listener):
    """Gives the n-th request the n-th answer, the last one to all that follow.

    ``keep``: the connection stays open after an answer. ``answers_to`` gives answers by path.
    """

    def __init__(self, *answers: Answer, keep: bool = False, context: ssl.SSLContext | None = None) -> None:
        super().__init__(context)
        self._answers = answers
        self._keep = keep
        self.answers_to: dict[str, Answer] = {}
        self.asked: list[Asked] = []

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"http{'s' if self._context else ''}://{host}:{self.port}{path}"

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
        keep = True
        while keep:
            asked = Asked(*await read_request(reader), number, reader, writer, self._keep)
            self.asked.append(asked)
            answer = self.answers_to.get(asked.target) or self._answers[min(len(self.asked), len(self._answers)) - 1]
            if isinstance(answer, bytes):
                await asked.send(answer)
            else:
                await answer(asked)
            keep = asked.keep


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Carry bytes one way until the end."""
    with contextlib.suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    writer.close()


@dataclass
class Proxied:
    """What a proxy was asked: the target as ``host:port`` and the headers or credentials that came with it."""

    target: str
    headers: dict[str, str] = field(default_factory=dict)


class ProxyServer(Listener):
    """Base of the proxies: every name leads to the loopback, as if the proxy resolved it."""

    def __init__(self, credentials: str = "") -> None:
        super().__init__()
        self._credentials = credentials
        self.asked: list[Proxied] = []

    async def tunnel(self, port: int, reader: Any, writer: Any, greeting: bytes, first: bytes = b"") -> None:
        upstream_reader, upstream = await asyncio.open_connection("127.0.0.1", port)
        writer.write(greeting)
        upstream.write(first)
        try:
            await asyncio.gather(pump(reader, upstream), pump(upstream_reader, writer))
        finally:
            upstream.close()


class HttpProxy(ProxyServer):
    """An HTTP proxy: CONNECT for https, absolute targets for http; Basic credentials if given any."""

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
        method, target, headers, body = await read_request(reader)
        by_name = {name.lower(): value for name, value in headers}
        host = target if method == "CONNECT" else target.split("/")[2]
        self.asked.append(Proxied(host, by_name))
        if by_name.get("proxy-authorization", "") != self._credentials:
            writer.write(head("HTTP/1.1 407 Proxy Authentication Required", "Content-Length: 0", "Connection: close"))
            return
        port = int(host.rpartition(":")[2])
        if method == "CONNECT":
            await self.tunnel(port, reader, writer, head("HTTP/1.1 200 Connected"))
        else:
            path = "/" + target.split("/", 3)[3]
            kept = [f"{n}: {v}" for n, v in headers if not n.lower().startswith("proxy-")]
            await self.tunnel(port, reader, writer, b"", head(f"{method} {path} HTTP/1.1", *kept) + body)


class SocksProxy(ProxyServer):
    """A SOCKS5 proxy (RFC 1928, 1929); ``credentials`` as ``user:password``."""

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
        _, count = await reader.readexactly(2)
        methods = await reader.readexactly(count)
        wanted = 2 if self._credentials else 0
        writer.write(bytes([5, wanted if wanted in methods else 0xFF]))
        given = await self._login(reader, writer) if wanted in methods and wanted else ""
        if wanted not in methods or given != self._credentials:
            return
        _, _, _, kind = await reader.readexactly(4)
        size = {1: 4, 4: 16}.get(kind) or (await reader.readexactly(1))[0]
        address = await reader.readexactly(size)
        port = int.from_bytes(await reader.readexactly(2), "big")
        name = address.decode() if kind == 3 else socket.inet_ntop(socket.AF_INET if kind == 1 else socket.AF_INET6, address)
        self.asked.append(Proxied(f"{name}:{port}", {"credentials": given}))
        await self.tunnel(port, reader, writer, b"\x05\x00\x00\x01" + bytes(6))

    async def _login(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
        _, size = await reader.readexactly(2)
        user = await reader.readexactly(size)
        password = await reader.readexactly((await reader.readexactly(1))[0])
        given = f"{user.decode()}:{password.decode()}"
        writer.write(b"\x01" + bytes([given != self._credentials]))
        return given
