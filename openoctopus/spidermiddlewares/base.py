"""What judges the requests and items that a page yielded, before they are taken."""

from __future__ import annotations

from typing import Any

from openoctopus.http import Request, Response
from openoctopus.plugins import Plugin
from openoctopus.spider import Spider


class SpiderMiddleware(Plugin):
    """Admission without I/O. Override either hook; those left alone cost nothing.

    A hook returns what it was given, changed or not, or ``None`` to drop it; or raises ``IgnoreRequest`` or ``DropItem``
    with a reason, which is counted. A redirect's new request passes too.
    """

    def process_start(self, request: Request, spider: Spider) -> Any:
        """For each request (or item) of ``spider.start()``."""
        return request

    def process_found(self, found: Any, response: Response, spider: Spider) -> Any:
        """For each request and item that a callback yielded for ``response``."""
        return found
