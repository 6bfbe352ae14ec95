"""Cookies as browsers keep them (RFC 6265bis): what a server sets, and what is sent back where."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import can_ada
from publicsuffixlist import PublicSuffixList

from openoctopus.exceptions import InvalidRequest
from openoctopus.http.dates import parse_date

#: Bytes of a cookie's name and value together, cookies of one domain and of one jar at most; the oldest go first.
MAX_BYTES = 4096
MAX_PER_DOMAIN = 180
MAX_COOKIES = 3000
#: No cookie lives longer, in seconds (RFC 6265bis, 5.5).
MAX_AGE = 400 * 86400.0

_CONTROLS = re.compile("[\x00-\x08\x0a-\x1f\x7f]")
_NOT_SENT = re.compile("[\x00-\x08\x0a-\x1f\x7f;]")
_INTEGER = re.compile(r"-?[0-9]+")


@dataclass(slots=True)
class Cookie:
    """One cookie. ``expires``: seconds since the epoch, ``None`` for the end of the session."""

    name: str
    value: str
    domain: str
    path: str = "/"
    host_only: bool = True
    secure: bool = False
    http_only: bool = False
    same_site: str = ""
    expires: float | None = None
    #: Its place among the cookies of its jar.
    number: int = 0

    @property
    def pair(self) -> str:
        """As it is sent."""
        return f"{self.name}={self.value}" if self.name else self.value

    @classmethod
    def given(cls, values: Mapping[str, Any], host: str = "") -> Cookie:
        """A cookie by its fields, named as browsers and their exports name them.

        ``name`` and ``value`` are needed; ``domain`` is ``host`` unless given, and if given with a leading dot (or without
        ``hostOnly``, for a request to ``host``) it covers its sub-domains. Raises ``InvalidRequest``.
        """
        domain = str(values.get("domain") or "").lower()
        host_only = values.get("hostOnly", not domain or (not host and not domain.startswith(".")))
        expires = next((values[key] for key in ("expires", "expirationDate", "expiry") if values.get(key) is not None), None)
        cookie = cls(
            _text(values.get("name"), "name"),
            _text(values.get("value"), "value"),
            domain.lstrip(".") or host,
            str(values.get("path") or "/"),
            bool(host_only),
            bool(values.get("secure")),
            bool(values.get("httpOnly")),
            str(values.get("sameSite") or ""),
            _moment(expires),
        )
        if not cookie.domain:
            raise InvalidRequest(f"the cookie {cookie.name!r} has no domain")
        return cookie

    def plain(self) -> dict[str, Any]:
        """The fields as ``given`` reads them: plain data that can be kept."""
        return {
            "name": self.name, "value": self.value, "domain": self.domain, "path": self.path, "hostOnly": self.host_only,
            "secure": self.secure, "httpOnly": self.http_only, "sameSite": self.same_site, "expires": self.expires,
        }  # fmt: skip


class CookieHeader(str):
    """A Cookie header that a jar made, so that what the user gave can be put back after the fetch."""

    __slots__ = ("given",)

    #: The header that the request had before, or ``None``.
    given: str | None


#: The cookies of one domain, the oldest first, by name, path and whether they are the host's alone.
Group = dict[tuple[str, str, bool], Cookie]
_NONE: Group = {}


class CookieJar:
    """The cookies of one session. Times are seconds since the epoch."""

    def __init__(self) -> None:
        self._domains: dict[str, Group] = {}
        self._count = 0
        self._numbers = 0
        self._secure_names: set[str] = set()

    def __len__(self) -> int:
        return self._count

    def header(self, url: can_ada.URL, now: float) -> str:
        """The Cookie header for a URL; empty if no cookie belongs there."""
        found = self.cookies(url, now)
        return found[0].pair if len(found) == 1 else "; ".join([cookie.pair for cookie in found])

    def cookies(self, url: can_ada.URL, now: float) -> list[Cookie]:
        """The cookies for a URL in the order they are sent: the longest path first, then the oldest."""
        domains = self._domains
        host = domain = url.hostname
        path = url.pathname
        secure = url.protocol == "https:"
        found: list[Cookie] = []
        expired = False
        while domain:
            for cookie in domains.get(domain, _NONE).values():
                if (
                    (secure or not cookie.secure)
                    and (domain is host or not cookie.host_only)
                    and (cookie.path == "/" or path_matches(path, cookie.path))
                ):
                    found.append(cookie)
                    if cookie.expires is not None and cookie.expires <= now:
                        expired = True
            domain = domain.partition(".")[2]
        if expired:
            found = self._without_expired(found, now)
        if len(found) > 1:
            found.sort(key=_order)
        return found

    def receive(self, header: str, url: can_ada.URL, now: float) -> Cookie | None:
        """Obey one Set-Cookie header of an answer from ``url``. Returns the cookie, ``None`` if it was refused."""
        cookie = parse_set_cookie(header, url, now)
        if cookie is None or (cookie.secure is False and url.protocol != "https:" and self._hides_secure(cookie)):
            return None
        self.put(cookie, now)
        return cookie

    def put(self, cookie: Cookie, now: float) -> None:
        """Keep a cookie in place of its like; one that has expired only removes it."""
        group = self._domains.get(cookie.domain)
        if group is None:
            group = self._domains[cookie.domain] = {}
        key = (cookie.name, cookie.path, cookie.host_only)
        old = group.get(key)
        if cookie.expires is not None and cookie.expires <= now:
            if old is not None:
                self._remove(old)
            return
        if old is None:
            self._numbers += 1
            self._count += 1
            cookie.number = self._numbers
        else:
            cookie.number = old.number
        group[key] = cookie
        if cookie.secure:
            self._secure_names.add(cookie.name)
        if len(group) > MAX_PER_DOMAIN:
            self._without_expired(list(group.values()), now)
            if len(group) > MAX_PER_DOMAIN:
                self._remove(next(iter(group.values())))
        if self._count > MAX_COOKIES:
            self._make_room(now)

    def dump(self) -> list[dict[str, Any]]:
        """All cookies as plain data, the oldest first."""
        cookies = [cookie for group in self._domains.values() for cookie in group.values()]
        return [cookie.plain() for cookie in sorted(cookies, key=_by_age)]

    def load(self, cookies: Iterable[Mapping[str, Any]], now: float) -> None:
        """Take over what ``dump`` gave. Raises ``InvalidRequest`` for what is no cookie."""
        for values in cookies:
            self.put(Cookie.given(values), now)

    def _remove(self, cookie: Cookie) -> None:
        group = self._domains[cookie.domain]
        del group[cookie.name, cookie.path, cookie.host_only]
        self._count -= 1
        if not group:
            del self._domains[cookie.domain]

    def _without_expired(self, cookies: list[Cookie], now: float) -> list[Cookie]:
        """Remove those of them that have expired; the others."""
        kept = []
        for cookie in cookies:
            if cookie.expires is not None and cookie.expires <= now:
                self._remove(cookie)
            else:
                kept.append(cookie)
        return kept

    def _make_room(self, now: float) -> None:
        """Remove what has expired, then the oldest: a tenth at once, so that a flood is not sorted for each cookie."""
        kept = self._without_expired([cookie for group in self._domains.values() for cookie in group.values()], now)
        if len(kept) > MAX_COOKIES:
            for cookie in sorted(kept, key=_by_age)[: MAX_COOKIES // 10]:
                self._remove(cookie)

    def _hides_secure(self, cookie: Cookie) -> bool:
        """Whether a cookie set without TLS would hide a Secure one (RFC 6265bis, 5.7, "leave secure cookies alone")."""
        if cookie.name not in self._secure_names:
            return False
        for domain, group in self._domains.items():
            if domain_matches(domain, cookie.domain) or domain_matches(cookie.domain, domain):
                for old in group.values():
                    if old.secure and old.name == cookie.name and path_matches(cookie.path, old.path):
                        return True
        return False


def parse_set_cookie(header: str, url: can_ada.URL, now: float) -> Cookie | None:
    """Read a Set-Cookie header of an answer from ``url``; ``None`` if it must be ignored (RFC 6265bis, 5.6 and 5.7)."""
    if _CONTROLS.search(header):
        return None
    pair, _, rest = header.partition(";")
    name, equals, value = pair.partition("=")
    if not equals:
        name, value = "", pair
    name, value = name.strip(" \t"), value.strip(" \t")
    if not (name or value) or len(name) + len(value) > MAX_BYTES:
        return None
    cookie = Cookie(name, value, url.hostname, default_path(url.pathname))
    given_path = _read_attributes(cookie, rest, now)
    return cookie if _covers(cookie, url) and _keeps_promise(cookie, url, given_path) else None


def _read_attributes(cookie: Cookie, attributes: str, now: float) -> str:
    """Set what the attributes say; of a repeated one the last counts. Returns the Path as it was written."""
    max_age = None
    given_path = ""
    for attribute in attributes.split(";"):
        name, _, value = attribute.partition("=")
        name, value = name.strip(" \t").lower(), value.strip(" \t")
        if len(value) > 1024:
            continue
        if name == "expires":
            moment = parse_date(value)
            cookie.expires = cookie.expires if moment is None else min(moment, now + MAX_AGE)
        elif name == "max-age" and _INTEGER.fullmatch(value):
            max_age = float(value)
        elif name == "domain":
            cookie.domain = value.lower().removeprefix(".")
            cookie.host_only = not cookie.domain
        elif name == "path":
            given_path = value if value.startswith("/") else ""
        elif name == "secure":
            cookie.secure = True
        elif name == "httponly":
            cookie.http_only = True
        elif name == "samesite":
            cookie.same_site = value.lower() if value.lower() in ("strict", "lax", "none") else ""
    if max_age is not None:
        cookie.expires = now + min(max_age, MAX_AGE) if max_age > 0 else 0.0
    cookie.path = given_path or cookie.path
    return given_path


def _covers(cookie: Cookie, url: can_ada.URL) -> bool:
    """Whether the host may set a cookie for that domain; a public suffix may only for itself."""
    host = url.hostname
    if cookie.host_only:
        cookie.domain = host
        return True
    if not domain_matches(host, cookie.domain):
        return False
    if is_address(host) or is_public_suffix(cookie.domain):
        cookie.host_only = True
        return bool(cookie.domain == host)
    return True


def _keeps_promise(cookie: Cookie, url: can_ada.URL, given_path: str) -> bool:
    """Whether Secure and the prefixes of the name hold (RFC 6265bis, 4.1.3 and 5.7)."""
    if cookie.secure and url.protocol != "https:":
        return False
    start = (cookie.name or cookie.value).lower()
    if not start.startswith(("__secure-", "__host-")):
        return True
    if not cookie.name or not cookie.secure:
        return False
    return start.startswith("__secure-") or (cookie.host_only and given_path == "/")


def domain_matches(host: str, domain: str) -> bool:
    """Whether a host is that domain or lies below it (RFC 6265, 5.1.3)."""
    return host == domain or (host.endswith("." + domain) and not is_address(host))


def path_matches(path: str, cookie_path: str) -> bool:
    """Whether a path is the cookie's or lies below it (RFC 6265, 5.1.4)."""
    if not path.startswith(cookie_path):
        return False
    return len(path) == len(cookie_path) or cookie_path[-1:] == "/" or path[len(cookie_path)] == "/"


def default_path(path: str) -> str:
    """The path of a cookie that names none: the directory of the page (RFC 6265, 5.1.4)."""
    return path.rpartition("/")[0] or "/"


def is_address(host: str) -> bool:
    """Whether a host, as a parsed URL has it, is an IP address and no name."""
    return host.startswith("[") or host.rpartition(".")[2].isdigit()


def is_public_suffix(domain: str) -> bool:
    """Whether anybody may register a name directly below (``com``, ``co.uk``, ``github.io``)."""
    return bool(_public_suffixes().publicsuffix(domain) == domain)


@cache
def _public_suffixes() -> PublicSuffixList:
    # Read at the first Domain attribute: 40 ms that most crawls never need.
    return PublicSuffixList()


def _order(cookie: Cookie) -> tuple[int, int]:
    return -len(cookie.path), cookie.number


def _by_age(cookie: Cookie) -> int:
    return cookie.number


def _text(value: Any, what: str) -> str:
    """A name or value as the characters of its bytes. Raises ``InvalidRequest`` for what would end it."""
    if value is None:
        raise InvalidRequest(f"a cookie without {what}")
    text = value.decode("latin-1") if isinstance(value, bytes) else str(value)
    if not text.isascii():
        try:
            text.encode("latin-1")
        except UnicodeEncodeError:
            text = text.encode("utf-8").decode("latin-1")
    if _NOT_SENT.search(text) or (what == "name" and "=" in text):
        raise InvalidRequest(f"not the {what} of a cookie: {text[:80]!r}")
    return text


def _moment(value: Any) -> float | None:
    """When a given cookie expires; 0 and less, as exports write it, is the end of the session."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        return parse_date(str(value))
    return seconds if seconds > 0 else None
