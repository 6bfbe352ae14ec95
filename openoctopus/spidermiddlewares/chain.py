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


class Admission:
    """Judges what a spider yields. ``start`` and ``found`` return what may go on, or ``None``."""

    def __init__(self, middlewares: Sequence[object], spider: Spider, stats: Stats) -> None:
        self.spider = spider
        self.stats = stats
        self._start = _calls(middlewares, "process_start", 1)
        self._found = _calls(middlewares, "process_found", 2)

    def start(self, found: Any) -> Any:
        """A request or an item of ``spider.start()``."""
        try:
            for call in self._start:
                found = call(found, self.spider)
                if found is None:
                    return None
        except (IgnoreRequest, DropItem) as refused:
            return self._refused(found, refused)
        return found

    def judge(self, request: Request) -> None:
        """The new request of a redirect. Raises ``IgnoreRequest`` if it may not be crawled."""
        for call in self._start:
            if call(request, self.spider) is None:
                raise IgnoreRequest("not admitted")

    def found(self, found: Any, response: Response) -> Any:
        """A request or an item that a callback yielded."""
        try:
            for call in self._found:
                found = call(found, response, self.spider)
                if found is None:
                    return None
        except (IgnoreRequest, DropItem) as refused:
            return self._refused(found, refused)
        return found

    def _refused(self, found: Any, refused: IgnoreRequest | DropItem) -> None:
        if isinstance(found, Request):
            self.stats.inc("request_dropped_count")
            self.stats.inc(f"request_dropped_reasons_count/{refused.reason}")
        else:
            self.stats.inc("item_dropped_count")
            self.stats.inc(f"item_dropped_reasons_count/{refused.reason}")


def _calls(middlewares: Sequence[object], name: str, arguments: int) -> list[Callable[..., Any]]:
    hooks = [(m, found) for m in middlewares if (found := hook(m, SpiderMiddleware, name, arguments))]
    for middleware, found in hooks:
        if found.is_async:
            raise SettingsError(
                f"{type(middleware).__name__}.{name} is async: a spider middleware judges without I/O; "
                "do what must wait in a downloader middleware or a pipeline"
            )
    return [found.call for _, found in hooks]
