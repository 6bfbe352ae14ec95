"""Observers of a crawl: this is where a user sends numbers and news elsewhere."""

from __future__ import annotations

from typing import Any

from openoctopus.http import Request
from openoctopus.plugins import Plugin
from openoctopus.spider import Spider


class Extension(Plugin):
    """Override any hook, with ``def`` or ``async def``; those left alone cost nothing. An error in one is logged."""

    def opened(self, spider: Spider) -> Any:
        """The crawl begins."""

    def item_stored(self, item: Any, spider: Spider) -> Any:
        """An item has passed all pipelines."""

    def item_dropped(self, item: Any, reason: str, spider: Spider) -> Any:
        """A pipeline dropped an item."""

    def request_failed(self, request: Request, reason: str, spider: Spider) -> Any:
        """A request became a failed entry."""

    def idle(self, spider: Spider) -> Any:
        """Nothing waits and nothing is under way; the crawl is about to finish."""

    def closed(self, reason: str, spider: Spider) -> Any:
        """The crawl has ended."""
