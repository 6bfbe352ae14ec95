"""A job goes on where it ended, however it ended."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path
from random import Random
from types import ModuleType

import pytest

from openoctopus.dupefilter import BloomDupeFilter, RFPDupeFilter
from openoctopus.exceptions import JobFinished, JobLost, SettingsError
from openoctopus.http import Request
from openoctopus.scheduler import SqliteScheduler
from openoctopus.scheduler.base import DONE, Again, Fail, Move
from tests.scheduler.virtual import balanced, claimed, done, entries, entry, rids, settings


class Eager(SqliteScheduler):
    """Does not wait for others to share a commit."""

    commit_every = 0.0


class Jobs:
    """Opens a job in a folder, as one process after the other would."""

    def __init__(self, folder: Path, kind: type[SqliteScheduler] = Eager) -> None:
        self.folder = folder
        self.kind = kind
        self.dupefilter = RFPDupeFilter()

    def make(self, spider: str = "news", dupefilter: RFPDupeFilter | None = None, **options: object) -> SqliteScheduler:
        self.dupefilter = dupefilter or RFPDupeFilter()
        given = settings(**{"JOB": "job", "JOBS_DIR": str(self.folder), **options})
        return self.kind(self.dupefilter, given, spider_name=spider)

    @asynccontextmanager
    async def killed(self, **options: object) -> AsyncIterator[SqliteScheduler]:
        """A process that is killed at the end of the block: the next one finds its files as they were in that moment."""
        async with self.make(**options) as scheduler:
            yield scheduler
            left = shutil.copytree(self.folder, self.folder.with_name("left"))
        shutil.rmtree(self.folder)
        left.rename(self.folder)

    @property
    def module(self) -> ModuleType:
        """Where the scheduler stands."""
        return sys.modules[self.kind.open.__module__]

    @property
    def file(self) -> Path:
        return self.folder / "job" / "job.sqlite"


@pytest.fixture
def jobs(tmp_path: Path) -> Jobs:
    return Jobs(tmp_path / "jobs")


async def test_what_waits_goes_on_in_its_order(jobs: Jobs) -> None:
    async with jobs.make() as scheduler:
        await scheduler.add([entry(1), entry(2, priority=5), entry(3), entry(4, "b.example"), entry(5, delay=300.0)])
        await done(scheduler, await claimed(scheduler))

    async with jobs.make() as scheduler:
        counts = scheduler.counts
        assert (counts.queued, counts.delayed, counts.done, counts.added) == (3, 1, 1, 5)
        assert await rids(scheduler) == [1, 4, 3]
        assert 290 < scheduler._policy._delayed[0][0] - scheduler._clock() <= 300


async def test_what_was_seen_is_not_taken_again(jobs: Jobs) -> None:
    async with jobs.make() as scheduler:
        await scheduler.add(entries(3))
        lease = await claimed(scheduler)
        await scheduler.settle([(lease, Move(entry(50, "b.example"), 60))])

    async with jobs.make() as scheduler:
        assert await scheduler.add([entry(1), entry(2), entry(50), entry(60), entry(70)]) == [False] * 4 + [True]
        assert scheduler.knows(60)


@pytest.mark.parametrize("dupefilter", [RFPDupeFilter, lambda: RFPDupeFilter(fingerprint_bits=128), BloomDupeFilter])
async def test_fingerprints_stay_the_same(jobs: Jobs, dupefilter: type[RFPDupeFilter]) -> None:
    request = Request("https://a.example/")
    async with jobs.make(dupefilter=dupefilter()) as scheduler:
        await scheduler.add([entry(jobs.dupefilter.fingerprint(request))])

    async with jobs.make(dupefilter=dupefilter()) as scheduler:
        assert scheduler.knows(jobs.dupefilter.fingerprint(request))
        assert (await claimed(scheduler)).rid == jobs.dupefilter.fingerprint(request)


async def test_attempts_and_places_are_kept(jobs: Jobs) -> None:
    async with jobs.make() as scheduler:
        await scheduler.add(entries(3))
        await scheduler.settle([])
        first, second = await claimed(scheduler), await claimed(scheduler)
        await scheduler.settle([(first, Again()), (second, Again(spent=False))])

    async with jobs.make() as scheduler:
        given = [await claimed(scheduler) for _ in range(3)]
        assert [(lease.rid, lease.entry.attempts) for lease in given] == [(2, 0), (1, 1), (3, 0)]


async def test_failed_entries_are_kept(jobs: Jobs) -> None:
    async with jobs.make() as scheduler:
        await scheduler.add(entries(2))
        await scheduler.settle([(await claimed(scheduler), Fail("http_500", "half of a pair \ud800"))])

    async with jobs.make() as scheduler:
        (failed,) = await scheduler.failed()
        assert (failed.entry.rid, failed.entry.body, failed.reason) == (1, b"1", "http_500")
        assert failed.detail == r"half of a pair \ud800"
        assert balanced(scheduler)


async def test_state_and_what_is_known_of_hosts_are_kept(jobs: Jobs) -> None:
    async with jobs.make() as scheduler:
        await scheduler.settle([], {"file:a": b"10", "file:\ud800": b"20", "g": b"30"})
        await scheduler.settle([], {"file:a": b"11"})
        await scheduler.remember("robots:a", b"rules", 60.0)
        await scheduler.remember("robots:b", b"rules", 0.0)
        scheduler.add_start_host("a.example")

    async with jobs.make() as scheduler:
        assert await scheduler.kept("file:") == {"file:a": b"11", "file:\ud800": b"20"}
        assert await scheduler.recall("robots:a") == b"rules"
        assert await scheduler.recall("robots:b") is None
        assert scheduler.start_hosts == {"a.example"}


@pytest.mark.parametrize("drawn", [True, False])
async def test_first_requests_are_drawn_until_all_were(jobs: Jobs, drawn: bool) -> None:
    async with jobs.make() as scheduler:
        await scheduler.add(entries(1))
        await scheduler.claim_start()
        if drawn:
            await scheduler.end_start()

    async with jobs.make() as scheduler:
        assert scheduler.starting is not drawn
        assert await scheduler.claim_start() is not drawn


# Killed


async def test_a_page_that_was_settled_is_done_and_one_that_was_not_waits_again(jobs: Jobs) -> None:
    async with jobs.killed() as scheduler:
        await scheduler.add(entries(3))
        await scheduler.claim()
        await done(scheduler, await claimed(scheduler))

    async with jobs.make() as scheduler:
        assert (scheduler.counts.queued, scheduler.counts.done) == (2, 1)
        assert balanced(scheduler)


async def test_pages_that_were_being_read_are_suspects(jobs: Jobs) -> None:
    async with jobs.killed() as scheduler:
        await scheduler.add(entries(5))
        leases = [await claimed(scheduler) for _ in range(4)]
        scheduler.read(leases[2])
        await done(scheduler, leases[3])

    async with jobs.make() as scheduler:
        first = await claimed(scheduler)
        assert (first.rid, first.entry.lost) == (1, 1)
        assert await scheduler.claim() is None
        await done(scheduler, first)
        second = await claimed(scheduler)
        assert (second.rid, second.entry.lost) == (2, 1)
        await done(scheduler, second)
        third = await claimed(scheduler)
        assert (third.rid, third.entry.lost) == (3, 0), "it had been read"


async def test_no_page_is_blamed_for_a_stop(jobs: Jobs) -> None:
    async with jobs.make() as scheduler:
        await scheduler.add(entries(2))
        await scheduler.claim()
        await scheduler.settle([])

    async with jobs.make() as scheduler:
        assert [(await claimed(scheduler)).entry.lost for _ in range(2)] == [0, 0]


async def test_no_page_is_blamed_for_a_power_cut(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    async with jobs.killed() as scheduler:
        await scheduler.add(entries(2))
        await scheduler.claim()
        await scheduler.settle([])
    monkeypatch.setattr(jobs.module, "_boot", lambda: "the next one")

    async with jobs.make() as scheduler:
        assert [(await claimed(scheduler)).entry.lost for _ in range(2)] == [0, 0]


async def test_no_page_is_blamed_for_the_death_of_a_supervisor(jobs: Jobs) -> None:
    async with jobs.killed() as scheduler:
        await scheduler.add(entries(2))
        await scheduler.claim("worker-1")
        await scheduler.settle([])

    async with jobs.make() as scheduler:
        assert [(await claimed(scheduler)).entry.lost for _ in range(2)] == [0, 0]


async def test_a_page_that_kills_at_once_is_found_out(jobs: Jobs) -> None:
    """The kill comes right after the claim, before anything else could be written."""
    async with jobs.make() as scheduler:
        await scheduler.add([entry(666), *entries(20)])

    kills = 0
    while True:
        async with jobs.killed() as scheduler:
            while (lease := await scheduler.claim()) is not None and lease.rid != 666:
                await done(scheduler, lease)
            if lease is None:
                break
            kills += 1

    assert kills == 4  # once unseen, and MAX_LOST times as a suspect
    async with jobs.make() as scheduler:
        assert [(failed.entry.rid, failed.reason) for failed in await scheduler.failed()] == [(666, "worker_lost")]
        assert (scheduler.counts.done, scheduler.counts.pending) == (20, 0)


@pytest.mark.parametrize("seed", range(5))
async def test_nothing_is_lost_or_done_twice_however_often_it_is_killed(jobs: Jobs, seed: int) -> None:
    random, ended, added, failed = Random(seed), set(), 0, 0
    while True:
        async with AsyncExitStack() as stack:
            kind = jobs.make if random.random() < 0.3 else jobs.killed
            scheduler = await stack.enter_async_context(kind(MAX_LOST=1000))
            assert scheduler.counts.done == len(ended) - failed
            assert scheduler.counts.failed == failed
            assert balanced(scheduler)
            if added == 300 and not scheduler.counts.pending:
                break
            held = []
            for _ in range(random.randrange(40)):
                if added < 300:
                    await scheduler.add(entries(3, f"{random.randrange(4)}.example", added + 1))
                    added += 3
                if (lease := await scheduler.claim()) is not None:
                    held.append(lease)
                random.shuffle(held)
                if held and random.random() < 0.8:
                    lease = held.pop()
                    outcome = random.choice([DONE, DONE, DONE, Again(), Fail("x")])
                    await scheduler.settle([(lease, outcome)])
                    if not isinstance(outcome, Again):
                        assert lease.rid not in ended
                        ended.add(lease.rid)
                        failed += isinstance(outcome, Fail)
            await scheduler.settle([])
    assert ended == set(range(1, 301))


# Who may have it


async def test_another_process_is_refused_with_the_number_of_the_first(jobs: Jobs) -> None:
    async with jobs.make():
        script = (
            "import asyncio, sys; from openoctopus.scheduler.job import Job; "
            "from openoctopus.exceptions import SettingsError\n"
            f"try: Job('job', {str(jobs.folder)!r}).lock()\nexcept SettingsError as error: print(error)"
        )
        refused = await asyncio.to_thread(subprocess.run, [sys.executable, "-c", script], capture_output=True, text=True)
        assert f"process {os.getpid()} is crawling job job" in refused.stdout, refused

    async with jobs.make():
        pass


async def test_a_job_of_another_spider_is_refused(jobs: Jobs) -> None:
    async with jobs.make():
        pass

    with pytest.raises(SettingsError, match="job job is one of spider news"):
        await jobs.make("shops").open()

    async with jobs.make("shops", JOB_FRESH=True):
        pass


async def test_another_memory_is_refused(jobs: Jobs) -> None:
    async with jobs.make():
        pass

    with pytest.raises(SettingsError, match="remembers what was seen as exact64, not bloom"):
        await jobs.make(dupefilter=BloomDupeFilter()).open()


async def test_a_finished_job_says_so(jobs: Jobs) -> None:
    async with jobs.make() as scheduler:
        await scheduler.add(entries(1))
        await scheduler.claim_start()
        await scheduler.end_start()
        await done(scheduler, await claimed(scheduler))

    with pytest.raises(JobFinished, match=r"job job was finished on 20\d\d-.*--fresh"):
        await jobs.make().open()
    async with jobs.make(JOB_FRESH=True) as scheduler:
        assert not scheduler.knows(1)


async def test_a_job_needs_a_name(jobs: Jobs) -> None:
    with pytest.raises(SettingsError, match="--job NAME"):
        jobs.make(JOB="")


async def test_a_file_that_is_no_job_is_refused(jobs: Jobs) -> None:
    jobs.file.parent.mkdir(parents=True)
    jobs.file.write_text("no database " * 1000)

    with pytest.raises(SettingsError, match=r"cannot read .*job\.sqlite.*--fresh"):
        await jobs.make().open()


async def test_a_damaged_file_is_refused(jobs: Jobs) -> None:
    async with jobs.make() as scheduler:
        await scheduler.add(entries(2000))
    with jobs.file.open("r+b") as file:
        file.seek(8192 * 2)
        file.write(os.urandom(jobs.file.stat().st_size - 8192 * 2))

    with pytest.raises(SettingsError, match=r"cannot read .*job\.sqlite.*--fresh"):
        await jobs.make().open()
    async with jobs.make(JOB_FRESH=True) as scheduler:
        assert not scheduler.counts.added


async def test_a_file_of_another_layout_is_refused(jobs: Jobs) -> None:
    async with jobs.make():
        pass
    with closing(sqlite3.connect(jobs.file)) as file:
        file.execute("PRAGMA user_version = 99")

    with pytest.raises(SettingsError, match=r"job\.sqlite has layout 99"):
        await jobs.make().open()


async def test_a_folder_that_cannot_be_made_is_named(jobs: Jobs) -> None:
    jobs.folder.write_text("a file")

    with pytest.raises(SettingsError, match=r"cannot keep job job in .*jobs/job"):
        await jobs.make().open()


# Trouble with the disk


async def test_a_file_that_is_gone_ends_the_crawl(jobs: Jobs) -> None:
    scheduler = jobs.make()
    await scheduler.open()
    await scheduler.add(entries(1))
    jobs.file.rename(jobs.file.with_name("elsewhere"))

    with pytest.raises(JobLost, match=r"job job cannot be written: .*job\.sqlite"):
        await done(scheduler, await claimed(scheduler))
    with pytest.raises(JobLost):
        await scheduler.settle([])
    with pytest.raises(JobLost):
        await scheduler.close()
    jobs.file.with_name("elsewhere").rename(jobs.file)
    async with jobs.make():  # the lock is free again
        pass


async def test_while_the_file_cannot_be_written_nothing_is_claimed_and_nothing_is_lost(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs.module, "PAUSE", 0.01)
    async with jobs.make() as scheduler:
        await scheduler.add(entries(2))
        await scheduler.settle([])
        scheduler._file._db.execute("PRAGMA max_page_count = 1")  # full

        await scheduler.add(entries(500, first=10))
        lease = await claimed(scheduler)
        settling = asyncio.create_task(done(scheduler, lease))
        await asyncio.sleep(0.1)
        assert not settling.done()
        assert await scheduler.claim() is None

        scheduler._file._db.execute("PRAGMA max_page_count = 1000000")
        await settling
        assert await scheduler.claim() is not None

    async with jobs.make() as scheduler:
        assert (scheduler.counts.done, scheduler.counts.queued) == (1, 501)


async def test_a_commit_that_fails_half_way_is_done_again_as_a_whole(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs.module, "PAUSE", 0.01)
    errors = [sqlite3.OperationalError("disk I/O error")]

    def fail_once(name: str) -> None:
        if name == "job.half" and errors:
            raise errors.pop()

    async with jobs.make() as scheduler:
        monkeypatch.setattr(sys.modules[type(scheduler._file).__module__], "hit", fail_once)
        await scheduler.add(entries(3))
        await done(scheduler, await claimed(scheduler))

    async with jobs.make() as scheduler:
        assert (scheduler.counts.queued, scheduler.counts.done) == (2, 1)
        assert scheduler.knows(1)


async def test_what_cannot_be_written_at_the_end_is_told(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs.module, "PAUSE", 0.01)
    scheduler = jobs.make()
    await scheduler.open()
    scheduler._file._db.execute("PRAGMA max_page_count = 1")
    await scheduler.add(entries(500))

    with pytest.raises(JobLost, match="full"):
        await scheduler.close()
