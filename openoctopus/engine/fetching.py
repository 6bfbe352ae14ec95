"""The innermost step of a fetch, which tells the scheduler what the host answered; and fetches from inside a page."""

from __future__ import annotations

import asyncio
import contextlib
import math
import random
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal

from openoctopus.downloadermiddlewares.base import Fetch, Moved
from openoctopus.engine.settler import Page
from openoctopus.exceptions import FetchError, Later, NotConnected, Retry, TooManyRedirects
from openoctopus.http import Request, Response
from openoctopus.http.dates import retry_after
from openoctopus.scheduler.base import NO_ANSWER, Answer, Scheduler
from openoctopus.scheduler.hosts import OVERLOADED
from openoctopus.stats import Stats

#: The page that the running task carries.
carried: ContextVar[Page | None] = ContextVar("carried", default=None)
#: The slot that a fetch from inside was given.
_reserved: ContextVar[Slot | None] = ContextVar("reserved", default=None)
#: Requests that follow each other in one fetch from inside.
MAX_HOPS = 30
#: The longest time before a slot is asked for again, in seconds.
LONGEST_WAIT = 0.25
#: How long one who holds a slot of another host waits for room, in seconds: two may hold what the other one waits for, and
#: the first to lose patience lets the other go on.
PATIENCE = (2.0, 6.0)


@dataclass(slots=True)
class Slot:
    """A host's slot outside of any entry, and what the fetch that holds it learnt."""

    host: str
    learnt: Answer = NO_ANSWER


class Fetcher:
    """Downloads for the engine, and whole fetches for whoever needs a page in the middle of something."""

    def __init__(
        self, scheduler: Scheduler, stats: Stats, download: Fetch, tree: Literal["html5", "lxml"], freed: Callable[[], None]
    ) -> None:
        self.scheduler = scheduler
        self.stats = stats
        self.tree: Literal["html5", "lxml"] = tree
        self._download = download
        self._freed = freed
        #: A slot of some host has become free.
        self._news = asyncio.Event()
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
            error.url = request.url
            stats.inc("downloader/exception_count")
            stats.trouble(f"downloader/exception_type_count/{type(error).__name__}", request.url)
            self._learnt(Answer(unreachable=isinstance(error, NotConnected)))
            raise
        status = response.status
        stats.inc("downloader/response_count")
        stats.inc(f"downloader/response_status_count/{status}")
        stats.inc("downloader/response_bytes", len(response.body))
        pause = retry_after(response.headers, time.time()) if status in OVERLOADED else None
        self._learnt(Answer(time.monotonic() - started, status, pause))
        response.request = request
        response.selector_tree = request.meta.get("selector_tree", self.tree)
        return response

    def _learnt(self, answer: Answer) -> None:
        slot = _reserved.get()
        if slot is not None:
            slot.learnt = answer
            return
        page = carried.get()
        if page is not None and page.lease is not None:
            self.scheduler.fetched(page.lease, answer)
            self._offer()

    async def fetch(self, request: Request) -> Response:
        """A page in the middle of something: politely, through all middlewares, following redirects and retries.

        Raises what ended it: ``FetchError``, ``IgnoreRequest``... A status is not judged. Within a page's own fetch (a
        middleware) also ``Later``, if another host has no room for too long: the page gives its slot back meanwhile.
        """
        for _ in range(MAX_HOPS):
            held = self._held_host()
            await self._reserve(request.host, held)
            try:
                return await self._in_slot(request, own_slot=held == request.host)
            except Moved as moved:
                request = moved.request
                await asyncio.sleep(request.delay)
            except Later as later:
                if isinstance(later, Retry):
                    request.meta["retry_times"] = request.meta.get("retry_times", 0) + 1
                await asyncio.sleep(later.delay)
        raise TooManyRedirects(f"{request} did not come to an end in {MAX_HOPS} steps")

    async def _in_slot(self, request: Request, *, own_slot: bool) -> Response:
        slot = Slot(request.host)
        token = _reserved.set(slot)
        try:
            return await self.chain(request)
        finally:
            _reserved.reset(token)
            self.scheduler.unreserve(request.host, slot.learnt, own_slot=own_slot)
            self._offer()

    async def _reserve(self, host: str, held: str) -> None:
        """Wait for a slot of the host; the scheduler serves whoever waits here before the requests in the queue.

        Raises ``Later`` for one who holds a slot of another host and found no room.
        """
        patience = random.uniform(*PATIENCE) if held not in ("", host) else math.inf
        until = time.monotonic() + patience
        while (wait := await self.scheduler.reserve(host, own_slot=held == host)) > 0:
            if wait == math.inf and time.monotonic() > until:
                raise Later(f"no room at {host}", delay=random.uniform(0.0, LONGEST_WAIT))
            self._news.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(wait, LONGEST_WAIT)):
                    await self._news.wait()

    def _offer(self) -> None:
        """A slot is free: whoever waits for one asks again; the scheduler has kept it for those inside of a page."""
        self._news.set()
        self._freed()

    def _held_host(self) -> str:
        """The host of which the running task has a slot already, whose fetch must not wait behind it; or none."""
        slot, page = _reserved.get(), carried.get()
        if slot is not None:
            return slot.host
        lease = page.lease if page is not None else None
        return lease.entry.host if lease is not None and not lease.fetched else ""
