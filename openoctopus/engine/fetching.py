"""The innermost step of a fetch, which tells the scheduler what the host answered; and fetches from inside a page."""

from __future__ import annotations

import asyncio
import time
from collections import deque
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
        #: Fetches from inside that wait for a slot, by host.
        self._turns: dict[str, deque[asyncio.Future[None]]] = {}
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
            self._offer(page.lease.entry.host)

    async def fetch(self, request: Request) -> Response:
        """A page in the middle of something: politely, through all middlewares, following redirects and retries.

        Raises what ended it: ``FetchError``, ``IgnoreRequest``... A status is not judged.
        """
        for _ in range(MAX_HOPS):
            try:
                return await self._with_slot(request)
            except Moved as moved:
                request = moved.request
                await asyncio.sleep(request.delay)
            except Later as later:
                if isinstance(later, Retry):
                    request.meta["retry_times"] = request.meta.get("retry_times", 0) + 1
                await asyncio.sleep(later.delay)
        raise TooManyRedirects(f"{request} did not come to an end in {MAX_HOPS} steps")

    async def _with_slot(self, request: Request) -> Response:
        own = self._holds_slot(request.host)
        await self._reserve(request.host, own)
        slot = Slot(request.host)
        token = _reserved.set(slot)
        try:
            return await self.chain(request)
        finally:
            _reserved.reset(token)
            self.scheduler.unreserve(request.host, slot.learnt, own_slot=own)
            self._offer(request.host)

    async def _reserve(self, host: str, own_slot: bool) -> None:
        """Wait for a slot of the host; whoever waits here is served before the requests in the queue."""
        while (wait := await self.scheduler.reserve(host, own_slot=own_slot)) > 0:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            turns = self._turns.setdefault(host, deque())
            turns.append(turn)
            try:
                await asyncio.wait_for(turn, min(wait, LONGEST_WAIT))
            except TimeoutError:
                pass
            finally:
                if turn in turns:
                    turns.remove(turn)
                if not turns:
                    self._turns.pop(host, None)

    def _offer(self, host: str) -> None:
        """A slot of the host is free: whoever waits for it inside a page asks again; the scheduler has kept it for him."""
        turns = self._turns.get(host)
        while turns and turns[0].done():
            turns.popleft()
        if turns:
            turns.popleft().set_result(None)
        self._freed()

    def _holds_slot(self, host: str) -> bool:
        """Whether the running task has a slot of this host already, which its fetch must not wait behind."""
        slot, page = _reserved.get(), carried.get()
        if slot is not None:
            return slot.host == host
        lease = page.lease if page is not None else None
        return lease is not None and not lease.fetched and lease.entry.host == host
