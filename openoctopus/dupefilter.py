"""What counts as the same request, and how it is remembered."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from hashlib import blake2b
from typing import Any, Literal

import can_ada

from openoctopus.http import Request
from openoctopus.http.url import canonical
from openoctopus.plugins import Plugin

#: How a scheduler remembers fingerprints: 64 or 128 bits each, or bits in a Bloom filter.
Memory = Literal["exact64", "exact128", "bloom"]


class RFPDupeFilter(Plugin):
    """Two requests are the same when method, canonical URL, body and the chosen headers are.

    The canonical URL has its query sorted and no fragment. ``request.meta["fingerprint"]`` overrides it for one request: a
    text stands for the whole identity, a mapping changes options (``{"ignore_query": True}``). Fingerprints are keyed with
    ``secret``, so that nobody who writes links can craft one that hides another's page.
    """

    memory: Memory = "exact64"

    def __init__(
        self,
        *,
        fingerprint_ignore_query: bool = False,
        fingerprint_keep_parameters: Collection[str] = (),
        fingerprint_keep_fragment: bool = False,
        fingerprint_include_headers: Collection[str] = (),
        fingerprint_bits: Literal[64, 128] = 64,
    ) -> None:
        self.ignore_query = fingerprint_ignore_query
        self.keep_parameters = frozenset(fingerprint_keep_parameters)
        self.keep_fragment = fingerprint_keep_fragment
        self.include_headers = sorted(name.lower() for name in fingerprint_include_headers)
        self.size = fingerprint_bits // 8
        if fingerprint_bits == 128:
            self.memory = "exact128"
        self.secret = b""
        self._plain = not (self.ignore_query or self.keep_parameters or self.include_headers)

    def fingerprint(self, request: Request) -> int:
        """The identity of a request: a number that is never 0."""
        own = request._meta.get("fingerprint") if request._meta else None
        if own is not None or not self._plain:
            identity = self._identity(request, own)
        elif request.method == "GET" and not request.body:
            identity = canonical(request._parsed, keep_fragment=self.keep_fragment)
        else:
            identity = f"{request.method}\n{canonical(request._parsed, keep_fragment=self.keep_fragment)}\n"
        hashed = blake2b(identity.encode("utf-8", "surrogatepass"), digest_size=self.size, key=self.secret)
        if request.body:
            hashed.update(request.body)
        return int.from_bytes(hashed.digest(), "little") or 1

    def forced(self, parent: int, fingerprint: int, occurrence: int) -> int:
        """The identity of a ``dont_filter`` request: the same again only for the same place on the same page."""
        text = b"%d %d %d" % (parent, fingerprint, occurrence)
        return int.from_bytes(blake2b(text, digest_size=self.size, key=self.secret).digest(), "little") or 1

    def _identity(self, request: Request, own: Any) -> str:
        if isinstance(own, str):
            return f"\0{own}"
        options: Mapping[str, Any] = own or {}
        keep_fragment = options.get("keep_fragment", self.keep_fragment)
        url = _without_query(
            canonical(request._parsed, keep_fragment=keep_fragment),
            options.get("ignore_query", self.ignore_query),
            frozenset(options.get("keep_parameters", self.keep_parameters)),
        )
        names = [name.lower() for name in options.get("include_headers", self.include_headers)]
        headers = "".join(f"{name}:{request.headers.getlist(name)}\n" for name in sorted(names))
        return f"{request.method}\n{url}\n{headers}"


def _without_query(url: str, ignore_query: bool, keep: frozenset[str]) -> str:
    """The URL without its query, or with the named parameters only."""
    if not ignore_query and not keep:
        return url
    before, _, rest = url.partition("?")
    query, mark, fragment = rest.partition("#")
    kept = [part for part in query.split("&") if _name_of(part) in keep] if keep else []
    return before + ("?" + "&".join(kept) if kept else "") + mark + fragment


def _name_of(part: str) -> str:
    name: str = can_ada.URLSearchParams(part).keys().__next__() if part else ""
    return name


class BloomDupeFilter(RFPDupeFilter):
    """The same identity, remembered in bounded memory: of ``bloom_capacity`` URLs a share of ``bloom_error_rate`` at most is
    wrongly taken for seen and never fetched; more URLs than that raise the share, and the log says so.
    """

    memory: Memory = "bloom"

    def __init__(
        self,
        *,
        bloom_capacity: int = 10_000_000,
        bloom_error_rate: float = 1e-6,
        fingerprint_ignore_query: bool = False,
        fingerprint_keep_parameters: Collection[str] = (),
        fingerprint_keep_fragment: bool = False,
        fingerprint_include_headers: Collection[str] = (),
    ) -> None:
        super().__init__(
            fingerprint_ignore_query=fingerprint_ignore_query,
            fingerprint_keep_parameters=fingerprint_keep_parameters,
            fingerprint_keep_fragment=fingerprint_keep_fragment,
            fingerprint_include_headers=fingerprint_include_headers,
        )
        self.capacity = bloom_capacity
        self.error_rate = bloom_error_rate
