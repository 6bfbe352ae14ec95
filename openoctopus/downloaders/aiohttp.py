"""Fetches by aiohttp: HTTP/1.1, header fields as they came, any name server."""

from __future__ import annotations

import socket
import ssl
from collections.abc import AsyncIterator
from functools import lru_cache
from typing import Any
from urllib.parse import unquote, urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from multidict import CIMultiDictProxy
from yarl import URL

from openoctopus.downloaders.address import Addresses, Lookup
from openoctopus.downloaders.answer import Answer, LateHeaders
from openoctopus.downloaders.wire import Order, WireDownloader, basic
from openoctopus.exceptions import (
    BadResponse,
    CertificateInvalid,
    ConnectionFailed,
    ConnectTimeout,
    DownloadTimeout,
    IncompleteResponse,
    InvalidRequest,
    NotConnected,
    OctopusError,
    ProxyFailed,
    SettingsError,
)
from openoctopus.plugins import require

#: Header fields that we take: browsers allow 256 KiB in all.
_MAX_HEADERS = 1000
_MAX_HEAD_BYTES = 1 << 20
#: SOCKS proxies with kept connections.
_KEPT_PROXIES = 128
#: What aiohttp would add by itself.
_NOT_ADDED = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")
#: The fields of an answer as bytes in their order, and by name.
_Fields = tuple[tuple[tuple[bytes, bytes], ...], CIMultiDictProxy[str]]


class _Response(aiohttp.ClientResponse):
    """Remembers who answered: a small body frees its connection before anybody could ask."""

    peer = ""

    async def start(self, connection: Any) -> aiohttp.ClientResponse:
        self.peer = (connection.transport.get_extra_info("peername") or ("",))[0]
        return await super().start(connection)


class _Resolver(AbstractResolver):
    """Leads connections only to addresses that were judged."""

    def __init__(self, addresses: Addresses, seconds: float) -> None:
        self._addresses = addresses
        self._seconds = seconds

    async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in await self._addresses.find(host, self._seconds)
        ]

    async def close(self) -> None:
        """The addresses are closed by their owner."""


class _NameServers:
    """Asks the name servers of DNS_SERVERS, not the system."""

    def __init__(self, servers: tuple[str, ...]) -> None:
        library = require("aiodns", "dns")
        try:
            self._resolver = library.DNSResolver(nameservers=list(servers))
        except require("pycares", "dns").AresError as error:
            raise SettingsError(f"DNS_SERVERS = {list(servers)!r}: addresses are needed ({error.args[-1]})") from error

    async def find(self, host: str) -> list[str]:
        try:
            found = await self._resolver.getaddrinfo(host, family=socket.AF_UNSPEC, type=socket.SOCK_STREAM)
        except require("aiodns", "dns").error.DNSError as error:
            raise OSError(error.args[-1]) from error
        return [node.addr[0].decode("ascii") for node in found.nodes]

    async def close(self) -> None:
        await self._resolver.close()


class _AiohttpHeaders(LateHeaders):
    __slots__ = ()

    def all_of(self, fields: _Fields) -> list[tuple[str, str]]:
        return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in fields[0]]

    def values_of(self, fields: _Fields, name: str) -> list[str]:
        values = fields[1].getall(name, ())
        return [value if value.isascii() else value.encode("utf-8", "surrogateescape").decode("latin-1") for value in values]


class _AiohttpAnswer(Answer):
    def __init__(self, response: Any) -> None:
        self._response = response
        self.status = response.status
        fields = response.headers
        self.headers = _AiohttpHeaders((response.raw_headers, fields))
        self.coding = ", ".join(fields.getall("Content-Encoding", ()))
        length = None if "Transfer-Encoding" in fields else fields.get("Content-Length")
        self.length = int(length) if length is not None and length.isdecimal() else None
        self.ip_address = response.peer
        self.protocol = "HTTP/1.1" if response.version == aiohttp.HttpVersion11 else "HTTP/1.0"

    async def read(self) -> bytes:
        body: bytes = await self._response.read()
        self.done = True
        return body

    async def chunks(self) -> AsyncIterator[bytes]:
        async for chunk in self._response.content.iter_any():
            yield chunk
        self.done = True

    async def abandon(self) -> None:
        self.done = True
        self._response.close()


class AiohttpDownloader(WireDownloader):
    """The second downloader, and the default one where wreq has no wheel."""

    engine_errors: tuple[type[Exception], ...] = (aiohttp.ClientError, TimeoutError, OSError)
    _name_servers: _NameServers | None = None

    async def open(self) -> None:
        await super().open()
        settings = self.settings
        self._contexts = {True: _context(settings.TLS_CA_FILE)}
        if settings.VERIFY_TLS_EXCEPT or not settings.VERIFY_TLS:
            self._contexts[False] = _trusting_context()
        resolver = _Resolver(self.addresses, settings.CONNECT_TIMEOUT)
        self._direct = _session(aiohttp.TCPConnector(limit=0, resolver=resolver, use_dns_cache=False))
        # A proxy may have an inner address: its user named it.
        self._by_proxy = _session(aiohttp.TCPConnector(limit=0, resolver=aiohttp.ThreadedResolver()))
        self._by_socks: dict[str, aiohttp.ClientSession] = {}
        self._socks_errors: tuple[type[Exception], ...] = ()

    async def close(self) -> None:
        for session in (self._direct, self._by_proxy, *self._by_socks.values()):
            await session.close()
        await super().close()
        if self._name_servers is not None:
            await self._name_servers.close()

    def lookup(self) -> Lookup | None:
        if not self.settings.DNS_SERVERS:
            return None
        self._name_servers = _NameServers(self.settings.DNS_SERVERS)
        return self._name_servers.find

    async def send(self, order: Order) -> Answer:
        request = order.request
        session: aiohttp.ClientSession = self._direct
        options: dict[str, Any] = {"headers": order.headers}
        if order.proxy.startswith("socks"):
            session = await self._socks(order.proxy)
        elif order.proxy:
            session, options = self._by_proxy, _by_proxy(order)
        response = await session.request(
            request.method,
            URL(order.url, encoded=True),
            data=request.body or None,
            allow_redirects=False,
            timeout=_limits(order.seconds, self.settings.CONNECT_TIMEOUT, self.settings.READ_TIMEOUT),
            ssl=self._contexts[order.route.verify],
            **options,
        )
        return _AiohttpAnswer(response)

    async def _socks(self, proxy: str) -> aiohttp.ClientSession:
        """The session of a SOCKS proxy: its connections and credentials are shared with no other."""
        session = self._by_socks.pop(proxy, None)
        if session is None:
            library = require("aiohttp_socks", "socks")
            self._socks_errors = (library.ProxyError, library.ProxyConnectionError, library.ProxyTimeoutError)
            self.engine_errors = (*type(self).engine_errors, *self._socks_errors)
            session = _session(_socks_connector(library, proxy))
        self._by_socks[proxy] = session
        if len(self._by_socks) > _KEPT_PROXIES:
            await self._by_socks.pop(next(iter(self._by_socks))).close()
        return session

    def explain(self, error: Exception, order: Order, *, in_body: bool) -> tuple[type[OctopusError], str]:
        told = error.message if isinstance(error, aiohttp.ClientResponseError) else str(error) or type(error).__name__
        told = " ".join(told.split())[:200]
        if isinstance(error, aiohttp.InvalidURL):
            return InvalidRequest, told
        if isinstance(error, ssl.CertificateError | aiohttp.ClientConnectorCertificateError):
            return CertificateInvalid, ""
        if isinstance(error, (aiohttp.ClientProxyConnectionError, aiohttp.ClientHttpProxyError, *self._socks_errors)):
            return ProxyFailed, told
        if isinstance(error, TimeoutError):
            if not isinstance(error, aiohttp.ConnectionTimeoutError):
                return DownloadTimeout, ""
            return (ProxyFailed, "no connection in time") if order.proxy else (ConnectTimeout, "")
        if isinstance(error, aiohttp.ClientResponseError) or (in_body and "Invalid" in told):
            return BadResponse, told
        if in_body:
            return IncompleteResponse, told
        if order.proxy:
            return ProxyFailed, told
        return NotConnected if isinstance(error, aiohttp.ClientConnectorError) else ConnectionFailed, told


def _session(connector: aiohttp.BaseConnector) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        trust_env=False,
        skip_auto_headers=_NOT_ADDED,
        response_class=_Response,
        max_line_size=_MAX_HEAD_BYTES,
        max_field_size=_MAX_HEAD_BYTES,
        max_headers=_MAX_HEADERS,
    )


def _by_proxy(order: Order) -> dict[str, Any]:
    """How a request goes through an HTTP proxy. To an http target it reaches the proxy with all its fields; to an https
    target it goes through a tunnel, and what is said to the proxy is said before.
    """
    proxy, credentials = _split(order.proxy)
    said = order.proxy_authorization or credentials
    if not said:
        return {"headers": order.headers, "proxy": proxy}
    fields = [("Proxy-Authorization", said)]
    if order.request.parsed.protocol == "http:":
        return {"headers": [*order.headers, *fields], "proxy": proxy}
    return {"headers": order.headers, "proxy": proxy, "proxy_headers": fields}


@lru_cache(maxsize=256)
def _split(proxy: str) -> tuple[URL, str]:
    """A proxy without its credentials, and these as a header."""
    parts = urlsplit(proxy)
    url = URL.build(scheme=parts.scheme, host=parts.hostname or "", port=parts.port)
    return url, basic(parts.username, parts.password or "") if parts.username else ""


def _socks_connector(library: Any, proxy: str) -> aiohttp.BaseConnector:
    parts = urlsplit(proxy)
    connector: aiohttp.BaseConnector = library.ProxyConnector(
        proxy_type=library.ProxyType.SOCKS4 if parts.scheme.startswith("socks4") else library.ProxyType.SOCKS5,
        host=parts.hostname,
        port=parts.port or 1080,
        username=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        rdns=parts.scheme in ("socks5h", "socks4a"),
        limit=0,
    )
    return connector


@lru_cache(maxsize=256)
def _limits(whole: float, connect: float, read: float) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=whole, sock_connect=connect, sock_read=read or None)


def _context(file: str) -> ssl.SSLContext:
    """Trusts the system's authorities, and those in a PEM file. Raises ``SettingsError``."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    try:
        if file:
            context.load_verify_locations(file)
    except OSError as error:
        raise SettingsError(f"TLS_CA_FILE = {file!r}: {error}") from error
    return context


def _trusting_context() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["http/1.1"])
    return context
