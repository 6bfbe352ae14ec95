"""Keeps out of the endless paths that a wrong relative link makes: /a/b/a/b/a/b/..."""

from __future__ import annotations

import logging
from typing import Any

from openoctopus.exceptions import IgnoreRequest
from openoctopus.http import Request, Response
from openoctopus.spider import Spider
from openoctopus.spidermiddlewares.base import SpiderMiddleware
from openoctopus.stats import Stats

logger = logging.getLogger(__name__)


class UrlTrapMiddleware(SpiderMiddleware):
    """Drops links and redirects whose path repeats one segment more than ``repeated_segments_limit`` times (0: no limit)."""

    def __init__(self, stats: Stats, repeated_segments_limit: int = 5) -> None:
        self.stats = stats
        self.limit = repeated_segments_limit

    def process_start(self, request: Any, spider: Spider) -> Any:
        if isinstance(request, Request) and "redirect_times" in request.meta and self._repeats(request):
            raise IgnoreRequest("URL trap")
        return request

    def process_found(self, found: Any, response: Response, spider: Spider) -> Any:
        return None if isinstance(found, Request) and self._repeats(found) else found

    def _repeats(self, request: Request) -> bool:
        path: str = request._parsed.pathname
        if path.count("/") <= self.limit or not self.limit or most_repeated(path) <= self.limit:
            return False
        self.stats.inc("urltrap/request_ignored_count")
        logger.debug("a path that repeats itself: %.200s", request.url)
        return True


def most_repeated(path: str) -> int:
    """How often the most frequent segment of a path occurs."""
    counts: dict[str, int] = {}
    for segment in path[1:].split("/"):
        counts[segment] = counts.get(segment, 0) + 1
    return max(counts.values())
