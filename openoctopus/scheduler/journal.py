"""What a scheduler that outlives its process writes down: the decisions of a policy, gathered until they are kept."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

from openoctopus.scheduler.base import Entry, FailedEntry


class Journal:
    """Is told what a policy decides, as it happens. This one keeps nothing."""

    def saw(self, fingerprint: int) -> None:
        """A fingerprint is new."""

    def waits(self, entry: Entry, delay: float) -> None:
        """An entry waits, for the first time or again, and may go in so many seconds."""

    def ended(self, entry: Entry) -> None:
        """An entry is at its end, well or not."""

    def failed(self, failed: FailedEntry) -> None:
        """An entry was given up; ``ended`` is told too."""


class Waiting(NamedTuple):
    """An entry as it began to wait. Times are seconds since the epoch, so that another process understands them."""

    entry: Entry
    since: float
    #: When it may go; 0.0: now.
    due: float


class Changes(Journal):
    """What was decided since the last commit. What came and went in between leaves no trace.

    ``rows`` numbers the entries.
    """

    def __init__(self, rows: Iterator[int]) -> None:
        self.rows = rows
        self.seen: list[int] = []
        #: Entries that are new, and those that wait again, by their rows.
        self.added: dict[int, Waiting] = {}
        self.again: dict[int, Waiting] = {}
        self.gone: list[int] = []
        self.given_up: list[FailedEntry] = []
        #: What other parts of the crawl want to find again, by key.
        self.state: dict[str, bytes] = {}
        #: What is known of hosts, by key, and until when.
        self.remembered: dict[str, tuple[bytes, float]] = {}

    def saw(self, fingerprint: int) -> None:
        self.seen.append(fingerprint)

    def waits(self, entry: Entry, delay: float) -> None:
        now = time.time()
        waiting = Waiting(entry, now, now + delay if delay > 0 else 0.0)
        if entry.row:
            self.again[entry.row] = waiting
        else:
            entry.row = next(self.rows)
            self.added[entry.row] = waiting

    def ended(self, entry: Entry) -> None:
        self.again.pop(entry.row, None)
        if self.added.pop(entry.row, None) is None:
            self.gone.append(entry.row)

    def failed(self, failed: FailedEntry) -> None:
        self.given_up.append(failed)
