"""Keeps the crawl on the spider's own domains."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from openoctopus.exceptions import IgnoreRequest, InvalidRequest
from openoctopus.http import Request, Response
from openoctopus.http.url import parse
from openoctopus.spider import Spider
from openoctopus.spidermiddlewares.base import SpiderMiddleware
from openoctopus.stats import Stats

logger = logging.getLogger(__name__)

#: For so many hosts the verdict is remembered.
_REMEMBERED = 10_000
_WEB = frozenset({"http:", "https:"})


class OffsiteMiddleware(SpiderMiddleware):
    """Drops requests to hosts that are not in ``spider.allowed_domains`` nor below one of them, and what is not http(s).

    Start requests may go anywhere, their redirects may not. ``meta["allow_offsite"]`` lets a request pass.
    """

    def __init__(self, stats: Stats) -> None:
        self.stats = stats
        self._spider: Spider | None = None
        self._allowed: frozenset[str] = frozenset()
        self._verdicts: dict[str, bool] = {}

    def process_start(self, request: Any, spider: Spider) -> Any:
        if not isinstance(request, Request):
            return request
        if request.parsed.protocol not in _WEB:
            return self._foreign(request)
        if "redirect_times" in request.meta and not self._passes(request, spider):
            raise IgnoreRequest("offsite")
        return request

    def process_found(self, found: Any, response: Response, spider: Spider) -> Any:
        if not isinstance(found, Request):
            return found
        url = found._parsed
        if url.protocol not in _WEB:
            return self._foreign(found)
        if spider is self._spider and self._verdicts.get(url.hostname):
            return found
        return found if self._passes(found, spider) else None

    def _passes(self, request: Request, spider: Spider) -> bool:
        if spider is not self._spider:
            self._spider = spider
            self._allowed = domains(spider.allowed_domains)
            self._verdicts.clear()
        if self._verdict(request.host) or request.meta.get("allow_offsite"):
            return True
        self.stats.inc("offsite/filtered")
        return False

    def _verdict(self, host: str) -> bool:
        verdict = self._verdicts.get(host)
        if verdict is None:
            if len(self._verdicts) >= _REMEMBERED:
                self._verdicts.clear()
            verdict = self._verdicts[host] = not self._allowed or _lies_in(host, self._allowed)
            if not verdict:
                self.stats.inc("offsite/domains")
                logger.debug("offsite: %s", host)
        return verdict

    def _foreign(self, request: Request) -> None:
        self.stats.inc("offsite/scheme_filtered")
        logger.debug("not http(s): %s", request)


def domains(written: Iterable[str]) -> frozenset[str]:
    """The host names that ``allowed_domains`` means, as URLs have them: lower case, ASCII, without port or scheme."""
    found = set()
    for entry in written:
        name = entry.strip().rpartition("://")[2].removeprefix("*").strip(".")
        try:
            found.add(str(parse(f"http://{name}").hostname).strip("."))
        except InvalidRequest:
            logger.warning("allowed_domains: %r is no domain", entry)
    return frozenset(found)


def _lies_in(host: str, allowed: frozenset[str]) -> bool:
    """Whether the host, or what is left of it without its first labels, is allowed."""
    host = host.rstrip(".")
    while host:
        if host in allowed:
            return True
        host = host.partition(".")[2]
    return False
