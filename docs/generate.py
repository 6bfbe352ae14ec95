"""Writes into the pages what the code knows better: the table of all settings in settings.md.

``python docs/generate.py`` brings it up to date, ``--check`` only says whether it is (exit code 1 if not).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from openoctopus.settings import Settings

PAGE = Path(__file__).with_name("settings.md")
BEGIN, END = "<!-- settings: begin -->\n", "<!-- settings: end -->\n"
_GENERATED = re.compile(f"(?<={BEGIN}).*?(?={END})", re.DOTALL)
_WORDS = {
    bool: "true, false", int: "whole number", float: "number", str: "text", tuple: "list", frozenset: "list", dict: "mapping",
    type: "class",
}  # fmt: skip


def settings_table() -> str:
    """A table for each theme of ``Settings``, in their order."""
    return "".join(_lines())


def _lines() -> Iterator[str]:
    for theme in reversed(Settings.__bases__):
        yield f"\n### {(theme.__doc__ or '').rstrip('.')}\n\n| Option | Type | Default | |\n|---|---|---|---|\n"
        for name, field in theme.model_fields.items():
            cells = (f"`{name}`", _type(field), f"`{_shown(field.default)}`", (field.description or "").replace("<", "&lt;"))
            yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n"
    yield "\n"


def _type(field: Any) -> str:
    bounds = [f"{sign} {getattr(bound, name)}" for bound in field.metadata for name, sign in _BOUNDS if hasattr(bound, name)]
    return " ".join([_words(field.annotation), *bounds])


_BOUNDS = (("ge", "≥"), ("gt", ">"))


def _words(annotation: Any) -> str:
    kind = get_origin(annotation) or annotation
    if kind in (Union, UnionType):
        return ", ".join(map(_words, get_args(annotation)))
    if kind is Literal:
        return ", ".join(f'"{value}"' for value in get_args(annotation))
    return _WORDS[kind]


def _shown(default: Any) -> str:
    if isinstance(default, tuple | frozenset):
        return str(sorted(default))
    return f'"{default}"' if isinstance(default, str) else str(default)


def main(arguments: list[str]) -> int:
    page = PAGE.read_text("utf-8")
    fresh = _GENERATED.sub(lambda _: settings_table(), page)
    if "--check" in arguments:
        if fresh != page:
            print(f"{PAGE.name} is stale: run python docs/generate.py", file=sys.stderr)
        return int(fresh != page)
    PAGE.write_text(fresh, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
