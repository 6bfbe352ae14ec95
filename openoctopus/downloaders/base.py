"""Who fetches a request."""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, Protocol

from openoctopus.exceptions import InvalidRequest, SettingsError
from openoctopus.http import Headers, Request, Response
from openoctopus.plugins import Plugin, build, load_class
from openoctopus.settings import Settings

logger = logging.getLogger(__name__)


class Head(Protocol):
    """What is known of an answer before its body."""

    status: int
    headers: Headers
    ip_address: str
    protocol: str
    truncated: bool


class Incoming:
    """A response whose body is still arriving: iterate over it for the unpacked chunks."""

    def __init__(self, request: Request, head: Head, chunks: AsyncIterator[bytes]) -> None:
        self.request = request
        self.url = request.url
        self.status = head.status
        self.headers = head.headers
        self.ip_address = head.ip_address
        self.protocol = head.protocol
        self._head = head
        self._chunks = chunks

    @property
    def truncated(self) -> bool:
        """The body has ended early, where DOWNLOAD_FAIL_ON_DATALOSS allows that; known at its end."""
        return self._head.truncated

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._chunks

    def __repr__(self) -> str:
        return f"<{self.status} {self.url}, arriving>"


class Downloader(Plugin, ABC):
    """Fetches requests, one at a time or many at once; it follows no redirect and keeps no cookie."""

    #: The methods that it can send; ``None``: any.
    methods: frozenset[str] | None = None

    @abstractmethod
    async def fetch(self, request: Request) -> Response:
        """Have the whole page. Raises ``FetchError``, and ``InvalidRequest`` for what it cannot ask for."""

    def stream(self, request: Request) -> AbstractAsyncContextManager[Incoming]:
        """Have the page while it arrives, for what is too large to be held: ``async with ... as page``.

        A downloader that only knows whole pages gives them in one chunk.
        """
        return self._streamed(request)

    @asynccontextmanager
    async def _streamed(self, request: Request) -> AsyncIterator[Incoming]:
        response = await self.fetch(request)
        yield Incoming(request, response, _one(response.body))


async def _one(body: bytes) -> AsyncIterator[bytes]:
    if body:
        yield body


_BUILT_IN = {
    "http": "openoctopus.downloaders.http.HttpDownloader",
    "aiohttp": "openoctopus.downloaders.aiohttp.AiohttpDownloader",
}


class Downloaders(Plugin):
    """The downloaders of one crawl by name: "http" (wreq), "aiohttp", and those of DOWNLOADERS.

    The default one is opened at the start, so that a wrong setting is told there; each other at the first request that
    asks for it. ``given`` is what their constructors may ask for: ``stats``, ``start_hosts``...
    """

    def __init__(self, settings: Settings, given: Mapping[str, Any] | None = None) -> None:
        self._settings = settings
        self._given = {"settings": settings, **(given or {})}
        self._opened: dict[str, Downloader] = {}
        self._opening = asyncio.Lock()
        self._closing = AsyncExitStack()

    async def open(self) -> None:
        await self._open("")

    async def close(self) -> None:
        self._opened.clear()
        await self._closing.aclose()

    def fetch(self, request: Request) -> Awaitable[Response]:
        """Have the page by the downloader that the request names, else by the default one.

        Raises ``InvalidRequest`` if there is none of that name.
        """
        downloader = self._opened.get(request.downloader)
        if downloader is not None and (downloader.methods is None or request.method in downloader.methods):
            return downloader.fetch(request)
        return self._fetch(request)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Incoming]:
        """Have the page while it arrives."""
        downloader = await self._choose(request)
        async with downloader.stream(request) as page:
            yield page

    async def _fetch(self, request: Request) -> Response:
        downloader = await self._choose(request)
        return await downloader.fetch(request)

    async def _choose(self, request: Request) -> Downloader:
        downloader = await self._open(request.downloader)
        if downloader.methods is None or request.method in downloader.methods:
            return downloader
        return await self._open("aiohttp")

    async def _open(self, name: str) -> Downloader:
        async with self._opening:
            known = name or self._settings.DOWNLOADER
            if known == "http" and self._settings.DNS_SERVERS:
                known = "aiohttp"
            if known == "aiohttp" and not name and self._settings.IMPERSONATE:
                raise SettingsError("IMPERSONATE needs wreq: DOWNLOADER = 'http', and no DNS_SERVERS")
            if known not in self._opened:
                self._opened[known] = await self._begin(known)
            self._opened[name] = self._opened[known]
            return self._opened[name]

    async def _begin(self, name: str) -> Downloader:
        try:
            kind, keywords = found(self._settings, name)
        except ImportError as error:
            if name != "http":
                raise
            logger.warning("wreq cannot be imported here (%s): aiohttp fetches instead", error)
            kind, keywords = found(self._settings, "aiohttp")
        downloader: Downloader = build(kind, self._settings, keywords, **self._given)
        return await self._closing.enter_async_context(downloader)


def named(settings: Settings) -> list[type[Downloader]]:
    """The classes of downloaders that the settings name, beside the built-in ones. Raises ``SettingsError``."""
    names = {settings.DOWNLOADER, *settings.DOWNLOADERS}
    return [found(settings, name)[0] for name in names if name in settings.DOWNLOADERS or name not in _BUILT_IN]


def found(settings: Settings, name: str) -> tuple[type[Downloader], dict[str, Any]]:
    """The class of a downloader, and the keywords that DOWNLOADERS gives it.

    Raises ``SettingsError`` for a class that is none, and for a name that is no downloader's if it is that of DOWNLOADER;
    else ``InvalidRequest``, since a request has it.
    """
    table = {**_BUILT_IN, **settings.DOWNLOADERS}
    is_default = name == settings.DOWNLOADER
    entry = table.get(name, name if is_default and "." in name else None)
    if entry is None and is_default:
        raise SettingsError(f"DOWNLOADER = {name!r}: write {' or '.join(sorted(table))}, or package.module.Name")
    if entry is None:
        raise InvalidRequest(f"there is no downloader {name!r}, only {', '.join(sorted(table))}")
    keywords = dict(entry) if isinstance(entry, Mapping) else {"class": entry}
    option = f"DOWNLOADERS[{name!r}]" if name in settings.DOWNLOADERS else "DOWNLOADER"
    if "class" not in keywords:
        raise SettingsError(f"{option} needs a class, or a mapping with one, not {entry!r}")
    return load_class(option, keywords.pop("class"), Downloader), keywords
