"""Follows <meta http-equiv=refresh>, as browsers do."""

from __future__ import annotations

import re
from collections.abc import Collection

from openoctopus.downloadermiddlewares.base import DownloaderMiddleware
from openoctopus.exceptions import InvalidRequest
from openoctopus.http import Request, Response
from openoctopus.http.redirect import moved
from openoctopus.spider import Spider
from openoctopus.stats import Stats

#: Bytes of a page in which a refresh is looked for: it stands in the head, and an ordinary page must not be read for it.
_SEARCHED = 8192
_HTML = frozenset({"text/html", "application/xhtml+xml"})
# The steps of https://html.spec.whatwg.org/multipage/semantics.html#shared-declarative-refresh-steps
_CONTENT = re.compile(r"\s*([0-9]{1,9}|(?=\.))[0-9.]*\s*(?:[;,]|\s|$)\s*(?:url\s*=\s*)?(.*)", re.I | re.S)


class MetaRefreshMiddleware(DownloaderMiddleware):
    """Puts the request that a page refreshes to in its place, after the delay it asks for.

    Not followed: a refresh after ``metarefresh_maxdelay`` seconds or later, one inside ``metarefresh_ignore_tags``, and a
    page that reloads itself, unless it has just set a cookie. Shares the rules and limits of redirects.
    """

    def __init__(
        self,
        stats: Stats,
        metarefresh_maxdelay: float = 100.0,
        metarefresh_ignore_tags: Collection[str] = ("noscript",),
        redirect_max_times: int = 20,
    ) -> None:
        self.stats = stats
        self.max_delay = metarefresh_maxdelay
        self.limit = redirect_max_times
        ignored = "".join(f"[not(ancestor::{tag})]" for tag in ("template", *metarefresh_ignore_tags))
        self.query = f"//meta[translate(@http-equiv, 'REFSH', 'refsh') = 'refresh']{ignored}/@content"

    def process_response(self, request: Request, response: Response, spider: Spider) -> Response | Request:
        body = response.body
        if body.find(b"efresh", 0, _SEARCHED) < 0 and body.find(b"EFRESH", 0, _SEARCHED) < 0:
            return response
        if not 200 <= response.status < 300 or request.method == "HEAD" or request.meta.get("dont_redirect"):
            return response
        found = self._refresh(request, response)
        if found is None:
            return response
        delay, url = found
        new = moved(request, url, "meta refresh", limit=self.limit, as_get=True, delay=delay)
        self.stats.inc("redirect/count")
        return new

    def _refresh(self, request: Request, response: Response) -> tuple[float, str] | None:
        """Seconds and URL of the first refresh that is to be followed."""
        content_type = str(response.headers.get("Content-Type", "text/html")).partition(";")[0].strip().lower()
        if content_type not in _HTML or response.kind != "html":
            return None
        for content in response.xpath(self.query).getall():
            match = _CONTENT.match(content)
            if match is None:
                continue
            delay, url = float(match[1] or 0), _url(response, match[2])
            if url is None or delay >= self.max_delay or _only_reloads(request, response, url):
                return None
            return delay, url
        return None


def _only_reloads(request: Request, response: Response, url: str) -> bool:
    """Whether following would bring the same page again: it is itself, and this is no check for cookies."""
    if url.partition("#")[0] != response.url.partition("#")[0]:
        return False
    return "Set-Cookie" not in response.headers or request.url in request.meta.get("redirect_urls", ())


def _url(response: Response, written: str) -> str | None:
    """The URL of a refresh; without one it is the page's own. ``None`` if it cannot be followed."""
    written = written.strip()
    if written[:1] in ("'", '"'):
        written = written[1:].partition(written[0])[0]
    try:
        url = response.urljoin(written) if written else response.url
    except InvalidRequest:
        return None
    return url if url.startswith(("http:", "https:")) else None
