"""HTTP Basic authentication, for one origin only."""

from __future__ import annotations

from base64 import b64encode
from urllib.parse import unquote

import can_ada

from openoctopus.downloadermiddlewares.base import DownloaderMiddleware
from openoctopus.exceptions import InvalidRequest, SettingsError
from openoctopus.http import Request
from openoctopus.http.url import origin, parse
from openoctopus.spider import Spider


class HttpAuthMiddleware(DownloaderMiddleware):
    """Sends user and password to ``httpauth_origin``; an Authorization header of the request wins.

    A request's own: ``meta["http_user"]`` and ``meta["http_pass"]``, or user and password in its URL, for its origin alone.
    A spider's: its attributes ``http_user``, ``http_pass`` and ``http_auth_domain``, for that domain and what lies below.
    Raises ``SettingsError`` for a user that is bound to nothing.
    """

    def __init__(self, httpauth_user: str = "", httpauth_pass: str = "", httpauth_origin: str = "") -> None:
        self.origin = ""
        self.header = ""
        if httpauth_user or httpauth_pass:
            self.origin = _checked_origin(httpauth_origin)
            self.header = basic(httpauth_user, httpauth_pass)
        self._spider: Spider | None = None
        self._domain = ""
        self._domain_header = ""

    def process_request(self, request: Request, spider: Spider) -> None:
        if spider is not self._spider:
            self._read_attributes(spider)
        header = self._header(request)
        if header:
            request.headers.setdefault("Authorization", header)

    def _header(self, request: Request) -> str:
        url = request._parsed
        meta = request._meta
        if meta and "http_user" in meta:
            domain = meta.get("http_auth_domain")
            return basic(meta["http_user"], meta.get("http_pass", "")) if not domain or _below(url, domain) else ""
        if url.username or url.password:
            return basic(unquote(url.username), unquote(url.password))
        if self.header and origin(url) == self.origin:
            return self.header
        return self._domain_header if self._domain and _below(url, self._domain) else ""

    def _read_attributes(self, spider: Spider) -> None:
        user, password = getattr(spider, "http_user", ""), getattr(spider, "http_pass", "")
        if user or password:
            self._domain = str(getattr(spider, "http_auth_domain", "") or "").lower()
            if not self._domain:
                raise SettingsError(f"{type(spider).__name__}.http_user needs http_auth_domain: the only domain it is sent to")
            self._domain_header = basic(user, password)
        self._spider = spider


def basic(user: str, password: str) -> str:
    """The value of an Authorization header (RFC 7617)."""
    return "Basic " + b64encode(f"{user}:{password}".encode()).decode("ascii")


def _checked_origin(value: str) -> str:
    if not value:
        raise SettingsError("HTTPAUTH_USER needs HTTPAUTH_ORIGIN, such as https://example.com: the only origin it is sent to")
    try:
        url = parse(value)
    except InvalidRequest:
        raise SettingsError(f"HTTPAUTH_ORIGIN = {value!r}: write it as https://example.com") from None
    if url.protocol not in ("http:", "https:"):
        raise SettingsError(f"HTTPAUTH_ORIGIN = {value!r}: only http and https have origins here")
    return origin(url)


def _below(url: can_ada.URL, domain: str) -> bool:
    host: str = url.hostname
    return host == domain or host.endswith("." + domain)
