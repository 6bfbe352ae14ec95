"""What a worker is told to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from openoctopus.pipelines.feeds import Share


class Mission(msgspec.Struct, frozen=True):
    """A spider as the command line names it, and what was given for this run; the worker finds out the rest by itself."""

    #: Its name in the project, or its file.
    spider: str
    #: ``-a``
    arguments: dict[str, Any] = {}
    #: ``-s``
    overrides: dict[str, Any] = {}
    #: ``-o`` and ``-O``: (target, overwrite).
    outputs: Sequence[tuple[str, bool]] = ()


class Post(msgspec.Struct, frozen=True):
    """One worker's part in a mission."""

    mission: Mission
    #: From 1 on.
    number: int
    #: The key of all fingerprints.
    secret: bytes
    #: Its share in files that all workers write to.
    share: Share
    #: Whether lines of the log have colours.
    colored: bool
