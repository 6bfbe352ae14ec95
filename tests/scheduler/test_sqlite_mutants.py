"""Mistakes in what a job writes down, made on purpose: the tests of jobs find each of them."""

from __future__ import annotations

import asyncio
import inspect
import sys
from pathlib import Path
from typing import Any

import pytest

from openoctopus.dupefilter import RFPDupeFilter
from tests.scheduler import test_sqlite
from tests.scheduler.mutants import Mutant, mutated
from tests.scheduler.test_sqlite import Jobs

#: In the order in which they import each other.
MODULES = ("journal", "jobfile", "sqlite")
#: Seconds that a test may take which waits for something that a mistake keeps from coming.
PATIENCE = 5.0


MUTANTS = [
    Mutant("what was seen is not written", "journal", "self.seen.append(fingerprint)", "pass"),
    Mutant("an entry that waits again is not written", "journal", "self.again[entry.row] = waiting", "pass"),
    Mutant("an entry at its end stays", "journal", "self.gone.append(entry.row)", "pass"),
    Mutant("a failed entry is not written", "journal", "self.given_up.append(failed)", "pass"),
    Mutant("a delay is forgotten", "journal", "now + delay if delay > 0 else 0.0", "0.0"),
    Mutant("the attempts are not written", "jobfile", "(one.attempts, one.lost, one.front, due, row)",
           "(0, one.lost, one.front, due, row)"),
    Mutant("the deaths are not written", "jobfile", "(one.attempts, one.lost, one.front, due, row)",
           "(one.attempts, 0, one.front, due, row)"),
    Mutant("the place in front is not written", "jobfile", "(one.attempts, one.lost, one.front, due, row)",
           "(one.attempts, one.lost, 0, due, row)"),
    Mutant("a commit that failed is half there", "jobfile", 'self._db.execute("ROLLBACK")', 'self._db.execute("COMMIT")'),
    Mutant("large fingerprints are cut", "jobfile", "8 if rid < 1 << 64 else 16", "8"),
    Mutant("another file is written to", "jobfile", "os.stat(self.path).st_ino != self._inode", "False"),
    Mutant("numbers are given again", "sqlite", "count(self._file.last_row() + 1)", "count(1)"),
    Mutant("a settled page is not waited for", "sqlite", "await asyncio.shield(self._committed)", "pass"),
    Mutant("the hosts of first requests are forgotten", "sqlite", "self._changes.state[_START_HOST + host] = b\"1\"",
           "pass"),
    Mutant("the key of fingerprints is forgotten", "sqlite", "self._dupefilter.secret = meta[\"secret\"]", "pass"),
    Mutant("nobody is a suspect", "sqlite", "lost=entry.row in suspects", "lost=False"),
    Mutant("a power cut is blamed on pages", "sqlite", "and meta[\"boot\"] == _boot()", ""),
    Mutant("a stop is blamed on pages", "sqlite", "was_killed = not meta[\"clean\"]", "was_killed = True"),
    Mutant("pages that were read are suspects", "sqlite", "and not lease.read)", ")"),
    Mutant("pages of workers are suspects", "sqlite", "if not lease.worker and", "if"),
    Mutant("a claim after a kill is not written down first", "sqlite", "self._cautious and not worker", "False"),
    Mutant("claims go on while the disk is full", "sqlite", "if not self._is_ready:\n            return None",
           "if False:\n            return None"),
    Mutant("a job is never finished", "sqlite", "time.time() if is_finished else 0.0", "0.0"),
    Mutant("what is known of hosts is forgotten", "sqlite",
           "self._changes.remembered[key] = value, time.time() + seconds", "pass"),
    Mutant("first requests are drawn again", "sqlite", "self._meta[\"drawn\"] = int(drawn)", "pass"),
    Mutant("the lock stays", "sqlite", "self.job.unlock()\n\n\ndef", "pass\n\n\ndef"),
]  # fmt: skip


def mutated_jobs(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The scheduler of jobs with the mistake."""
    kind: Any = mutated(mutant, MODULES, monkeypatch).SqliteScheduler
    kind.commit_every = 0.0
    return kind


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.mistake)
def test_a_mistake_is_found_out(mutant: Mutant, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kind = mutated_jobs(mutant, monkeypatch)
    # What a mistake leaves open is not the matter here.
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: None)

    with pytest.raises(BaseException):  # a mistake may break an assertion, or the code itself
        asyncio.run(every_test(kind, tmp_path))


def test_without_a_mistake_nothing_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kind = mutated_jobs(Mutant("none", "", "", ""), monkeypatch)

    asyncio.run(every_test(kind, tmp_path))


def large() -> RFPDupeFilter:
    return RFPDupeFilter(fingerprint_bits=128)


async def every_test(kind: Any, folder: Path) -> None:
    """All tests of jobs that need no more than a folder."""
    for name, test in vars(test_sqlite).items():
        given = {*inspect.signature(test).parameters} if name.startswith("test_") else {"nothing"}
        if not given <= {"jobs", "monkeypatch", "seed", "dupefilter", "drawn"}:
            continue
        (folder / name).mkdir()
        jobs = Jobs(folder / name / "jobs", kind)
        with pytest.MonkeyPatch.context() as patch:
            offered = {"jobs": jobs, "monkeypatch": patch, "seed": 1, "dupefilter": large, "drawn": True}
            await asyncio.wait_for(test(**{one: offered[one] for one in given}), PATIENCE)
