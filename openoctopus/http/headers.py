"""Header fields of a request or a response."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from functools import lru_cache
from typing import Any

from openoctopus.exceptions import InvalidRequest

_CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f]")
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")

HeaderValues = Mapping[str, Any] | Iterable[tuple[str, Any]]


class Headers(MutableMapping[str, str]):
    """Fields by name, whatever its case; duplicates and order are kept.

    Values are ``str`` whose characters are the field's bytes (latin-1), as they came; text beyond latin-1 becomes UTF-8.
    ``headers["X"]`` is the first value, ``getlist("X")`` all of them, ``raw`` the pairs in order. Setting ``None`` removes
    a field, setting a list repeats it. Control characters are refused with ``InvalidRequest`` (RFC 9110, 5.5).
    """

    __slots__ = ("raw",)

    def __init__(self, values: HeaderValues | None = None) -> None:
        #: (name, value) pairs in order, names as they were written.
        self.raw: list[tuple[str, str]] = []
        if values:
            for name, value in _pairs(values):
                self.add(name, value)

    @classmethod
    def received(cls, pairs: list[tuple[str, str]]) -> Headers:
        """Wrap the pairs of a response as they are."""
        headers = cls.__new__(cls)
        headers.raw = pairs
        return headers

    def add(self, name: str, value: Any) -> None:
        """Append a field, or several if ``value`` is a list."""
        if type(value) is str and value.isascii() and value.isprintable():
            self.raw.append((_checked_name(name), value.strip(" ")))
        elif isinstance(value, list | tuple):
            for one in value:
                self.add(name, one)
        elif value is not None:
            self.raw.append((_checked_name(name), _checked_value(name, value)))

    def getlist(self, name: str) -> list[str]:
        """All values of a field, in order."""
        wanted = name.lower()
        return [value for key, value in self.raw if key.lower() == wanted]

    def get(self, name: str, default: Any = None) -> Any:
        wanted, length = name.lower(), len(name)
        for key, value in self.raw:
            if len(key) == length and key.lower() == wanted:
                return value
        return default

    def __getitem__(self, name: str) -> str:
        value: str | None = self.get(name)
        if value is None:
            raise KeyError(name)
        return value

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    def __setitem__(self, name: str, value: Any) -> None:
        """The field keeps the place that it had."""
        wanted = name.lower()
        added = Headers([(name, value)]).raw
        place = next((i for i, (key, _) in enumerate(self.raw) if key.lower() == wanted), len(self.raw))
        after = [pair for pair in self.raw[place:] if pair[0].lower() != wanted]
        self.raw[place:] = added + after

    def __delitem__(self, name: str) -> None:
        if name not in self:
            raise KeyError(name)
        self[name] = None

    def setdefault(self, name: str, default: Any = None) -> Any:
        if name not in self:
            self.add(name, default)
        return self.get(name)

    def __iter__(self) -> Iterator[str]:
        """Each name once, as it was first written."""
        names: dict[str, str] = {}
        for key, _ in self.raw:
            names.setdefault(key.lower(), key)
        return iter(names.values())

    def __len__(self) -> int:
        return len({key.lower() for key, _ in self.raw})

    def __bool__(self) -> bool:
        return bool(self.raw)

    def __eq__(self, other: object) -> bool:
        """Equal to other headers in the same order, and to a mapping that has the same fields."""
        mine = [(key.lower(), value) for key, value in self.raw]
        if isinstance(other, Headers):
            return mine == [(key.lower(), value) for key, value in other.raw]
        return isinstance(other, Mapping) and sorted(mine) == sorted((str(key).lower(), value) for key, value in other.items())

    __hash__ = None  # type: ignore[assignment]  # a mapping that changes

    def __repr__(self) -> str:
        return f"Headers({self.raw!r})"

    def copy(self) -> Headers:
        return Headers.received(list(self.raw))


def _pairs(values: HeaderValues) -> Iterable[tuple[str, Any]]:
    if type(values) is dict:
        return values.items()
    if isinstance(values, Headers):
        return values.raw
    if isinstance(values, Mapping):
        return values.items()
    try:
        if not isinstance(values, str | bytes):
            return [(name, value) for name, value in values]
    except (TypeError, ValueError):
        pass
    raise InvalidRequest(f"headers are a mapping or (name, value) pairs, not {values!r:.200}")


@lru_cache(maxsize=1024)
def _checked_name(name: Any) -> str:
    text = name.decode("latin-1") if isinstance(name, bytes) else name
    if not isinstance(text, str) or not _TOKEN.fullmatch(text):
        raise InvalidRequest(f"not a header name: {name!r:.200}")
    return text


def _checked_value(name: str, value: Any) -> str:
    if not isinstance(value, str | bytes | int | float):
        raise InvalidRequest(f"the header {name} is text or a number, not {value!r:.200}")
    text = value.decode("latin-1") if isinstance(value, bytes) else str(value)
    try:
        text.encode("latin-1")
    except UnicodeEncodeError:
        text = text.encode("utf-8", "replace").decode("latin-1")
    if _CONTROL.search(text):
        raise InvalidRequest(f"control character in the header {name}: {text[:80]!r}")
    return text.strip(" \t")
