"""Tries again what may go better a second time."""

from __future__ import annotations

import random
import time
from collections.abc import Collection
from http import HTTPStatus
from typing import NoReturn

from openoctopus.downloadermiddlewares.base import DownloaderMiddleware
from openoctopus.exceptions import DownloadError, Retry
from openoctopus.http import Request, Response
from openoctopus.http.dates import retry_after
from openoctopus.spider import Spider
from openoctopus.stats import Stats

_REASONS = {status.value: f"{status.value} {status.phrase}" for status in HTTPStatus}


class RetryMiddleware(DownloaderMiddleware):
    """Asks for another try after a status of ``retry_http_codes`` or a failed download, ``retry_times`` at most.

    The pause doubles from ``retry_delay`` to ``retry_delay_max`` seconds; Retry-After is obeyed up to ``retry_after_max``.
    ``meta``: ``dont_retry``, ``max_retry_times``. When the tries are spent, the last answer or error is the result.
    """

    def __init__(
        self,
        stats: Stats,
        retry_times: int = 2,
        retry_http_codes: Collection[int] = frozenset({408, 429, 500, 502, 503, 504, 522, 524}),
        retry_delay: float = 1.0,
        retry_delay_max: float = 60.0,
        retry_after_max: float = 300.0,
    ) -> None:
        self.stats = stats
        self.times = retry_times
        self.codes = frozenset(retry_http_codes)
        self.delay = retry_delay
        self.delay_max = retry_delay_max
        self.after_max = retry_after_max

    def process_response(self, request: Request, response: Response, spider: Spider) -> Response:
        if response.status in self.codes and self._may(request):
            asked = retry_after(response.headers, time.time()) or 0.0
            self._retry(request, _REASONS.get(response.status, str(response.status)), min(asked, self.after_max))
        return response

    def process_exception(self, request: Request, exception: Exception, spider: Spider) -> None:
        if isinstance(exception, DownloadError) and self._may(request):
            self._retry(request, exception.reason, 0.0)

    def _may(self, request: Request) -> bool:
        meta = request.meta
        if meta.get("dont_retry"):
            return False
        if meta.get("retry_times", 0) < meta.get("max_retry_times", self.times):
            return True
        self.stats.inc("retry/max_reached")
        return False

    def _retry(self, request: Request, reason: str, asked: float) -> NoReturn:
        self.stats.inc("retry/count")
        self.stats.inc(f"retry/reason_count/{reason}")
        doubled = self.delay * 2 ** min(request.meta.get("retry_times", 0), 30)
        raise Retry(reason, delay=max(asked, min(doubled * random.uniform(1.0, 1.5), self.delay_max)))
