"""What people want to know of a job, read from its file, whether it runs or not."""

from __future__ import annotations

import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from openoctopus.exceptions import SettingsError
from openoctopus.pipelines.failed import KeptItem
from openoctopus.scheduler.base import FailedEntry
from openoctopus.scheduler.job import Job
from openoctopus.scheduler.jobfile import failed_in, failed_items_in


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

    def status(self) -> JobStatus:
        meta, pid, now = dict(self._rows("SELECT key, value FROM meta")), self.job.owner(), time.time()
        if pid is not None:
            state = "running"
        elif meta["finished"]:
            state = "finished"
        else:
            state = "stopped" if meta["clean"] else "broken off"
        under_way = meta["leased"] if pid is not None else 0
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


def jobs_in(folder: Path) -> list[str]:
    """The names of the jobs there."""
    return sorted(path.parent.name for path in folder.glob("*/job.sqlite"))


def _there_are(folder: Path) -> str:
    names = jobs_in(folder)
    return f"; there are: {', '.join(names)}" if names else ""
