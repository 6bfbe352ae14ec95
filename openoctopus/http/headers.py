"""Header fields of a request or a response."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from typing import Any

from openoctopus.exceptions import InvalidRequest

_FORBIDDEN = re.compile("[\r\n\0]")
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")

HeaderValues = Mapping[str, Any] | Iterable[tuple[str, Any]]


class Headers(MutableMapping[str, str]):
    """Fields by name, whatever its case; duplicates and order are kept.

    Values are ``str`` whose characters are the field's bytes (latin-1), as they came. ``headers["X"]`` is the first value,
    ``getlist("X")`` all of them, ``raw`` the pairs in order. Setting ``None`` removes a field. CR, LF and NUL are refused
    with ``InvalidRequest`` (RFC 9110, 5.5).
    """

    __slots__ = ("raw",)

    def __init__(self, values: HeaderValues | None = None) -> None:
        #: (name, value) pairs in order, names as they were written.
        self.raw: list[tuple[str, str]] = []
        if values:
            pairs = values.items() if isinstance(values, Mapping) else values
            for name, value in pairs:
                self.add(name, value)

    @classmethod
    def received(cls, pairs: list[tuple[str, str]]) -> Headers:
        """Wrap the pairs of a response as they are."""
        headers = cls.__new__(cls)
        headers.raw = pairs
        return headers

    def add(self, name: str, value: Any) -> None:
        """Append a field, or several if ``value`` is a list."""
        if value is None:
            return
        if isinstance(value, list | tuple):
            for one in value:
                self.add(name, one)
            return
        self.raw.append((_checked_name(name), _checked_value(name, value)))

    def getlist(self, name: str) -> list[str]:
        """All values of a field, in order."""
        wanted = name.lower()
        return [value for key, value in self.raw if key.lower() == wanted]

    def get(self, name: str, default: Any = None) -> Any:
        wanted = name.lower()
        for key, value in self.raw:
            if key == name or key.lower() == wanted:
                return value
        return default

    def __getitem__(self, name: str) -> str:
        value = self.get(name)
        if value is None:
            raise KeyError(name)
        return str(value)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    def __setitem__(self, name: str, value: Any) -> None:
        wanted = name.lower()
        place = next((i for i, (key, _) in enumerate(self.raw) if key.lower() == wanted), len(self.raw))
        before, after = self.raw[:place], [pair for pair in self.raw[place:] if pair[0].lower() != wanted]
        self.raw = before
        self.add(name, value)
        self.raw += after

    def __delitem__(self, name: str) -> None:
        wanted = name.lower()
        kept = [pair for pair in self.raw if pair[0].lower() != wanted]
        if len(kept) == len(self.raw):
            raise KeyError(name)
        self.raw = kept

    def setdefault(self, name: str, default: Any = None) -> Any:
        value = self.get(name)
        if value is None:
            self.add(name, default)
            return default
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(key for key, _ in self.raw))

    def __len__(self) -> int:
        return len({key.lower() for key, _ in self.raw})

    def __eq__(self, other: object) -> bool:
        mine = [(key.lower(), value) for key, value in self.raw]
        if isinstance(other, Headers):
            return mine == [(key.lower(), value) for key, value in other.raw]
        return isinstance(other, Mapping) and sorted(mine) == sorted((key.lower(), value) for key, value in other.items())

    def __repr__(self) -> str:
        return f"Headers({self.raw!r})"

    def copy(self) -> Headers:
        return Headers.received(list(self.raw))


def _checked_name(name: Any) -> str:
    text = name.decode("latin-1") if isinstance(name, bytes) else str(name)
    if not _TOKEN.fullmatch(text):
        raise InvalidRequest(f"not a header name: {text!r}")
    return text


def _checked_value(name: str, value: Any) -> str:
    text = value.decode("latin-1") if isinstance(value, bytes) else str(value)
    if not text.isascii():
        try:
            text.encode("latin-1")
        except UnicodeEncodeError:
            text = text.encode("utf-8").decode("latin-1")
    if _FORBIDDEN.search(text):
        raise InvalidRequest(f"line break or NUL in the header {name}: {text[:80]!r}")
    return text.strip(" \t")
