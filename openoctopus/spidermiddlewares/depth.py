"""Counts how many links a request is away from the start."""

from __future__ import annotations

from typing import Any

from openoctopus.http import Request, Response
from openoctopus.spider import Spider
from openoctopus.spidermiddlewares.base import SpiderMiddleware
from openoctopus.stats import Stats


class DepthMiddleware(SpiderMiddleware):
    """Sets ``depth``; drops what is deeper than ``depth_limit`` (0: no limit).

    ``depth_priority`` is taken from the priority for each level: positive goes breadth first. ``meta["depth_reset"]`` starts
    again at 0.
    """

    def __init__(self, stats: Stats, depth_limit: int = 0, depth_priority: int = 0) -> None:
        self.stats = stats
        self.limit = depth_limit
        self.priority = depth_priority
        self._deepest = 0

    def process_found(self, found: Any, response: Response, spider: Spider) -> Any:
        if not isinstance(found, Request):
            return found
        meta = found._meta
        depth = 0 if meta and meta.get("depth_reset") else response.request.depth + 1
        if self.limit and depth > self.limit:
            self.stats.inc("depth/request_ignored_count")
            return None
        found.depth = depth
        if self.priority:
            found.priority -= depth * self.priority
        if depth > self._deepest:
            self._deepest = depth
            self.stats.max("request_depth_max", depth)
        return found
