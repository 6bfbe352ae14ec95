"""Whether a name is that of an option, or was meant to be."""

from __future__ import annotations

from collections.abc import Collection

from openoctopus.exceptions import SettingsError


def check_names(names: Collection[str], known: Collection[str], origin: str, *, own_allowed: bool) -> None:
    """Refuse misspelt options. Where ``own_allowed``, only those within two edits of a known name.

    Raises ``SettingsError`` with the likely names, all at once.
    """
    wrong = []
    for name in names:
        if name in known:
            continue
        likely = sorted((_edits(name, other), abs(len(name) - len(other)), other) for other in known if _close(name, other))
        if likely:
            wrong.append(f"no option {name} ({origin}): did you mean {likely[0][2]}?")
        elif not own_allowed:
            wrong.append(f"no option {name} ({origin}); `octopus settings` lists them all")
    if wrong:
        raise SettingsError("\n".join(wrong))


def _close(name: str, other: str) -> bool:
    """Whether two edits at most lead from one name to the other; fewer for short names."""
    allowed = min(2, len(name) // 4)
    return abs(len(name) - len(other)) <= allowed and _edits(name, other) <= allowed


def _edits(name: str, other: str) -> int:
    """How many letters must be inserted, deleted or changed."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(name, 1):
        above, row = row, [i]
        for j, b in enumerate(other, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (a != b)))
    return row[-1]
