"""The numbers of one crawl."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Mapping
from itertools import islice
from typing import Any, NamedTuple

from openoctopus.state import NO_STATE, State, Stateful


class Changes(NamedTuple):
    """What changed in the numbers of one process since it last told them, by name."""

    #: To be added.
    counts: dict[str, float]
    #: Of which the largest counts.
    largest: dict[str, float]
    #: Of which the last one counts.
    values: dict[str, Any]
    examples: dict[str, str]


class Stats:
    """Values by name. The core and the plug-ins write; the monitor reads snapshots.

    Names are the field's (``item_scraped_count``, ``downloader/response_status_count/200``); ``docs/stats.md`` lists them.
    """

    def __init__(self) -> None:
        #: Seconds since the epoch.
        self.started = time.time()
        self._values: defaultdict[str, Any] = defaultdict(int)
        #: Names that are no counts, and what was told of all of them.
        self._largest: set[str] = set()
        self._set: set[str] = set()
        self._told: dict[str, Any] = {}
        self._examples_told = 0
        #: For each kind of trouble, the first URL that had it.
        self.examples: dict[str, str] = {}

    def inc(self, name: str, by: float = 1) -> None:
        """Add ``by`` to a count."""
        self._values[name] += by

    def trouble(self, name: str, url: str) -> None:
        """Count a kind of trouble and keep its first URL as an example."""
        self._values[name] += 1
        self.examples.setdefault(name, url)

    def max(self, name: str, value: float) -> None:
        """Keep the largest value seen."""
        self._largest.add(name)
        if value > self._values[name]:
            self._values[name] = value

    def set(self, name: str, value: Any) -> None:
        self._set.add(name)
        self._values[name] = value

    def get(self, name: str, default: Any = 0) -> Any:
        """The value, or ``default`` if nothing was counted under that name."""
        return self._values.get(name, default)

    def snapshot(self) -> dict[str, Any]:
        """All values now, sorted by name."""
        return dict(sorted(self._values.items()))

    def group(self, prefix: str) -> Mapping[str, Any]:
        """The values below ``prefix/``, by the rest of their name."""
        start = prefix + "/"
        return {name.removeprefix(start): value for name, value in self._values.items() if name.startswith(start)}

    def counts(self) -> dict[str, float]:
        """The values that ``inc`` and ``trouble`` count."""
        return {name: value for name, value in self._values.items() if name not in self._set and name not in self._largest}

    def changes(self) -> Changes:
        """What changed since this was last asked."""
        told, self._told = self._told, dict(self._values)
        found = Changes({}, {}, {}, dict(islice(self.examples.items(), self._examples_told, None)))
        self._examples_told = len(self.examples)
        for name, value in self._told.items():
            if name in told and told[name] == value:
                continue
            if name in self._set:
                found.values[name] = value
            elif name in self._largest:
                found.largest[name] = value
            else:
                found.counts[name] = value - told.get(name, 0)
        return found

    def merge(self, changes: Changes) -> None:
        """Take in the numbers of another process."""
        for name, by in changes.counts.items():
            self.inc(name, by)
        for name, value in changes.largest.items():
            self.max(name, value)
        for name, value in changes.values.items():
            self.set(name, value)
        for name, url in changes.examples.items():
            self.examples.setdefault(name, url)


class Totals(Stateful):
    """The counts of all runs of a job."""

    state_prefix = "totals"

    def __init__(self, stats: Stats) -> None:
        self._stats = stats
        self._before: dict[str, float] = {"runs": 1}
        #: What was told last; nothing yet, not even that this run began.
        self._told: dict[str, float] | None = None

    def counts(self) -> dict[str, float]:
        """By the names of the stats; ``runs`` is how often the job was begun or resumed."""
        totals = dict(self._before)
        for name, count in self._stats.counts().items():
            totals[name] = totals.get(name, 0) + count
        return totals

    def changed_state(self) -> State:
        now = self._stats.counts()
        if now == self._told:
            return NO_STATE
        self._told = now
        return {"counts": json.dumps(self.counts()).encode()}

    def restore_state(self, state: State) -> None:
        if "counts" in state:
            self._before = json.loads(state["counts"])
            self._before["runs"] += 1
