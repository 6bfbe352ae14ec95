"""URLs as browsers read them (WHATWG URL): parsed, joined, made canonical."""

from __future__ import annotations

import re
from urllib.parse import quote_from_bytes

import can_ada

from openoctopus.exceptions import InvalidRequest

#: Ports that browsers refuse, so that a link cannot speak to a mail server (https://fetch.spec.whatwg.org/#port-blocking).
BAD_PORTS = frozenset(
    int(port)
    for port in (
        "0 1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111 113 115 117 119 "
        "123 135 137 139 143 161 179 389 427 465 512 513 514 515 526 530 531 532 540 548 554 556 563 587 601 636 989 "
        "990 993 995 1719 1720 1723 2049 3659 4045 4190 5060 5061 6000 6379 6566 6665 6666 6667 6668 6669 6679 6697 "
        "10080 11211 "
    ).split()
)
#: What the query state of the WHATWG parser leaves unencoded in a special URL.
_QUERY_SAFE = "".join(map(chr, range(0x21, 0x7F))).translate({ord(c): None for c in "\"#<>'"})
_NON_ASCII_QUERY = re.compile(r"[^\x00-\x7f]")
_CONTROL = re.compile("[\x00-\x1f\x7f]")
_UNICODE_ENCODINGS = frozenset({"utf-8", "utf_8", "utf8", "utf-16", "utf-16le", "utf-16be", "utf-16-le", "utf-16-be"})


def parse(url: str, encoding: str = "utf-8") -> can_ada.URL:
    """Parse an absolute URL; non-ASCII characters of its query are written in ``encoding``.

    Raises ``InvalidRequest`` for what is no URL. Control characters inside are refused rather than dropped.
    """
    stripped = url.strip(" \t\n\r\f")
    if _CONTROL.search(stripped):
        raise InvalidRequest(f"control character in the URL {url!r}")
    try:
        return can_ada.parse(_encode_query(stripped, encoding))
    except (ValueError, TypeError):
        raise InvalidRequest(f"not an absolute URL: {url[:200]!r}") from None


def join(base: can_ada.URL, reference: str, encoding: str = "utf-8") -> str:
    """Resolve a link against the URL of its page; the query is written in the page's encoding.

    Raises ``InvalidRequest`` if the result is no URL.
    """
    try:
        return str((base + _encode_query(reference, encoding)).href)
    except (ValueError, TypeError):
        raise InvalidRequest(f"not a link: {reference[:200]!r} on {base.href}") from None


def _encode_query(url: str, encoding: str) -> str:
    """Percent-encode the query in a legacy encoding, where the URL parser would use UTF-8 (WHATWG URL, query state)."""
    if encoding.lower() in _UNICODE_ENCODINGS or url.isascii():
        return url
    before, mark, rest = url.partition("?")
    if not mark or not _NON_ASCII_QUERY.search(rest):
        return url
    query, hash_mark, fragment = rest.partition("#")
    encoded = quote_from_bytes(query.encode(encoding, "xmlcharrefreplace"), safe=_QUERY_SAFE)
    return f"{before}?{encoded}{hash_mark}{fragment}"


def canonical(url: can_ada.URL, *, keep_fragment: bool = False) -> str:
    """The URL that stands for all of its spellings: query arguments sorted, the fragment dropped."""
    href: str = url.href
    if "#" in href and not keep_fragment:
        href = href.partition("#")[0]
    if "?" in href:
        before, _, query = href.partition("?")
        if "&" in query:
            query = "&".join(sorted(part for part in query.split("&") if part))
        href = f"{before}?{query}" if query else before
    return href


def origin(url: can_ada.URL) -> str:
    """Scheme, host and port (RFC 6454), such as ``https://example.com``."""
    return str(url.origin)


def port_of(url: can_ada.URL) -> int:
    """The port that will be asked, the scheme's own if none is written."""
    return int(url.port) if url.port else 443 if url.protocol == "https:" else 80


def without_credentials(url: str) -> str:
    """The URL with user and password masked, fit for logs."""
    return re.sub(r"(?<=://)[^/@\s]*@", "***@", url, count=1)
