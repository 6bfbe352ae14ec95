"""Headers that every request has unless it sets its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openoctopus.downloadermiddlewares.base import DownloaderMiddleware
from openoctopus.http import Headers, Request
from openoctopus.settings import Settings
from openoctopus.spider import Spider


class DefaultHeadersMiddleware(DownloaderMiddleware):
    """Adds ``default_request_headers``; ``None`` or an empty list as a value leaves one out.

    Under ``impersonate`` the browser's own headers go out, so only headers that the user chose are added.
    """

    def __init__(self, settings: Settings, default_request_headers: Mapping[str, Any], impersonate: str = "") -> None:
        chosen = not impersonate or settings.origin("DEFAULT_REQUEST_HEADERS") != "default"
        self.pairs = Headers(default_request_headers).raw if chosen else []
        self._named = [(name.lower(), (name, value)) for name, value in self.pairs]

    def process_request(self, request: Request, spider: Spider) -> None:
        headers = request._headers
        if headers is None:
            request._headers = Headers.received(self.pairs.copy())
            return
        raw = headers.raw
        own = {name.lower() for name, _ in raw}
        raw += [pair for name, pair in self._named if name not in own]
