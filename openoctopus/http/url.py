"""URLs as browsers read them (WHATWG URL): parsed, joined, made canonical."""

from __future__ import annotations

import codecs
import re
from functools import lru_cache
from urllib.parse import quote_from_bytes, urlsplit

import can_ada

from openoctopus.exceptions import InvalidRequest

#: Ports that browsers refuse, so that a link cannot speak to a mail server (https://fetch.spec.whatwg.org/#port-blocking).
BAD_PORTS = frozenset({
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110, 111,
    113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548,
    554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6379, 6566,
    6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080, 11211,
})  # fmt: skip
_DEFAULT_PORTS = {"http:": 80, "https:": 443, "ws:": 80, "wss:": 443, "ftp:": 21}
_PROXY_SCHEMES = frozenset({"http", "https", "socks4", "socks4a", "socks5", "socks5h"})
#: What the query state of the WHATWG parser leaves unencoded in a special URL.
_QUERY_SAFE = "".join(map(chr, range(0x21, 0x7F))).translate({ord(c): None for c in "\"#<>'"})
_CONTROL = re.compile("[\x00-\x1f\x7f]")
_DROPPED = re.compile("^[\x00-\x20]+|[\x00-\x20]+$|[\t\n\r]")
_SURROGATE = re.compile("[\ud800-\udfff]")
#: Percent-encoded bytes with another spelling: lower-case digits, and characters that need no encoding (RFC 3986, 6.2.2).
_RESPELLED = re.compile("%(?:2[DdEe]|3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa]|5[Ff]|7[Ee]|[0-9A-F][a-f]|[a-f][0-9A-Fa-f])")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_CREDENTIALS = re.compile(r"(?<=://)[^/?#\s]*@")


def parse(url: str, encoding: str = "utf-8") -> can_ada.URL:
    """Parse an absolute URL; non-ASCII characters of its query are written in ``encoding``.

    Raises ``InvalidRequest`` for what is no URL. Control characters inside are refused rather than dropped.
    """
    if not isinstance(url, str):
        raise InvalidRequest(f"a URL is a str, not {url!r}")
    if not (url.isascii() and url.isprintable()):
        url = url.strip(" \t\n\r\f")
        if _CONTROL.search(url):
            raise InvalidRequest(f"control character in the URL {url[:200]!r}")
        url = _as_ascii_query(url, encoding)
    try:
        return can_ada.parse(url)
    except ValueError:
        raise InvalidRequest(f"not an absolute URL: {url[:200]!r}") from None


def join(base: can_ada.URL, reference: str, encoding: str = "utf-8") -> str:
    """Resolve a link against the URL of its page; the query is written in the page's encoding.

    Blanks around it and line breaks in it are dropped. Raises ``InvalidRequest`` if the result is no URL.
    """
    if not isinstance(reference, str):
        raise InvalidRequest(f"a link is a str, not {reference!r:.200}")
    if not reference.isascii():
        reference = _as_ascii_query(_DROPPED.sub("", reference), encoding)
    try:
        href: str = (base + reference).href
    except ValueError:
        raise InvalidRequest(f"not a link: {reference[:200]!r} on {base.href[:200]}") from None
    return href


def _as_ascii_query(url: str, encoding: str) -> str:
    """Percent-encode the query in a legacy encoding, where the URL parser would use UTF-8 (WHATWG URL, query state)."""
    if _SURROGATE.search(url):
        url = url.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    before, hash_mark, fragment = url.partition("#")
    before, mark, query = before.partition("?")
    codec = output_encoding(encoding)
    if codec == "utf-8" or query.isascii():
        return url
    encoded = quote_from_bytes(query.encode(codec, "percentcharref"), safe=_QUERY_SAFE)
    return f"{before}{mark}{encoded}{hash_mark}{fragment}"


def _percent_references(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    characters = error.object[error.start : error.end]
    return "".join(f"%26%23{ord(character)}%3B" for character in characters), error.end


#: A character that an encoding lacks stands as a percent-encoded ``&#...;`` (https://url.spec.whatwg.org/#string-percent-encode-after-encoding).
codecs.register_error("percentcharref", _percent_references)


@lru_cache(maxsize=256)
def output_encoding(encoding: str) -> str:
    """The codec that browsers write queries and forms in: the page's, but UTF-8 for a page in UTF-16.

    Raises ``InvalidRequest`` for a name that Python does not know.
    """
    try:
        name = codecs.lookup(encoding).name
        "".encode(name)
    except (LookupError, TypeError, ValueError):
        raise InvalidRequest(f"no such encoding: {encoding!r}") from None
    return "utf-8" if name.startswith("utf") else name


def canonical(url: can_ada.URL, *, keep_fragment: bool = False) -> str:
    """The URL that stands for all of its spellings: query arguments sorted, the fragment dropped.

    Percent-encoding is written in one way (RFC 3986, 6.2.2); blank and repeated arguments stay.
    """
    href: str = url.href
    fragment = ""
    if "#" in href:
        href, _, fragment = href.partition("#")
    if "%" in href:
        href = _RESPELLED.sub(_spelled, href)
    if "?" in href:
        path, _, query = href.partition("?")
        if "&" in query:
            query = "&".join(sorted([part for part in query.split("&") if part]))
        href = f"{path}?{query}" if query else path
    return f"{href}#{fragment}" if fragment and keep_fragment else href


def _spelled(encoded: re.Match[str]) -> str:
    character = chr(int(encoded[0][1:], 16))
    return character if character in _UNRESERVED else encoded[0].upper()


def origin(url: can_ada.URL) -> str:
    """Scheme, host and port (RFC 6454), such as ``https://example.com``."""
    return str(url.origin)


def port_of(url: can_ada.URL) -> int:
    """The port that will be asked: the one written, else the scheme's own, else 80."""
    return int(url.port) if url.port else _DEFAULT_PORTS.get(url.protocol, 80)


@lru_cache(maxsize=256)
def checked_proxy(url: str) -> str:
    """The URL of a proxy, or nothing, as it is. Raises ``InvalidRequest`` for what is no proxy."""
    try:
        parts = urlsplit(url)
        known = parts.scheme in _PROXY_SCHEMES and parts.hostname and (parts.port or True)
    except ValueError:
        known = False
    if url and not known:
        raise InvalidRequest(f"no proxy: {without_credentials(url)!r}; write it as http://host:port or socks5://host:port")
    return url


def without_credentials(url: str) -> str:
    """The URL with user and password masked, fit for logs."""
    return _CREDENTIALS.sub("***@", url, count=1)
