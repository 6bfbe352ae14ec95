"""The whole history of each URL, kept beside a job where it is asked for."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from openoctopus.downloadermiddlewares.base import Fetch
from openoctopus.dupefilter import RFPDupeFilter
from openoctopus.exceptions import InvalidRequest, SettingsError
from openoctopus.http import Request, Response
from openoctopus.http.codec import thaw
from openoctopus.plugins import Plugin
from openoctopus.scheduler.base import Again, Entry, Fail, FailedEntry, Lease, Move, Outcome
from openoctopus.scheduler.job import Job
from openoctopus.settings import Settings

logger = logging.getLogger(__name__)

#: Seconds between two times at which what happened is written down.
WRITE_EVERY = 0.5
#: Of so many refused requests it is remembered that they were told: links to the same places are on every page.
REMEMBERED = 100_000

#: A power cut may cost the last events, not the file. Several workers write to it.
_TABLES = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
CREATE TABLE IF NOT EXISTS events(
    id INTEGER PRIMARY KEY, at REAL, request BLOB, what TEXT, url TEXT, page TEXT, status INTEGER, seconds REAL, bytes INTEGER,
    detail TEXT
);
CREATE INDEX IF NOT EXISTS events_of_request ON events(request);
"""


class Event(NamedTuple):
    """Something that happened to a request."""

    #: Seconds since the epoch.
    at: float
    #: Its fingerprint.
    request: bytes
    #: ``found``, ``refused``, ``fetched``, ``again``, ``moved``, ``failed`` or ``settled``.
    what: str
    url: str
    #: The page that it was found on, or the one that it was moved to.
    page: str = ""
    #: What was answered, after how long, and the bytes of the body.
    status: int | None = None
    seconds: float | None = None
    size: int | None = None
    detail: str = ""


class Trace(Plugin):
    """Is told what happens to requests. This one keeps nothing."""

    def fetching(self, fetch: Fetch) -> Fetch:
        """The same, under observation."""
        return fetch

    def found(self, entries: Sequence[Entry], new: Sequence[bool], page: Entry | None) -> None:
        """A page (``None``: ``start``) yielded these requests; which were new."""

    def refused(self, request: Request, page: str, rule: str, reason: str) -> None:
        """A middleware let a request go: when it was found on that page, or, without one, when it was to be fetched."""

    def settled(self, settled: Iterable[tuple[Lease, Outcome]]) -> None:
        """What became of pages is safe."""

    def given_up(self, failed: FailedEntry) -> None:
        """The scheduler itself let an entry fail."""


class KeptTrace(Trace):
    """Writes it to ``trace.sqlite`` in the folder of the job. A file that cannot be written costs events, never the crawl."""

    def __init__(self, path: Path, dupefilter: RFPDupeFilter) -> None:
        self.path = path
        self._dupefilter = dupefilter
        self._events: list[Event] = []
        self._told: set[tuple[int, str]] = set()
        self._writing: asyncio.Task[None] | None = None

    # What is told

    def fetching(self, fetch: Fetch) -> Fetch:
        async def traced(request: Request) -> Response:
            began, at = time.monotonic(), time.time()
            try:
                response = await fetch(request)
            except Exception as error:
                self._note("fetched", request, at, seconds=time.monotonic() - began, detail=f"{type(error).__name__}: {error}")
                raise
            seconds, size = time.monotonic() - began, len(response.body)
            self._note("fetched", request, at, status=response.status, seconds=seconds, size=size)
            return response

        return traced

    def found(self, entries: Sequence[Entry], new: Sequence[bool], page: Entry | None) -> None:
        found = [entry for entry, is_new in zip(entries, new, strict=True) if is_new]
        url = _thawed(page).url if found and page else ""
        for entry in found:
            self._note("found", entry, page=url)

    def refused(self, request: Request, page: str, rule: str, reason: str) -> None:
        known = self._dupefilter.fingerprint(request), f"{rule}\n{reason}"
        if known in self._told and (page or rule):
            return
        if len(self._told) >= REMEMBERED:
            self._told.clear()
        self._told.add(known)
        self._note("refused", request, page=page, detail=": ".join(filter(None, (rule, reason))))

    def settled(self, settled: Iterable[tuple[Lease, Outcome]]) -> None:
        for lease, outcome in settled:
            match outcome:
                case Again(delay, spent):
                    detail = f"in {delay:.1f} s, an attempt was spent" if spent else f"in {delay:.1f} s, without an attempt"
                    self._note("again", lease.entry, detail=detail)
                case Fail(reason, detail):
                    self._note("failed", lease.entry, detail=f"{reason}: {detail}")
                case Move(entry):
                    self._note("moved", lease.entry, page=_thawed(entry).url)
                    self._note("found", entry, page=_thawed(lease.entry).url, detail="redirect")
                case _:
                    self._note("settled", lease.entry)

    def given_up(self, failed: FailedEntry) -> None:
        self._note("failed", failed.entry, detail=f"{failed.reason}: {failed.detail}")

    def _note(
        self, what: str, request: Request | Entry, at: float = 0.0, *, page: str = "", status: int | None = None,
        seconds: float | None = None, size: int | None = None, detail: str = "",
    ) -> None:  # fmt: skip
        try:
            request = _thawed(request) if isinstance(request, Entry) else request
            fingerprint = written(self._dupefilter.fingerprint(request))
        except InvalidRequest:  # it failed as unreadable
            return
        detail = detail.encode("utf-8", "backslashreplace").decode()
        self._events.append(Event(at or time.time(), fingerprint, what, request.url, page, status, seconds, size, detail))

    # What is kept

    async def open(self) -> None:
        self._thread = ThreadPoolExecutor(1, "trace writer")
        try:
            await self._in_thread(self._begin)
        except sqlite3.Error as error:
            raise SettingsError(f"cannot keep the trace in {self.path}: {error}") from error
        self._writing = asyncio.create_task(self._write(), name="trace writer")

    async def close(self) -> None:
        if self._writing is None:
            return
        self._writing.cancel()
        await self._flush()
        await self._in_thread(self._database.close)
        self._thread.shutdown()

    async def _in_thread(self, work: Callable[..., None], *arguments: Any) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, work, *arguments)

    def _begin(self) -> None:
        self._database = sqlite3.connect(self.path, timeout=30.0, isolation_level=None)
        self._database.executescript(_TABLES)

    async def _write(self) -> None:
        while True:
            await asyncio.sleep(WRITE_EVERY)
            await asyncio.shield(self._flush())

    async def _flush(self) -> None:
        events, self._events = self._events, []
        if events:
            await self._in_thread(self._store, events)

    def _store(self, events: list[Event]) -> None:
        try:
            self._database.execute("BEGIN IMMEDIATE")
            self._database.executemany("INSERT INTO events VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)", events)
            self._database.execute("COMMIT")
        except sqlite3.Error as error:
            logger.error("the trace cannot be written, it lacks %d events: %s", len(events), error)
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")


def trace_of(settings: Settings, dupefilter: RFPDupeFilter) -> Trace:
    """The trace that the settings ask for. Raises ``SettingsError`` if there is no job to keep it with."""
    if not settings.TRACE:
        return Trace()
    if not settings.JOB:
        raise SettingsError("TRACE is kept with a job, and needs a name for it: --job NAME, or JOB")
    return KeptTrace(trace_file(Job(settings.JOB, settings.JOBS_DIR)), dupefilter)


def trace_file(job: Job) -> Path:
    """Where the trace of a job is, if there is one."""
    return job.folder / "trace.sqlite"


def history(path: Path, fingerprint: int) -> list[Event]:
    """All that happened to a request, oldest first; nothing if there is no trace. Raises ``SettingsError``."""
    if not path.exists():
        return []
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=30.0)) as database:
            rows = database.execute(
                "SELECT at, request, what, url, page, status, seconds, bytes, detail FROM events WHERE request = ?"
                " ORDER BY at, id",
                [written(fingerprint)],
            )
            return [Event(*row) for row in rows]
    except sqlite3.Error as error:
        raise SettingsError(f"cannot read {path}: {error}") from error


def written(fingerprint: int) -> bytes:
    """A fingerprint as the trace has it."""
    return fingerprint.to_bytes(16, "big").lstrip(b"\0")


def _thawed(entry: Entry) -> Request:
    return thaw(entry.body)
