"""Fetches by wreq: HTTP/1.1 and HTTP/2, as a browser speaks if asked for."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import lru_cache
from ipaddress import ip_address
from pathlib import Path
from time import monotonic
from typing import Any

import wreq

from openoctopus.downloaders.answer import Answer, LateHeaders
from openoctopus.downloaders.wire import Order, WireDownloader
from openoctopus.exceptions import (
    BadResponse,
    CertificateInvalid,
    ConnectionFailed,
    ConnectTimeout,
    DownloadTimeout,
    IncompleteResponse,
    InvalidRequest,
    NameNotResolved,
    NotConnected,
    OctopusError,
    ProxyFailed,
    SettingsError,
)
from openoctopus.http import Request

_METHODS = {name: getattr(wreq.Method, name) for name in ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"]}
#: May be sent again when a kept connection turned out to be dead (RFC 9110, 9.2.2).
_IDEMPOTENT = frozenset({"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"})
#: Say that they have no body, where a body is usual (RFC 9110, 8.6).
_WITH_LENGTH = frozenset({"POST", "PUT", "PATCH"})
_PROTOCOLS = {"Version.HTTP_10": "HTTP/1.0", "Version.HTTP_11": "HTTP/1.1", "Version.HTTP_2": "HTTP/2"}
_BROWSERS = ("chrome", "edge", "firefox", "safari")
_CERTIFICATE = re.compile("-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
_SENTENCE = re.compile(r'(?:message|error): "([^"]+)"')

#: Header fields that we take: browsers allow 256 KiB in all.
_MAX_HEADERS = 1000
_MAX_HEAD_BYTES = 1 << 20
#: Kept connections, and for how long.
_KEPT_CONNECTIONS = 512
_KEPT_SECONDS = 60.0

_ENGINE_ERRORS = (
    wreq.ConnectionError, wreq.ConnectionResetError, wreq.ProxyConnectionError, wreq.TimeoutError, wreq.RequestError,
    wreq.BodyError, wreq.DecodingError, wreq.BuilderError, wreq.TlsError, wreq.UpgradeError, wreq.StatusError,
    wreq.RedirectError,
)  # fmt: skip


class _WreqHeaders(LateHeaders):
    __slots__ = ()

    def all_of(self, fields: wreq.HeaderMap) -> list[tuple[str, str]]:
        return [(str(name, "latin-1"), str(value, "latin-1")) for name, value in fields]

    def values_of(self, fields: wreq.HeaderMap, name: str) -> list[str]:
        return [str(value, "latin-1") for value in fields.get_all(name)]


class _WreqAnswer(Answer):
    def __init__(self, response: wreq.Response) -> None:
        self._response = response
        self._parts: Any = None
        self.status = response.status.as_int()
        self.headers = _WreqHeaders(response.headers)
        self.coding = ", ".join(self.headers.getlist("content-encoding"))
        self.length = response.content_length
        self.ip_address = str(response.remote_addr).rpartition(":")[0].strip("[]")
        self.protocol = _PROTOCOLS.get(str(response.version), "")

    async def read(self) -> bytes:
        body = bytes(await self._response.bytes())
        self.done = True
        return body

    async def chunks(self) -> AsyncIterator[bytes]:
        async with self._response.stream() as self._parts:
            async for part in self._parts:
                if type(part) is memoryview:
                    yield bytes(part)
        self.done = True

    async def abandon(self) -> None:
        self.done = True
        response = self._response
        # As in ``HttpDownloader.close``.
        del self._response, self._parts
        await response.close()


class HttpDownloader(WireDownloader):
    """The default downloader. Its engine runs in a thread of its own."""

    methods = frozenset(_METHODS)
    engine_errors = _ENGINE_ERRORS

    async def open(self) -> None:
        await super().open()
        settings = self.settings
        if settings.DNS_SERVERS:
            raise SettingsError("DNS_SERVERS needs DOWNLOADER = 'aiohttp'")
        self._browser = _profile(settings.IMPERSONATE) if settings.IMPERSONATE else None
        if self._browser:
            self.accept_encoding = ""
        # A runtime of its own: one that was made before a fork would hang.
        with _patient_threads():
            runtime = wreq.Runtime(workers=1)
        trusted: Any = _trusted(settings.TLS_CA_FILE) if settings.TLS_CA_FILE else True
        self._clients = {True: self._client(runtime, trusted)}
        if settings.VERIFY_TLS_EXCEPT or not settings.VERIFY_TLS:
            self._clients[False] = self._client(runtime, False)

    async def close(self) -> None:
        await super().close()
        for client in self._clients.values():
            client.close()
        # The last reference: the frames of cancelled fetches may live on for long, and a client has a thread and descriptors.
        self._clients.clear()

    async def send(self, order: Order) -> Answer:
        request, route, until = order.request, order.route, monotonic() + order.seconds
        options = self._options(order)
        try:
            response = await self._ask(order, options, until)
        except (wreq.RequestError, wreq.ConnectionResetError) as error:
            options["timeout"] = _left(until)
            if not route.answered or request.method not in _IDEMPOTENT or "Parse(" in _cause(error):
                raise
            # The kept connection was dead (RFC 9112, 9.3.1): once more, and no attempt is spent.
            response = await self._ask(order, options, until)
        route.answered = True
        return _WreqAnswer(response)

    async def _ask(self, order: Order, options: dict[str, Any], until: float) -> wreq.Response:
        request, route = order.request, order.route
        if order.proxy or request._parsed.protocol == "https:":
            # Over TLS the certificate proves who answers, and a proxy finds the address by itself.
            return await self._request(order, order.url, options)
        addresses = route.addresses
        for place, address in enumerate(addresses[:-1], 1):
            try:
                return await self._request(order, _pinned(request, address), options)
            except wreq.ConnectionError:
                # The next requests begin with the next address.
                route.addresses = addresses[place:] + addresses[:place]
                options["timeout"] = _left(until)
        return await self._request(order, _pinned(request, addresses[-1]), options)

    def _request(self, order: Order, url: str, options: dict[str, Any]) -> Awaitable[wreq.Response]:
        return self._clients[order.route.verify].request(_METHODS[order.request.method], url, **options)

    def _options(self, order: Order) -> dict[str, Any]:
        """What the engine needs besides method and URL."""
        request, fields = order.request, order.headers
        options: dict[str, Any] = {"timeout": _span(order.seconds)}
        if request.body:
            options["body"] = request.body
        elif request.method in _WITH_LENGTH:
            fields = [*fields, ("Content-Length", "0")]
        options["headers"] = _repeating(fields) if order.repeats else dict(fields)
        if not self._browser:
            options["orig_headers"] = ["Host", *[name for name, _ in fields]]
        if order.proxy:
            options["proxy"] = _proxy(order.proxy, order.proxy_authorization)
        return options

    def _client(self, runtime: wreq.Runtime, trusted: Any) -> wreq.Client:
        settings = self.settings
        options: dict[str, Any] = {"http2_options": wreq.Http2Options(max_header_list_size=_MAX_HEAD_BYTES)}
        if self._browser:
            options = {"emulation": self._browser, "orig_headers": ["Host"]}
        if settings.READ_TIMEOUT:
            options["read_timeout"] = _span(settings.READ_TIMEOUT)
        return wreq.Client(
            runtime=runtime,
            tls_verify=trusted,
            redirect=wreq.Policy.none(),
            no_proxy=True,
            gzip=False,
            brotli=False,
            deflate=False,
            zstd=False,
            connect_timeout=_span(settings.CONNECT_TIMEOUT),
            pool_idle_timeout=_span(_KEPT_SECONDS),
            pool_max_size=_KEPT_CONNECTIONS,
            dns_options=_names(self.addresses.table),
            http1_options=wreq.Http1Options(
                http09_responses=False,
                ignore_invalid_headers_in_responses=True,
                allow_obsolete_multiline_headers_in_responses=True,
                allow_spaces_after_header_name_in_responses=True,
                max_headers=_MAX_HEADERS,
                max_buf_size=_MAX_HEAD_BYTES,
            ),
            **options,
        )

    def explain(self, error: Exception, order: Order, *, in_body: bool) -> tuple[type[OctopusError], str]:
        cause = _cause(error)
        told = _told(cause)
        if isinstance(error, wreq.BuilderError):
            return InvalidRequest, told
        if isinstance(error, wreq.ProxyConnectionError):
            return ProxyFailed, told
        if "TimedOut" in cause:
            if not isinstance(error, wreq.ConnectionError):
                return DownloadTimeout, ""
            return (ProxyFailed, "no connection in time") if order.proxy else (ConnectTimeout, "")
        if "CERTIFICATE_VERIFY_FAILED" in cause:
            return CertificateInvalid, ""
        if "dns error" in cause:
            return NameNotResolved, told
        if "Parse(" in cause or (in_body and "kind: Invalid" in cause):
            return BadResponse, told
        if in_body:
            return IncompleteResponse, told
        if not order.proxy:
            return NotConnected if isinstance(error, wreq.ConnectionError) else ConnectionFailed, told
        first_hop = not order.proxy.startswith("socks") and order.request.parsed.protocol == "http:"
        return ProxyFailed if first_hop else ConnectionFailed, told


def _pinned(request: Request, address: str) -> str:
    """The URL with the address that was judged in place of the name, so that no second look-up can lead elsewhere."""
    parsed = request._parsed
    place = f"[{address}]" if ":" in address else address
    port = f":{parsed.port}" if parsed.port else ""
    return f"http://{place}{port}{parsed.pathname}{parsed.search}"


@contextmanager
def _patient_threads() -> Iterator[None]:
    """Threads that are started here do not break into one that computes (Linux, ``SCHED_BATCH``): on a busy core what
    arrives is taken in when the event loop pauses, many pieces at once, instead of one by one in between.
    """
    if not hasattr(os, "SCHED_BATCH"):
        yield
        return
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    except OSError:  # not allowed here
        yield
        return
    try:
        yield
    finally:
        os.sched_setscheduler(0, *before)


def _repeating(fields: list[tuple[str, str]]) -> wreq.HeaderMap:
    headers = wreq.HeaderMap()
    for name, value in fields:
        headers.append(name, value)
    return headers


@lru_cache(maxsize=256)
def _span(seconds: float) -> timedelta:
    return timedelta(seconds=seconds)


def _left(until: float) -> timedelta:
    return timedelta(seconds=max(until - monotonic(), 0.001))


@lru_cache(maxsize=256)
def _proxy(url: str, authorization: str) -> wreq.Proxy:
    """A proxy; what is said to it is kept with its connections and goes to no other."""
    return wreq.Proxy.all(url, custom_http_auth=authorization) if authorization else wreq.Proxy.all(url)


def _names(table: dict[str, tuple[str, ...]]) -> wreq.DnsOptions:
    """Names are resolved as everything on this machine does it, but for those that HOSTS maps."""
    options = wreq.DnsOptions(system_dns=True)
    for host, addresses in table.items():
        options.add_resolve(host, [ip_address(address) for address in addresses])
    return options


def _trusted(file: str) -> wreq.CertStore:
    """The system's authorities, and those in a PEM file. Raises ``SettingsError``."""
    try:
        authorities = _CERTIFICATE.findall(Path(file).read_text("ascii"))
        return wreq.CertStore(pem_certs=authorities, default_paths=True)
    except (OSError, ValueError, wreq.TlsError, wreq.BuilderError) as error:
        raise SettingsError(f"TLS_CA_FILE = {file!r}: {error}") from error


def _profile(name: str) -> wreq.Profile:
    """A browser by the name of one version, or the newest of its kind. Raises ``SettingsError`` with the choices."""
    profiles: dict[str, wreq.Profile] = {
        known.lower(): getattr(wreq.Profile, known) for known in dir(wreq.Profile) if known[0] != "_"
    }
    wanted = name.lower()
    if wanted in _BROWSERS:
        versions = [known for known in profiles if re.fullmatch(rf"{wanted}[\d_]+", known)]
        wanted = max(versions, key=lambda known: [int(part) for part in known.removeprefix(wanted).split("_")])
    if wanted not in profiles:
        raise SettingsError(f"IMPERSONATE = {name!r}: choose one of {', '.join(_BROWSERS)}, or {', '.join(sorted(profiles))}")
    return profiles[wanted]


def _cause(error: Exception) -> str:
    """What the engine says about an error, without the URL, which could say anything."""
    return str(error).partition(" source: ")[2]


def _told(cause: str) -> str:
    """The sentence in it that a person understands, if there is one."""
    found = _SENTENCE.search(cause)
    return found[1] if found else cause.partition(", connect_info")[0][:200]
