"""The names of files: what stands for a placeholder, and why no value leads out of the folder."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from openoctopus.exceptions import SettingsError

_PERCENT = re.compile(r"%(?:%|\((\w+)\)(0?\d{0,2}[sd]))?")
#: What some file system gives a meaning to, and what cannot be seen.
_UNSAFE = re.compile(r'[/\\:*?"<>|\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]')
#: Bytes of one value at most; a name may have 255.
_LONGEST = 100


class Names:
    """Turns a target such as ``out/%(name)s-%(batch_id)d.csv`` into paths.

    Known are ``name``, ``time`` (of the start, UTC), ``batch_id``, ``batch_time``, ``item_class`` and the spider's
    attributes; ``%%`` is a percent sign. Raises ``SettingsError`` for anything else after a percent sign.
    """

    def __init__(self, template: str) -> None:
        self.template = template
        for found in _PERCENT.finditer(template):
            if found[0] == "%":
                raise SettingsError(f"{template}: write %% for a percent sign, and %(name)s, %(batch_id)d for placeholders")
        #: The placeholders in use.
        self.used = {found[1] for found in _PERCENT.finditer(template) if found[1]}

    def start(self, spider: object) -> None:
        """Learn what is known of the crawl. Raises ``SettingsError`` for a placeholder that nothing stands for."""
        self._spider = spider
        #: When the crawl began, as it is written into names.
        self.started = _now()
        self.path(1, "item")

    def values(self) -> dict[str, str | int | float]:
        """What the spider has for the placeholders in use."""
        found = {name: getattr(self._spider, name, None) for name in self.used}
        return {name: value for name, value in found.items() if isinstance(value, str | int | float)}

    def path(self, batch_id: int, item_class: str) -> str:
        """Where one file of items goes."""
        own = {"time": self.started, "batch_id": batch_id, "batch_time": _now(), "item_class": item_class}
        return _PERCENT.sub(lambda found: self._filled(found, own), self.template)

    def _filled(self, found: re.Match[str], own: Mapping[str, Any]) -> str:
        name = found[1]
        if name is None:
            return "%"
        value = own[name] if name in own else getattr(self._spider, name, None)
        if isinstance(value, bool) or not isinstance(value, str | int | float) or name.startswith("_"):
            raise SettingsError(f"{self.template}: nothing stands for %({name})s; the spider has no such text or number")
        try:
            return safe(f"%{found[2]}" % value)
        except TypeError:
            raise SettingsError(f"{self.template}: %({name}){found[2]} needs a number, and {name} is {value!r}") from None


def safe(value: str) -> str:
    """A value as one part of a file's name: no separators, no leading dot, not empty, not too long."""
    name = _UNSAFE.sub("_", value).strip(" ")
    if name.startswith("."):
        name = "_" + name[1:]
    return name.encode()[:_LONGEST].decode(errors="ignore") or "_"


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S")
