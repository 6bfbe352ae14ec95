"""A process that crawls for a supervisor: the ordinary engine on a scheduler that another process owns."""

from __future__ import annotations

import asyncio
import ctypes
import io
import logging
import multiprocessing
import os
import select
import signal
import socket
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict

import msgspec

from openoctopus import log
from openoctopus.channel import Channel
from openoctopus.crawler import Crawler, crawl_settings
from openoctopus.engine.limits import memory_mb
from openoctopus.exceptions import OctopusError
from openoctopus.project import find_spider, make
from openoctopus.scheduler.remote import RemoteScheduler
from openoctopus.stats import Stats
from openoctopus.workers.mission import Post

logger = logging.getLogger(__name__)

#: Seconds between two signs of life.
SIGN_EVERY = 0.5
#: The number of Linux's ``prctl`` that asks for a signal when the parent dies.
PR_SET_PDEATHSIG = 1


class Worker:
    """Crawls as it is told over a socket, writes its log to ``journal``, and ends with its supervisor."""

    def __init__(self, end: socket.socket, journal: Journal) -> None:
        self._end = end
        self._journal = journal
        self._scheduler = RemoteScheduler()
        self._crawler: Crawler | None = None
        self._stopped = ""
        told: dict[str, Callable[..., None]] = {"stop": self._stop, "hurry": self._hurry, **self._scheduler.told}
        self._channel = self._scheduler.channel = Channel(told)

    async def run(self) -> None:
        """Crawl, and tell what came of it."""
        await self._channel.open(self._end)
        running = asyncio.create_task(self._channel.run())
        post = msgspec.convert(await self._channel.ask("post"), Post)
        multiprocessing.current_process().name = f"worker-{post.number}"  # as %(processName)s in LOG_FORMAT
        try:
            await self._crawl(post)
        except OctopusError as error:
            self._channel.tell("failed", type(error).__name__, str(error))
        except Exception as error:
            self._channel.tell("failed", "", f"{type(error).__name__}: {error}")
        finally:
            await self._channel.drain()
            self._channel.close()
            await running

    async def _crawl(self, post: Post) -> None:
        mission = post.mission
        kind, project = find_spider(mission.spider)
        settings = crawl_settings(kind, project.settings, mission.overrides)
        self._journal.colored = post.colored
        with log.writing(settings.model_copy(update={"LOG_FILE": ""}), self._journal):
            try:
                spider = make(kind, mission.arguments)
                crawler = Crawler(
                    spider, settings, outputs=mission.outputs, scheduler=self._scheduler, worker=post.number, share=post.share
                )
                await self._carry_out(crawler, post)
            except OctopusError:
                raise
            except Exception:
                logger.exception("worker %d failed", post.number)
                raise

    async def _carry_out(self, crawler: Crawler, post: Post) -> None:
        crawler.dupefilter.secret = post.secret
        crawler.engine.limits = signs = Signs(crawler.stats, self._channel)
        crawler.engine.on_stop = lambda reason: self._channel.tell("ending", reason)
        self._scheduler.news, self._scheduler.settling = crawler.engine.wake, signs.count
        self._crawler = crawler
        if self._stopped:
            crawler.stop(self._stopped)
        result = await crawler.crawl()
        signs.count()
        await self._channel.ask("ended", result.reason, asdict(result.stages), result.cpu)

    def _stop(self, reason: str) -> None:
        self._stopped = reason
        if self._crawler:
            self._crawler.stop(reason)

    def _hurry(self) -> None:
        if self._crawler:
            self._crawler.hurry()


class Signs:
    """Tells the supervisor that this worker lives, and its numbers; it is the supervisor who has had enough."""

    def __init__(self, stats: Stats, channel: Channel) -> None:
        self._stats = stats
        self._channel = channel

    def check(self) -> None:
        """What changed is told with the pages that are settled."""

    async def watch(self) -> None:
        """From the beginning of the crawl until cancelled."""
        self._channel.tell("begun")
        while True:
            await asyncio.sleep(SIGN_EVERY)
            self._channel.tell("alive", memory_mb())
            self.count()

    def count(self) -> None:
        """Tell what changed in the numbers."""
        self._channel.tell("counted", self._stats.changes())


def end_with_parent(end: socket.socket, parent: int) -> None:
    """See to it that this process does not live longer than its supervisor, whatever it is busy with."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    threading.Thread(target=_wait_for_hangup, args=(os.dup(end.fileno()),), name="octopus-lifeline", daemon=True).start()


def _wait_for_hangup(descriptor: int) -> None:
    hangup = select.poll()
    hangup.register(descriptor, 0)
    while not any(events & (select.POLLHUP | select.POLLERR | select.POLLNVAL) for _, events in hangup.poll()):
        pass
    os._exit(1)


class Journal(io.TextIOWrapper):
    """A pipe to the supervisor's log."""

    #: Whether its lines may have colours.
    colored = False

    def __init__(self, descriptor: int) -> None:
        super().__init__(os.fdopen(descriptor, "wb"), encoding="utf-8", errors="backslashreplace", write_through=True)

    def isatty(self) -> bool:
        return self.colored
