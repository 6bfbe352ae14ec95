"""One page that is wanted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import can_ada

from openoctopus.exceptions import InvalidRequest
from openoctopus.http.headers import Headers, HeaderValues
from openoctopus.http.url import parse

Callback = str | Callable[..., Any]
Cookies = Mapping[str, str] | list[dict[str, Any]]

_METHOD_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ-_abcdefghijklmnopqrstuvwxyz")


class Request:
    """One page that is wanted: where, how, and which method of the spider reads the answer.

    ``callback`` and ``errback`` are methods of the spider or their names. ``priority``: higher goes first. ``delay``:
    seconds before it may go. ``session``: requests of one session share cookies, sessions do not. ``downloader``: the name
    of the downloader that fetches it. ``meta`` (for middlewares) and ``cb_kwargs`` (for the callback) hold data that can
    wait in a queue: plain data, tuple, set, dates, Decimal, items. ``encoding`` is that of ``body`` and query when they are
    given as text.

    Raises ``InvalidRequest`` for what is no absolute URL, for a bad method, and for line breaks in headers.
    """

    __slots__ = (
        "_cb_kwargs", "_headers", "_meta", "_parsed", "body", "callback", "cookies", "delay", "depth", "dont_filter",
        "downloader", "encoding", "errback", "method", "priority", "rid", "session",
    )  # fmt: skip

    #: Names of the constructor's arguments, which ``replace`` takes.
    attributes: tuple[str, ...] = (
        "url", "callback", "method", "headers", "body", "cookies", "meta", "cb_kwargs", "errback", "priority",
        "dont_filter", "encoding", "delay", "session", "downloader",
    )  # fmt: skip

    def __init__(
        self,
        url: str,
        callback: Callback | None = None,
        method: str = "GET",
        headers: HeaderValues | None = None,
        body: bytes | str | None = None,
        cookies: Cookies | None = None,
        meta: Mapping[str, Any] | None = None,
        cb_kwargs: Mapping[str, Any] | None = None,
        errback: Callback | None = None,
        priority: int = 0,
        dont_filter: bool = False,
        encoding: str = "utf-8",
        delay: float = 0.0,
        session: str = "",
        downloader: str = "",
    ) -> None:
        self._parsed: can_ada.URL = parse(url, encoding)
        self.callback = callback
        self.errback = errback
        self.method = "GET" if method == "GET" else _checked_method(method)
        self._headers = None if headers is None else Headers(headers)
        self.body: bytes = b"" if body is None else body.encode(encoding) if isinstance(body, str) else bytes(body)
        self.cookies = cookies or None
        self._meta = None if meta is None else dict(meta)
        self._cb_kwargs = None if cb_kwargs is None else dict(cb_kwargs)
        self.priority = _checked_priority(priority)
        self.dont_filter = dont_filter
        self.encoding = encoding
        self.delay = delay
        self.session = session
        self.downloader = downloader
        #: Links followed from the start of the crawl; set by the framework.
        self.depth = 0
        #: Its identity in the scheduler; 0 until it is there.
        self.rid = 0

    @property
    def url(self) -> str:
        """The URL as a browser would write it."""
        return str(self._parsed.href)

    @property
    def parsed(self) -> can_ada.URL:
        """The URL in its parts (``hostname``, ``port``, ``pathname``, ``search``, ``origin``...)."""
        return self._parsed

    @property
    def host(self) -> str:
        """The host name, which politeness is kept by."""
        return str(self._parsed.hostname)

    @property
    def headers(self) -> Headers:
        if self._headers is None:
            self._headers = Headers()
        return self._headers

    @headers.setter
    def headers(self, values: HeaderValues | None) -> None:
        self._headers = None if values is None else Headers(values)

    @property
    def meta(self) -> dict[str, Any]:
        if self._meta is None:
            self._meta = {}
        return self._meta

    @meta.setter
    def meta(self, values: Mapping[str, Any] | None) -> None:
        self._meta = None if values is None else dict(values)

    @property
    def cb_kwargs(self) -> dict[str, Any]:
        if self._cb_kwargs is None:
            self._cb_kwargs = {}
        return self._cb_kwargs

    @cb_kwargs.setter
    def cb_kwargs(self, values: Mapping[str, Any] | None) -> None:
        self._cb_kwargs = None if values is None else dict(values)

    def replace(self, **changes: Any) -> Self:
        """The same request with some arguments changed; ``cls=`` makes another kind of request of it."""
        kind = changes.pop("cls", Request)
        values = {name: getattr(self, name) for name in self.attributes if name not in changes}
        values["headers"] = values["headers"].raw if "headers" in values else None
        made: Self = kind(**{**values, **changes})
        made.depth = self.depth
        return made

    def copy(self) -> Self:
        return self.replace()

    def __str__(self) -> str:
        return f"<{self.method} {self.url}>"

    __repr__ = __str__


def _checked_method(method: str) -> str:
    if not method or not _METHOD_CHARACTERS.issuperset(method):
        raise InvalidRequest(f"not an HTTP method: {method!r}")
    return method.upper()


def _checked_priority(priority: Any) -> int:
    if type(priority) is int:
        return priority
    if isinstance(priority, bool) or int(priority) != priority:
        raise InvalidRequest(f"priority is a whole number, not {priority!r}")
    return int(priority)
