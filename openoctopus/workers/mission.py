"""What a worker is told to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from openoctopus.settings import Settings


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
    #: From 1 on; which one it is of how many.
    number: int
    workers: int
    #: The key of all fingerprints.
    secret: bytes
    #: Whether lines of the log have colours.
    colored: bool


def shared(settings: Settings, number: int, workers: int) -> Settings:
    """The settings of one worker: its part of what holds for the whole crawl."""
    whole = settings.CONCURRENT_REQUESTS
    return settings.model_copy(
        update={
            "CONCURRENT_REQUESTS": whole // workers + (number <= whole % workers),
            "MAX_PENDING_BYTES": max(settings.MAX_PENDING_BYTES // workers, 1),
            "LOG_FILE": "",
        }
    )
