"""One page that is wanted."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Self

import can_ada

from openoctopus.exceptions import InvalidRequest
from openoctopus.http.headers import Headers, HeaderValues
from openoctopus.http.url import output_encoding, parse, without_credentials

Callback = str | Callable[..., Any]
Cookies = Mapping[str, str] | list[dict[str, Any]]

_METHOD_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ-_abcdefghijklmnopqrstuvwxyz")
_ENDS_COOKIE = re.compile("[\x00-\x08\x0a-\x1f\x7f;]")
_STR = frozenset({str})


class Request:
    """One page that is wanted: where, how, and which method of the spider reads the answer.

    ``callback`` and ``errback`` are methods of the spider or their names. ``priority``: higher goes first. ``delay``:
    seconds before it may go. ``session``: requests of one session share cookies, sessions do not. ``downloader``: the name
    of the downloader that fetches it. ``meta`` (for middlewares) and ``cb_kwargs`` (for the callback) hold data that can
    wait in a queue: plain data, tuple, set, dates, Decimal, items. ``encoding`` is that of ``body`` and query when they are
    given as text. Headers, cookies, ``meta`` and ``cb_kwargs`` are copied, so that two requests never share them.

    Raises ``InvalidRequest`` for what is no absolute URL, for a bad method, for control characters in headers, and for an
    argument of the wrong type, which it names.
    """

    __slots__ = (
        "_cb_kwargs", "_headers", "_meta", "_parsed", "body", "callback", "cookies", "delay", "depth", "dont_filter",
        "downloader", "encoding", "errback", "method", "priority", "rid", "session",
    )  # fmt: skip

    #: Names of the constructor's arguments, which ``replace`` takes; a subclass adds its own.
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
        self.callback = callback if callback is None or callable(callback) else _checked_callback("callback", callback)
        self.errback = errback if errback is None or callable(errback) else _checked_callback("errback", errback)
        self.method = "GET" if method == "GET" else _checked_method(method)
        self.encoding = encoding if encoding == "utf-8" else _checked_encoding(encoding)
        self._headers = None if headers is None else Headers(headers)
        self.body: bytes = b"" if body is None else _encoded(body, encoding)
        self.cookies = None if cookies is None else _copied_cookies(cookies)
        self._meta = None if meta is None else _copied("meta", meta)
        self._cb_kwargs = None if cb_kwargs is None else _keywords(cb_kwargs)
        self.priority = priority if type(priority) is int else _checked_priority(priority)
        self.dont_filter = bool(dont_filter)
        self.delay = delay if delay == 0 else _checked_delay(delay)
        self.session = session if type(session) is str else _checked_name("session", session)
        self.downloader = downloader if type(downloader) is str else _checked_name("downloader", downloader)
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
        self._meta = None if values is None else _copied("meta", values)

    @property
    def cb_kwargs(self) -> dict[str, Any]:
        if self._cb_kwargs is None:
            self._cb_kwargs = {}
        return self._cb_kwargs

    @cb_kwargs.setter
    def cb_kwargs(self, values: Mapping[str, Any] | None) -> None:
        self._cb_kwargs = None if values is None else _keywords(values)

    def replace(self, **changes: Any) -> Self:
        """The same request with some arguments changed; ``cls=`` makes another kind of request of it."""
        kind = changes.pop("cls", type(self))
        values = {name: getattr(self, name) for name in self.attributes if name not in changes}
        made: Self = kind(**values, **changes)
        made.depth = self.depth
        return made

    def copy(self) -> Self:
        return self.replace()

    def __str__(self) -> str:
        return f"<{self.method} {without_credentials(self.url)}>"

    __repr__ = __str__


def _checked_callback(argument: str, callback: Any) -> str:
    if not isinstance(callback, str):
        raise InvalidRequest(f"{argument} is a method of the spider or its name, not {callback!r:.200}")
    return callback


def _checked_method(method: Any) -> str:
    if not isinstance(method, str) or not method or not _METHOD_CHARACTERS.issuperset(method):
        raise InvalidRequest(f"not an HTTP method: {method!r:.200}")
    return method.upper()


def _encoded(body: Any, encoding: str) -> bytes:
    if isinstance(body, str):
        try:
            return body.encode(encoding)
        except UnicodeEncodeError as error:
            raise InvalidRequest(f"the body cannot be written in {encoding}: {error}") from None
    if not isinstance(body, bytes | bytearray | memoryview):
        raise InvalidRequest(f"body is bytes or text, not {type(body).__name__}")
    return bytes(body)


def _copied(argument: str, values: Any) -> dict[Any, Any]:
    if not isinstance(values, Mapping):
        raise InvalidRequest(f"{argument} is a mapping, not {values!r:.200}")
    return dict(values)


def _keywords(values: Any) -> dict[str, Any]:
    made = _copied("cb_kwargs", values)
    if not _STR.issuperset(map(type, made)):
        raise InvalidRequest(f"cb_kwargs are keywords of the callback, and not all of {list(made)} are names")
    return made


def _copied_cookies(cookies: Any) -> Cookies | None:
    if isinstance(cookies, Mapping):
        for name, value in cookies.items():
            _check_cookie(name, value)
        return dict(cookies) or None
    if isinstance(cookies, list | tuple) and all(isinstance(cookie, Mapping) for cookie in cookies):
        for cookie in cookies:
            _check_cookie(cookie.get("name"), cookie.get("value"))
        return [dict(cookie) for cookie in cookies] or None
    raise InvalidRequest(f"cookies are a mapping, or a list of mappings with name and value, not {cookies!r:.200}")


def _check_cookie(name: Any, value: Any) -> None:
    """What would end a cookie, or the header that it is sent in, is refused (RFC 6265bis, 5.6)."""
    if not isinstance(name, str | bytes) or not isinstance(value, str | bytes | int | float):
        raise InvalidRequest(f"a cookie has a name and a value, which are texts: {name!r:.80} = {value!r:.80}")
    for part in (name, value):
        text = part.decode("latin-1") if isinstance(part, bytes) else str(part)
        if _ENDS_COOKIE.search(text):
            raise InvalidRequest(f"control character or ; in the cookie {name!r:.80}")


def _checked_priority(priority: Any) -> int:
    if isinstance(priority, bool) or not isinstance(priority, int | float) or priority != priority // 1:
        raise InvalidRequest(f"priority is a whole number, not {priority!r:.200}")
    return int(priority)


def _checked_encoding(encoding: Any) -> str:
    output_encoding(encoding)
    return str(encoding)


def _checked_delay(delay: Any) -> float:
    if isinstance(delay, bool) or not isinstance(delay, int | float) or not 0 <= delay < float("inf"):
        raise InvalidRequest(f"delay is a number of seconds, not {delay!r:.200}")
    return float(delay)


def _checked_name(argument: str, name: Any) -> str:
    if not isinstance(name, str):
        raise InvalidRequest(f"{argument} is a name, not {name!r:.200}")
    return str(name)
