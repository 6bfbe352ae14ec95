"""The downloaders of a crawl, opened as a crawl opens them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from typing import Any

from openoctopus.downloaders import Downloaders, Incoming
from openoctopus.http import Request, Response
from openoctopus.settings import Settings

ENGINES = ("http", "aiohttp")
LOOPBACK = frozenset({"127.0.0.1"})


@asynccontextmanager
async def opened(engine: str, start_hosts: Collection[str] = LOOPBACK, **options: Any) -> AsyncIterator[Downloaders]:
    settings = Settings.load({"test": {"DOWNLOADER": engine, **options}})
    async with Downloaders(settings, {"start_hosts": start_hosts}) as downloaders:
        yield downloaders


async def fetch(engine: str, url: str, options: dict[str, Any] | None = None, **arguments: Any) -> Response:
    """One page, by downloaders of its own."""
    async with opened(engine, **(options or {})) as downloaders:
        return await downloaders.fetch(Request(url, **arguments))


@asynccontextmanager
async def streamed(engine: str, url: str, options: dict[str, Any] | None = None, **arguments: Any) -> AsyncIterator[Incoming]:
    """One page while it arrives, by downloaders of its own."""
    async with opened(engine, **(options or {})) as downloaders, downloaders.stream(Request(url, **arguments)) as page:
        yield page
