"""Which items a store takes: those of the item classes that it was asked for."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import BeforeValidator

from openoctopus.plugins import load

logger = logging.getLogger(__name__)


def listed(value: Any) -> Any:
    """Names that may be given as one text, separated by commas."""
    return [one.strip() for one in value.split(",")] if isinstance(value, str) else value


#: Item classes by name, dotted path or as they are; in a text separated by commas.
ItemClasses = Annotated[tuple[str | type, ...], BeforeValidator(listed)]


class Taken(dict[type, bool]):
    """Whether items of a class are taken: those of a class that was asked for and its subclasses; all if none was."""

    def __init__(self, asked: Iterable[str | type]) -> None:
        """Raises ``SettingsError`` for a path that leads to no class."""
        super().__init__()
        self._asked = frozenset(load(one) if isinstance(one, str) and "." in one else one for one in asked)

    def __missing__(self, kind: type) -> bool:
        self[kind] = not self._asked or any(base in self._asked or base.__name__ in self._asked for base in kind.__mro__)
        return self[kind]

    def check(self, store: object) -> None:
        """Warn if items came and none was taken: a name may be misspelt."""
        if self and not any(self.values()):
            came = ", ".join(sorted(kind.__name__ for kind in self))
            logger.warning("%s: no item of the item_classes asked for came, only %s", store, came)
