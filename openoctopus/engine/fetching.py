"""The innermost step of a fetch, which tells the scheduler what the host answered; and fetches from inside a page."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextvars import ContextVar

from openoctopus.downloadermiddlewares.base import Fetch, Moved
from openoctopus.engine.settler import Page
from openoctopus.exceptions import ConnectionFailed, DownloadTimeout, FetchError, Later, ProxyFailed, Retry, TooManyRedirects
from openoctopus.http import Request, Response
from openoctopus.http.dates import retry_after
from openoctopus.scheduler.base import NO_ANSWER, Answer, Scheduler
from openoctopus.scheduler.hosts import OVERLOADED
from openoctopus.stats import Stats

#: The page that the running task carries.
carried: ContextVar[Page | None] = ContextVar("carried", default=None)
#: The slot that a fetch from inside was given, by what it learnt.
_reserved: ContextVar[list[Answer] | None] = ContextVar("reserved", default=None)
#: Requests that follow each other in one fetch from inside.
MAX_HOPS = 30
#: The longest time before a slot is asked for again, in seconds.
LONGEST_WAIT = 0.05


class Fetcher:
    """Downloads for the engine, and whole fetches for whoever needs a page in the middle of something."""

    def __init__(self, scheduler: Scheduler, stats: Stats, download: Fetch, freed: Callable[[], None]) -> None:
        self.scheduler = scheduler
        self.stats = stats
        self._download = download
        self._freed = freed
        #: The download inside all downloader middlewares; set when they are put together.
        self.chain: Fetch

    async def download(self, request: Request) -> Response:
        """Have one request answered; the host is free again when the body has arrived."""
        stats = self.stats
        stats.inc("downloader/request_count")
        started = time.monotonic()
        try:
            response = await self._download(request)
        except FetchError as error:
            stats.inc("downloader/exception_count")
            stats.trouble(f"downloader/exception_type_count/{type(error).__name__}", request.url)
            self._learnt(Answer(unreachable=_is_unreachable(error)))
            raise
        status = response.status
        stats.inc("downloader/response_count")
        stats.inc(f"downloader/response_status_count/{status}")
        stats.inc("downloader/response_bytes", len(response.body))
        pause = retry_after(response.headers, time.time()) if status in OVERLOADED else None
        self._learnt(Answer(time.monotonic() - started, status, pause))
        response.request = request
        return response

    def _learnt(self, answer: Answer) -> None:
        reserved = _reserved.get()
        if reserved is not None:
            reserved.append(answer)
            return
        page = carried.get()
        if page is not None and page.lease is not None:
            self.scheduler.fetched(page.lease, answer)
            self._freed()

    async def fetch(self, request: Request) -> Response:
        """A page in the middle of something: politely, through all middlewares, following redirects and retries.

        Raises what ended it: ``FetchError``, ``IgnoreRequest``... A status is not judged.
        """
        for _ in range(MAX_HOPS):
            try:
                return await self._with_slot(request)
            except Moved as moved:
                request = moved.request
            except Later as later:
                if isinstance(later, Retry):
                    request.meta["retry_times"] = request.meta.get("retry_times", 0) + 1
                await asyncio.sleep(later.delay)
        raise TooManyRedirects(f"{request} did not come to an end in {MAX_HOPS} steps")

    async def _with_slot(self, request: Request) -> Response:
        page = carried.get()
        lease = page.lease if page is not None else None
        own = lease is not None and not lease.fetched and lease.entry.host == request.host and _reserved.get() is None
        while (wait := self.scheduler.reserve(request.host, own_slot=own)) > 0:
            await asyncio.sleep(min(wait, LONGEST_WAIT))
        learnt: list[Answer] = []
        token = _reserved.set(learnt)
        try:
            return await self.chain(request)
        finally:
            _reserved.reset(token)
            self.scheduler.unreserve(request.host, learnt[-1] if learnt else NO_ANSWER, own_slot=own)
            self._freed()


def _is_unreachable(error: FetchError) -> bool:
    return isinstance(error, ConnectionFailed | DownloadTimeout) and not isinstance(error, ProxyFailed)
