"""Tells the extensions what happens; an error in one of them is logged and counted."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

from openoctopus.exceptions import is_fault
from openoctopus.extensions import Extension
from openoctopus.http import Request
from openoctopus.plugins import Hook, hook
from openoctopus.spider import Spider
from openoctopus.stats import Stats

logger = logging.getLogger(__name__)


class Observers:
    """The extensions of a crawl. News of items is told without waiting; ``drain`` waits for what is still being told."""

    def __init__(self, extensions: Sequence[object], spider: Spider, stats: Stats) -> None:
        self.spider = spider
        self.stats = stats
        self._hooks = {
            name: [found for e in extensions if (found := hook(e, Extension, name, arguments))]
            for name, arguments in (
                ("opened", 0),
                ("item_stored", 1),
                ("item_dropped", 2),
                ("request_failed", 2),
                ("idle", 0),
                ("closed", 1),
            )
        }
        self._telling: set[asyncio.Task[None]] = set()

    async def opened(self) -> None:
        await self._tell("opened", self.spider)

    async def idle(self) -> None:
        await self._tell("idle", self.spider)

    async def closed(self, reason: str) -> None:
        await self._tell("closed", reason, self.spider)

    async def request_failed(self, request: Request, reason: str) -> None:
        await self._tell("request_failed", request, reason, self.spider)

    def item_stored(self, item: Any) -> None:
        self._tell_soon("item_stored", item, self.spider)

    def item_dropped(self, item: Any, reason: str) -> None:
        self._tell_soon("item_dropped", item, reason, self.spider)

    async def drain(self) -> None:
        """Until everything has been told."""
        while self._telling:
            await asyncio.wait(self._telling)

    async def _tell(self, name: str, *news: Any) -> None:
        for found in self._hooks[name]:
            await self._call(found, news)

    def _tell_soon(self, name: str, *news: Any) -> None:
        for found in self._hooks[name]:
            if found.is_async:
                task = asyncio.create_task(self._call(found, news))
                self._telling.add(task)
                task.add_done_callback(self._telling.discard)
            else:
                self._call_now(found, news)

    async def _call(self, found: Hook, news: tuple[Any, ...]) -> None:
        try:
            answer = found.call(*news)
            if found.is_async:
                await answer
        except BaseException as error:
            self._log(found, error)

    def _call_now(self, found: Hook, news: tuple[Any, ...]) -> None:
        try:
            found.call(*news)
        except BaseException as error:
            self._log(found, error)

    def _log(self, found: Hook, error: BaseException) -> None:
        if not is_fault(error):
            raise error
        self.stats.inc("extension/errors")
        logger.exception("%s failed", getattr(found.call, "__qualname__", found.call))
