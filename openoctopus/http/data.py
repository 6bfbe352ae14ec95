"""Data that can wait in a queue: what MessagePack would change the type of is marked, and comes back as it was."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, Flag
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
from itemadapter import ItemAdapter
from msgspec.msgpack import Ext
from pydantic import BaseModel

from openoctopus.exceptions import InvalidRequest
from openoctopus.items import Item, is_item, to_dict

#: How deep data may nest.
MAX_DEPTH = 100
#: Packages of the project, below which a class of an item may be imported; any other must have been imported before.
trusted_packages: set[str] = set()

#: Everything that bytes which nobody packed can raise when they are read.
FORGED = (
    msgspec.MsgspecError, ValueError, TypeError, AttributeError, NameError, LookupError, ArithmeticError, OSError,
    ImportError, SyntaxError, RuntimeError, AssertionError,
)  # fmt: skip

(TUPLE, SET, FROZENSET, DATE, DATETIME, TIME, TIMEDELTA, DECIMAL, BIG_INTEGER, OBJECT, ENUM, MAPPING, SURROGATES) = range(1, 14)

_SMALL = 1 << 63
_PLAIN = frozenset({float, bool, bytes, type(None)})
_encoder = msgspec.msgpack.Encoder()


def dumped(value: Any, where: str) -> bytes:
    """The value as bytes. Raises ``InvalidRequest`` that says which part below ``where`` cannot be kept."""
    try:
        return _encoder.encode(packed(value, where))
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InvalidRequest(f"{where} cannot be kept: {error}") from error


def loaded(data: bytes) -> Any:
    """The value that was dumped. Raises ``InvalidRequest`` for other bytes, and for a class that is no longer there."""
    try:
        return _decoder.decode(data)
    except FORGED as error:
        raise InvalidRequest(f"not what was kept: {error}") from error


def packed(value: Any, where: str) -> Any:
    """The value as MessagePack keeps it. Raises ``InvalidRequest`` that says which part below ``where`` cannot be kept."""
    try:
        return _pack(value, MAX_DEPTH)
    except (TypeError, ValueError, AttributeError) as error:
        raise InvalidRequest(f"{_place(value, where, MAX_DEPTH)} {error}") from None


def _place(value: Any, where: str, depth: int) -> str:
    """Where in a value the part is that cannot be kept."""
    for key, part in _parts(value):
        try:
            _pack(part, depth - 1)
        except (TypeError, ValueError, AttributeError):
            return _place(part, f"{where}[{key!r:.50}]", depth - 1) if len(where) < 80 else f"{where}..."
    return where


def _parts(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, dict | Item):
        yield from value.items()
    elif isinstance(value, list | tuple):
        yield from enumerate(value)
    elif is_item(value):
        yield from to_dict(value).items()


def _pack(value: Any, depth: int) -> Any:
    kind = type(value)
    if kind in _PLAIN:
        return value
    pack = _PACK.get(kind)
    if pack is None:
        return _pack_object(value, depth)
    if depth < 0:
        raise ValueError(f"nests deeper than {MAX_DEPTH}, or holds itself")
    return pack(value, depth)


def _pack_text(value: str, depth: int) -> Any:
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            return _extension(SURROGATES, value.encode("utf-8", "surrogatepass"))
    return value


def _pack_integer(value: int, depth: int) -> Any:
    if -_SMALL <= value < 2 * _SMALL:
        return value
    return _extension(BIG_INTEGER, value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True))


def _pack_dict(value: dict[Any, Any], depth: int) -> Any:
    made = {}
    for name, part in value.items():
        key = name if type(name) is str and name.isascii() else _pack(name, depth - 1)
        if type(key) is Ext:  # it cannot be the key of a dict
            return _extension(MAPPING, [[_pack(one, depth - 1) for one in pair] for pair in value.items()])
        made[key] = part if type(part) in _PLAIN else _pack(part, depth - 1)
    return made


def _pack_datetime(value: datetime, depth: int) -> Ext:
    return _extension(DATETIME, [value.isoformat(), *_zone(value)])


def _zone(value: datetime | time) -> tuple[str, int]:
    return (value.tzinfo.key or "") if isinstance(value.tzinfo, ZoneInfo) else "", value.fold


def _sequence(code: int) -> Callable[[Any, int], Ext]:
    return lambda value, depth: _extension(code, [_pack(part, depth - 1) for part in value])


_PACK: dict[type, Callable[[Any, int], Any]] = {
    str: _pack_text,
    int: _pack_integer,
    dict: _pack_dict,
    list: lambda value, depth: [_pack(part, depth - 1) for part in value],
    tuple: _sequence(TUPLE),
    set: _sequence(SET),
    frozenset: _sequence(FROZENSET),
    datetime: _pack_datetime,
    date: lambda value, depth: _extension(DATE, value.isoformat()),
    time: lambda value, depth: _extension(TIME, [value.isoformat(), *_zone(value)]),
    timedelta: lambda value, depth: _extension(TIMEDELTA, [value.days, value.seconds, value.microseconds]),
    Decimal: lambda value, depth: _extension(DECIMAL, str(value)),
}


def _pack_object(value: Any, depth: int) -> Any:
    kind = type(value)
    if isinstance(value, Enum):
        member = value.value if isinstance(value, Flag) else value.name
        return _extension(ENUM, [_path_of(kind), _pack(member, depth)])
    if isinstance(value, str):  # a string that remembers the node it came from
        return _pack_text(str(value), depth)
    if isinstance(value, BaseModel):
        return _extension(OBJECT, [_path_of(kind), _pack(value.__getstate__(), depth)])
    if isinstance(value, Item) or (is_item(value) and not isinstance(value, dict)):
        return _extension(OBJECT, [_path_of(kind), _pack(to_dict(value), depth)])
    raise TypeError(
        f"is a {kind.__module__}.{kind.__qualname__}, and only plain data, tuple, set, dates, Decimal, Enum and "
        "items can wait in a queue; keep such an object on the spider and put its name here"
    )


def _path_of(kind: type) -> str:
    path = f"{kind.__module__}:{kind.__qualname__}"
    if "<locals>" in path:
        raise TypeError(f"is of the class {kind.__qualname__}, which is made inside a function: move it to a module")
    if _found_at(path) is not kind:
        raise TypeError(f"is of the class {path}, which is not to be found by that name")
    return path


def _extension(code: int, data: Any) -> Ext:
    return Ext(code, _encoder.encode(data))


def unpacked(code: int, data: memoryview) -> Any:
    """What ``packed`` marked, as it was; the ``ext_hook`` of a decoder. Raises one of ``FORGED`` for anything else."""
    unpack = _UNPACK.get(code)
    if unpack is None:
        raise ValueError(f"unknown extension {code}")
    return unpack(_decoder.decode(data))


_decoder = msgspec.msgpack.Decoder(ext_hook=unpacked)


def _unpack_datetime(data: list[Any]) -> datetime:
    text, zone, fold = data
    value = datetime.fromisoformat(text).replace(fold=fold)
    return value.replace(tzinfo=ZoneInfo(zone)) if zone else value


def _unpack_time(data: list[Any]) -> time:
    text, zone, fold = data
    value = time.fromisoformat(text).replace(fold=fold)
    return value.replace(tzinfo=ZoneInfo(zone)) if zone else value


def _unpack_enum(data: list[Any]) -> Enum:
    path, member = data
    kind = _class_at(path)
    if issubclass(kind, Flag):
        return kind(member)
    if not issubclass(kind, Enum):
        raise ValueError(f"{path} is no Enum")
    return kind.__members__[member]


def _unpack_object(data: list[Any]) -> Any:
    """An item as it was: its constructor is not called again, since it may have done things to its arguments."""
    path, values = data
    kind = _class_at(path)
    if issubclass(kind, dict) or not ItemAdapter.is_item_class(kind):
        raise ValueError(f"{path} is no class of items")
    item = object.__new__(kind)
    fields = values["__dict__"] if isinstance(item, BaseModel) else values
    known = ItemAdapter.get_field_names_from_class(kind) or ()
    if not isinstance(fields, dict) or not set(known).issuperset(fields):
        raise ValueError(f"these are not the fields of {path}")
    if isinstance(item, BaseModel):
        item.__setstate__(values)
    elif isinstance(item, Item):
        item._values = fields
    else:
        for name, value in fields.items():
            object.__setattr__(item, name, value)  # frozen classes too
    return item


def _class_at(path: str) -> type:
    found = _found_at(path)
    if not isinstance(found, type):
        raise ValueError(f"{path!r:.200} is no class of the project")
    return found


def _found_at(path: str) -> Any:
    """What is there already, or what the project's packages have: what came by wire imports nothing else.

    Attributes are read from ``__dict__``, since a module's ``__getattr__`` may import.
    """
    module, _, names = path.partition(":")
    found: Any = sys.modules.get(module)
    if found is None and any(f"{module}.".startswith(f"{package}.") for package in trusted_packages):
        found = importlib.import_module(module)
    for name in names.split("."):
        found = vars(found).get(name) if found is not None else None
    return found


_UNPACK: dict[int, Callable[[Any], Any]] = {
    TUPLE: tuple,
    SET: set,
    FROZENSET: frozenset,
    DATE: date.fromisoformat,
    DATETIME: _unpack_datetime,
    TIME: _unpack_time,
    TIMEDELTA: lambda data: timedelta(*data),
    DECIMAL: Decimal,
    BIG_INTEGER: lambda data: int.from_bytes(data, "big", signed=True),
    OBJECT: _unpack_object,
    ENUM: _unpack_enum,
    MAPPING: dict,
    SURROGATES: lambda data: data.decode("utf-8", "surrogatepass"),
}


_decoder = msgspec.msgpack.Decoder(ext_hook=unpacked)
