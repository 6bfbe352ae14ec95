"""What sort of column a value needs, seen from the value or from what its class declares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints
from uuid import UUID

import msgspec
from itemadapter import ItemAdapter
from pydantic import BaseModel

from openoctopus.items import field_names


class Kind(Enum):
    """The sorts of columns."""

    TEXT = "text"
    #: Of 64 bits at most.
    INTEGER = "whole number"
    #: A whole number of any size.
    WIDE = "large whole number"
    FLOAT = "number"
    DECIMAL = "decimal number"
    BOOLEAN = "true or false"
    DATETIME = "date and time"
    DATE = "date"
    TIME = "time"
    BYTES = "bytes"
    #: Lists and mappings, as JSON.
    NESTED = "list or mapping"
    #: A column of an existing table of which nothing is known; the database judges.
    OTHER = "other"


class Nested(NamedTuple):
    """JSON data: a list or a mapping."""

    data: Any


_LARGEST = 1 << 63
_KINDS: dict[type, Kind] = {
    str: Kind.TEXT, float: Kind.FLOAT, bool: Kind.BOOLEAN, Decimal: Kind.DECIMAL, datetime: Kind.DATETIME, date: Kind.DATE,
    bytes: Kind.BYTES, Nested: Kind.NESTED,
}  # fmt: skip
_NUMBERS = (Kind.BOOLEAN, Kind.INTEGER, Kind.WIDE, Kind.DECIMAL)
_APPROXIMATE = {frozenset({Kind.FLOAT, Kind.BOOLEAN}), frozenset({Kind.FLOAT, Kind.INTEGER})}
_EXACT = {frozenset({Kind.FLOAT, Kind.WIDE}), frozenset({Kind.FLOAT, Kind.DECIMAL})}


def kind_of(value: Any) -> Kind | None:
    """The column that a value needs, as ``Values`` gives it; ``None`` needs none."""
    if value is None:
        return None
    if type(value) is int:
        return Kind.INTEGER if -_LARGEST <= value < _LARGEST else Kind.WIDE
    if type(value) is time:
        return Kind.TIME if value.tzinfo is None else Kind.TEXT
    return _KINDS[type(value)]


def joined(kinds: Iterable[Kind | None]) -> Kind | None:
    """The narrowest column that holds all of them."""
    found: Kind | None = None
    for kind in kinds:
        if found is None:
            found = kind
        elif kind is not None and kind is not found:
            found = _both(found, kind)
    return found


def _both(one: Kind, other: Kind) -> Kind:
    pair = frozenset({one, other})
    if pair <= set(_NUMBERS):
        return max(one, other, key=_NUMBERS.index)
    if pair in _APPROXIMATE:
        return Kind.FLOAT
    if pair in _EXACT:
        return Kind.DECIMAL
    if pair == {Kind.DATE, Kind.DATETIME}:
        return Kind.DATETIME
    if Kind.NESTED in pair:
        return Kind.NESTED
    return Kind.BYTES if pair == {Kind.BYTES, Kind.TEXT} else Kind.TEXT


def declared(item_class: type) -> dict[str, Kind | None]:
    """The fields of an item class in order, and the columns that their annotations or ``Field(type=...)`` ask for.

    ``None`` where only a value can tell.
    """
    return {name: kind_of_type(wanted) for name, wanted in _types(item_class).items()}


def _types(item_class: type) -> Mapping[str, Any]:
    if issubclass(item_class, BaseModel):
        return {name: field.annotation for name, field in item_class.model_fields.items()}
    try:
        hints = get_type_hints(item_class)
    except (NameError, TypeError):  # an annotation that is there for type checkers only
        hints = {}
    names = field_names(item_class)
    told = {name: ItemAdapter.get_field_meta_from_class(item_class, name).get("type") for name in names}
    return {name: told[name] or hints.get(name) for name in names}


def kind_of_type(wanted: Any) -> Kind | None:
    """The column for values of a type; ``None`` where only a value can tell."""
    origin = get_origin(wanted)
    if origin is Annotated:
        return kind_of_type(get_args(wanted)[0])
    if origin is Literal:
        return joined(_kind_of_class(type(value)) for value in get_args(wanted))
    if origin is Union or origin is UnionType:
        kinds = [kind_of_type(one) for one in get_args(wanted) if one is not NoneType]
        return None if None in kinds else joined(kinds)
    wanted = origin or wanted
    return _kind_of_class(wanted) if isinstance(wanted, type) else None


#: The first that fits decides.
_BY_BASE: tuple[tuple[tuple[type, ...], Kind], ...] = (
    ((bool,), Kind.BOOLEAN),
    ((int,), Kind.INTEGER),
    ((float, timedelta), Kind.FLOAT),
    ((Decimal,), Kind.DECIMAL),
    ((datetime,), Kind.DATETIME),
    ((date,), Kind.DATE),
    ((time,), Kind.TIME),
    ((str, UUID, PurePath), Kind.TEXT),
    ((bytes, bytearray, memoryview), Kind.BYTES),
    ((Mapping, Sequence, Set, msgspec.Struct), Kind.NESTED),
)


def _kind_of_class(wanted: type) -> Kind | None:
    if issubclass(wanted, Enum):
        return joined(_kind_of_class(type(member.value)) for member in wanted)
    for bases, kind in _BY_BASE:
        if issubclass(wanted, bases):
            return kind
    return Kind.NESTED if ItemAdapter.is_item_class(wanted) else None
