"""Places where a fault can be made to happen, so that what must survive it is shown with real processes.

``OCTOPUS_FAILPOINTS="claim.got=kill#20,store.write=raise@0.01"`` in the environment arms them; see docs/reliability.md.
"""

from __future__ import annotations

import errno
import logging
import os
import re
import signal
import time
from collections.abc import Callable, Mapping
from functools import cache
from itertools import count
from random import Random

from openoctopus.exceptions import SettingsError

logger = logging.getLogger(__name__)

VARIABLE = "OCTOPUS_FAILPOINTS"

#: Every place, in the order in which a page lives.
NAMES = {
    "claim.sent": "the scheduler is asked for the next entry",
    "claim.got": "an entry is leased",
    "dns": "the addresses of a host are looked for",
    "request.sent": "the request goes out",
    "headers": "the head of the answer is there",
    "body.half": "a piece of a body without an announced length is there",
    "body.done": "the whole body is there",
    "callback.in": "the spider's method is called",
    "item.pipeline": "an item comes to a pipeline",
    "callback.out": "the spider's method has yielded everything",
    "children.sent": "requests that were found go to the scheduler",
    "children.added": "the scheduler has taken them",
    "store.write": "a store gets a batch of items",
    "store.half": "the items are written, but not yet durable",
    "feed.widening": "a file with more columns takes the place of the narrower one",
    "store.flushed": "the batch is durable, and nobody knows it yet",
    "settle.sent": "outcomes go to the scheduler",
    "job.half": "the job's file has got what changed, but not yet for good",
    "job.committed": "it is on the disk, and nobody knows it yet",
    "settle.committed": "the scheduler has kept them",
    "giveback": "a page under way goes back to the queue, since the crawl ends",
}


class Injected(RuntimeError):
    """What ``raise`` raises: a mistake that nobody expects."""


def _kill(name: str) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _term(name: str) -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def _raise(name: str) -> None:
    raise Injected(f"failpoint {name}")


def _hang(name: str) -> None:
    while True:
        time.sleep(3600)


def _oom(name: str) -> None:
    raise MemoryError(f"failpoint {name}")


def _drop(name: str) -> None:
    raise ConnectionResetError(errno.ECONNRESET, f"failpoint {name}")


def _full(name: str) -> None:
    raise OSError(errno.ENOSPC, f"failpoint {name}")


_ACTIONS: dict[str, Callable[[str], None]] = {
    "kill": _kill,
    "term": _term,
    "raise": _raise,
    "hang": _hang,
    "oom": _oom,
    "drop": _drop,
    "full": _full,
}
_ENTRY = re.compile(
    r"(?P<name>[\w.]+)=(?P<action>\w+)(?:\((?P<seconds>[\d.]+)\))?(?:@(?P<chance>[\d.]+)|#(?P<turn>[1-9]\d*))?", re.ASCII
)


class Failpoint:
    """One armed place: each time it is passed, once (the ``turn``-th time), or with a ``chance`` from 0 to 1."""

    def __init__(self, act: Callable[[str], None], turn: int | None, chance: float | None, random: Random) -> None:
        self._act = act
        self._turn = turn
        self._chance = chance
        self._random = random
        self._passed = count(1)

    def passed(self, name: str) -> None:
        """Do what was asked for, if it is time."""
        turn = next(self._passed)
        if self._turn not in (None, turn) or (self._chance is not None and self._random.random() >= self._chance):
            return
        logger.warning("failpoint %s, passed for the %d. time", name, turn)
        self._act(name)


def parse(text: str) -> dict[str, Failpoint]:
    """The armed places by name. ``seed=N`` among them makes the chances repeatable. Raises ``SettingsError``."""
    found: dict[str, Failpoint] = {}
    random = Random()
    for entry in filter(None, text.replace(" ", "").split(",")):
        if entry.startswith("seed="):
            random.seed(entry)
            continue
        match = _ENTRY.fullmatch(entry)
        if match is None:
            raise SettingsError(f"{VARIABLE}: {entry!r} is not name=action, with @CHANCE or #TURN behind it")
        if match["name"] not in NAMES:
            raise SettingsError(f"{VARIABLE}: there is no {match['name']!r}, only {', '.join(NAMES)}")
        found[match["name"]] = Failpoint(
            _action(entry, match["action"], match["seconds"]),
            int(match["turn"]) if match["turn"] else None,
            _number(entry, match["chance"], 1.0) if match["chance"] else None,
            random,
        )
    return found


def _action(entry: str, action: str, seconds: str | None) -> Callable[[str], None]:
    if action == "sleep" and seconds:
        pause = _number(entry, seconds, 1e6)
        return lambda name: time.sleep(pause)
    if action not in _ACTIONS or seconds:
        raise SettingsError(f"{VARIABLE}: {entry!r} should do one of {', '.join(_ACTIONS)}, sleep(SECONDS)")
    return _ACTIONS[action]


def _number(entry: str, text: str, largest: float) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= largest:
        raise SettingsError(f"{VARIABLE}: {entry!r} has a number that is not one from 0 to {largest:g}")
    return number


@cache
def armed() -> Mapping[str, Failpoint]:
    """What the environment arms in this process. Raises ``SettingsError`` for what it does not know."""
    return parse(os.environ.get(VARIABLE, ""))


def _hit(name: str) -> None:
    failpoint = armed().get(name)
    if failpoint is not None:
        failpoint.passed(name)


def _nothing(name: str) -> None:
    pass


#: Called at each place with its name. Decided once, so that a crawl without failpoints has none.
hit: Callable[[str], None] = _hit if os.environ.get(VARIABLE) else _nothing
