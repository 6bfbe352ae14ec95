"""How a dotted name in the settings becomes an object, and how it is opened and closed."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any, NamedTuple, Self

from pydantic import PydanticUserError, TypeAdapter, ValidationError

from openoctopus.exceptions import InvalidRequest, MissingExtra, OctopusError, SettingsError
from openoctopus.settings import Settings, masked


class Plugin:
    """Base of everything that can be exchanged: scheduler, dupefilter, downloader, middleware, pipeline, extension.

    Its options are the keywords of its constructor, so it can be made and tested by itself. I/O begins in ``open``.
    """

    async def open(self) -> None:
        """Called once before the first request."""

    async def close(self) -> None:
        """Called once after the last request, also if the crawl failed."""

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()


class Entry(NamedTuple):
    """One line of ``ITEM_PIPELINES`` and the like: a class, its place, and keywords given there."""

    kind: type[Any]
    order: float
    keywords: dict[str, Any]


def load(path: str | type[Any]) -> Any:
    """Import ``package.module.Name``; a class stays as it is. Raises ``SettingsError``.

    What goes wrong inside of a module that is there is raised as it is.
    """
    if not isinstance(path, str):
        return path
    module, _, name = path.rpartition(".")
    if not module or not all(part.isidentifier() for part in path.split(".")):
        raise SettingsError(f"cannot load {path!r}: write it as package.module.Name")
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and f"{module}.".startswith(f"{error.name}."):
            raise SettingsError(f"cannot load {path!r}: there is no module {error.name}") from error
        raise
    try:
        return getattr(found, name)
    except AttributeError:
        raise SettingsError(f"cannot load {path!r}: {module} has no {name}") from None


def load_class(option: str, path: str | type[Any], base: type[Any]) -> Any:
    """The class that an option names. Raises ``SettingsError`` if it is none, or not derived from ``base``."""
    found = load(path)
    if not (isinstance(found, type) and issubclass(found, base)):
        raise SettingsError(f"{option} = {path!r} is no class derived from {base.__module__}.{base.__name__}")
    return found


def require(module: str, extra: str) -> ModuleType:
    """Import an optional library. Raises ``MissingExtra`` that says how to install it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtra(module, extra) from error


def optional(module: str) -> ModuleType | None:
    """Import a library that makes things better where it is installed."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        return None


def entries(option: str, *tables: Mapping[Any, Any]) -> list[Entry]:
    """The plug-ins of one family in order; a later table overrides, ``None`` switches off.

    An entry's value is its order number, or a mapping with ``order`` and keywords. Raises ``SettingsError``.
    """
    merged: dict[Any, Any] = {}
    for table in tables:
        for path, value in table.items():
            merged[load(path)] = value
    found = [_entry(option, kind, value) for kind, value in merged.items() if value is not None]
    return sorted(found, key=lambda entry: entry.order)


def _entry(option: str, kind: type[Any], value: Any) -> Entry:
    if not isinstance(kind, type):
        raise SettingsError(f"{option}: {kind!r} is no class")
    keywords = dict(value) if isinstance(value, Mapping) else {"order": value}
    order = keywords.pop("order", None)
    if isinstance(order, bool) or not isinstance(order, int | float):
        raise SettingsError(f"{option}: {kind.__name__} needs a number, or a mapping with an order, not {value!r}")
    return Entry(kind, order, keywords)


def keywords_of(kind: type[Any]) -> dict[str, inspect.Parameter]:
    """The constructor's keywords by name; those of the base classes too where it takes ``**keywords`` for them."""
    found: dict[str, inspect.Parameter] = {}
    for base in kind.__mro__:
        parameters = _parameters(base)
        kinds = {parameter.kind for parameter in parameters}
        named = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
        found = {parameter.name: parameter for parameter in named} | found
        if inspect.Parameter.VAR_KEYWORD not in kinds:
            break
    return found


def _parameters(kind: type[Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(kind, eval_str=True).parameters.values())
    except (NameError, AttributeError, TypeError):
        return list(inspect.signature(kind).parameters.values())


def option_names(kinds: Iterable[type[Any]]) -> set[str]:
    """The names in the settings by which the keywords of these classes can be given."""
    names: set[str] = set()
    for kind in kinds:
        for keyword in keywords_of(kind):
            names |= {keyword.upper(), f"{kind.__name__}_{keyword}".upper()}
    return names


def build(kind: type[Any], settings: Settings, keywords: Mapping[str, Any] | None = None, /, **given: Any) -> Any:
    """Make a plug-in: each keyword from its entry, else ``CLASSNAME_KEYWORD``, else ``KEYWORD``, else its default.

    ``given`` holds what the framework offers to whoever asks for it by name (``settings``, ``stats``, ``fetch``...).
    Raises ``SettingsError`` that names the class, the keyword and the ways to give it.
    """
    own = dict(keywords or {})
    values: dict[str, Any] = {}
    for name, parameter in keywords_of(kind).items():
        prefixed, plain = f"{kind.__name__}_{name}".upper(), name.upper()
        if name in own:
            values[name] = own.pop(name)
        elif prefixed in settings:
            values[name] = _typed(settings, prefixed, parameter)
        elif name in given:
            values[name] = given[name]
        elif plain in settings:
            values[name] = _typed(settings, plain, parameter)
        elif parameter.default is parameter.empty:
            raise SettingsError(
                f'{kind.__name__} needs {name}: set {plain} (or {prefixed}), or give "{name}" beside the "order" of its entry'
            )
    if own and not any(parameter.kind is parameter.VAR_KEYWORD for parameter in _parameters(kind)):
        known = ", ".join(keywords_of(kind)) or "none"
        raise SettingsError(f"{kind.__name__} has no keyword {', '.join(map(repr, own))}; it has {known}")
    try:
        return kind(**values, **own)
    except InvalidRequest as error:
        raise SettingsError(f"{kind.__name__} cannot be made: {error}") from error
    except OctopusError:
        raise
    except Exception as error:
        raise SettingsError(f"{kind.__name__} cannot be made: {type(error).__name__}: {error}") from error


def _typed(settings: Settings, option: str, parameter: inspect.Parameter) -> Any:
    """A setting as its keyword's annotation or default says: in the environment and behind ``-s`` all is text."""
    value, wanted = settings[option], parameter.annotation
    if wanted is parameter.empty or isinstance(wanted, str):  # none, or a name that only type checkers know
        wanted = type(parameter.default) if isinstance(parameter.default, bool | int | float) else str
    if not isinstance(value, str) or option in type(settings).model_fields or wanted is str:
        return value
    try:
        adapter = TypeAdapter(wanted)
    except PydanticUserError:  # a type of which it knows nothing
        return value
    for read in (adapter.validate_python, adapter.validate_json):
        try:
            return read(value)
        except ValidationError:
            continue
    allowed = inspect.formatannotation(wanted)
    raise SettingsError(f"{option} must be {allowed}, not {masked(option, value)} ({settings.origin(option)})")


def overrides(plugin: object, base: type[Any], hook: str) -> bool:
    """Whether a plug-in has its own version of a hook, so that an unused one costs nothing."""
    own = getattr(type(plugin), hook, None)
    return own is not None and own is not getattr(base, hook, None)


class Hook(NamedTuple):
    """A plug-in's method, ready to be called with the spider as its last argument."""

    call: Callable[..., Any]
    is_async: bool


def hook(plugin: object, base: type[Any], name: str, arguments: int) -> Hook | None:
    """A plug-in's own version of a hook, or ``None`` if it has none.

    ``arguments`` counts those before the spider. A version that leaves the spider out is taken as well. Whether it is
    ``async`` is settled here, once, and not at each call. Raises ``SettingsError`` for one that takes other arguments.
    """
    if not overrides(plugin, base, name):
        return None
    method = getattr(plugin, name)
    if _takes(method, arguments + 1):
        return Hook(method, _is_async(method))
    if _takes(method, arguments):
        return Hook(lambda *given: method(*given[:-1]), _is_async(method))
    shape = ", ".join(list(inspect.signature(getattr(base, name)).parameters)[1:])
    raise SettingsError(f"{type(plugin).__name__}.{name} must take ({shape}), the spider may be left out")


def _takes(method: Callable[..., Any], arguments: int) -> bool:
    try:
        inspect.signature(method).bind(*range(arguments))
    except TypeError:
        return False
    return True


def _is_async(method: Callable[..., Any]) -> bool:
    """Whether its answer is to be awaited; a decorator's plain function and a callable object hide that."""
    plain = inspect.unwrap(method)
    return any(inspect.iscoroutinefunction(one) for one in (method, plain, getattr(plain, "__call__", None)))  # noqa: B004
