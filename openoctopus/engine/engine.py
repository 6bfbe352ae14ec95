"""The life of one request, from its lease to its end."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
from collections import deque
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from openoctopus.downloadermiddlewares.base import Fetch, Moved
from openoctopus.dupefilter import RFPDupeFilter
from openoctopus.engine.fetching import carried
from openoctopus.engine.limits import Limits, Watchdog
from openoctopus.engine.observers import Observers
from openoctopus.engine.reader import Reader, Turns, is_asynchronous, plain_results
from openoctopus.engine.settler import Page, Settler
from openoctopus.exceptions import (
    CloseSpider,
    FetchError,
    HttpStatusError,
    IgnoreRequest,
    InvalidRequest,
    Later,
    Retry,
)
from openoctopus.http import Request, Response
from openoctopus.http.codec import freeze, thaw
from openoctopus.pipelines.chain import Chain
from openoctopus.scheduler.base import DONE, Again, Entry, Fail, Lease, Move, Outcome, Scheduler
from openoctopus.settings import Settings
from openoctopus.spider import Failure, Spider
from openoctopus.spidermiddlewares.chain import Admission
from openoctopus.stats import Stats

logger = logging.getLogger(__name__)

#: Requests that one page yields are added in groups of so many.
ADD_TOGETHER = 100
#: Start requests are drawn only while fewer than this wait.
START_AHEAD = 1000
#: The longest time between two looks at the scheduler, in seconds.
LONGEST_WAIT = 1.0


@dataclass(slots=True)
class Stages:
    """Where the slots spent their time, in seconds summed over all of them."""

    fetching: float = 0.0
    reading: float = 0.0
    storing: float = 0.0
    #: Waiting though requests were there: their hosts' turn had not come.
    polite: float = 0.0
    #: Waiting for requests to be found.
    starved: float = 0.0


@dataclass(frozen=True, slots=True)
class Parts:
    """What an engine works with."""

    spider: Spider
    settings: Settings
    stats: Stats
    scheduler: Scheduler
    dupefilter: RFPDupeFilter
    admission: Admission
    chain: Chain
    observers: Observers


class Engine:
    """Carries requests: each by one task from its lease to its outcome.

    ``fetch`` is the downloaders inside all downloader middlewares.
    """

    def __init__(self, parts: Parts, fetch: Fetch, start_hosts: set[str]) -> None:
        self.parts = parts
        self.spider = parts.spider
        self.stats = parts.stats
        self.scheduler = parts.scheduler
        self.chain = parts.chain
        self.stages = Stages()
        self.reader = Reader(parts.spider, parts.settings.CALLBACK_TIMEOUT)
        self.settler = Settler(parts.scheduler, self._wake_all)
        #: Why the crawl ends; empty while it goes on.
        self.reason = ""
        #: Hosts that start requests name; private addresses are allowed for them.
        self.start_hosts = start_hosts
        self._fetch = fetch
        self._starting = True
        self._carrying = 0
        self._idle: deque[asyncio.Future[None]] = deque()
        self._workers: list[asyncio.Task[None]] = []
        self._reading = ""
        self._limits = Limits(parts.settings, parts.stats, self.stop)
        self._allowed_statuses = {*parts.settings.HTTPERROR_ALLOWED_CODES, *parts.spider.handle_httpstatus_list}

    # The crawl

    def stop(self, reason: str) -> None:
        """End the crawl: requests under way are completed, those that wait stay where they are."""
        if not self.reason:
            self.reason = reason
            logger.info("closing: %s", reason)
            self._wake_all()

    def check_limits(self) -> None:
        """End the crawl if it has had enough."""
        self._limits.check()

    def hurry(self) -> None:
        """Give back what is under way and end now."""
        for worker in self._workers:
            worker.cancel()

    async def run(self) -> str:
        """Crawl until nothing waits and nothing is under way, or until ``stop``. Returns the reason."""
        settings = self.parts.settings
        watchdog = Watchdog(settings.CALLBACK_WARN_BLOCKING, lambda: self._reading or "something")
        async with asyncio.TaskGroup() as group:
            helpers = [group.create_task(work) for work in (self.settler.run(), self._limits.watch(), watchdog.run())]
            helpers.append(group.create_task(self._start(), name="start requests"))
            self._workers = [
                group.create_task(self._work(), name=f"worker {number}") for number in range(settings.CONCURRENT_REQUESTS)
            ]
            await asyncio.wait(self._workers)
            for helper in helpers:
                helper.cancel()
        return self.reason

    async def finish(self) -> None:
        """Settle what was read, once the pipelines are closed."""
        await self.settler.flush()

    async def _start(self) -> None:
        """Draw the first requests, only as fast as the crawl digests them."""
        page = Page(None, self.settler)
        try:
            async for found in self._first_ones():
                found = self.parts.admission.start(found)
                if isinstance(found, Request):
                    self.start_hosts.add(found.host)
                    page.found.append(self._entry(found, page))
                    await self._add(page)
                elif found is not None:
                    await self._item(page, found)
                while self.scheduler.counts.queued >= START_AHEAD and not self.reason:
                    await self._wait(LONGEST_WAIT)
                if self.reason:
                    break
        except CloseSpider as closing:
            self.stop(closing.reason)
        except Exception as error:
            self._log_spider_error(error, "start")
            self.stats.set("start_error", f"{type(error).__name__}: {error}")
        page.close(DONE)
        self._starting = False
        self._wake_all()

    async def _first_ones(self) -> AsyncIterator[Any]:
        started = self.spider.start()
        if hasattr(started, "__aiter__"):
            async for found in started:
                yield found
            return
        for found in plain_results(await started if inspect.isawaitable(started) else started):
            yield found

    async def _work(self) -> None:
        while (lease := await self._next()) is not None:
            self._carrying += 1
            try:
                await self._carry(lease)
            except asyncio.CancelledError:
                self.settler.settle(lease, Again(spent=False))
                raise
            finally:
                self._carrying -= 1

    async def _next(self) -> Lease | None:
        """The next request to carry; ``None`` when the crawl ends."""
        while not self.reason:
            since = perf_counter()
            if not self._may_claim():
                await self._wait(0.1)
                self.stages.storing += perf_counter() - since
                continue
            lease = await self.scheduler.claim()
            if lease is not None:
                if self._idle and self.scheduler.runnable:
                    self.wake()
                return lease
            await self._nothing_to_do()
            waited = perf_counter() - since
            if self.scheduler.counts.queued:
                self.stages.polite += waited
            else:
                self.stages.starved += waited
        return None

    def _may_claim(self) -> bool:
        return self.chain.ready and self.chain.pending_bytes < self.parts.settings.MAX_PENDING_BYTES

    async def _nothing_to_do(self) -> None:
        """Wait for news or for a host's turn; end the crawl if there can be none."""
        counts = self.scheduler.counts
        if not self._starting and not self._carrying and not counts.queued and not counts.delayed:
            if not counts.pending and self.settler.idle:
                await self.parts.observers.idle()
                if not counts.pending:
                    self.stop("finished")
                return
            self.chain.flush()
        await self._wait(self.scheduler.wait())

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

    def wake(self) -> None:
        """Let one idle worker look again."""
        while self._idle:
            news = self._idle.popleft()
            if not news.done():
                news.set_result(None)
                return

    def _wake_all(self) -> None:
        for news in self._idle:
            _set(news)

    # One request

    async def _carry(self, lease: Lease) -> None:
        page = Page(lease, self.settler)
        carried.set(page)
        outcome = await self._outcome(page, lease)
        self.scheduler.fetched(lease)
        if page.found:
            await self._add(page)
        if isinstance(outcome, Fail):
            await self._failed(lease, outcome)
        page.close(outcome)
        carried.set(None)

    async def _outcome(self, page: Page, lease: Lease) -> Outcome:
        """Fetch the page and have it read; what is to become of its entry."""
        try:
            request = self._thaw(lease)
        except InvalidRequest as error:
            return Fail("unreadable", str(error))
        since = perf_counter()
        try:
            response = await self._fetch(request)
            self.stages.fetching += perf_counter() - since
            self._judge(request, response)
        except Moved as moved:
            return self._moved(page, lease, request, moved.request)
        except Later as later:
            return Again(later.delay, spent=isinstance(later, Retry))
        except IgnoreRequest as ignored:
            self.stats.inc("request_dropped_count")
            self.stats.inc(f"request_dropped_reasons_count/{ignored.reason}")
            return await self._told(page, request, ignored)
        except CloseSpider as closing:
            self.stop(closing.reason)
            return Again(spent=False)
        except Exception as error:
            return await self._told(page, request, error)
        return await self._read(page, request, response)

    def _thaw(self, lease: Lease) -> Request:
        request = thaw(lease.entry.body)
        request.rid = lease.rid
        request.meta["depth"] = request.depth
        if lease.entry.attempts:
            request.meta["retry_times"] = lease.entry.attempts
        return request

    def _judge(self, request: Request, response: Response) -> None:
        """A status other than 2xx is an error, unless somebody asked for it."""
        status = response.status
        self.stats.inc("response_received_count")
        if 200 <= status < 300 or status in self._allowed_statuses or self.parts.settings.HTTPERROR_ALLOW_ALL:
            return
        meta = request.meta
        if not meta.get("handle_httpstatus_all") and status not in meta.get("handle_httpstatus_list", ()):
            self.stats.inc("httperror/response_ignored_count")
            self.stats.trouble(f"httperror/response_ignored_status_count/{status}", response.url)
            raise HttpStatusError(response)

    def _moved(self, page: Page, lease: Lease, old: Request, new: Request) -> Outcome:
        """A redirect, or a Request that a hook returned: the same page by another address, if it may be crawled."""
        new.depth = old.depth
        response = Response(old.url, request=old)
        admitted = self.parts.admission.start(new) if not old.depth else self.parts.admission.found(new, response)
        if admitted is None:
            return DONE
        admitted.depth = old.depth
        try:
            entry = self._entry(admitted, page)
        except InvalidRequest as error:
            return Fail("unreadable", str(error))
        fingerprint = self.parts.dupefilter.fingerprint(admitted)
        entry.rid = self.parts.dupefilter.forced(lease.rid, fingerprint, lease.entry.attempts)
        return Move(entry, fingerprint)

    async def _told(self, page: Page, request: Request, error: Exception) -> Outcome:
        """Tell the errback; without one, or if it raises, the entry has failed (what was ignored never has)."""
        if not isinstance(error, FetchError | IgnoreRequest):
            logger.error("a middleware failed for %s", request, exc_info=error)
        reason = error.reason if isinstance(error, FetchError) else f"middleware:{type(error).__name__}"
        if request.errback is None:
            return DONE if isinstance(error, IgnoreRequest) else Fail(reason, str(error))
        failure = Failure(error, request)
        outcome = await self._call(page, request, str(request.errback), failure, Response(request.url, request=request))
        return outcome if outcome is DONE or isinstance(error, IgnoreRequest) else Fail(reason, f"{error}; {outcome}")

    async def _read(self, page: Page, request: Request, response: Response) -> Outcome:
        response.selector_tree = request.meta.get("selector_tree", self.parts.settings.SELECTOR_TREE)
        self._limits.check()
        return await self._call(page, request, str(request.callback or "parse"), response, response)

    async def _call(self, page: Page, request: Request, name: str, argument: Any, response: Response) -> Outcome:
        """Have a method of the spider read; nothing that it raises ends the crawl."""
        since = perf_counter()
        self._reading = f"{name} for {request.url}"
        try:
            found = self.reader.method(name)(argument, **(request._cb_kwargs or {}))
            if is_asynchronous(found):
                async for one in self.reader.results(found):
                    await self._take(page, one, response)
            else:
                await self._take_all(page, plain_results(found), response)
        except CloseSpider as closing:
            self.stop(closing.reason)
        except (Exception, SystemExit, KeyboardInterrupt, asyncio.CancelledError) as error:
            if isinstance(error, asyncio.CancelledError) and _is_cancelled():
                raise
            if isinstance(error, KeyboardInterrupt):
                self.stop("interrupted")
            self.stats.trouble(f"spider_exceptions/{type(error).__name__}", request.url)
            self._log_spider_error(error, f"{name} for {request.url}")
            return Fail(f"callback:{type(error).__name__}", f"{name}: {error}")
        finally:
            self.stages.reading += perf_counter() - since
        return DONE

    # What a page yields

    async def _take_all(self, page: Page, found: Iterator[Any], response: Response) -> None:
        turns = Turns()
        admit = self.parts.admission.found
        for one in found:
            if isinstance(one, Request):
                one = admit(one, response)
                if one is not None:
                    page.found.append(self._entry(one, page))
                    if len(page.found) >= ADD_TOGETHER:
                        await self._add(page)
            else:
                await self._take(page, one, response)
            if turns.over():
                await asyncio.sleep(0)

    async def _take(self, page: Page, found: Any, response: Response) -> None:
        found = self.parts.admission.found(found, response) if found is not None else None
        if isinstance(found, Request):
            page.found.append(self._entry(found, page))
            if len(page.found) >= ADD_TOGETHER:
                await self._add(page)
        elif found is not None:
            await self._item(page, found)

    def _entry(self, request: Request, page: Page) -> Entry:
        """A request as the scheduler keeps it. Raises ``InvalidRequest`` for what cannot be kept."""
        dupefilter = self.parts.dupefilter
        rid = dupefilter.fingerprint(request)
        if request.dont_filter:
            nth = page.occurrences[rid] = page.occurrences.get(rid, 0) + 1
            rid = dupefilter.forced(page.lease.rid if page.lease else 0, rid, nth)
        body = freeze(request, self.reader.name_of)
        return Entry(rid, request.host, body, request.priority, request.delay)

    async def _add(self, page: Page) -> None:
        entries, page.found = page.found, []
        new = await self.scheduler.add(entries)
        added = sum(new)
        self.stats.inc("scheduler/enqueued", added)
        if added < len(new):
            self.stats.inc("dupefilter/filtered", len(new) - added)
        if added:
            self.wake()

    async def _item(self, page: Page, item: Any) -> None:
        since = perf_counter()
        try:
            await self.chain.process(item, page.receipt)
        finally:
            self.stages.storing += perf_counter() - since

    async def _failed(self, lease: Lease, failed: Fail) -> None:
        self.stats.inc("request_failed_count")
        self.stats.inc("error_count")
        self._limits.check()
        try:
            request = thaw(lease.entry.body)
        except InvalidRequest:
            return
        self.stats.trouble(f"request_failed_reasons_count/{failed.reason}", request.url)
        if not failed.reason.startswith("callback:"):
            logger.warning("failed: %s (%s: %s)", request, failed.reason, failed.detail)
        await self.parts.observers.request_failed(request, failed.reason)

    def _log_spider_error(self, error: BaseException, where: str) -> None:
        self.stats.inc("spider_exceptions/count")
        trace = error.__traceback__
        while trace and trace.tb_next and trace.tb_frame.f_globals.get("__name__", "").startswith("openoctopus.engine"):
            trace = trace.tb_next
        logger.error("%s.%s raised", type(self.spider).__name__, where, exc_info=(type(error), error, trace))


def _is_cancelled() -> bool:
    """Whether somebody cancelled the running task, as against a callback that raised ``CancelledError`` of its own."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _set(news: asyncio.Future[None]) -> None:
    if not news.done():
        news.set_result(None)
