"""An item's values as a database can have them: a copy that later changes of the item do not reach."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Collection, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from math import isfinite
from typing import Any

from openoctopus.items import serializers, to_dict
from openoctopus.pipelines.sql.fitting import Unfit
from openoctopus.pipelines.sql.kinds import Nested
from openoctopus.pipelines.values import Unwritable
from openoctopus.pipelines.values import Values as JsonValues

#: Values that stay as they are.
PLAIN = frozenset({str, int, bool, type(None), datetime, date, time, bytes, Nested})


class Values:
    """Reads items. NaN and the infinities become NULL, with one warning: not every database has such numbers."""

    def __init__(self, columns: Collection[str] = ()) -> None:
        #: The fields to read; empty: all.
        self._columns = frozenset(columns)
        self._json = JsonValues({})
        self._serializers: dict[type, dict[str, Callable[[Any], Any]]] = {dict: {}}

    def of(self, item: Any) -> dict[str, Any]:
        """The item's own values, as their serializers want them. They may still change with the item."""
        kind = type(item)
        own = self._serializers.get(kind)
        if own is None:
            own = self._serializers[kind] = serializers(kind)
        values = to_dict(item)
        if own or self._columns:
            chosen = self._columns or values
            return {name: own[name](one) if name in own else one for name, one in values.items() if name in chosen}
        return values

    def frozen(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """A copy with values that ``kind_of`` knows. Raises ``TypeError`` that names the field at fault."""
        copy = {}
        for name, value in values.items():
            try:
                copy[name] = self.plain(value)
            except Unwritable as error:
                error.path.insert(0, name)
                raise
            except Unfit as error:
                raise Unfit(f"field {name}: {error}") from None
        return copy

    def plain(self, value: Any) -> Any:
        """A value that ``kind_of`` knows. Raises ``TypeError`` for what no database can have."""
        kind = type(value)
        if kind in PLAIN:
            return value
        rule = _RULES.get(kind)
        if rule is None:
            rule = _RULES[kind] = next((one for base, one in _BY_BASE if isinstance(value, base)), _nested)
        return rule(self, value)

    def json(self, value: Any) -> Any:
        """JSON data."""
        return self._json.plain(value)

    def is_number(self, value: Any, is_finite: bool) -> bool:
        if not is_finite:
            self._json.no_number(value)
        return is_finite


Rule = Callable[[Values, Any], Any]


def _float(values: Values, value: Any) -> float | None:
    number = float(value)
    return number if values.is_number(value, isfinite(number)) else None


def _decimal(values: Values, value: Decimal) -> Decimal | None:
    return Decimal(value) if values.is_number(value, value.is_finite()) else None


def _nested(values: Values, value: Any) -> Any:
    try:
        data = values.json(value)
    except RecursionError:
        raise Unfit("it nests too deep, or holds itself") from None
    return Nested(data) if isinstance(data, dict | list) else data


#: What keeps its type, subclasses too; everything else becomes JSON data. The first that fits decides.
_BY_BASE: tuple[tuple[type | tuple[type, ...], Rule], ...] = (
    (Enum, lambda values, value: values.plain(value.value)),
    (Decimal, _decimal),
    (numbers.Integral, lambda values, value: int(value)),
    (numbers.Real, _float),
    (datetime, lambda values, value: datetime.combine(value.date(), value.timetz())),
    (date, lambda values, value: date(value.year, value.month, value.day)),
    (time, lambda values, value: time.fromisoformat(value.isoformat())),
    ((bytes, bytearray, memoryview), lambda values, value: bytes(value)),
)
_RULES: dict[type, Rule] = {float: _float, dict: _nested, list: _nested, tuple: _nested}
