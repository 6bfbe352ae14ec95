"""How a page is read: the spider's method, whatever its kind, and one by one what it yields."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import AsyncIterator, Callable, Iterator
from types import GeneratorType
from typing import Any

from openoctopus.exceptions import InvalidRequest, OctopusError
from openoctopus.http import Request
from openoctopus.items import is_item
from openoctopus.spider import Spider

#: A callback that yields for longer than this lets others in between, in seconds.
TURN = 0.05
#: So many results are taken before the clock is looked at.
GLANCE = 100


class Reader:
    """Knows the spider's methods by name, and reads what they give."""

    def __init__(self, spider: Spider, timeout: float) -> None:
        self.spider = spider
        self.timeout = timeout
        self._names: dict[Any, str] = {}
        self._methods: dict[str, Callable[..., Any]] = {}

    def name_of(self, callback: Any) -> str:
        """The name by which any worker finds this method again. Raises ``InvalidRequest`` for what has none."""
        if type(callback) is str:
            self.method(callback)
            return callback
        function = getattr(callback, "__func__", callback)
        try:
            return self._names[function]
        except (KeyError, TypeError):
            name = self._names[function] = self._find_name(callback)
            return name

    def _find_name(self, callback: Any) -> str:
        plain = getattr(callback, "__name__", "")
        private = [f"_{kind.__name__.lstrip('_')}{plain}" for kind in type(self.spider).__mro__] if plain else []
        for name in (plain, *private):
            if name and getattr(self.spider, name, None) == callback:
                return name
        raise InvalidRequest(
            f"{callback!r} is no method of {type(self.spider).__name__}: a request waits in a queue by the name of its "
            "callback; write a method, and give it what it needs in cb_kwargs"
        ) from None

    def method(self, name: str) -> Callable[..., Any]:
        """The spider's method of that name. Raises ``InvalidRequest`` if it has none."""
        method = self._methods.get(name)
        if method is None:
            method = getattr(self.spider, name, None)
            if not callable(method):
                raise InvalidRequest(f"{type(self.spider).__name__} has no method {name!r}")
            self._methods[name] = method
        return method

    async def results(self, found: Any) -> AsyncIterator[Any]:
        """What an asynchronous callback gives, one by one, each awaited for ``CALLBACK_TIMEOUT`` at most."""
        if inspect.isawaitable(found):
            async with asyncio.timeout(self.timeout):
                found = await found
        if hasattr(found, "__aiter__"):
            iterator = found.__aiter__()
            while True:
                try:
                    async with asyncio.timeout(self.timeout):
                        one = await iterator.__anext__()
                except StopAsyncIteration:
                    return
                yield one
        for one in plain_results(found):
            yield one


def is_asynchronous(found: Any) -> bool:
    """Whether what a callback returned has to be awaited."""
    if type(found) is GeneratorType:
        return False
    return hasattr(found, "__aiter__") or inspect.isawaitable(found)


def plain_results(found: Any) -> Iterator[Any]:
    """What a plain callback gave: nothing, one thing, or many."""
    if type(found) is GeneratorType:
        return found
    if found is None:
        return iter(())
    if isinstance(found, Request) or is_item(found):
        return iter((found,))
    try:
        if isinstance(found, str | bytes):
            raise TypeError
        return iter(found)
    except TypeError:
        raise OctopusError(f"the callback gave a {type(found).__name__}; it should give requests and items") from None


def check_item(found: object, giver: str) -> None:
    """Raises ``OctopusError`` for what is no item; ``giver`` is who gave it."""
    if not is_item(found):
        raise OctopusError(f"{giver} gave a {type(found).__name__}; it should give requests and items")


def refuse(found: Iterator[Any], error: InvalidRequest) -> Any:
    """Raise the error where the callback yielded what cannot be kept, so that its own line is told.

    A callback that catches it goes on; what it yields next is returned.
    """
    if not isinstance(found, GeneratorType):
        raise error
    try:
        return found.throw(error)
    except StopIteration:
        return None


class Turns:
    """Lets other pages in while one yields very much."""

    __slots__ = ("_count", "_since")

    def __init__(self) -> None:
        self._count = 0
        self._since = time.monotonic()

    def over(self) -> bool:
        """Whether it is time to let others in; cheap to ask after each result."""
        self._count += 1
        if self._count % GLANCE or time.monotonic() - self._since < TURN:
            return False
        self._since = time.monotonic()
        return True
