"""How a request is frozen into bytes, so that it can wait in any queue and be carried by any worker.

Every scheduler uses it, the one in memory too, so that nothing changes its type only because a crawl grew.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
from itemadapter import ItemAdapter

from openoctopus.exceptions import InvalidRequest
from openoctopus.http.headers import Headers
from openoctopus.http.request import Request
from openoctopus.items import Item, is_item

#: Raised when the layout of ``Frozen`` changes; an entry of another version becomes a failed entry.
VERSION = 1

#: How deep data may nest in ``meta`` and ``cb_kwargs``.
MAX_DEPTH = 100

TUPLE, SET, FROZENSET, DATE, DATETIME, TIME, TIMEDELTA, DECIMAL, BIG_INTEGER, OBJECT, ENUM = range(1, 12)


class Frozen(msgspec.Struct, omit_defaults=True, rename={"version": "v", "url": "u", "callback": "c", "method": "m",
             "headers": "h", "body": "b", "cookies": "k", "meta": "t", "cb_kwargs": "a", "errback": "e", "priority": "p",
             "dont_filter": "f", "encoding": "n", "session": "s", "downloader": "d", "depth": "l"}):  # fmt: skip
    """A request as it waits: MessagePack, defaults left out."""

    url: str
    callback: str = ""
    method: str = "GET"
    headers: list[tuple[str, str]] | None = None
    body: bytes = b""
    cookies: Any = None
    meta: dict[str, Any] | None = None
    cb_kwargs: dict[str, Any] | None = None
    errback: str = ""
    priority: int = 0
    dont_filter: bool = False
    encoding: str = "utf-8"
    session: str = ""
    downloader: str = ""
    depth: int = 0
    version: int = VERSION


_encoder = msgspec.msgpack.Encoder()

#: Turns a callback, as it was given to a request, into the name of the spider's method.
NameOf = Callable[[Any], str]


def freeze(request: Request, name_of: NameOf) -> bytes:
    """The request as bytes. Raises ``InvalidRequest`` that names the field which cannot be kept."""
    try:
        return _encoder.encode(
            Frozen(
                request._parsed.href,
                name_of(request.callback) if request.callback is not None else "",
                request.method,
                request._headers.raw if request._headers else None,
                request.body,
                _pack(request.cookies, "cookies", 0) if request.cookies else None,
                _pack_fields(request._meta, "meta") if request._meta else None,
                _pack_fields(request._cb_kwargs, "cb_kwargs") if request._cb_kwargs else None,
                name_of(request.errback) if request.errback is not None else "",
                request.priority,
                request.dont_filter,
                request.encoding,
                request.session,
                request.downloader,
                request.depth,
            )
        )
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidRequest(f"{request} cannot be kept: {error}") from error


def thaw(data: bytes) -> Request:
    """The request that was frozen. Raises ``InvalidRequest`` for what is no frozen request of this version."""
    try:
        frozen = _decoder.decode(data)
    except (msgspec.MsgspecError, ValueError, TypeError, AttributeError, ImportError, RecursionError) as error:
        raise InvalidRequest(f"not a frozen request: {error}") from error
    if frozen.version != VERSION:
        raise InvalidRequest(f"a request frozen by layout {frozen.version}, this is layout {VERSION}")
    request = Request(
        frozen.url, frozen.callback or None, frozen.method, None, frozen.body, frozen.cookies, frozen.meta,
        frozen.cb_kwargs, frozen.errback or None, frozen.priority, frozen.dont_filter, frozen.encoding,
        session=frozen.session, downloader=frozen.downloader,
    )  # fmt: skip
    if frozen.headers:
        request._headers = Headers.received(frozen.headers)
    request.depth = frozen.depth
    return request


def _pack_fields(fields: Mapping[str, Any], where: str) -> dict[str, Any]:
    return {name: _pack(value, f"{where}[{name!r}]", 0) for name, value in fields.items()}


_PLAIN = frozenset({str, float, bool, bytes, type(None)})
_SMALL = 1 << 63


def _pack(value: Any, where: str, depth: int) -> Any:
    """Replace what MessagePack would change the type of by an extension."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is int:
        return value if -_SMALL <= value < 2 * _SMALL else _extension(BIG_INTEGER, str(value))
    if depth > MAX_DEPTH:
        raise ValueError(f"{where} nests deeper than {MAX_DEPTH}, or holds itself")
    if kind is dict:
        return {_pack(k, where, depth + 1): _pack(v, f"{where}[{k!r}]", depth + 1) for k, v in value.items()}
    if kind is list:
        return [_pack(one, f"{where}[{i}]", depth + 1) for i, one in enumerate(value)]
    special = _SPECIAL.get(kind)
    if special is not None:
        return special(value, where, depth)
    return _pack_object(value, where, depth)


def _pack_object(value: Any, where: str, depth: int) -> Any:
    if isinstance(value, Enum):
        return _extension(ENUM, [_path_of(type(value), where), value.name])
    if isinstance(value, str):  # a string that remembers the node it came from
        return str(value)
    if isinstance(value, Item):
        return _extension(OBJECT, [_path_of(type(value), where), _pack(value._values, where, depth + 1)])
    if is_item(value) or (is_dataclass(value) and not isinstance(value, type)):
        fields = dict(ItemAdapter(value))
        return _extension(OBJECT, [_path_of(type(value), where), _pack(fields, where, depth + 1)])
    raise TypeError(
        f"{where} is a {type(value).__module__}.{type(value).__qualname__}, and only plain data, tuple, set, dates, Decimal, "
        "Enum and items can wait in a queue; keep such an object on the spider and put its name here"
    )


def _path_of(kind: type, where: str) -> str:
    if "<locals>" in kind.__qualname__:
        raise TypeError(f"{where} is of the class {kind.__qualname__}, which is made inside a function: move it to a module")
    return f"{kind.__module__}:{kind.__qualname__}"


def _extension(code: int, data: Any) -> msgspec.msgpack.Ext:
    return msgspec.msgpack.Ext(code, _encoder.encode(data))


def _pack_datetime(value: datetime, where: str, depth: int) -> msgspec.msgpack.Ext:
    zone = value.tzinfo.key if isinstance(value.tzinfo, ZoneInfo) else ""
    return _extension(DATETIME, [value.isoformat(), zone, value.fold])


def _sequence(code: int) -> Callable[[Any, str, int], msgspec.msgpack.Ext]:
    return lambda value, where, depth: _extension(code, [_pack(one, where, depth + 1) for one in value])


_SPECIAL: dict[type, Callable[[Any, str, int], msgspec.msgpack.Ext]] = {
    tuple: _sequence(TUPLE),
    set: _sequence(SET),
    frozenset: _sequence(FROZENSET),
    datetime: _pack_datetime,
    date: lambda value, where, depth: _extension(DATE, value.isoformat()),
    time: lambda value, where, depth: _extension(TIME, value.isoformat()),
    timedelta: lambda value, where, depth: _extension(TIMEDELTA, [value.days, value.seconds, value.microseconds]),
    Decimal: lambda value, where, depth: _extension(DECIMAL, str(value)),
}


def _unpack_datetime(data: list[Any]) -> datetime:
    value = datetime.fromisoformat(data[0]).replace(fold=data[2])
    return value.replace(tzinfo=ZoneInfo(data[1])) if data[1] else value


def _unpack_object(data: list[Any]) -> Any:
    """An item of one of the project's classes: imported by its path, and only if it is an item class."""
    path, fields = data
    kind = _class_at(path)
    if issubclass(kind, Item):
        return kind(fields)
    if not (ItemAdapter.is_item_class(kind) and isinstance(fields, dict)):
        raise ValueError(f"{path} is no item class")
    return kind(**fields)


def _unpack_enum(data: list[str]) -> Any:
    kind = _class_at(data[0])
    if not issubclass(kind, Enum):
        raise ValueError(f"{data[0]} is no Enum")
    return kind[data[1]]


def _class_at(path: str) -> type:
    module, _, name = path.partition(":")
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    if not isinstance(found, type):
        raise ValueError(f"{path} is no class")
    return found


_UNPACK: dict[int, Callable[[Any], Any]] = {
    TUPLE: tuple,
    SET: set,
    FROZENSET: frozenset,
    DATE: date.fromisoformat,
    DATETIME: _unpack_datetime,
    TIME: time.fromisoformat,
    TIMEDELTA: lambda data: timedelta(*data),
    DECIMAL: Decimal,
    BIG_INTEGER: int,
    OBJECT: _unpack_object,
    ENUM: _unpack_enum,
}


def _unpack(code: int, data: memoryview) -> Any:
    if code not in _UNPACK:
        raise ValueError(f"unknown extension {code}")
    return _UNPACK[code](_any_decoder.decode(data))


_any_decoder = msgspec.msgpack.Decoder(ext_hook=_unpack)
_decoder = msgspec.msgpack.Decoder(Frozen, ext_hook=_unpack)
