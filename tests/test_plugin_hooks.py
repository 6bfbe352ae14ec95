"""A plug-in's hooks: of any shape that a user may write, and free of charge where there is none."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from openoctopus.exceptions import SettingsError
from openoctopus.pipelines import ItemPipeline
from openoctopus.plugins import hook, overrides


def traced(function: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator as users write it."""

    @functools.wraps(function)
    def wrapper(*args: Any, **keywords: Any) -> Any:
        return function(*args, **keywords)

    return wrapper


class Marker:
    def __call__(self, item: Any, spider: Any) -> Any:
        return (item, spider)


class AsyncMarker:
    async def __call__(self, item: Any) -> Any:
        return (item, None)


class WithSpider(ItemPipeline):
    def process_item(self, item: Any, spider: Any) -> Any:
        return (item, spider)


class WithoutSpider(ItemPipeline):
    def process_item(self, item: Any) -> Any:  # type: ignore[override]
        return (item, None)


class Anything(ItemPipeline):
    def process_item(self, *args: Any, **keywords: Any) -> Any:
        return args


class Async(ItemPipeline):
    async def process_item(self, item: Any, spider: Any) -> Any:
        return (item, spider)


class AsyncWithoutSpider(ItemPipeline):
    async def process_item(self, item: Any) -> Any:  # type: ignore[override]
        return (item, None)


class Static(ItemPipeline):
    @staticmethod
    def process_item(item: Any, spider: Any) -> Any:  # type: ignore[override]
        return (item, spider)


class StaticWithoutSpider(ItemPipeline):
    @staticmethod
    def process_item(item: Any) -> Any:  # type: ignore[override]
        return (item, None)


class OfTheClass(ItemPipeline):
    @classmethod
    def process_item(cls, item: Any, spider: Any) -> Any:
        return (item, spider)


class Decorated(ItemPipeline):
    @traced
    def process_item(self, item: Any, spider: Any) -> Any:
        return (item, spider)


class DecoratedAsync(ItemPipeline):
    @traced
    async def process_item(self, item: Any, spider: Any) -> Any:
        return (item, spider)


class DecoratedWithoutSpider(ItemPipeline):
    @traced
    async def process_item(self, item: Any) -> Any:  # type: ignore[override]
        return (item, None)


class Partial(ItemPipeline):
    def _mark(self, number: int, item: Any, spider: Any) -> Any:
        return (item, spider)

    process_item = functools.partialmethod(_mark, 1)  # type: ignore[assignment]


class ByObject(ItemPipeline):
    process_item = Marker()  # type: ignore[assignment]


class ByAsyncObject(ItemPipeline):
    process_item = AsyncMarker()  # type: ignore[assignment]


class Inherited(Async):
    """The hook of its base class is its own."""


class Foreign:
    """A class of somebody else, which has never heard of ours."""

    def process_item(self, item: Any, spider: Any) -> Any:
        return (item, spider)


WITH = [WithSpider, Anything, Async, Static, OfTheClass, Decorated, DecoratedAsync, Partial, ByObject, Inherited, Foreign]
WITHOUT = [WithoutSpider, AsyncWithoutSpider, StaticWithoutSpider, DecoratedWithoutSpider, ByAsyncObject]
ASYNC = {Async, AsyncWithoutSpider, DecoratedAsync, DecoratedWithoutSpider, ByAsyncObject, Inherited}


@pytest.mark.parametrize("kind", WITH + WITHOUT)
async def test_a_hook_of_any_shape_is_called_as_it_wants(kind: type[Any]) -> None:
    found = hook(kind(), ItemPipeline, "process_item", 1)
    assert found is not None
    answer = found.call("item", "spider")

    assert found.is_async == inspect.isawaitable(answer) == (kind in ASYNC)
    assert (await answer if found.is_async else answer) == ("item", "spider" if kind in WITH else None)


def test_a_hook_that_nobody_wrote_costs_nothing() -> None:
    class Idle(ItemPipeline):
        def open_spider(self, spider: Any) -> None: ...

    assert hook(Idle(), ItemPipeline, "process_item", 1) is None
    assert hook(object(), ItemPipeline, "process_item", 1) is None
    assert hook(Idle(), ItemPipeline, "open_spider", 0) is not None
    assert [overrides(Idle(), ItemPipeline, name) for name in ("open_spider", "close_spider")] == [True, False]


def test_a_hook_without_any_argument_is_called_so() -> None:
    class Opened(ItemPipeline):
        def open_spider(self) -> str:  # type: ignore[override]
            return "open"

    found = hook(Opened(), ItemPipeline, "open_spider", 0)
    assert found is not None
    assert found.call("spider") == "open"


def test_a_hook_of_a_shape_that_cannot_be_called_is_refused_at_start() -> None:
    class TooFew(ItemPipeline):
        def process_item(self) -> None: ...  # type: ignore[override]

    class TooMany(ItemPipeline):
        def process_item(self, item: Any, spider: Any, response: Any) -> None: ...  # type: ignore[override]

    class ByName(ItemPipeline):
        def process_item(self, *, item: Any, spider: Any) -> None: ...  # type: ignore[override]

    for kind in (TooFew, TooMany, ByName):
        with pytest.raises(
            SettingsError, match=rf"{kind.__name__}\.process_item must take \(item, spider\), the spider may be left out"
        ):
            hook(kind(), ItemPipeline, "process_item", 1)
