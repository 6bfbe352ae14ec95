"""One crawl in several processes: starts the workers, owns their queue, and sees to it that they end."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import sys
import time
from secrets import token_hex
from typing import Any

from openoctopus import exceptions
from openoctopus.crawler import dupefilter_class, scheduler_class
from openoctopus.dupefilter import RFPDupeFilter
from openoctopus.engine import Stages
from openoctopus.engine.limits import Limits, memory_mb
from openoctopus.exceptions import OctopusError, SettingsError
from openoctopus.log import is_colored
from openoctopus.pipelines.feeds import Share, SharedFeed, publish
from openoctopus.pipelines.outputs import stores_of
from openoctopus.plugins import build
from openoctopus.result import Result
from openoctopus.scheduler import Scheduler
from openoctopus.scheduler.owner import Owner
from openoctopus.settings import Settings
from openoctopus.state import StateKeeper
from openoctopus.stats import Changes, Stats, Totals
from openoctopus.workers.mission import Mission, Post
from openoctopus.workers.process import WorkerProcess, how_it_ended

logger = logging.getLogger(__name__)

#: A worker that dies so often in a row before it has begun is not started again.
DEATHS_AT_START = 4
#: The pause before it is started again, in seconds; each further one doubles.
PAUSE = 0.5
#: Seconds between two looks at whether the workers live.
LOOK_EVERY = 0.5
#: Seconds between two times at which the counts are kept with the job.
KEEP_EVERY = 1.0
#: The least time that a worker is given to begin, in seconds.
BEGIN_WITHIN = 60.0
#: Seconds of silence after which a worker is ended that was told to hurry.
HURRIED_SILENCE = 5.0


class Supervisor:
    """Crawls as a ``Crawler`` does, in ``settings.WORKERS`` processes. It runs no code of the spider itself, so that no page
    ends it.
    """

    def __init__(self, name: str, mission: Mission, settings: Settings) -> None:
        if sys.platform == "win32":
            raise SettingsError("WORKERS needs Linux or macOS: on Windows a crawl has one process")
        self.name = name
        self.mission = mission
        self.settings = settings
        self.stats = Stats()
        self.reason = ""
        self._hurried = False
        given: dict[str, Any] = {"settings": settings, "stats": self.stats}
        self.dupefilter: RFPDupeFilter = build(dupefilter_class(settings), settings, **given)
        self.scheduler: Scheduler = build(
            scheduler_class(settings), settings, dupefilter=self.dupefilter, spider_name=name, **given
        )
        self.totals = Totals(self.stats)
        self._state = StateKeeper([self.totals] if settings.JOB else ())
        self._owner = Owner(self.scheduler)
        self._limits = Limits(settings, self.stats, self.stop, self._memory)
        self._workers: set[WorkerProcess] = set()
        self._seats: asyncio.TaskGroup
        self._has_begun = False
        #: The crawl is ending: nobody waits to start a worker again.
        self._over = asyncio.Event()
        self._stages = Stages()
        self._cpu = 0.0
        self._error: OctopusError | None = None

    @property
    def prints_items(self) -> bool:
        """Whether items go to standard output."""
        return False

    # The crawl

    def stop(self, reason: str = "shutdown") -> None:
        """End the crawl: what is under way is completed, in ``DRAIN_SECONDS`` at most."""
        if self.reason:
            return
        self._end(reason)
        logger.info("closing: %s", reason)
        asyncio.get_running_loop().call_later(self.settings.DRAIN_SECONDS, self.hurry)
        for worker in self._workers:
            if worker.begun:
                worker.channel.tell("stop", reason)
            else:
                worker.kill()

    def hurry(self) -> None:
        """End it now; what is under way goes back to the queue."""
        self._hurried = True
        for worker in self._workers:
            worker.channel.tell("hurry")

    def _end(self, reason: str) -> None:
        self.reason = self.reason or reason
        self._over.set()

    async def crawl(self) -> Result:
        """Start the workers, and return when all have ended. Raises what kept the first one from beginning."""
        began = time.monotonic()
        async with self.dupefilter, self.scheduler:
            await self._state.restore(self.scheduler.kept, self._keep_state)
            logger.info("%s begins, %d workers", self.name, self.settings.WORKERS)
            async with asyncio.TaskGroup() as group:
                watching = [group.create_task(work) for work in (self._watch(), self._keep(), self._limits.watch())]
                async with asyncio.TaskGroup() as self._seats:
                    # The first one alone: it tells what is wrong once, and makes the tables.
                    self._seats.create_task(self._seat(1))
                for task in watching:
                    task.cancel()
            await self._publish()
            if self._error:
                raise self._error
            await self._count_given_up()
            await self._keep_state()
            self._end("finished" if not self.scheduler.counts.pending and not self.scheduler.starting else "workers_lost")
            left, slowest = self.scheduler.counts.pending, await self.scheduler.slowest()
            failed = list(await self.scheduler.failed())
        elapsed = time.monotonic() - began
        self.stats.set("finish_reason", self.reason)
        self.stats.set("elapsed_time_seconds", round(elapsed, 3))
        logger.info("%s ended: %s", self.name, self.reason)
        return Result(self.reason, self.stats, elapsed, self._stages, self._cpu, left, self.settings.WORKERS, slowest, failed)

    @property
    def _share(self) -> Share:
        """The same in each run of a job."""
        return Share(hashlib.blake2b(self.dupefilter.secret, digest_size=4).hexdigest(), "", self.settings.JOB)

    async def _publish(self) -> None:
        """Make the files that the workers shared, in a job when it is finished."""
        shared = [one for one in stores_of(self.settings, self.mission.outputs, self._share) if isinstance(one, SharedFeed)]
        scheduler = self.scheduler
        is_finished = not scheduler.starting and not scheduler.counts.pending and not self.stats.get("start_error")
        for feed in shared:
            if not feed.folder.is_dir():
                continue
            if self.settings.JOB and not is_finished:
                logger.info(
                    "%s is written when the job is finished; until then its items are in %s, and `octopus publish` adds them",
                    feed.target, feed.folder,
                )  # fmt: skip
                continue
            for made in await asyncio.to_thread(publish, feed.target, crawl=self._share.crawl, is_finished=True):
                logger.info("%s", made)

    async def _count_given_up(self) -> None:
        """What the scheduler gave up when no worker was left to be told."""
        for one in await self.scheduler.take_given_up():
            self.stats.inc("request_failed_count")
            self.stats.inc("error_count")
            self.stats.inc(f"request_failed_reasons_count/{one.reason}")
            logger.warning("failed: a request that waited (%s: %s)", one.reason, one.detail)

    # The workers

    async def _seat(self, number: int) -> None:
        """Have this worker crawl, started again whenever it dies, until the crawl ends."""
        deaths = 0
        while not self._over.is_set():
            worker = await self._life(number)
            if worker.failed and (worker.begun or not self._has_begun):
                self._error = self._error or _error_of(worker)
                self.stop("failed")
                return
            if worker.reason or self._over.is_set():
                return
            deaths = 0 if worker.begun else deaths + 1
            if deaths == DEATHS_AT_START:
                logger.error("worker %d died %d times before it had begun: it is not started again", number, deaths)
                return
            if deaths:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(PAUSE * 2 ** (deaths - 1)):
                        await self._over.wait()

    async def _life(self, number: int) -> WorkerProcess:
        """One incarnation of that worker, from its start to its end."""
        name = f"worker-{number}-{token_hex(4)}"  # new each time, so that nobody takes it for one that died
        colored = not self.settings.LOG_FILE and is_colored(sys.stderr)
        post = Post(self.mission, number, self.dupefilter.secret, self._share._replace(worker=name), colored)
        desk = self._owner.desk(name)
        worker = WorkerProcess(post, desk, self)
        self._workers.add(worker)
        try:
            code = await worker.run()
        finally:
            self._workers.discard(worker)
            left = await self._owner.leave(desk)
        if worker.reason:
            self._end(worker.reason)
            self._cpu += worker.cpu
            for stage, seconds in worker.stages.items():
                setattr(self._stages, stage, getattr(self._stages, stage) + seconds)
        elif worker.failed:
            if self._error or self._has_begun:  # the first one is raised in the end
                logger.error("worker %d failed: %s", number, worker.failed[1])
        elif worker.begun or not self._over.is_set():
            self.stats.inc("workers/lost")
            logger.error("worker %d %s; %d pages that it held wait again", number, how_it_ended(code), left)
        return worker

    # What they tell

    def begun(self) -> None:
        """A worker has opened everything, and crawls: there is room for the others."""
        if not self._has_begun:
            self._has_begun = True
            for number in range(2, self.settings.WORKERS + 1):
                self._seats.create_task(self._seat(number))

    def counted(self, changes: Changes) -> None:
        """The numbers of a worker changed."""
        changes.counts.pop("scheduler/enqueued", None)  # counted here: a worker that dies may not have come to tell it
        self.stats.merge(changes)
        self.stats.set("scheduler/enqueued", self._owner.added)
        self._limits.check()

    def ending(self, reason: str) -> None:
        """A worker ends. What is finished for one is so for all, and they see it themselves."""
        if reason != "finished":
            self.stop(reason)

    # Whether they live

    async def _watch(self) -> None:
        """End workers that are stuck, until cancelled."""
        looked = time.monotonic()
        while True:
            await asyncio.sleep(LOOK_EVERY)
            since, looked = time.monotonic() - looked, time.monotonic()
            if since > 2 * LOOK_EVERY:  # this process did not run itself: what they said meanwhile is still to be read
                continue
            limit = HURRIED_SILENCE if self._hurried else self.settings.CALLBACK_TIMEOUT
            for worker in self._workers:
                if worker.silent > (limit if worker.begun else max(limit, BEGIN_WITHIN)):
                    logger.error("worker %d gave no sign of life for %.0f s: it is ended", worker.post.number, worker.silent)
                    worker.kill()

    async def _keep(self) -> None:
        """Keep the counts of the job, until cancelled."""
        while True:
            await self._keep_state()
            await asyncio.sleep(KEEP_EVERY)

    async def _keep_state(self) -> None:
        if state := self._state.changed():
            await self.scheduler.settle([], state)

    def _memory(self) -> float:
        return memory_mb() + sum(worker.memory for worker in self._workers)


def _error_of(worker: WorkerProcess) -> OctopusError:
    """What kept a worker from beginning, as it would be raised in this process."""
    kind, text = worker.failed or ("", "")
    found = getattr(exceptions, kind, None)
    if found is None:
        return OctopusError(f"worker {worker.post.number} failed: {text}")
    error: OctopusError = found.__new__(found)  # each class asks for something else to make a text of
    OctopusError.__init__(error, text)
    return error
