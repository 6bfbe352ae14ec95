"""What to ask for, and how to read the answers."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from typing import Any, ClassVar

from openoctopus.exceptions import InvalidRequest, OctopusError
from openoctopus.http import Request, Response
from openoctopus.settings import Settings
from openoctopus.stats import Stats


class Spider:
    """Override ``parse``, and ``start`` where a list of URLs is not enough.

    Arguments given with ``-a name=value`` arrive as keywords of the constructor and become attributes. A callback may be
    a function, a generator, a coroutine or an async generator; it yields or returns requests and items.
    ``close(reason)`` (or ``closed(reason)``), plain or async, is called at the end.
    """

    #: The name by which the spider is run; unique in its project.
    name: str = ""
    start_urls: Collection[str] = ()
    #: Hosts that may be crawled, their sub-domains included; empty: all.
    allowed_domains: Collection[str] = ()
    #: Options that stand above the project's.
    custom_settings: ClassVar[Mapping[str, Any] | None] = {}
    #: Statuses other than 2xx that callbacks receive.
    handle_httpstatus_list: Collection[int] = ()

    def __init__(self, name: str | None = None, **arguments: Any) -> None:
        self.name = name or type(self).name or type(self).__name__.lower()
        #: Kept with the job, so that a resumed crawl finds it again. Plain data.
        self.state: dict[str, Any] = {}
        for key, value in arguments.items():
            setattr(self, key, value)

    #: Set by the framework before ``start``.
    settings: Settings
    stats: Stats
    _fetch: Callable[[Request], Awaitable[Response]] | None = None

    @property
    def logger(self) -> logging.Logger:
        return logging.getLogger(self.name)

    def log(self, message: Any, level: int = logging.DEBUG, **options: Any) -> None:
        """``self.logger.log`` with the arguments the other way round, as spiders written for Scrapy have them."""
        self.logger.log(level, message, **options)

    async def start(self) -> AsyncIterator[Any]:
        """The first requests; items may be yielded too. Drawn only as fast as the crawl digests them.

        Those of ``start_requests()``, where a spider has that older method; else one for each of ``start_urls``.
        """
        if (older := getattr(self, "start_requests", None)) is not None:
            for found in older():
                yield found
            return
        if isinstance(self.start_urls, str):
            raise InvalidRequest(f"start_urls is a list of URLs, not one text: [{self.start_urls!r}]")
        for url in self.start_urls:
            try:
                request = Request(url)
            except InvalidRequest as error:
                self.logger.error("start URL left out: %s", error)
                self.stats.inc("start_urls_refused")
            else:
                yield request

    def parse(self, response: Response, *args: Any, **cb_kwargs: Any) -> Any:
        """Read one page: yield what was found, and what to ask for next. Called where a request names no callback."""
        raise OctopusError(f"{type(self).__name__} has no parse method, and {response.request} names no callback")

    async def fetch(self, request: Request | str) -> Response:
        """Have another page at once, by a request or a URL: same politeness, middlewares and retries, no duplicates filter.

        Raises what ended the fetch: ``DownloadError``, ``IgnoreRequest``... A status is not judged.
        """
        if self._fetch is None:
            raise OctopusError("a spider can fetch only while it is crawling")
        return await self._fetch(request if isinstance(request, Request) else Request(request))


def has_parse(spider: Spider) -> bool:
    """Whether the spider can read pages of requests that name no callback."""
    return getattr(spider.parse, "__func__", spider.parse) is not Spider.parse
