"""The life of one request, from its lease to its outcome."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from time import perf_counter, time
from typing import Any

from openoctopus.downloadermiddlewares.base import Fetch, Moved
from openoctopus.dupefilter import RFPDupeFilter
from openoctopus.engine.fetching import carried
from openoctopus.engine.observers import Observers
from openoctopus.engine.reader import Reader, Turns, check_item, is_asynchronous, plain_results, refuse
from openoctopus.engine.settler import Page
from openoctopus.exceptions import (
    CloseSpider,
    FetchError,
    HttpStatusError,
    IgnoreRequest,
    InvalidRequest,
    Later,
    Retry,
    TooManyRedirects,
    is_fault,
)
from openoctopus.failpoints import hit
from openoctopus.http import Request, Response
from openoctopus.http.codec import freeze, thaw
from openoctopus.pipelines.chain import Chain
from openoctopus.scheduler.base import DONE, FRONT, Again, Entry, Fail, Lease, Move, Outcome, Scheduler
from openoctopus.scheduler.trace import Trace
from openoctopus.settings import Settings
from openoctopus.spider import Failure, Spider
from openoctopus.spider.base import has_parse
from openoctopus.spidermiddlewares.chain import Admission
from openoctopus.state import StateKeeper
from openoctopus.stats import Stats

logger = logging.getLogger(__name__)

#: Requests that one page yields are added in groups of so many.
ADD_TOGETHER = 100
#: What the framework writes into ``meta``; it belongs to one page and is not handed on by ``meta=response.meta``.
OF_ONE_PAGE = ("depth", "retry_times", "redirect_times", "redirect_urls", "redirect_reasons")


@dataclass(slots=True)
class Stages:
    """Where the slots spent their time, in seconds summed over all of them."""

    fetching: float = 0.0
    reading: float = 0.0
    storing: float = 0.0
    #: Waiting though requests were there: their hosts were answering as many as they may at once.
    crowded: float = 0.0
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
    #: The downloaders inside all downloader middlewares.
    fetch: Fetch
    state: StateKeeper
    trace: Trace


class Carrier:
    """Carries one page at a time in each task that calls it.

    ``stop`` ends the crawl; ``news`` is called with how many entries there are more to do.
    """

    def __init__(self, parts: Parts, stop: Callable[[str], None], news: Callable[[int], None]) -> None:
        self.parts = parts
        self.spider = parts.spider
        self.stats = parts.stats
        self.scheduler = parts.scheduler
        self.stages = Stages()
        self.reader = Reader(parts.spider, parts.settings.CALLBACK_TIMEOUT)
        self._has_parse = has_parse(parts.spider)
        self._reading: tuple[str, Request] | None = None
        self._stop = stop
        self._news = news
        self._allowed_statuses = {*parts.settings.HTTPERROR_ALLOWED_CODES, *parts.spider.handle_httpstatus_list}

    @property
    def reading(self) -> str:
        """What was read last, for the watchdog to name."""
        return "{} for {}".format(*self._reading) if self._reading else "something"

    async def carry(self, page: Page, lease: Lease) -> None:
        """Fetch a page, have it read, and close it with its outcome."""
        carried.set(page)
        outcome = await self._outcome(page, lease)
        if (task := asyncio.current_task()) and task.cancelling():
            await asyncio.sleep(0)  # now, and not in the middle of the next page
        await self._end(page, lease, outcome)

    async def broken_off(self, page: Page, lease: Lease) -> None:
        """Close a page whose spider cancelled the task that carries it; what it yielded before stays."""
        request = self._thaw(lease)
        error = asyncio.CancelledError("the spider cancelled the task that carries its page")
        await self._end(page, lease, self._fault(str(request.callback or "parse"), request, error))

    async def _end(self, page: Page, lease: Lease, outcome: Outcome) -> None:
        if not lease.fetched:
            self.scheduler.fetched(lease)
        if page.found:
            await self.add(page)
        if isinstance(outcome, Fail):
            await self._failed(lease.entry, outcome)
        page.end(outcome)
        carried.set(None)

    async def _outcome(self, page: Page, lease: Lease) -> Outcome:
        """Fetch the page and have it read; what is to become of its entry."""
        try:
            request = self._thaw(lease)
        except InvalidRequest as error:
            return Fail("unreadable", str(error))
        since = perf_counter()
        try:
            try:
                response = await self.parts.fetch(request)
            finally:
                self.stages.fetching += perf_counter() - since
            self._judge(request, response)
        except KeyboardInterrupt:
            self._stop("interrupted")
            return Again(spent=False)
        except BaseException as error:
            if not is_fault(error):
                raise
            return await self._instead(page, lease, request, error)
        page.fetched_at = time()
        name = str(request.callback or "parse")
        return await self._call(page, request, name, response, response, request._cb_kwargs or {})

    async def _instead(self, page: Page, lease: Lease, request: Request, error: BaseException) -> Outcome:
        """What becomes of an entry that brought no page: obey what steers, tell the rest."""
        match error:
            case Moved():
                try:
                    return self._moved(page, lease, request, error.request)
                except IgnoreRequest as refused:
                    return await self._ignored(page, request, refused)
                except TooManyRedirects as endless:
                    return await self._told(page, request, endless)
            case Later():
                return Again(error.delay, spent=isinstance(error, Retry))
            case IgnoreRequest():
                return await self._ignored(page, request, error)
            case CloseSpider():
                self._stop(error.reason)
                return Again(spent=False)
            case _:
                return await self._told(page, request, error)

    async def _ignored(self, page: Page, request: Request, ignored: IgnoreRequest) -> Outcome:
        self.stats.inc("request_dropped_count")
        self.stats.inc(f"request_dropped_reasons_count/{ignored.reason}")
        self.parts.trace.refused(request, "", "", ignored.reason)
        return await self._told(page, request, ignored)

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
        # Counted here too: a hook may return the very request that it was given, again and again.
        times = old.meta.get("redirect_times", 0) + 1
        new.meta["redirect_times"] = max(times, new.meta.get("redirect_times", 0))
        if times > self.parts.settings.REDIRECT_MAX_TIMES:
            raise TooManyRedirects(f"middlewares returned another request {times} times, the last one is {new}")
        self.parts.admission.judge(new)
        new.depth = old.depth
        try:
            entry = self.entry(new, page)
        except InvalidRequest as error:
            return Fail("unreadable", str(error))
        fingerprint = self.parts.dupefilter.fingerprint(new)
        entry.rid = self.parts.dupefilter.forced(lease.rid, fingerprint, lease.entry.attempts)
        return Move(entry, fingerprint)

    async def _told(self, page: Page, request: Request, error: BaseException) -> Outcome:
        """Tell the errback; without one, or if it raises, the entry has failed (what was ignored never has)."""
        if not isinstance(error, FetchError | IgnoreRequest):
            logger.error("a middleware failed for %s", request, exc_info=error)
        reason = error.reason if isinstance(error, FetchError) else f"middleware:{type(error).__name__}"
        if request.errback is None:
            return DONE if isinstance(error, IgnoreRequest) else Fail(reason, str(error))
        failure = Failure(error, request)
        response = Response(request.url, request=request)
        outcome = await self._call(page, request, str(request.errback), failure, response, {})
        if isinstance(outcome, Fail) and not isinstance(error, IgnoreRequest):
            return Fail(reason, f"{error}; then {outcome.reason} in {outcome.detail}")
        return outcome

    async def _call(
        self, page: Page, request: Request, name: str, argument: Any, response: Response, keywords: Mapping[str, Any]
    ) -> Outcome:
        """Have a method of the spider read; nothing that it raises ends the crawl."""
        since = perf_counter()
        self._reading = name, request
        try:
            hit("callback.in")
            found = self.reader.method(name)(argument, **keywords)
            if is_asynchronous(found):
                async for one in self.reader.results(found):
                    await self._take(page, one, response)
            else:
                await self._take_all(page, plain_results(found), response)
            hit("callback.out")
        except CloseSpider as closing:
            self._stop(closing.reason)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                self._stop("interrupted")
            elif not is_fault(error):
                raise
            return self._fault(name, request, error)
        finally:
            self.stages.reading += perf_counter() - since
        return DONE

    def _fault(self, name: str, request: Request, error: BaseException) -> Fail:
        """Count and log what a method of the spider raised."""
        self.stats.trouble(f"spider_exceptions/{type(error).__name__}", request.url)
        self.log_spider_error(error, f"{name} for {request.url}")
        return Fail(f"callback:{type(error).__name__}", f"{name}: {error}")

    # What a page yields

    async def _take_all(self, page: Page, found: Iterator[Any], response: Response) -> None:
        turns = Turns()
        for one in found:
            if isinstance(one, Request):
                try:
                    self._take_request(page, one, response)
                except InvalidRequest as error:
                    await self._take(page, refuse(found, error), response)
                if len(page.found) >= ADD_TOGETHER:
                    await self.add(page)
            else:
                await self._take(page, one, response)
            if turns.over():
                await asyncio.sleep(0)

    async def _take(self, page: Page, found: Any, response: Response) -> None:
        if isinstance(found, Request):
            self._take_request(page, found, response)
            if len(page.found) >= ADD_TOGETHER:
                await self.add(page)
        elif found is not None:
            check_item(found, "the callback")
            found = self.parts.admission.found(found, response)
            if found is not None:
                await self.item(page, found)

    def _take_request(self, page: Page, request: Request, response: Response) -> None:
        """A request that a page yielded: most are known already, so that is looked at first.

        Raises ``InvalidRequest`` for what cannot be kept.
        """
        if request._meta:
            for name in OF_ONE_PAGE:
                request._meta.pop(name, None)
        rid = self._identity(request, page)
        if self.scheduler.knows(rid):
            self.stats.inc("dupefilter/filtered")
            return
        admitted = self.parts.admission.found(request, response)
        if admitted is not None:
            page.found.append(self._kept(admitted, rid if admitted is request else self._identity(admitted, page)))

    def entry(self, request: Request, page: Page) -> Entry:
        """A request as the scheduler keeps it. Raises ``InvalidRequest`` for what cannot be kept."""
        return self._kept(request, self._identity(request, page))

    def _identity(self, request: Request, page: Page) -> int:
        dupefilter = self.parts.dupefilter
        rid = dupefilter.fingerprint(request)
        if not request.dont_filter:
            return rid
        nth = page.occurrences[rid] = page.occurrences.get(rid, 0) + 1
        return dupefilter.forced(page.rid, rid, nth)

    def _kept(self, request: Request, rid: int) -> Entry:
        if request.callback is None and not self._has_parse:
            raise InvalidRequest(f"{request} names no callback, and {type(self.spider).__name__} has no parse method")
        if not -FRONT < request.priority < FRONT:
            raise InvalidRequest(f"the priority of {request} is no number between -2**40 and 2**40: {request.priority}")
        return Entry(rid, request.host, freeze(request, self.reader.name_of), request.priority, request.delay)

    async def add(self, page: Page) -> None:
        """Have the scheduler take the requests that were found on a page."""
        entries, page.found = page.found, []
        hit("children.sent")
        new = await self.scheduler.add(entries)
        hit("children.added")
        self.parts.trace.found(entries, new, page.lease.entry if page.lease else None)
        added = sum(new)
        self.stats.inc("scheduler/enqueued", added)
        if added < len(new):
            self.stats.inc("dupefilter/filtered", len(new) - added)
        if added:
            self._news(added)

    async def item(self, page: Page, item: Any) -> None:
        """Take an item through the pipelines."""
        since = perf_counter()
        try:
            await self.parts.chain.process(item, page)
        finally:
            self.stages.storing += perf_counter() - since

    async def _failed(self, entry: Entry, failed: Fail) -> None:
        request = await self._count_failed(entry, failed.reason)
        if request is not None and not failed.reason.startswith("callback:"):
            logger.warning("failed: %s (%s: %s)", request, failed.reason, failed.detail)

    async def take_given_up(self) -> None:
        """Count, log and tell what the scheduler gave up by itself."""
        given_up, turns = await self.scheduler.take_given_up(), Turns()
        for one in given_up:
            self.parts.trace.given_up(one)
            await self._count_failed(one.entry, one.reason)
            if turns.over():
                await asyncio.sleep(0)
        for (reason, detail), count in Counter((one.reason, one.detail) for one in given_up).items():
            logger.warning("failed: %d requests that waited (%s: %s)", count, reason, detail)

    async def _count_failed(self, entry: Entry, reason: str) -> Request | None:
        self.stats.inc("request_failed_count")
        self.stats.inc("error_count")
        try:
            request = thaw(entry.body)
        except InvalidRequest:
            return None
        self.stats.trouble(f"request_failed_reasons_count/{reason}", request.url)
        await self.parts.observers.request_failed(request, reason)
        return request

    def log_spider_error(self, error: BaseException, where: str) -> None:
        """Log what the spider raised, once, with its own lines only."""
        self.stats.inc("spider_exceptions/count")
        trace = error.__traceback__
        while trace and trace.tb_next and trace.tb_frame.f_globals.get("__name__", "").startswith("openoctopus.engine"):
            trace = trace.tb_next
        logger.error("%s.%s raised", type(self.spider).__name__, where, exc_info=(type(error), error, trace))
