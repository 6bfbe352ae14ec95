"""What counts as the same request, and how it is remembered."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from hashlib import blake2b
from secrets import token_bytes
from typing import Any, Literal
from urllib.parse import unquote_plus

from openoctopus.exceptions import InvalidRequest, SettingsError
from openoctopus.http import Request
from openoctopus.http.url import canonical
from openoctopus.plugins import Plugin
from openoctopus.settings import Names

#: How a scheduler remembers fingerprints: 64 or 128 bits each, or bits in a Bloom filter.
Memory = Literal["exact64", "exact128", "bloom"]

#: What ``request.meta["fingerprint"]`` may change for one request.
OPTIONS = frozenset({"ignore_query", "keep_parameters", "keep_fragment", "include_headers"})


class RFPDupeFilter(Plugin):
    """Two requests are the same when method, canonical URL, body, session and the chosen headers are.

    The canonical URL has its query sorted and no fragment. ``request.meta["fingerprint"]`` overrides it for one request: a
    text stands for the whole identity, a mapping changes options (``{"ignore_query": True}``).
    """

    memory: Memory = "exact64"

    def __init__(
        self,
        *,
        fingerprint_ignore_query: bool = False,
        fingerprint_keep_parameters: Names = (),
        fingerprint_keep_fragment: bool = False,
        fingerprint_include_headers: Names = (),
        fingerprint_bits: Literal[64, 128] = 64,
    ) -> None:
        if fingerprint_bits not in (64, 128):
            raise SettingsError(f"FINGERPRINT_BITS is 64 or 128, not {fingerprint_bits!r}")
        if fingerprint_bits == 128:
            self.memory = "exact128"
        self.ignore_query = fingerprint_ignore_query
        self.keep_parameters = frozenset(fingerprint_keep_parameters)
        self.keep_fragment = fingerprint_keep_fragment
        self.include_headers = _lowered(fingerprint_include_headers)
        self.size = fingerprint_bits // 8
        self.secret = token_bytes(16)
        self._plain = not (self.ignore_query or self.keep_parameters or self.include_headers)

    @property
    def secret(self) -> bytes:
        """The key of all fingerprints, so that nobody who writes links can craft one that hides another's page.

        A new one for each crawl; a scheduler that outlives the process keeps it.
        """
        return self._secret

    @secret.setter
    def secret(self, secret: bytes) -> None:
        self._secret = secret
        self._keyed = blake2b(digest_size=self.size, key=secret)

    def fingerprint(self, request: Request) -> int:
        """The identity of a request: a number that is never 0. Raises ``InvalidRequest`` for wrong options in its meta."""
        own = request._meta.get("fingerprint") if request._meta else None
        if isinstance(own, str):
            return self._hashed(b"\0" + own.encode("utf-8", "surrogatepass"))
        if own is None and self._plain:
            identity = canonical(request._parsed, keep_fragment=self.keep_fragment)
            if request.method != "GET":
                identity = f"{request.method}\n{identity}\n"
        else:
            identity = self._identity(request, own)
        if request.session:  # two accounts see two pages
            identity = f"\1{request.session}\0{identity}"
        encoded = identity.encode("utf-8", "surrogatepass")
        return self._hashed(b"%b\0%b" % (encoded, request.body) if request.body else encoded)

    def forced(self, parent: int, fingerprint: int, occurrence: int) -> int:
        """The identity of a ``dont_filter`` request: the same again only for the same place on the same page."""
        return self._hashed(b"\0\0%d %d %d" % (parent, fingerprint, occurrence))

    def _hashed(self, identity: bytes) -> int:
        hashed = self._keyed.copy()
        hashed.update(identity)
        return int.from_bytes(hashed.digest(), "little") or 1

    def _identity(self, request: Request, own: Any) -> str:
        """The identity by the options in force; written as without any where they change nothing for this request."""
        options = {} if own is None else _checked(own)
        url = _without_query(
            canonical(request._parsed, keep_fragment=options.get("keep_fragment", self.keep_fragment)),
            options.get("ignore_query", self.ignore_query),
            frozenset(_names(options.get("keep_parameters", self.keep_parameters))),
        )
        headers = ""
        if request._headers:
            names = _lowered(_names(options.get("include_headers", self.include_headers)))
            headers = "".join(f"{name}: {values}\n" for name in names if (values := request._headers.getlist(name)))
        return f"{request.method}\n{url}\n{headers}" if headers or request.method != "GET" else url


def _checked(options: Any) -> Mapping[str, Any]:
    if not isinstance(options, Mapping) or not options.keys() <= OPTIONS:
        known = ", ".join(sorted(OPTIONS))
        raise InvalidRequest(f'meta["fingerprint"] is a text or a mapping of {known}, not {options!r:.200}')
    return options


def _names(names: str | Collection[str]) -> Collection[str]:
    return (names,) if isinstance(names, str) else names


def _lowered(names: Collection[str]) -> list[str]:
    return sorted({name.lower() for name in names})


def _without_query(url: str, ignore_query: bool, keep: frozenset[str]) -> str:
    """The URL without its query, or with the named parameters only."""
    if not ignore_query and not keep:
        return url
    url, mark, fragment = url.partition("#")
    before, _, query = url.partition("?")
    kept = [part for part in query.split("&") if unquote_plus(part.partition("=")[0]) in keep] if keep else []
    return before + ("?" + "&".join(kept) if kept else "") + mark + fragment


class BloomDupeFilter(RFPDupeFilter):
    """The same identity, remembered in bounded memory: of ``bloom_capacity`` URLs a share of ``bloom_error_rate`` at most is
    wrongly taken for seen and never fetched; more URLs than that raise the share, and the log says so.
    """

    memory: Memory = "bloom"

    def __init__(self, *, bloom_capacity: int = 10_000_000, bloom_error_rate: float = 1e-6, **options: Any) -> None:
        super().__init__(**options)
        if bloom_capacity < 1 or not 0 < bloom_error_rate < 1:
            raise SettingsError(f"no Bloom filter holds {bloom_capacity} URLs with an error rate of {bloom_error_rate}")
        self.memory = "bloom"
        self.capacity = bloom_capacity
        self.error_rate = bloom_error_rate
