"""Drops URLs that are longer than any page needs."""

from __future__ import annotations

import logging
from typing import Any

from openoctopus.exceptions import IgnoreRequest
from openoctopus.http import Request, Response
from openoctopus.spider import Spider
from openoctopus.spidermiddlewares.base import SpiderMiddleware
from openoctopus.stats import Stats

logger = logging.getLogger(__name__)


class UrlLengthMiddleware(SpiderMiddleware):
    """Drops links and redirects to URLs of more than ``urllength_limit`` characters (0: no limit)."""

    def __init__(self, stats: Stats, urllength_limit: int = 2083) -> None:
        self.stats = stats
        self.limit = urllength_limit

    def process_start(self, request: Any, spider: Spider) -> Any:
        if isinstance(request, Request) and "redirect_times" in request.meta and self._too_long(request):
            raise IgnoreRequest("URL too long")
        return request

    def process_found(self, found: Any, response: Response, spider: Spider) -> Any:
        return None if isinstance(found, Request) and self._too_long(found) else found

    def _too_long(self, request: Request) -> bool:
        length = len(request._parsed.href)
        if not self.limit or length <= self.limit:
            return False
        self.stats.inc("urllength/request_ignored_count")
        logger.debug("a URL of %d characters: %.200s...", length, request.url)
        return True
