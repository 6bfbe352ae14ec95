"""The file of a job: its tables, and how changes get into them."""

from __future__ import annotations

import os
import sqlite3
import sys
import time
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from typing import Any

import msgspec

from openoctopus.exceptions import SettingsError
from openoctopus.failpoints import hit
from openoctopus.pipelines.failed import PREFIX, KeptItem, kept_items
from openoctopus.scheduler.base import Entry, FailedEntry
from openoctopus.scheduler.journal import Changes, Waiting

#: A file of another layout is not read.
LAYOUT = 1

#: FULL: what is committed has reached the disk, also if the power fails.
_PRAGMAS = """
PRAGMA page_size = 8192;
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA fullfsync = ON;
PRAGMA wal_autocheckpoint = 4000;
"""
#: Reads what ``waiting_entry`` takes; more columns may follow.
WAITING = "SELECT rid, host, body, priority, attempts, lost, front, id"
#: Reads rows of ``failed_entry``.
FAILED = "SELECT rid, host, body, priority, attempts, lost, reason, detail, at FROM failed"
_TABLES = f"""
PRAGMA user_version = {LAYOUT};
CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE queue(
    id INTEGER PRIMARY KEY, rid BLOB, host TEXT, priority INTEGER, attempts INTEGER, lost INTEGER, front INTEGER, body BLOB,
    since REAL, due REAL
);
CREATE TABLE seen(id INTEGER PRIMARY KEY, fingerprints BLOB);
CREATE TABLE state(key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID;
CREATE TABLE remembered(key BLOB PRIMARY KEY, value BLOB, until REAL) WITHOUT ROWID;
CREATE TABLE failed(
    id INTEGER PRIMARY KEY, rid BLOB, host TEXT, priority INTEGER, attempts INTEGER, lost INTEGER, body BLOB,
    reason TEXT, detail TEXT, at REAL
);
"""


class JobFile:
    """A connection to the file. ``fingerprint_size`` is in bytes. Raises ``sqlite3.Error``, and as said.

    One thread at a time may use it.
    """

    def __init__(self, path: Path, fingerprint_size: int) -> None:
        self.path = path
        self._size = fingerprint_size
        self._db = sqlite3.connect(path, timeout=30.0, isolation_level=None, check_same_thread=False)
        try:
            self._db.executescript(_PRAGMAS)
            if not self._db.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone():
                self._db.executescript(f"BEGIN; {_TABLES} COMMIT;")
            self._check_layout()
        except BaseException:
            self._db.close()
            raise
        self._inode = os.stat(path).st_ino

    def _check_layout(self) -> None:
        layout = self._db.execute("PRAGMA user_version").fetchone()[0]
        if layout != LAYOUT:
            raise SettingsError(
                f"{self.path} has layout {layout}, this version reads {LAYOUT}: finish the job with the version that began it, "
                "or begin it anew with --fresh"
            )

    # What is there

    def meta(self) -> dict[str, Any]:
        """What is known of the job as a whole."""
        return dict(self._db.execute("SELECT key, value FROM meta"))

    def entries(self) -> Iterator[tuple[Entry, float]]:
        """What waits, oldest first, and when it may go, in seconds since the epoch."""
        for *one, due in self._db.execute(f"{WAITING}, due FROM queue ORDER BY id"):
            yield waiting_entry(*one), due

    def last_row(self) -> int:
        """The highest number of those that wait."""
        return self._db.execute("SELECT MAX(id) FROM queue").fetchone()[0] or 0

    def fingerprints(self) -> Iterator[Iterable[int]]:
        """All that was seen, in parts."""
        for (data,) in self._db.execute("SELECT fingerprints FROM seen ORDER BY id"):
            yield unpacked(data, self._size)

    def state(self, prefix: str) -> dict[str, bytes]:
        """What other parts of the crawl wanted to find again, under keys that begin so."""
        return state_in(self._db, prefix)

    def remembered(self, now: float) -> Iterator[tuple[str, bytes, float]]:
        """What is known of hosts: key, value, and until when it holds, in seconds since the epoch."""
        for key, value, until in self._db.execute("SELECT key, value, until FROM remembered WHERE until > ?", [now]):
            yield _text(key), value, until

    def failed(self, limit: int) -> list[FailedEntry]:
        """The last ones that were given up, oldest first."""
        return failed_in(self._db, limit=limit)

    # What becomes of it

    def commit(self, changes: Changes, meta: Mapping[str, Any]) -> None:
        """Write everything in one step. Raises ``FileNotFoundError`` if the file is no longer at its place."""
        if os.stat(self.path).st_ino != self._inode:
            raise FileNotFoundError(f"{self.path} is another file now")
        with self._step() as db:
            db.executemany("INSERT INTO queue VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", map(_row, changes.added.values()))
            db.executemany(
                "UPDATE queue SET attempts = ?, lost = ?, front = ?, due = ? WHERE id = ?",
                ((one.attempts, one.lost, one.front, due, row) for row, (one, _, due) in changes.again.items()),
            )
            db.executemany("DELETE FROM queue WHERE id = ?", ((row,) for row in changes.gone))
            db.executemany("INSERT INTO failed VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)", map(_failed_row, changes.given_up))
            if changes.seen:
                db.execute("INSERT INTO seen(fingerprints) VALUES (?)", [packed(changes.seen, self._size)])
            db.executemany(
                "INSERT OR REPLACE INTO state VALUES (?, ?)",
                ((written_key(key), value) for key, value in changes.state.items() if value),
            )
            db.executemany(
                "DELETE FROM state WHERE key = ?", ((written_key(key),) for key, value in changes.state.items() if not value)
            )
            db.executemany(
                "INSERT OR REPLACE INTO remembered VALUES (?, ?, ?)",
                ((written_key(key), value, until) for key, (value, until) in changes.remembered.items()),
            )
            db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", meta.items())
            hit("job.half")
        hit("job.committed")

    def retry(self, reason: str, rows: Iterator[int]) -> tuple[list[Entry], int]:
        """Let failed requests wait again, as if they had never been tried, and have failed items retried by the next run:
        those of that reason, all if it is empty. Returns the requests, and how many items there are.
        """
        now = time.time()
        with self._step() as db:
            found = failed_in(db, reason)
            for failed in found:
                entry = failed.entry
                entry.row, entry.attempts, entry.lost = next(rows), 0, 0
                db.execute("INSERT INTO queue VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", _row(Waiting(entry, now, 0.0)))
            db.execute("DELETE FROM failed WHERE reason = ? OR ? = ''", [reason, reason])
            db.execute("UPDATE meta SET value = value - ? WHERE key = 'failed'", [len(found)])
            items = failed_items_in(db, reason)
            for key, item in items.items():
                item.retry = True
                db.execute("UPDATE state SET value = ? WHERE key = ?", [msgspec.msgpack.encode(item), written_key(key)])
            if found or items:
                db.execute("UPDATE meta SET value = 0.0 WHERE key = 'finished'")
        return [failed.entry for failed in found], len(items)

    def purge(self, reason: str) -> tuple[int, int]:
        """Forget failed requests and items: those of that reason, all if it is empty. How many they were."""
        with self._step() as db:
            requests = db.execute("DELETE FROM failed WHERE reason = ? OR ? = ''", [reason, reason]).rowcount
            items = failed_items_in(db, reason)
            db.executemany("DELETE FROM state WHERE key = ?", ((written_key(key),) for key in items))
        return requests, len(items)

    @contextmanager
    def _step(self) -> Iterator[sqlite3.Connection]:
        """All that is done in it is kept, or nothing."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield self._db
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    def close(self) -> None:
        self._db.close()


def waiting_entry(rid: bytes, host: str, body: bytes, priority: int, attempts: int, lost: int, front: int, row: int) -> Entry:
    """What a row of ``WAITING`` says."""
    return Entry(int.from_bytes(rid, "big"), host, body, priority, 0.0, attempts, lost, bool(front), row)


def failed_in(db: sqlite3.Connection, reason: str = "", limit: int = -1) -> list[FailedEntry]:
    """The last requests that failed for that reason (for any, if it is empty), oldest first; -1: all of them."""
    found = db.execute(f"{FAILED} WHERE reason = ? OR ? = '' ORDER BY id DESC LIMIT ?", [reason, reason, limit])
    return [failed_entry(*row) for row in found][::-1]


def failed_entry(
    rid: bytes, host: str, body: bytes, priority: int, attempts: int, lost: int, reason: str, detail: str, at: float
) -> FailedEntry:
    """What a row of ``FAILED`` says."""
    return FailedEntry(Entry(int.from_bytes(rid, "big"), host, body, priority, 0.0, attempts, lost), reason, detail, at)


def failed_items_in(db: sqlite3.Connection, reason: str = "") -> dict[str, KeptItem]:
    """The items that failed for that reason (for any, if it is empty), oldest first, by the keys of their state."""
    found = kept_items(state_in(db, f"{PREFIX}/"))
    chosen = [(key, item) for key, item in found.items() if reason in ("", item.reason)]
    return dict(sorted(chosen, key=lambda pair: pair[1].at))


def state_in(db: sqlite3.Connection, prefix: str) -> dict[str, bytes]:
    """What parts of the crawl wanted to find again, under keys that begin so."""
    start = written_key(prefix)
    found = db.execute("SELECT key, value FROM state WHERE key >= ? ORDER BY key", [start])
    return {_text(key): value for key, value in takewhile(lambda row: row[0].startswith(start), found)}


def _row(waiting: Waiting) -> tuple[Any, ...]:
    one = waiting.entry
    return (
        one.row, written_rid(one.rid), one.host, one.priority, one.attempts, one.lost, one.front, one.body,
        waiting.since, waiting.due,
    )  # fmt: skip


def _failed_row(failed: FailedEntry) -> tuple[Any, ...]:
    one = failed.entry
    return (
        written_rid(one.rid), one.host, one.priority, one.attempts, one.lost, one.body,
        _plain(failed.reason), _plain(failed.detail), failed.at,
    )  # fmt: skip


def written_rid(rid: int) -> bytes:
    """As it stands in the tables."""
    return rid.to_bytes(8 if rid < 1 << 64 else 16, "big")


def packed(fingerprints: Sequence[int], size: int) -> bytes:
    """Fingerprints as ``seen`` has them, each of so many bytes."""
    if size > 8:
        return b"".join(one.to_bytes(size, "little") for one in fingerprints)
    numbers = array("Q", fingerprints)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


def unpacked(data: bytes, size: int) -> Sequence[int]:
    """The fingerprints of a row of ``seen``; each has so many bytes."""
    if size > 8:
        return [int.from_bytes(data[start : start + size], "little") for start in range(0, len(data), size)]
    numbers = array("Q", data)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def written_key(key: str) -> bytes:
    """Keys may hold anything, half of a surrogate pair too, which is no UTF-8."""
    return key.encode("utf-8", "surrogatepass")


def _text(key: bytes) -> str:
    return key.decode("utf-8", "surrogatepass")


def _plain(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()
