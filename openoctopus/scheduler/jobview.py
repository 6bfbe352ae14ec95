"""What people want to know of a job, read from its file, whether it runs or not."""

from __future__ import annotations

import json
import sqlite3
import time
from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from openoctopus.exceptions import SettingsError
from openoctopus.pipelines.failed import KeptItem
from openoctopus.scheduler.base import FRONT, Entry, FailedEntry
from openoctopus.scheduler.job import Job
from openoctopus.scheduler.jobfile import (
    FAILED,
    WAITING,
    failed_entry,
    failed_in,
    failed_items_in,
    packed,
    unpacked,
    waiting_entry,
    written_key,
    written_rid,
)

#: A request by its identity, or by its URL, which stands behind one to three bytes.
_THE_ONE = "WHERE rid = ? OR instr(body, ?) BETWEEN 2 AND 4"


@dataclass(frozen=True, slots=True)
class JobStatus:
    """A job as a whole. Times are seconds since the epoch."""

    name: str
    spider: str
    #: ``running``, ``stopped``, ``broken off`` or ``finished``.
    state: str
    #: The process that works on it now.
    pid: int | None
    begun: float
    finished: float
    done: int
    failed: int
    duplicates: int
    #: Requests that were under way at the last commit, and those of the others that may go now, may go later, and go alone.
    under_way: int
    queued: int
    delayed: int
    suspects: int
    #: Since when the oldest of them waits; 0.0: none does.
    oldest: float


@dataclass(frozen=True, slots=True)
class FailedGroup:
    """Failed requests of one reason."""

    reason: str
    count: int
    last: float
    #: The frozen request of the last one.
    example: bytes


@dataclass(frozen=True, slots=True)
class Place:
    """A request that is not at its end. Times are seconds since the epoch."""

    entry: Entry
    since: float
    #: When it may go; 0.0: now.
    due: float
    #: It was being fetched, read or stored at the last commit.
    is_under_way: bool
    #: So many requests of its host wait and go before it.
    behind: int


class JobView:
    """Reads the file of a job; nothing in it changes. Raises ``SettingsError`` for one that is none."""

    def __init__(self, job: Job) -> None:
        self.job = job
        if not job.file.exists():
            raise SettingsError(f"there is no job {job.name} in {job.folder.parent}{_there_are(job.folder.parent)}")
        self._db = sqlite3.connect(f"{job.file.resolve().as_uri()}?mode=ro", uri=True, timeout=30.0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._db.close()
        if isinstance(error, sqlite3.Error):
            raise SettingsError(f"cannot read {self.job.file}: {error}") from error

    def _rows(self, statement: str, *values: Any) -> list[Any]:
        return self._db.execute(statement, values).fetchall()

    def meta(self) -> Mapping[str, Any]:
        """What is known of the job as a whole."""
        return dict(self._rows("SELECT key, value FROM meta"))

    def status(self) -> JobStatus:
        meta, pid, now = self.meta(), self.job.owner(), time.time()
        if pid is not None:
            state = "running"
        elif meta["finished"]:
            state = "finished"
        else:
            state = "stopped" if meta["clean"] else "broken off"
        under_way = len(_under_way(meta)) if pid is not None else 0
        ((waiting, delayed, suspects, oldest),) = self._rows(
            "SELECT COUNT(*), COALESCE(SUM(due > ?), 0), COALESCE(SUM(lost > 0), 0), COALESCE(MIN(since), 0.0) FROM queue", now
        )
        return JobStatus(
            self.job.name, meta["spider"], state, pid, meta["begun"], meta["finished"], meta["done"], meta["failed"],
            meta["duplicates"], under_way, waiting - delayed - under_way, delayed, suspects, oldest,
        )  # fmt: skip

    def by_host(self, limit: int) -> list[tuple[str, int, int, float]]:
        """The hosts with most requests: host, how many, how many of them later, and since when the oldest waits."""
        return self._rows(
            "SELECT host, COUNT(*) AS waiting, SUM(due > ?), MIN(since) FROM queue"
            " GROUP BY host ORDER BY waiting DESC, host LIMIT ?",
            time.time(), limit,
        )  # fmt: skip

    def by_priority(self) -> list[tuple[int, int]]:
        """How many requests there are of each priority, the best first."""
        return self._rows("SELECT priority, COUNT(*) FROM queue GROUP BY priority ORDER BY priority DESC")

    def failed_groups(self) -> list[FailedGroup]:
        """Failed requests by reason, the most frequent first."""
        return [
            FailedGroup(*row)
            for row in self._rows(
                "SELECT reason, COUNT(*) AS times, MAX(at), body FROM failed GROUP BY reason ORDER BY times DESC"
            )
        ]

    def failed(self, reason: str, limit: int = -1) -> list[FailedEntry]:
        """The last requests that failed for that reason (for any, if it is empty), oldest first; -1: all of them."""
        return failed_in(self._db, reason, limit)

    def failed_items(self, reason: str = "") -> list[KeptItem]:
        """The items that failed for that reason (for any, if it is empty), oldest first."""
        return list(failed_items_in(self._db, reason).values())

    # One URL

    def places(self, rid: int, url: bytes) -> list[Place]:
        """The requests that are not at their end, of that identity or with that URL, as ``url_in_frozen`` has it."""
        under_way = _under_way(self.meta()).tolist() if self.job.owner() is not None else []
        rows = self._rows(f"{WAITING}, since, due FROM queue {_THE_ONE}", written_rid(rid), url)
        return [self._place(waiting_entry(*one), since, due, under_way) for *one, since, due in rows]

    def _place(self, entry: Entry, since: float, due: float, under_way: list[int]) -> Place:
        rank = FRONT if entry.front else entry.priority
        ((behind,),) = self._rows(
            "SELECT COUNT(*) FROM queue WHERE host = ? AND due <= ? AND lost = 0"
            " AND (CASE WHEN front THEN ? ELSE priority END, -id) > (?, ?)"
            " AND id NOT IN (SELECT value FROM json_each(?))",
            entry.host, time.time(), FRONT, rank, -entry.row, json.dumps(under_way),
        )  # fmt: skip
        return Place(entry, since, due, entry.row in under_way, behind)

    def failed_of(self, rid: int, url: bytes) -> list[FailedEntry]:
        """The requests that failed, of that identity or with that URL, as ``url_in_frozen`` has it; oldest first."""
        rows = self._rows(f"{FAILED} {_THE_ONE} ORDER BY id", written_rid(rid), url)
        return [failed_entry(*row) for row in rows]

    def has_seen(self, fingerprint: int, size: int) -> bool:
        """Whether there was such a request, of this or an earlier run. Fingerprints have so many bytes."""
        found = self._rows("SELECT fingerprints FROM seen WHERE instr(fingerprints, ?)", packed([fingerprint], size))
        return any(fingerprint in unpacked(data, size) for (data,) in found)

    def recall(self, key: str) -> tuple[bytes, float] | None:
        """What is known of a host, and for how many seconds it still is."""
        now = time.time()
        found = self._rows("SELECT value, until FROM remembered WHERE key = ? AND until > ?", written_key(key), now)
        return (found[0][0], found[0][1] - now) if found else None


def _under_way(meta: Mapping[str, Any]) -> array[int]:
    """The numbers of the requests that were under way at the last commit."""
    return array("q", meta["leased"])


def jobs_in(folder: Path) -> list[str]:
    """The names of the jobs there."""
    return sorted(path.parent.name for path in folder.glob("*/job.sqlite"))


def _there_are(folder: Path) -> str:
    names = jobs_in(folder)
    return f"; there are: {', '.join(names)}" if names else ""
