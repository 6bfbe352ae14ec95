"""What a value becomes in a store: JSON data, by one table of rules."""

from __future__ import annotations

import logging
import numbers
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence, Set
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from math import isfinite
from pathlib import PurePath
from typing import Any
from uuid import UUID

import msgspec
from itemadapter import ItemAdapter

from openoctopus.items import serializers, to_dict

logger = logging.getLogger(__name__)

#: JSON as it stands in a file: no spaces, text unescaped.
encode = msgspec.json.Encoder().encode

_AS_IS = frozenset({str, int, bool, type(None)})


class Unwritable(TypeError):
    """A value that has no place in a file of items."""

    def __init__(self, value: object) -> None:
        super().__init__()
        self.kind = f"{type(value).__module__}.{type(value).__qualname__}"
        #: Where it stands: the field, then the keys and places inside.
        self.path: list[Any] = []

    def __str__(self) -> str:
        field, *inside = self.path or ["?"]
        where = "".join(f"[{step!r}]" for step in inside)
        return f"field {field}{where}: a {self.kind} cannot be written; give text, numbers, lists or mappings"


class Values:
    """Turns items into JSON data: a copy that later changes of the item do not reach.

    NaN and the infinities become null, with one warning: JSON has no such numbers.
    """

    def __init__(self, fields: Mapping[str, str]) -> None:
        #: The fields to write, and the names they are written under; empty: all.
        self._fields = fields
        self._serializers: dict[type, dict[str, Callable[[Any], Any]]] = {dict: {}}
        self._told = False

    def of(self, item: Any) -> dict[str, Any]:
        """The item as a mapping of JSON data. Raises ``TypeError`` that names the field at fault."""
        values = self._own(item)
        if self._fields:
            values = {title: values[name] for name, title in self._fields.items() if name in values}
        try:
            return _mapping(self, values)
        except RecursionError:
            raise TypeError("the item nests too deep, or holds itself") from None

    def plain(self, value: Any) -> Any:
        """One value as JSON data."""
        kind = type(value)
        if kind in _AS_IS:
            return value
        rule = _RULES.get(kind)
        if rule is None:
            rule = _RULES[kind] = _rule_for(kind)
        return rule(self, value)

    def _own(self, item: Any) -> Mapping[Any, Any]:
        """The item's fields, as their serializers want them."""
        kind = type(item)
        own = self._serializers.get(kind)
        if own is None:
            own = self._serializers[kind] = serializers(kind)
        values = to_dict(item)
        return {name: own[name](value) if name in own else value for name, value in values.items()} if own else values

    def no_number(self, value: object) -> None:
        """Say once that a number was left out."""
        if not self._told:
            self._told = True
            logger.warning("a value of %s is no number that JSON knows: it is written as null, and so are all like it", value)


def mended(data: Any) -> Any:
    """JSON data whose texts can be encoded: half of a surrogate pair becomes U+FFFD."""
    if isinstance(data, str):
        return data.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(data, dict):
        return {mended(name): mended(value) for name, value in data.items()}
    if isinstance(data, list):
        return [mended(value) for value in data]
    return data


def _mapping(values: Values, given: Mapping[Any, Any]) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for name, value in given.items():
        try:
            title = name if type(name) is str else _title(values, name)
            data[title] = value if type(value) in _AS_IS else values.plain(value)
        except Unwritable as error:
            error.path.insert(0, name)
            raise
    if len(data) < len(given):
        raise TypeError(f"two names are the same in a file: {', '.join(map(repr, given))}")
    return data


def _title(values: Values, name: Any) -> str:
    """A name as JSON has it: text, or what else is a single value, written as text."""
    data = values.plain(name)
    if isinstance(data, dict | list):
        raise Unwritable(name)
    return data if isinstance(data, str) else encode(data).decode()


def _sequence(values: Values, given: Any) -> list[Any]:
    data: list[Any] = []
    try:
        for value in given:
            data.append(value if type(value) in _AS_IS else values.plain(value))
    except Unwritable as error:
        error.path.insert(0, len(data))
        raise
    return data


def _set(values: Values, given: Any) -> list[Any]:
    """In order where there is one, so that two runs give the same file."""
    data = _sequence(values, given)
    try:
        return sorted(data)
    except TypeError:
        return data


def _float(values: Values, value: Any) -> float | None:
    if isfinite(value):
        return float(value)
    values.no_number(value)
    return None


def _decimal(values: Values, value: Decimal) -> str | None:
    if value.is_finite():
        return str(value)
    values.no_number(value)
    return None


def _bytes(values: Values, value: Any) -> str:
    data = bytes(value)
    try:
        return data.decode()
    except UnicodeDecodeError:
        return b64encode(data).decode()


def _refuse(values: Values, value: Any) -> Any:
    raise Unwritable(value)


Rule = Callable[[Values, Any], Any]

#: The first that fits decides.
_BY_BASE: tuple[tuple[tuple[type, ...], Rule], ...] = (
    ((Enum,), lambda values, value: values.plain(value.value)),
    ((str, UUID, PurePath), lambda values, value: str(value)),
    ((numbers.Integral,), lambda values, value: int(value)),
    ((numbers.Real,), _float),
    ((Decimal,), _decimal),
    ((bytes, bytearray, memoryview), _bytes),
    ((date, time), lambda values, value: value.isoformat()),
    ((timedelta,), lambda values, value: value.total_seconds()),
    ((msgspec.Struct,), lambda values, value: _mapping(values, msgspec.structs.asdict(value))),
)
_BY_SHAPE: tuple[tuple[type, Rule], ...] = ((Mapping, _mapping), (Set, _set), (Sequence, _sequence))


def _rule_for(kind: type) -> Rule:
    for bases, rule in _BY_BASE:
        if issubclass(kind, bases):
            return rule
    if not issubclass(kind, dict) and ItemAdapter.is_item_class(kind):
        return lambda values, value: _mapping(values, values._own(value))
    for base, rule in _BY_SHAPE:
        if issubclass(kind, base):
            return rule
    return _refuse


_RULES: dict[type, Rule] = {float: _float, dict: _mapping, list: _sequence, tuple: _sequence}
