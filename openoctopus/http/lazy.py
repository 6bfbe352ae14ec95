"""Values that are found when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")


class lazy(Generic[Value]):  # noqa: N801  # used as a decorator, like property
    """As ``functools.cached_property``, without the lock that it takes before Python 3.12."""

    def __init__(self, find: Callable[[Any], Value]) -> None:
        self.find = find
        self.__doc__ = find.__doc__

    def __get__(self, instance: Any, owner: type[Any]) -> Value:
        if instance is None:
            return self  # type: ignore[return-value]
        value = instance.__dict__[self.find.__name__] = self.find(instance)
        return value
