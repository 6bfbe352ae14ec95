"""The crawl: tasks that carry requests, as long as there are any."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from time import perf_counter
from typing import Any, Protocol

from openoctopus.engine.carrier import ADD_TOGETHER, Carrier, Parts
from openoctopus.engine.limits import Limits, Watchdog
from openoctopus.engine.reader import Turns, check_item, plain_results
from openoctopus.engine.settler import Page, Settler
from openoctopus.exceptions import CloseSpider, InvalidRequest, is_fault
from openoctopus.failpoints import hit
from openoctopus.http import Request
from openoctopus.scheduler.base import DONE, Again, Lease

logger = logging.getLogger(__name__)

#: Start requests are drawn only while fewer than this wait.
START_AHEAD = 1000
#: The longest time between two looks at the scheduler, in seconds.
LONGEST_WAIT = 1.0
#: When the next turn is further away, no host's delay is waited for but answers, in seconds: leases end no sooner.
FAR = 20.0


class Watcher(Protocol):
    """Looks whether the crawl has had enough."""

    def check(self) -> None:
        """Called after each page and item."""

    async def watch(self) -> None:
        """From the beginning of the crawl until cancelled."""


class Engine:
    """Runs ``CONCURRENT_REQUESTS`` tasks that each claim a request, carry it to its outcome, and claim again."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.scheduler = parts.scheduler
        self.chain = parts.chain
        self.carrier = Carrier(parts, self.stop, self.wake)
        self.settler = Settler(parts.scheduler, self._settled, parts.state, parts.trace)
        #: Why the crawl ends; empty while it goes on.
        self.reason = ""
        #: Whether it ends without waiting for anybody.
        self.hurried = False
        #: Tasks are cancelled by us; one that is cancelled while this is not so was cancelled by the spider, and goes on.
        self._cancelling = False
        self._max_pending = parts.settings.MAX_PENDING_BYTES
        self._ending = False
        self._carrying = 0
        #: How often there was something new to look for.
        self._news = 0
        #: Pages were settled, so that more first requests may be drawn.
        self._room = asyncio.Event()
        #: The spider gave the last of its first requests and items.
        self._drawn = False
        #: First requests on their way to the scheduler.
        self._adding: asyncio.Task[None] | None = None
        self._looking: asyncio.Task[None] | None = None
        self._idle: deque[asyncio.Future[None]] = deque()
        self._workers: list[asyncio.Task[None]] = []
        self.limits: Watcher = Limits(parts.settings, parts.stats, self.stop)
        #: Called when the crawl begins to end, with the reason.
        self.on_stop: Callable[[str], None] = lambda reason: None

    def stop(self, reason: str) -> None:
        """End the crawl: requests under way are completed, in ``DRAIN_SECONDS`` at most; those that wait stay there."""
        if not self.reason:
            self.reason = reason
            asyncio.get_running_loop().call_later(self.parts.settings.DRAIN_SECONDS, self.hurry)
            logger.info("closing: %s", reason)
            self.on_stop(reason)
            self._room.set()
            self._wake_all()

    def check_limits(self) -> None:
        """End the crawl if it has had enough."""
        self.limits.check()

    def hurry(self) -> None:
        """Give back what is under way and end now."""
        working = [worker for worker in self._workers if not worker.done()]
        self.hurried = self.hurried or bool(working)
        self._cancelling = True
        for worker in working:
            worker.cancel()

    async def run(self) -> str:
        """Crawl until nothing waits and nothing is under way, or until ``stop``. Returns the reason."""
        settings = self.parts.settings
        watchdog = Watchdog(settings.CALLBACK_WARN_BLOCKING, lambda: self.carrier.reading)
        async with asyncio.TaskGroup() as group:
            work = self.settler.run(), self.limits.watch(), watchdog.run(), self._start()
            helpers = [group.create_task(self._or_all_end(one)) for one in work]
            self._workers = [
                group.create_task(self._or_all_end(self._work()), name=f"worker {number}")
                for number in range(settings.CONCURRENT_REQUESTS)
            ]
            await self._or_all_end(asyncio.wait(self._workers))
            for helper in [*helpers, *filter(None, [self._looking])]:
                helper.cancel()
        return self.reason

    async def _or_all_end(self, work: Awaitable[object]) -> None:
        """Where this fails or is cancelled, the group cancels all the others."""
        try:
            await work
        except BaseException:
            self._cancelling = True
            raise

    async def finish(self) -> None:
        """Settle what was read, once the pipelines are closed."""
        await self.settler.flush()
        if self.scheduler.starting and self._drawn and self.settler.first_ones_safe.is_set():
            await self._end_start()

    async def _settled(self, waiting: int) -> None:
        await self.carrier.take_given_up()
        self._room.set()
        self.wake(waiting + 1)  # one more, to see whether that was the last

    async def _start(self) -> None:
        """Draw the first requests, only as fast as the crawl digests them."""
        page, turns = Page(None, self.settler), Turns()
        try:
            if not await self.scheduler.claim_start():
                return
            try:
                async for found in self._first_ones():
                    await self._take_start(page, found)
                    if turns.over():
                        await asyncio.sleep(0)
                    while self.scheduler.counts.queued >= START_AHEAD and not self.reason:
                        await self._for_room()
                    if self.reason:
                        return
            finally:
                await self._add_rest(page)
            self._drawn = True
        except CloseSpider as closing:
            self.stop(closing.reason)
        except BaseException as error:
            if not is_fault(error):
                raise
            self.carrier.log_spider_error(error, "start")
            self.parts.stats.set("start_error", f"{type(error).__name__}: {error}")
            await self.scheduler.end_start(drawn=False)
        finally:
            page.end(DONE)
            self._wake_all()
        if self._drawn:
            await self.settler.first_ones_safe.wait()
            await self._end_start()
            self._wake_all()

    async def _end_start(self) -> None:
        """All first requests are added and all first items are durable: neither is needed again."""
        await self.settler.flush()
        await self.scheduler.end_start()

    async def _take_start(self, page: Page, found: Any) -> None:
        found = self.parts.admission.start(found)
        if not isinstance(found, Request):
            if found is not None:
                check_item(found, "start()")
                await self.carrier.item(page, found)
            return
        try:
            page.found.append(self.carrier.entry(found, page))
        except InvalidRequest as error:
            self.parts.stats.inc("start_urls_refused")
            logger.error("start request left out: %s", error)
            return
        if found.host not in self.scheduler.start_hosts:
            self.scheduler.add_start_host(found.host)
        # While some are being added the next ones are drawn: an answer may take a while.
        if self._adding and (self._adding.done() or len(page.found) >= ADD_TOGETHER):
            await self._adding
            self._adding = None
        if self._adding is None:
            self._adding = asyncio.create_task(self.carrier.add(page))

    async def _for_room(self) -> None:
        """Until fewer requests may be waiting."""
        self._room.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LONGEST_WAIT):
                await self._room.wait()

    async def _add_rest(self, page: Page) -> None:
        if self._adding:
            await self._adding
        if page.found:
            await self.carrier.add(page)

    async def _first_ones(self) -> AsyncIterator[Any]:
        started = self.parts.spider.start()
        if hasattr(started, "__aiter__"):
            async for found in started:
                yield found
            return
        for found in plain_results(await started if inspect.isawaitable(started) else started):
            yield found

    async def _work(self) -> None:
        while True:
            try:
                if (lease := await self._next()) is None:
                    return
                await self._carry(Page(lease, self.settler), lease)
            except asyncio.CancelledError:
                if not self._was_spider():
                    raise

    async def _carry(self, page: Page, lease: Lease) -> None:
        self._carrying += 1
        try:
            if self._idle and self._looking is None:
                self._looking = asyncio.create_task(self._look_for_more())
            await self.carrier.carry(page, lease)
            self.limits.check()
        except asyncio.CancelledError:
            if self._was_spider():
                await self.carrier.broken_off(page, lease)
                return
            hit("giveback")
            self.settler.give(lease, Again(spent=False))
            raise
        finally:
            self._carrying -= 1

    def _was_spider(self) -> bool:
        """Whether the running task was cancelled by the spider, and may go on: by a time limit that passed while its
        generator was not running, say.
        """
        task = asyncio.current_task()
        if self._cancelling or task is None:
            return False
        task.uncancel()
        return True

    async def _next(self) -> Lease | None:
        """The next request to carry; ``None`` when the crawl ends."""
        while not self.reason:
            since = perf_counter()
            if not self._may_claim():
                self._flush_if_idle()
                await self._wait(0.1)
                self.carrier.stages.storing += perf_counter() - since
                continue
            hit("claim.sent")
            news = self._news
            lease = await self.scheduler.claim()
            if lease is not None:
                hit("claim.got")
                return lease
            counts, turn = self.scheduler.counts, await self.scheduler.wait()
            is_full = counts.queued and turn > FAR
            if news == self._news:  # none came while the scheduler was asked
                await self._nothing_to_do(turn)
            waited = perf_counter() - since
            if is_full:
                self.carrier.stages.crowded += waited
            elif counts.queued or counts.delayed:
                self.carrier.stages.polite += waited
            else:
                self.carrier.stages.starved += waited
        return None

    def _may_claim(self) -> bool:
        return self.chain.ready and self.chain.pending_bytes < self._max_pending

    async def _nothing_to_do(self, turn: float) -> None:
        """Wait for news, or for a host's ``turn`` in so many seconds; end the crawl if there can be none."""
        if not self.scheduler.starting and not self._carrying and not self.scheduler.counts.pending and self.settler.idle:
            await self._at_the_end()
            return
        self._flush_if_idle()
        await self._wait(turn)

    def _flush_if_idle(self) -> None:
        """While no page is carried, nothing is gained by waiting for more items; something may be waiting for these."""
        if not self._carrying:
            self.chain.flush()

    async def _at_the_end(self) -> None:
        """Nothing is left. Tell the observers, once; the crawl ends unless they found something to do."""
        if self._ending:
            await self._wait(LONGEST_WAIT)
            return
        self._ending = True
        await self.parts.observers.idle()
        self._ending = False
        if not self.scheduler.counts.pending:
            self.stop("finished")

    async def _wait(self, seconds: float) -> None:
        """Until somebody wakes us, at most that long."""
        loop = asyncio.get_running_loop()
        news: asyncio.Future[None] = loop.create_future()
        timer = loop.call_later(min(seconds, LONGEST_WAIT), _set, news)
        self._idle.append(news)
        try:
            await news
        finally:
            timer.cancel()
            with contextlib.suppress(ValueError):
                self._idle.remove(news)

    async def _look_for_more(self) -> None:
        """Where one request could be claimed others may be too; whoever claimed it does not wait for this."""
        try:
            if await self.scheduler.runnable():
                self.wake()
        finally:
            self._looking = None

    def wake(self, count: int = 1) -> None:
        """Let so many idle workers look again."""
        self._news += 1
        while self._idle and count:
            news = self._idle.popleft()
            if not news.done():
                news.set_result(None)
                count -= 1

    def _wake_all(self) -> None:
        self._news += 1
        for news in self._idle:
            _set(news)


def _set(news: asyncio.Future[None]) -> None:
    if not news.done():
        news.set_result(None)
