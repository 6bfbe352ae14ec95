"""All spider middlewares of a crawl, one behind the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from openoctopus.exceptions import DropItem, IgnoreRequest, SettingsError
from openoctopus.http import Request, Response
from openoctopus.plugins import hook
from openoctopus.spider import Spider
from openoctopus.spidermiddlewares.base import SpiderMiddleware
from openoctopus.stats import Stats

#: Is told which request was refused, on which page it was found (its URL; empty: none), by which middleware, and why, as
#: far as that says it.
Told = Callable[[Request, str, str, str], None]


def _nobody(request: Request, page: str, rule: str, reason: str) -> None:
    """Nobody wants to know."""


class Admission:
    """Judges what a spider yields. ``start`` and ``found`` return what may go on, or ``None``."""

    def __init__(self, middlewares: Sequence[object], spider: Spider, stats: Stats, told: Told = _nobody) -> None:
        self.spider = spider
        self.stats = stats
        self._told = told
        self._start = _calls(middlewares, "process_start", 1)
        self._found = _calls(middlewares, "process_found", 2)

    def start(self, found: Any) -> Any:
        """A request or an item of ``spider.start()``."""
        given, rule = found, ""
        try:
            for rule, call in self._start:
                found = call(found, self.spider)
                if found is None:
                    return self._dropped(given, "", rule)
        except (IgnoreRequest, DropItem) as refused:
            return self._refused(given, "", rule, refused)
        return found

    def judge(self, request: Request) -> None:
        """The new request of a redirect. Raises ``IgnoreRequest`` if it may not be crawled."""
        page = (request.meta.get("redirect_urls") or [""])[-1]
        for rule, call in self._start:
            try:
                if call(request, self.spider) is None:
                    raise IgnoreRequest("not admitted")
            except IgnoreRequest as refused:
                self._told(request, page, rule, refused.reason)
                raise

    def found(self, found: Any, response: Response) -> Any:
        """A request or an item that a callback yielded."""
        given, rule = found, ""
        try:
            for rule, call in self._found:
                found = call(found, response, self.spider)
                if found is None:
                    return self._dropped(given, response.url, rule)
        except (IgnoreRequest, DropItem) as refused:
            return self._refused(given, response.url, rule, refused)
        return found

    def _dropped(self, given: Any, page: str, rule: str, reason: str = "") -> None:
        if isinstance(given, Request):
            self._told(given, page, rule, reason)

    def _refused(self, given: Any, page: str, rule: str, refused: IgnoreRequest | DropItem) -> None:
        if isinstance(given, Request):
            self.stats.inc("request_dropped_count")
            self.stats.inc(f"request_dropped_reasons_count/{refused.reason}")
        else:
            self.stats.inc("item_dropped_count")
            self.stats.inc(f"item_dropped_reasons_count/{refused.reason}")
        self._dropped(given, page, rule, refused.reason)


def _calls(middlewares: Sequence[object], name: str, arguments: int) -> list[tuple[str, Callable[..., Any]]]:
    """That hook of all middlewares that have it, each with the name of its class."""
    hooks = [(type(m).__name__, found) for m in middlewares if (found := hook(m, SpiderMiddleware, name, arguments))]
    for middleware, found in hooks:
        if found.is_async:
            raise SettingsError(
                f"{middleware}.{name} is async: a spider middleware judges without I/O; "
                "do what must wait in a downloader middleware or a pipeline"
            )
    return [(middleware, found.call) for middleware, found in hooks]
