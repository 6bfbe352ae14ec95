"""What is the same whoever speaks HTTP: where a request may go, how much of an answer is taken, how it is unpacked."""

from __future__ import annotations

import logging
from abc import abstractmethod
from base64 import b64encode
from collections.abc import AsyncGenerator, AsyncIterator, Collection
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from time import monotonic
from typing import NamedTuple
from urllib.parse import unquote

import can_ada

from openoctopus.downloaders.address import Addresses, Lookup, literal
from openoctopus.downloaders.answer import Answer
from openoctopus.downloaders.base import Downloader, Incoming
from openoctopus.downloaders.decoding import ACCEPT_ENCODING, Unpacking
from openoctopus.exceptions import (
    BadResponse,
    BlockedAddress,
    CertificateInvalid,
    ConnectionFailed,
    ConnectTimeout,
    DownloadTimeout,
    FetchError,
    IncompleteResponse,
    InvalidRequest,
    NameNotResolved,
    NotConnected,
    OctopusError,
    ProxyFailed,
    ResponseTooLarge,
)
from openoctopus.failpoints import hit
from openoctopus.http import Request, Response
from openoctopus.http.url import BAD_PORTS, checked_proxy, port_of, without_credentials
from openoctopus.settings import Settings

logger = logging.getLogger(__name__)

#: Origins whose judgement is kept at the same time, and for how many seconds.
KEPT_ORIGINS = 10_000
KEPT_SECONDS = 60.0
#: Fields of a request that we alone decide: two lengths would be two requests to a server (request smuggling).
_OURS = frozenset({"content-length", "transfer-encoding", "proxy-authorization", "proxy-connection"})
_NO_BODY = frozenset({204, 304})
_WORDS: dict[type[OctopusError], str] = {
    BadResponse: "the answer is not HTTP that can be read",
    CertificateInvalid: "the TLS certificate cannot be verified",
    ConnectionFailed: "the connection broke before an answer",
    ConnectTimeout: "no connection within {connect:g} s",
    DownloadTimeout: "no whole answer within {whole:g} s{silence}",
    IncompleteResponse: "the body ended early",
    InvalidRequest: "{url} cannot be asked for",
    NameNotResolved: "the name has no address",
    NotConnected: "no connection",
    ProxyFailed: "the proxy {proxy} did not lead there",
}


class Route:
    """Where the requests to one origin go, as it was judged."""

    __slots__ = ("addresses", "answered", "until", "verify")

    def __init__(self, addresses: tuple[str, ...], *, verify: bool) -> None:
        #: The addresses that may be connected to; none where a proxy resolves the name.
        self.addresses = addresses
        self.verify = verify
        self.until = monotonic() + KEPT_SECONDS
        #: The origin has answered, so that there may be a kept connection to it.
        self.answered = False


class Order(NamedTuple):
    """A request with everything decided that its sending needs."""

    request: Request
    #: Without credentials.
    url: str
    route: Route
    headers: list[tuple[str, str]]
    #: The same field comes more than once.
    repeats: bool
    proxy: str
    #: What the request says to its proxy.
    proxy_authorization: str
    #: For the whole download.
    seconds: float
    max_size: int
    fail_on_dataloss: bool


class WireDownloader(Downloader):
    """Base of the downloaders that speak HTTP: a subclass writes ``send`` and ``explain``."""

    #: What the engine raises.
    engine_errors: tuple[type[Exception], ...] = ()

    def __init__(self, settings: Settings, start_hosts: Collection[str] = frozenset()) -> None:
        self.settings = settings
        self._start_hosts = start_hosts
        self._routes: dict[str, Route] = {}
        #: Added to requests that do not say what they accept.
        self.accept_encoding = ACCEPT_ENCODING

    @abstractmethod
    async def send(self, order: Order) -> Answer:
        """Ask, and return when the head of the answer is there. Its body is limited to ``order.seconds`` as well."""

    @abstractmethod
    def explain(self, error: Exception, order: Order, *, in_body: bool) -> tuple[type[OctopusError], str]:
        """The class of our error for one of the engine's, and what is to be told beyond it."""

    def lookup(self) -> Lookup | None:
        """Who resolves names, if not the system."""
        return None

    async def open(self) -> None:
        settings = self.settings
        self._seconds, self._max_size = settings.DOWNLOAD_TIMEOUT, settings.DOWNLOAD_MAXSIZE
        self._fail_on_dataloss = settings.DOWNLOAD_FAIL_ON_DATALOSS
        self.addresses = Addresses(
            allow_private=settings.ALLOW_PRIVATE_ADDRESSES,
            start_hosts=self._start_hosts,
            table=settings.HOSTS,
            lookup=self.lookup(),
        )
        if not settings.VERIFY_TLS:
            logger.warning("certificates are not verified (VERIFY_TLS)")

    async def close(self) -> None:
        await self.addresses.close()

    async def fetch(self, request: Request) -> Response:
        try:
            order = self._order(request, self._route(request) or await self._judge(request))
            answer = await self._answer(order)
            try:
                body = await self._body(answer, order)
                hit("body.done")
            finally:
                if not answer.done:
                    await answer.abandon()
        except FetchError as error:
            _name_page(error, request)
            raise
        response = Response(
            request.url, answer.status, answer.headers, body, request,
            ip_address=answer.ip_address, protocol=answer.protocol,
        )  # fmt: skip
        if answer.truncated:
            response.truncated = True
        return response

    def stream(self, request: Request) -> AbstractAsyncContextManager[Incoming]:
        return self._arriving(request)

    @asynccontextmanager
    async def _arriving(self, request: Request) -> AsyncIterator[Incoming]:
        try:
            order = self._order(request, self._route(request) or await self._judge(request))
            answer = await self._answer(order)
        except FetchError as error:
            _name_page(error, request)
            raise
        try:
            async with aclosing(self._pieces(answer, order)) as pieces:
                yield Incoming(request, answer, pieces)
        finally:
            if not answer.done:
                await answer.abandon()

    def _route(self, request: Request) -> Route | None:
        """Where the request goes, if that was judged within the last minute."""
        route = self._routes.get(_key(request))
        return route if route is not None and route.until > monotonic() else None

    def _order(self, request: Request, route: Route) -> Order:
        """Everything about a request that its sending needs."""
        parsed, meta = request._parsed, request._meta
        proxy, seconds, max_size, fail_on_dataloss = "", self._seconds, self._max_size, self._fail_on_dataloss
        if meta:
            proxy = checked_proxy(meta.get("proxy") or "")
            seconds = float(meta.get("download_timeout") or seconds)
            max_size = meta.get("download_maxsize", max_size)
            fail_on_dataloss = meta.get("download_fail_on_dataloss", fail_on_dataloss)
        url = parsed.href if not (parsed.username or parsed.password) else _without_user(parsed)
        headers, repeats, authorization = self._fields(request)
        return Order(request, url, route, headers, repeats, proxy, authorization, seconds, max_size, fail_on_dataloss)

    def _fields(self, request: Request) -> tuple[list[tuple[str, str]], bool, str]:
        """The header fields to send, whether one comes more than once, and what is said to the proxy."""
        parsed = request._parsed
        pairs = request._headers.raw if request._headers is not None else []
        names = {name.lower() for name, _ in pairs}
        repeats, authorization = len(names) != len(pairs), ""
        if not names.isdisjoint(_OURS):
            authorization = request.headers.get("Proxy-Authorization", "")
            pairs = [pair for pair in pairs if pair[0].lower() not in _OURS]
        first = [("Host", parsed.host)] if "host" not in names and parsed.protocol == "http:" else []
        last = [("Accept-Encoding", self.accept_encoding)] if self.accept_encoding and "accept-encoding" not in names else []
        if (parsed.username or parsed.password) and "authorization" not in names:
            last.append(("Authorization", basic(parsed.username, parsed.password)))
        pairs = [*first, *pairs, *last]
        if not "".join([value for _, value in pairs]).isascii():
            pairs = [(name, _as_engines_take_it(value)) for name, value in pairs]
        return pairs, repeats, authorization

    async def _judge(self, request: Request) -> Route:
        """Whether the request may go there at all, and to which addresses.

        Raises ``BlockedAddress``, ``NameNotResolved``, ``InvalidRequest``.
        """
        parsed, key = request.parsed, _key(request)
        if parsed.protocol not in ("http:", "https:"):
            raise InvalidRequest(f"only http and https are fetched: {without_credentials(request.url)}")
        if port_of(parsed) in BAD_PORTS:
            raise BlockedAddress(f"port {port_of(parsed)} is one that browsers refuse")
        host = request.host
        addresses: tuple[str, ...] = ()
        if key == parsed.origin:
            addresses = await self.addresses.find(host, min(self._seconds, self.settings.CONNECT_TIMEOUT))
        elif written := literal(host):
            self.addresses.judge(host, (written,))
        verify = self.settings.VERIFY_TLS and host not in self.settings.VERIFY_TLS_EXCEPT
        if not verify and self.settings.VERIFY_TLS and parsed.protocol == "https:" and key not in self._routes:
            logger.warning("the certificate of %s is not verified (VERIFY_TLS_EXCEPT)", host)
        before = self._routes.pop(key, None)
        if len(self._routes) >= KEPT_ORIGINS:
            del self._routes[next(iter(self._routes))]
        route = self._routes[key] = Route(addresses, verify=verify)
        route.answered = before is not None and before.answered
        return route

    async def _answer(self, order: Order) -> Answer:
        """Send the request, and make sure that nobody else answers it."""
        hit("request.sent")
        try:
            answer = await self.send(order)
        except self.engine_errors as error:
            raise self._explained(error, order, in_body=False) from error
        hit("headers")
        if order.proxy:
            answer.ip_address = ""
            if answer.status == 407:
                await answer.abandon()
                raise ProxyFailed(f"the proxy {without_credentials(order.proxy)} asks for credentials")
        elif answer.ip_address and answer.ip_address not in order.route.addresses:
            try:
                self.addresses.judge(order.request.host, (answer.ip_address,))
            except BlockedAddress:
                await answer.abandon()
                raise
        if answer.status in _NO_BODY or order.request.method == "HEAD":
            # What such a head says of a body is about another answer (RFC 9110, 9.3.2).
            answer.length, answer.coding = 0, ""
        return answer

    def _explained(self, error: Exception, order: Order, *, in_body: bool) -> OctopusError:
        kind, told = self.explain(error, order, in_body=in_body)
        words = _WORDS[kind].format(
            url=without_credentials(order.url),
            proxy=without_credentials(order.proxy),
            connect=self.settings.CONNECT_TIMEOUT,
            whole=order.seconds,
            silence=f", or nothing for {self.settings.READ_TIMEOUT:g} s" if self.settings.READ_TIMEOUT else "",
        )
        return kind(f"{words} ({told})" if told else words)

    async def _body(self, answer: Answer, order: Order) -> bytes:
        """The whole body, unpacked."""
        if answer.length is not None and not answer.coding and order.fail_on_dataloss:
            self._check_announced(answer, order)
            try:
                return await answer.read()
            except self.engine_errors as error:
                raise self._explained(error, order, in_body=True) from error
        return b"".join([piece async for piece in self._pieces(answer, order)])

    def _check_announced(self, answer: Answer, order: Order) -> None:
        if order.max_size and answer.length and answer.length > order.max_size:
            raise ResponseTooLarge(f"a body of {answer.length} bytes is announced, {order.max_size} are allowed")

    async def _pieces(self, answer: Answer, order: Order) -> AsyncGenerator[bytes, None]:
        """The body in unpacked pieces, while it arrives."""
        self._check_announced(answer, order)
        unpacking = Unpacking(answer.coding, order.max_size)
        cut: IncompleteResponse | None = None
        try:
            async for chunk in self._chunks(answer, order):
                for piece in unpacking.feed(chunk):
                    yield piece
        except IncompleteResponse as error:
            cut = error
        if cut is None or not unpacking.whole:
            try:
                for piece in unpacking.finish():
                    yield piece
            except IncompleteResponse as error:
                cut = cut or error
            if cut is not None and order.fail_on_dataloss:
                raise cut
            answer.truncated = cut is not None

    async def _chunks(self, answer: Answer, order: Order) -> AsyncGenerator[bytes, None]:
        """The body as it comes from the wire, up to the limit."""
        taken = 0
        try:
            async for chunk in answer.chunks():
                hit("body.half")
                taken += len(chunk)
                if order.max_size and taken > order.max_size:
                    raise ResponseTooLarge(f"the body has more than {order.max_size} bytes")
                yield chunk
        except self.engine_errors as error:
            raise self._explained(error, order, in_body=True) from error


def _as_engines_take_it(value: str) -> str:
    """A value whose characters are bytes, as text that an engine writes as the same bytes, if they are UTF-8."""
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return value


def _key(request: Request) -> str:
    """The origin, and whether a proxy leads there."""
    origin: str = request._parsed.origin
    return f"proxied {origin}" if request._meta and request._meta.get("proxy") else origin


def _without_user(parsed: can_ada.URL) -> str:
    return f"{parsed.protocol}//{parsed.host}{parsed.pathname}{parsed.search}"


def basic(user: str, password: str) -> str:
    """The credentials of a URL as browsers send them (RFC 7617)."""
    return "Basic " + b64encode(f"{unquote(user)}:{unquote(password)}".encode()).decode("ascii")


def _name_page(error: FetchError, request: Request) -> None:
    """Say in an error which page it is about."""
    error.args = (f"{error}: {without_credentials(request.url)}",)
