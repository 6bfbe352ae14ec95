"""What stands around a fetch."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

from openoctopus.exceptions import OctopusError, Steering
from openoctopus.http import Request, Response
from openoctopus.plugins import Hook, Plugin, hook
from openoctopus.spider import Spider

Fetch = Callable[[Request], Awaitable[Response]]


class DownloaderMiddleware(Plugin):
    """Override any of the three hooks, with ``def`` or ``async def``; those left alone cost nothing."""

    def process_request(self, request: Request, spider: Spider) -> Any:
        """Before the fetch: change the request and return ``None``; or return a Response, so that nothing is fetched,
        or another Request, which is queued in this one's place. May raise ``IgnoreRequest``, ``Later`` or ``Retry``.
        """

    def process_response(self, request: Request, response: Response, spider: Spider) -> Any:
        """After the fetch, in reverse order: return a Response, or a Request, which is queued in this one's place."""
        return response

    def process_exception(self, request: Request, exception: Exception, spider: Spider) -> Any:
        """When the fetch failed, in reverse order: return a Response to carry on with, a Request to queue, or ``None``."""


class Moved(Steering):
    """The page is to be had by another request, which takes this one's place."""

    def __init__(self, request: Request) -> None:
        super().__init__()
        self.request = request


def compose(middlewares: Sequence[object], fetch: Fetch, spider: Spider) -> Fetch:
    """Put the middlewares around ``fetch``, the first outermost.

    The result raises ``Moved`` where a hook returned a Request. Exceptions that steer are not shown to
    ``process_exception``.
    """
    before, after, rescue = (
        [h for m in chain if (h := hook(m, DownloaderMiddleware, name, arguments))]
        for name, arguments, chain in (
            ("process_request", 1, middlewares),
            ("process_response", 2, middlewares[::-1]),
            ("process_exception", 2, middlewares[::-1]),
        )
    )

    async def fetch_within(request: Request) -> Response:
        try:
            response = await _before(before, request, spider) or await fetch(request)
        except Steering:
            raise
        except Exception as error:
            response = await _rescue(rescue, request, error, spider)
        for call, is_async in after:
            answer = call(request, response, spider)
            if is_async:
                answer = await answer
            if type(answer) is not Response:
                answer = _response(answer, call)
            response = answer
        return response

    return fetch_within


async def _before(hooks: list[Hook], request: Request, spider: Spider) -> Response | None:
    for call, is_async in hooks:
        answer = call(request, spider)
        if is_async:
            answer = await answer
        if answer is not None:
            return _response(answer, call)
    return None


async def _rescue(hooks: list[Hook], request: Request, error: Exception, spider: Spider) -> Response:
    for call, is_async in hooks:
        answer = call(request, error, spider)
        if is_async:
            answer = await answer
        if answer is not None:
            return _response(answer, call)
    raise error


def _response(answer: object, call: Callable[..., Any]) -> Response:
    if isinstance(answer, Response):
        return answer
    if isinstance(answer, Request):
        raise Moved(answer)
    name = getattr(call, "__qualname__", repr(call))
    raise OctopusError(f"{name} returned a {type(answer).__name__}; it should return a Response or a Request")


class HostRecords(Protocol):
    """What the scheduler keeps about hosts, shared by all workers; given to a plug-in that asks for ``hosts``."""

    async def recall(self, key: str) -> bytes | None:
        """What was remembered under that key, or ``None``."""

    async def remember(self, key: str, value: bytes, seconds: float) -> None:
        """Keep a value for that long."""

    def set_crawl_delay(self, host: str, seconds: float) -> None:
        """From now on at least so many seconds lie between two requests to that host."""

    async def delay_of(self, host: str) -> float:
        """The seconds between two requests to that host as they stand now."""
