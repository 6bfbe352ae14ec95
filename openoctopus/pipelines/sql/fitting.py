"""How a value becomes one of its column, or is refused: nothing is changed so that it fits."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from math import isfinite
from typing import Any

from openoctopus.exceptions import RefusedItem
from openoctopus.pipelines.sql.kinds import Kind, Nested
from openoctopus.pipelines.values import encode, mended

_LARGEST = 1 << 63
#: No database has more digits that would be of use.
_DIGITS = 1000
#: A whole number as it is written; leading zeros mean something, so "007" is none.
_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]*)")
_MIDNIGHT = time(tzinfo=UTC)


class Unfit(RefusedItem, TypeError):
    """The item has no place in its table."""


def no_fit(value: Any, kind: Kind) -> Unfit:
    shown = value.data if type(value) is Nested else value
    try:
        return Unfit(f"{shown!r:.60} is no {kind.value}, as its column wants it")
    except ValueError:  # the digits are too many for Python to write
        return Unfit(f"a number of {shown.bit_length()} bits is no {kind.value}, as its column wants it")


def as_text(value: Any) -> str:
    """Text. Half of a surrogate pair becomes U+FFFD; other values are written as text."""
    text: str = value if type(value) is str else _written(value)
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return str(mended(text))
    return text


def _written(value: Any) -> str:
    if value is None:
        raise no_fit(value, Kind.TEXT)
    if type(value) is Nested:
        return as_nested(value)
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise no_fit(value, Kind.TEXT) from None
    try:
        return str(value)
    except ValueError:
        raise no_fit(value, Kind.TEXT) from None


def as_integer(value: Any) -> int:
    number: int = value if type(value) is int else as_wide(value)
    if not -_LARGEST <= number < _LARGEST:
        raise no_fit(value, Kind.INTEGER)
    return number


def as_wide(value: Any) -> int:
    is_whole = _IS_WHOLE.get(type(value))
    if is_whole is None or not is_whole(value):
        raise no_fit(value, Kind.INTEGER)
    return int(value)


_IS_WHOLE: dict[type, Callable[[Any], Any]] = {
    int: lambda value: value.bit_length() < 3 * _DIGITS,
    bool: lambda value: True,
    str: lambda value: len(value) <= _DIGITS and _WHOLE.fullmatch(value),
    float: float.is_integer,
    Decimal: lambda value: value.adjusted() <= _DIGITS and value == value.to_integral_value(),
}


def as_float(value: Any) -> float:
    if type(value) is float:
        return value
    try:
        number = float(value) if type(value) in (int, bool, str, Decimal) else float("nan")
    except (ValueError, OverflowError):
        raise no_fit(value, Kind.FLOAT) from None
    if not isfinite(number):
        raise no_fit(value, Kind.FLOAT)
    return number


def as_decimal(value: Any) -> Decimal:
    if type(value) is Decimal:
        return value
    try:
        number = Decimal(repr(value) if type(value) is float else value) if type(value) in (int, str, bool, float) else None
    except (InvalidOperation, ValueError):
        number = None
    if number is None or not number.is_finite():
        raise no_fit(value, Kind.DECIMAL)
    return number


def as_boolean(value: Any) -> bool:
    if type(value) is bool or (type(value) is int and value in (0, 1)):
        return bool(value)
    raise no_fit(value, Kind.BOOLEAN)


def as_datetime(value: Any) -> datetime:
    """In UTC; one without a zone is taken as UTC."""
    if type(value) is str:
        value = _from_iso(datetime, value, Kind.DATETIME)
    if type(value) is date:
        return datetime.combine(value, _MIDNIGHT)
    if type(value) is not datetime:
        raise no_fit(value, Kind.DATETIME)
    try:
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except OverflowError:
        raise no_fit(value, Kind.DATETIME) from None


def as_naive_datetime(value: Any) -> datetime:
    """In UTC, without saying so."""
    return as_datetime(value).replace(tzinfo=None)


def as_date(value: Any) -> date:
    if type(value) is str:
        value = _from_iso(date, value, Kind.DATE)
    if type(value) is not date:
        raise no_fit(value, Kind.DATE)
    return value


def as_time(value: Any) -> time:
    if type(value) is str:
        value = _from_iso(time, value, Kind.TIME)
    if type(value) is not time or value.tzinfo is not None:
        raise no_fit(value, Kind.TIME)
    return value


def _from_iso(kind: Any, value: str, column: Kind) -> Any:
    try:
        return kind.fromisoformat(value)
    except ValueError:
        raise no_fit(value, column) from None


def as_bytes(value: Any) -> bytes:
    if type(value) is str:
        return as_text(value).encode()
    if type(value) is not bytes:
        raise no_fit(value, Kind.BYTES)
    return value


def as_nested(value: Any) -> str:
    """JSON. A single value may stand where others are lists or mappings."""
    data = value.data if type(value) is Nested else value
    if data is None:
        raise no_fit(value, Kind.NESTED)
    if type(data) not in (str, int, float, bool, list, dict):
        data = _written(data)
    try:
        return encode(data).decode()
    except UnicodeEncodeError:
        return encode(mended(data)).decode()


def as_it_is(value: Any) -> Any:
    if type(value) is Nested:
        return value.data
    return as_text(value) if type(value) is str else value


Fit = Callable[[Any], Any]

#: What every database starts from.
FIT: dict[Kind, Fit] = {
    Kind.TEXT: as_text,
    Kind.INTEGER: as_integer,
    Kind.WIDE: as_wide,
    Kind.FLOAT: as_float,
    Kind.DECIMAL: as_decimal,
    Kind.BOOLEAN: as_boolean,
    Kind.DATETIME: as_datetime,
    Kind.DATE: as_date,
    Kind.TIME: as_time,
    Kind.BYTES: as_bytes,
    Kind.NESTED: as_nested,
    Kind.OTHER: as_it_is,
}
