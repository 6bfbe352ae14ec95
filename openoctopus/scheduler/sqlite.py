"""A job: the crawl goes on where it ended, however it ended."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import os
import sqlite3
import time
from array import array
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from openoctopus.dupefilter import RFPDupeFilter
from openoctopus.exceptions import JobFinished, JobLost, SettingsError
from openoctopus.log import moment
from openoctopus.scheduler.base import Done, Entry, Lease, Outcome
from openoctopus.scheduler.job import Job, Message
from openoctopus.scheduler.jobfile import JobFile
from openoctopus.scheduler.journal import Changes
from openoctopus.scheduler.memory import MemoryScheduler
from openoctopus.settings import Settings
from openoctopus.state import NO_STATE, State

logger = logging.getLogger(__name__)

#: Commits take so much of the time, at most.
COMMIT_SHARE = 0.1
#: Seconds before another try to write on a disk that is full or away.
PAUSE = 5.0
#: Seconds between two looks at what people ask for.
LOOK_EVERY = 1.0
#: After a crawl that was killed so many pages are noted down before each is fetched: the one that killed it may be among them.
CAUTIOUS = 1000
#: The keys of the hosts that first requests named begin so, among the state of other parts.
_START_HOST = "start-host/"

T = TypeVar("T")


class SqliteScheduler(MemoryScheduler):
    """Keeps a job in ``JOBS_DIR/JOB/job.sqlite``: what waits, what was seen, what failed, and the state of other parts.

    Decides in memory as its base does, and writes down what was decided; a page that is settled is on the disk. All that
    waits is in memory too, about 300 bytes each. Raises ``SettingsError`` if another process works on the job, or if it is
    another spider's; ``JobFinished`` if nothing is left to do.
    """

    #: Seconds between two commits, at most: what waits for one shares it with all that came meanwhile.
    commit_every = 0.05

    def __init__(
        self,
        dupefilter: RFPDupeFilter,
        settings: Settings,
        *,
        spider_name: str = "",
        clock: Callable[[], float] = time.monotonic,
        lease: float = math.inf,
    ) -> None:
        super().__init__(dupefilter, settings, clock=clock, lease=lease)
        if not settings.JOB:
            raise SettingsError("SqliteScheduler keeps a job, and needs a name for it: --job NAME, or JOB")
        self.job = Job(settings.JOB, settings.JOBS_DIR)
        self._is_fresh = settings.JOB_FRESH
        self._max_failed = settings.MAX_FAILED
        self._dupefilter = dupefilter
        self._spider_name = spider_name
        #: When the next commit may be.
        self._commit_at = -math.inf
        #: Whether it can be written to.
        self._is_ready = True
        self._news = asyncio.Event()
        self._closing = asyncio.Event()
        self._cautious = 0
        self._writing: asyncio.Task[None] | None = None

    # A job is opened

    async def open(self) -> None:
        """Take the job, and take up what is there."""
        self.job.lock()
        try:
            if self._is_fresh:
                self.job.clear()
            self._file = self._readable(JobFile, self.job.file, self._dupefilter.size)
        except BaseException:
            self.job.unlock()
            raise
        self._thread = ThreadPoolExecutor(1, f"job {self.job.name} writer")
        try:
            self._readable(self._take_up)
            await self._commit()
        except BaseException:
            self._let_go()
            raise
        self._writing = asyncio.create_task(self._write(), name=f"job {self.job.name} writer")
        self._obeying = asyncio.create_task(self._obey(), name=f"job {self.job.name} inbox")

    def _readable(self, read: Callable[..., T], *arguments: Any) -> T:
        """What that returns. Raises ``SettingsError`` if the file cannot be read."""
        try:
            return read(*arguments)
        except sqlite3.Error as error:
            raise SettingsError(
                f"cannot read {self.job.file}: {error}; if the file is damaged, begin anew with --fresh"
            ) from error

    def _new_changes(self) -> None:
        self._policy.journal = self._changes = Changes(self._rows)
        self._committed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._committed.add_done_callback(asyncio.Future.exception)  # nobody may be waiting to hear it

    def _take_up(self) -> None:
        self._rows = count(self._file.last_row() + 1)
        self._new_changes()
        meta = self._file.meta()
        if "begun" in meta:
            self._check(meta)
            self._restore(meta)
        else:
            meta["secret"], meta["begun"] = self._dupefilter.secret, time.time()
        self._meta = {
            "begun": meta["begun"], "secret": meta["secret"], "spider": self._spider_name, "memory": self._dupefilter.memory,
            "drawn": int(self._start.ended), "finished": 0.0, "boot": _boot(), "pid": os.getpid(), "clean": 0,
        }  # fmt: skip

    def _check(self, meta: dict[str, Any]) -> None:
        name = self.job.name
        if meta["spider"] != self._spider_name:
            raise SettingsError(f"job {name} is one of spider {meta['spider']}: give this crawl another name, or --fresh")
        if meta["memory"] != self._dupefilter.memory:
            raise SettingsError(
                f"job {name} remembers what was seen as {meta['memory']}, not {self._dupefilter.memory}: "
                "set the dupefilter as it was, or begin anew with --fresh"
            )
        if meta["finished"]:
            raise JobFinished(f"job {name} was finished on {moment(meta['finished'])}; --fresh crawls it anew")

    def _restore(self, meta: dict[str, Any]) -> None:
        """Take up what an earlier run left."""
        self._dupefilter.secret = meta["secret"]
        policy, now, wall = self._policy, self._clock(), time.time()
        for fingerprints in self._file.fingerprints():
            for fingerprint in fingerprints:
                policy.seen.add(fingerprint)
        policy.failed.extend(self._file.failed(self._max_failed))
        counts = self.counts
        counts.done, counts.failed, counts.duplicates = meta["done"], meta["failed"], meta["duplicates"]
        counts.added = counts.done + counts.failed
        # A power cut is no page's fault.
        was_killed = not meta["clean"] and meta["boot"] == _boot()
        suspects = set(array("q", meta["carried"])) if was_killed else set()
        for entry, due in self._file.entries():
            entry.delay = max(0.0, due - wall)
            policy.restore(entry, now, lost=entry.row in suspects)
        self._cautious = CAUTIOUS if was_killed else 0
        self._remembered = {key: (now + until - wall, value) for key, value, until in self._file.remembered(wall)}
        self._start.ended = bool(meta["drawn"])
        self.start_hosts.update(key.removeprefix(_START_HOST) for key in self._file.state(_START_HOST))
        logger.info(
            "job %s goes on, begun on %s, last run %s: %d requests wait, %d are done, %d failed",
            self.job.name, moment(meta["begun"]), "stopped" if meta["clean"] else "broken off",
            counts.pending, counts.done, counts.failed,
        )  # fmt: skip

    # What is decided is written down

    async def add(self, entries: Sequence[Entry]) -> list[bool]:
        new = await super().add(entries)
        self._news.set()
        return new

    async def claim(self, worker: str = "") -> Lease | None:
        if not self._is_ready:
            return None
        lease = await super().claim(worker)
        if lease is not None and self._cautious and not worker:
            await self._durable()
        return lease

    async def settle(self, settled: Iterable[tuple[Lease, Outcome]], state: State = NO_STATE) -> None:
        settled = list(settled)
        await super().settle(settled)
        self._changes.state.update(state)
        if self._cautious:
            self._cautious = max(0, self._cautious - sum(isinstance(outcome, Done) for _, outcome in settled))
        await self._durable()

    async def kept(self, prefix: str) -> dict[str, bytes]:
        return await self._in_thread(self._file.state, prefix)

    async def release(self, worker: str) -> int:
        held = await super().release(worker)
        self._news.set()
        return held

    async def end_start(self, *, drawn: bool = True) -> None:
        await super().end_start(drawn=drawn)
        self._meta["drawn"] = int(drawn)
        await self._durable()

    def add_start_host(self, host: str) -> None:
        super().add_start_host(host)
        self._changes.state[_START_HOST + host] = b"1"
        self._news.set()

    async def remember(self, key: str, value: bytes, seconds: float) -> None:
        await super().remember(key, value, seconds)
        self._changes.remembered[key] = value, time.time() + seconds
        self._news.set()

    async def _durable(self) -> None:
        """Until all that was decided up to now is on the disk."""
        self._news.set()
        await asyncio.shield(self._committed)

    async def _write(self) -> None:
        """Commit again and again, the last time when the job is closed."""
        while not self._closing.is_set():
            await self._news.wait()
            await self._pause(self._commit_at - time.monotonic())
            self._news.clear()
            await self._commit()
        is_finished = bool(self._meta["drawn"]) and not self.counts.pending
        self._meta |= {"clean": 1, "finished": time.time() if is_finished else 0.0}
        await self._commit()

    async def _pause(self, seconds: float) -> None:
        """So long, unless the job is closed."""
        if seconds > 0:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._closing.wait()

    async def _commit(self) -> None:
        """Write down all that was decided up to now; try again for as long as the disk does not take it."""
        changes, committed, meta = self._changes, self._committed, self._current_meta()
        self._new_changes()
        is_last = False
        while True:
            began = time.monotonic()
            try:
                await self._in_thread(self._file.commit, changes, meta)
                break
            except (sqlite3.Error, OSError) as error:
                if is_last or not isinstance(error, sqlite3.OperationalError):
                    self._lose(f"job {self.job.name} cannot be written: {error}", committed, self._committed)
                if self._is_ready:  # it is full, or away
                    logger.warning("job %s cannot be written, the crawl waits for it: %s", self.job.name, error)
                    self._is_ready = False
            is_last = self._closing.is_set()
            await self._pause(PAUSE)
        if not self._is_ready:
            logger.warning("job %s can be written again", self.job.name)
            self._is_ready = True
        ended = time.monotonic()
        self._commit_at = ended + min(self.commit_every, (ended - began) / COMMIT_SHARE)
        committed.set_result(None)

    def _lose(self, what: str, *committed: asyncio.Future[None]) -> NoReturn:
        """Tell all who wait, and those who will."""
        lost = JobLost(f"{what}; what was done since the last commit is done again when the job goes on")
        for future in committed:
            future.set_exception(lost)
        raise lost

    def _current_meta(self) -> dict[str, Any]:
        counts, leases = self.counts, self._policy.leases()
        carried = (lease.entry.row for lease in leases if not lease.worker and not lease.read)
        return self._meta | {
            "done": counts.done, "failed": counts.failed, "duplicates": counts.duplicates,
            "leased": array("q", (lease.entry.row for lease in leases)).tobytes(), "carried": array("q", carried).tobytes(),
        }  # fmt: skip

    # What people ask for while it runs

    async def _obey(self) -> None:
        """Do what is asked for by ``octopus failed``, until cancelled."""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            try:
                for message in self.job.messages():
                    await self._do(message)
            except (sqlite3.Error, OSError) as error:
                logger.error("job %s cannot do what it was asked for: %s", self.job.name, error)

    async def _do(self, message: Message) -> None:
        policy, counts = self._policy, self.counts
        kept = [failed for failed in policy.failed if message.reason not in ("", failed.reason)]
        if message.do == "retry":
            entries, items = await self._in_thread(self._file.retry, message.reason, self._rows)
            counts.failed -= len(entries)
            counts.added -= len(entries)
            for entry in entries:
                policy.restore(entry, self._clock())
            logger.info("%d failed requests wait again, %d failed items are retried by the next run", len(entries), items)
        else:
            gone = await self._in_thread(self._file.purge, message.reason)
            logger.info("%d failed requests and %d failed items are forgotten", *gone)
        policy.failed.clear()
        policy.failed.extend(kept)

    async def _in_thread(self, work: Callable[..., T], *arguments: Any) -> T:
        """Done by the one thread that uses the file."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, *arguments)

    # A job is closed

    async def close(self) -> None:
        """Write what is left, and let others have the job. Raises ``JobLost`` if it cannot be written."""
        if self._writing is None:
            return
        self._obeying.cancel()
        self._closing.set()
        self._news.set()
        try:
            await self._writing
        finally:
            self._let_go()

    def _let_go(self) -> None:
        self._thread.shutdown()
        self._file.close()
        self.job.unlock()


def _boot() -> str:
    """What this machine's run is called, where the system tells: what died with an earlier one was not killed by a page."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return ""
