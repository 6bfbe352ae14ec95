"""Follows redirects."""

from __future__ import annotations

import re

from openoctopus.downloadermiddlewares.base import DownloaderMiddleware
from openoctopus.exceptions import InvalidRequest
from openoctopus.http import Request, Response
from openoctopus.http.redirect import moved
from openoctopus.http.url import join
from openoctopus.spider import Spider
from openoctopus.stats import Stats

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_NOT_ASCII = re.compile("[^\x00-\x7f]")


class RedirectMiddleware(DownloaderMiddleware):
    """Puts the request that a 3xx answer asks for in this one's place, ``redirect_max_times`` at most.

    ``meta``: ``dont_redirect``, ``handle_httpstatus_list``, ``handle_httpstatus_all`` deliver the answer itself;
    ``allow_cross_origin_body``. The new request's ``meta`` has ``redirect_times``, ``redirect_urls``, ``redirect_reasons``.
    """

    def __init__(self, stats: Stats, redirect_max_times: int = 20) -> None:
        self.stats = stats
        self.limit = redirect_max_times

    def process_response(self, request: Request, response: Response, spider: Spider) -> Response | Request:
        status = response.status
        if status not in _REDIRECTS:
            return response
        location = response.headers.get("Location")
        if not location or _wanted(request, status, spider):
            return response
        url = target(request, location)
        if url is None:
            return response
        new = moved(request, url, status, limit=self.limit, as_get=_becomes_get(request.method, status))
        self.stats.inc("redirect/count")
        return new


def target(request: Request, location: str) -> str | None:
    """The URL that a Location names, ``None`` if it cannot be followed.

    Its bytes are kept as they came; without a fragment it takes the request's (RFC 9110, 10.2.2).
    """
    reference = _NOT_ASCII.sub(lambda match: f"%{ord(match[0]):02X}", location)
    try:
        url = join(request.parsed, reference)
    except InvalidRequest:
        return None
    if not url.startswith(("http:", "https:")):
        return None
    return url if "#" in reference else url + str(request.parsed.hash)


def _wanted(request: Request, status: int, spider: Spider) -> bool:
    """Whether somebody asked for the redirect itself."""
    meta = request.meta
    return bool(
        meta.get("dont_redirect")
        or meta.get("handle_httpstatus_all")
        or status in meta.get("handle_httpstatus_list", ())
        or status in spider.handle_httpstatus_list
    )


def _becomes_get(method: str, status: int) -> bool:
    return (status in (301, 302) and method == "POST") or (status == 303 and method not in ("GET", "HEAD"))
