"""What the file of a job says after a run."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from openoctopus.http.codec import thaw
from tests.chaos.victim import Violation


def failed_pages(folder: Path, job: str = "chaos") -> dict[int, str]:
    """The numbers of the pages that failed, and why. Raises ``Violation`` if the file is damaged or not at its end."""
    path = folder / ".octopus/jobs" / job / "job.sqlite"
    with closing(sqlite3.connect(path)) as file:
        if file.execute("PRAGMA integrity_check").fetchone() != ("ok",):
            raise Violation(f"{path} is damaged")
        if waiting := file.execute("SELECT COUNT(*) FROM queue").fetchone()[0]:
            raise Violation(f"{waiting} requests still wait in {path}")
        rows = file.execute("SELECT body, reason FROM failed").fetchall()
    return {int(thaw(body).url.rpartition("/")[2]): reason for body, reason in rows}
