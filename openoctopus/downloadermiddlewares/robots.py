"""Asks robots.txt before the first page of an origin (RFC 9309)."""

from __future__ import annotations

import asyncio
import codecs
import logging
import re
from dataclasses import dataclass
from functools import partial
from time import monotonic

from protego import Protego

from openoctopus.downloadermiddlewares.base import DownloaderMiddleware, Fetch, HostRecords
from openoctopus.exceptions import (
    BlockedAddress,
    CertificateInvalid,
    DownloadError,
    FetchError,
    IgnoreRequest,
    Later,
    NotConnected,
    ProxyFailed,
    RobotsUnreachable,
    TooManyRedirects,
)
from openoctopus.http import Request
from openoctopus.http.url import origin
from openoctopus.spider import Spider
from openoctopus.stats import Stats

logger = logging.getLogger(__name__)

#: Bytes of a robots.txt that are read (RFC 9309, 2.5 asks for 500 KiB at least).
MAX_BYTES = 512 * 1024
#: Seconds that a record is kept, and that one is kept which could not be had.
KEPT = 24 * 3600.0
UNREACHABLE_KEPT = 600.0
#: Seconds that parsed rules are used before the record is asked for again; how many are held, of how many bytes of text.
PARSED_KEPT = 600.0
MAX_PARSED = 4096
MAX_PARSED_BYTES = 4 * 1024 * 1024
#: The longest Crawl-delay that is obeyed, in seconds.
MAX_CRAWL_DELAY = 60.0

# A record begins with what is known; after RULES follows the text of the file, after the next two why it is not there.
ALLOWED, RULES, UNREACHABLE, FAILED = b"+", b"=", b"-", b"?"
#: What keeps robots.txt from being had and would keep the page from it too: the page is told that, as if it had been asked.
_OF_THE_HOST = (NotConnected, BlockedAddress, CertificateInvalid)

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_HTML = re.compile(r"\s*<(?:!doctype|html|head|body|\?xml)", re.I)
#: A line that forbids something; Protego takes several misspellings of Disallow, all with this letter.
_FORBIDS = re.compile(r"^[ \t]*d[\w-]*[ \t]*:[ \t]*[^\s#]", re.I | re.M)
_COMPATIBLE = re.compile(r"compatible;\s*([\w-]+)", re.I)
_PRODUCT = re.compile(r"[\w-]+")


@dataclass(slots=True)
class Rules:
    """What one robots.txt says. ``parsed`` is ``None`` where nothing is forbidden to anybody."""

    parsed: Protego | None
    #: Why it could not be had; empty if it could. After the retries it is ``unreachable``, before only ``failed``.
    unreachable: str
    failed: str
    #: Seconds between two requests.
    delay: float
    size: int
    until: float


class RobotsTxtMiddleware(DownloaderMiddleware):
    """Lets go of requests that robots.txt forbids, and of all while it is unreachable; hands its Crawl-delay on.

    It is fetched once per origin for all who wait for it; the record is shared with other workers. A request that waited
    while its host has a delay comes back for its own turn. Where it cannot be had, the requests that wait for it fail and are
    tried again (every ``retry_delay`` seconds at most it is asked for again); it is unreachable when one has no tries left.
    ``meta["dont_obey_robotstxt"]`` passes by.
    """

    def __init__(
        self,
        stats: Stats,
        fetch: Fetch,
        hosts: HostRecords,
        robotstxt_user_agent: str = "",
        user_agent: str = "",
        retry_delay: float = 1.0,
    ) -> None:
        self.stats = stats
        self.fetch = fetch
        self.hosts = hosts
        self.name = robotstxt_user_agent or product(user_agent)
        self.retry_delay = retry_delay
        self._known: dict[str, Rules] = {}
        self._bytes = 0
        self._asked: dict[str, asyncio.Task[tuple[Rules, bool]]] = {}

    async def close(self) -> None:
        for task in self._asked.values():
            task.cancel()

    async def process_request(self, request: Request, spider: Spider) -> None:
        meta = request._meta
        if meta and meta.get("dont_obey_robotstxt"):
            return
        rules = self._known.get(request._parsed.origin)
        fetched = False
        if rules is None or rules.until < monotonic():
            rules, fetched = await self._learn(request)
        if rules.failed:
            raise RobotsUnreachable(rules.failed)
        if rules.unreachable:
            self._forbid(f"robots.txt unreachable ({rules.unreachable})")
        if rules.parsed is not None and not rules.parsed.can_fetch(request.url, self.name):
            self._forbid("robots.txt forbids")
        if fetched and await self.hosts.delay_of(request.host) > 0:
            raise Later("robots.txt was read")

    async def process_exception(self, request: Request, exception: Exception, spider: Spider) -> None:
        if isinstance(exception, RobotsUnreachable):
            site, why = origin(request.parsed), str(exception)
            known = self._known.get(site)
            if known is None or known.failed:
                await self._give_up(site, why)
            self._forbid(f"robots.txt unreachable ({why})")

    async def _give_up(self, site: str, why: str) -> Rules:
        record = UNREACHABLE + why.encode()
        rules = self._keep(site, record)
        self.stats.inc("robotstxt/unreachable")
        logger.warning("%s/robots.txt cannot be had (%s): nothing is fetched there for %g s", site, why, UNREACHABLE_KEPT)
        await self.hosts.remember(record_key(site), record, UNREACHABLE_KEPT)
        return rules

    def _forbid(self, reason: str) -> None:
        self.stats.inc("robotstxt/forbidden")
        raise IgnoreRequest(reason)

    async def _learn(self, request: Request) -> tuple[Rules, bool]:
        """The rules of an origin, asked for once however many wait; and whether they had to be fetched."""
        site = origin(request.parsed)
        task = self._asked.get(site)
        if task is None:
            task = self._asked[site] = asyncio.create_task(self._ask(site, request), name=f"robots.txt of {site}")
            task.add_done_callback(partial(self._asked_for, site))
        # Shielded, so that one request that is given up does not take the others' answer away.
        return await asyncio.shield(task)

    def _asked_for(self, site: str, task: asyncio.Task[tuple[Rules, bool]]) -> None:
        del self._asked[site]
        if not task.cancelled():
            # Nobody may be waiting any more: the error is looked at, so that asyncio does not complain of it.
            task.exception()

    async def _ask(self, site: str, request: Request) -> tuple[Rules, bool]:
        key = record_key(site)
        known = await self.hosts.recall(key)
        record = await self._fetch(site, request) if known is None else known
        if known is None and record[:1] == UNREACHABLE:
            return await self._give_up(site, record[1:].decode()), True
        rules = self._keep(site, record)
        if known is None and not rules.failed:
            says_nothing = rules.parsed is None and not rules.delay
            await self.hosts.remember(key, ALLOWED if says_nothing else record, KEPT)
        if rules.delay:
            self.hosts.set_crawl_delay(request.host, rules.delay)
        return rules, known is None

    async def _fetch(self, site: str, request: Request) -> bytes:
        """Fetch the file, by the way that the page will go, and put down what it says.

        Raises what would keep the page from its host too.
        """
        # It is the page that is tried again, since that holds no slot meanwhile.
        meta = {"dont_obey_robotstxt": True, "allow_offsite": True, "dont_merge_cookies": True, "dont_retry": True}
        if "proxy" in request.meta:
            meta["proxy"] = request.meta["proxy"]
        self.stats.inc("robotstxt/request_count")
        try:
            response = await self.fetch(Request(f"{site}/robots.txt", meta=meta))
        except TooManyRedirects:
            return ALLOWED
        except (FetchError, IgnoreRequest) as error:
            of_the_host = isinstance(error, _OF_THE_HOST) and error.url.startswith(f"{site}/")
            if of_the_host or isinstance(error, ProxyFailed):
                raise
            self.stats.inc(f"robotstxt/exception_count/{type(error).__name__}")
            return (FAILED if isinstance(error, DownloadError) else UNREACHABLE) + error.reason.encode()
        self.stats.inc("robotstxt/response_count")
        self.stats.inc(f"robotstxt/response_status_count/{response.status}")
        if response.status >= 500 or response.status == 429:
            return FAILED + f"http_{response.status}".encode()
        return RULES + _readable(response.body) if 200 <= response.status < 300 else ALLOWED

    def _keep(self, site: str, record: bytes) -> Rules:
        """Read a record and hold it for a while, in place of older ones if there are too many."""
        rules = self._read(record)
        if old := self._known.pop(site, None):
            self._bytes -= old.size
        self._known[site] = rules
        self._bytes += rules.size
        while len(self._known) > MAX_PARSED or (self._bytes > MAX_PARSED_BYTES and len(self._known) > 1):
            self._bytes -= self._known.pop(next(iter(self._known))).size
        return rules

    def _read(self, record: bytes) -> Rules:
        until = monotonic() + PARSED_KEPT
        kind, body = record[:1], record[1:]
        text = body.decode("utf-16" if body.startswith(_UTF16) else "utf-8", "replace").removeprefix("\ufeff")
        if kind == UNREACHABLE:
            return Rules(None, text or "unknown", "", 0.0, len(record), monotonic() + UNREACHABLE_KEPT)
        if kind == FAILED:
            return Rules(None, "", text or "unknown", 0.0, len(record), monotonic() + self.retry_delay)
        if kind == ALLOWED or _HTML.match(text):
            return Rules(None, "", "", 0.0, 1, until)
        text = "\n".join(text.splitlines())
        parsed = Protego.parse(text)
        return Rules(parsed if _FORBIDS.search(text) else None, "", "", self._delay(parsed), len(record), until)

    def _delay(self, parsed: Protego) -> float:
        """The seconds between two requests that Crawl-delay or Request-rate asks for."""
        rate = parsed.request_rate(self.name)
        by_rate = rate.seconds / rate.requests if rate and rate.start_time is None else 0.0
        return min(max(parsed.crawl_delay(self.name) or 0.0, by_rate), MAX_CRAWL_DELAY)


def record_key(site: str) -> str:
    """Under which the record of an origin is remembered."""
    return f"robots:{site}"


def product(user_agent: str) -> str:
    """The name by which robots.txt calls a crawler (RFC 9309, 2.2.1): its product token."""
    found = _COMPATIBLE.search(user_agent)
    if found:
        return found[1]
    first = _PRODUCT.match(user_agent)
    return first[0] if first else "OpenOctopus"


def _readable(body: bytes) -> bytes:
    """As much as is read, without a rule that is cut in the middle."""
    if len(body) <= MAX_BYTES:
        return body
    cut = body[:MAX_BYTES]
    return cut[: max(cut.rfind(b"\n"), cut.rfind(b"\r")) + 1]
