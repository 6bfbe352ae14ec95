"""The options of one crawl, laid over each other in layers."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, Self

from pydantic import ConfigDict, PrivateAttr, ValidationError

from openoctopus.exceptions import SettingsError
from openoctopus.settings import options
from openoctopus.settings.secrets import masked

_ENV_PREFIX = "OCTOPUS_"
#: Variables of that prefix that are no options.
_RESERVED = frozenset({"OCTOPUS_FAILPOINTS", "OCTOPUS_WEB_TOKEN"})


class Settings(  # pydantic has the fields of the last one first
    options.Sources,
    options.Telling,
    options.Limits,
    options.Plugins,
    options.Items,
    options.Reading,
    options.Queue,
    options.Fetching,
    options.Pace,
):
    """The options of one crawl, typed and checked once.

    Read them as ``settings.RETRY_TIMES``, ``settings["RETRY_TIMES"]`` or ``settings.get("MY_OWN", default)``. A later layer
    wins: defaults, the project's settings, the spider's ``custom_settings``, ``OCTOPUS_*`` of the environment, ``-s``.
    """

    model_config = ConfigDict(extra="allow")

    _origins: dict[str, str] = PrivateAttr(default_factory=dict)

    @classmethod
    def load(cls, layers: Mapping[str, Mapping[str, Any]]) -> Self:
        """Lay options over the defaults; ``layers`` are named by their origin, the last one wins.

        Raises ``SettingsError`` that lists everything wrong at once.
        """
        values: dict[str, Any] = {}
        origins: dict[str, str] = {}
        for origin, layer in layers.items():
            values.update(layer)
            origins.update(dict.fromkeys(layer, origin))
        try:
            settings = cls.model_validate(values)
        except ValidationError as error:
            raise SettingsError("\n".join(_explained(error, origins))) from None
        settings._origins.update(origins)
        return settings

    def __getitem__(self, name: str) -> Any:
        if name in type(self).model_fields or name in (self.model_extra or {}):
            return getattr(self, name)
        raise KeyError(name)

    def __contains__(self, name: str) -> bool:
        return name in type(self).model_fields or name in (self.model_extra or {})

    def get(self, name: str, default: Any = None) -> Any:
        """The value, or ``default`` where neither the project nor OpenOctopus knows the name."""
        return self[name] if name in self else default

    def origin(self, name: str) -> str:
        """Which layer a value came from."""
        return self._origins.get(name, "default")

    def names(self) -> Iterator[str]:
        """All names: the typed ones in the order of docs/settings.md, then the project's own."""
        yield from type(self).model_fields
        yield from sorted(self.model_extra or {})


#: What is allowed, by the name that pydantic has for what is wrong.
_ALLOWED = {
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "dict_type": "a mapping",
    "finite_number": "a finite number",
    "float_parsing": "a number",
    "float_type": "a number",
    "frozen_set_type": "a list",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "string_type": "text",
    "tuple_type": "a list",
}
_PREFIX = re.compile("^(?:Input should be|Value error,) ")


def _explained(error: ValidationError, origins: Mapping[str, str]) -> Iterator[str]:
    """One line for each wrong value; a type with alternatives makes several errors of it."""
    allowed: dict[tuple[str, str, str], list[str]] = {}
    for wrong in error.errors():
        name = str(wrong["loc"][0])
        part = "".join(f"[{place}]" for place in wrong["loc"][1:] if isinstance(place, int))
        known = _ALLOWED.get(wrong["type"]) or _PREFIX.sub("", wrong["msg"])
        allowed.setdefault((name, part, masked(name, wrong["input"])), []).append(known)
    for (name, part, shown), choices in allowed.items():
        yield f"{name}{part} must be {' or '.join(choices)}, not {shown:.200} ({origins.get(name, 'default')})"


def environment() -> dict[str, str]:
    """The options that ``OCTOPUS_*`` variables set."""
    return {k.removeprefix(_ENV_PREFIX): v for k, v in os.environ.items() if k.startswith(_ENV_PREFIX) and k not in _RESERVED}
