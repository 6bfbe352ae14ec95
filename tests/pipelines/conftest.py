"""Takes items through one store, each as the page of its own, as a crawl does."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from openoctopus.pipelines.base import BatchPipeline, Receipt
from openoctopus.pipelines.feeds import FeedPipeline
from openoctopus.spider import Spider


class Crawl:
    """Opens the store, is given items, writes the rest and closes the store."""

    def __init__(self, store: BatchPipeline, spider: Spider | None = None, retry_times: int = 0) -> None:
        self.store = store
        self.spider = spider or Spider("news")
        self.retry_times = retry_times
        self.settled: list[Any] = []
        self.failed: list[tuple[Any, Exception]] = []

    async def __aenter__(self) -> Crawl:
        await self.store.open()
        answer = self.store.open_spider(self.spider)
        if answer is not None:
            await answer
        self.store.begin(lambda failed: self.failed.append((failed.item, failed.error)), self.retry_times)
        return self

    def put(self, *items: Any) -> None:
        for item in items:
            receipt = Receipt(lambda _, item=item: self.settled.append(item))
            try:
                self.store.put(item, receipt)
            except TypeError as error:
                self.failed.append((item, error))
            receipt.close()

    async def __aexit__(self, *exc_info: object) -> None:
        try:
            await self.store.finish()
        finally:
            answer = self.store.close_spider(self.spider)
            if answer is not None:
                await answer
            await self.store.close()


@pytest.fixture
def crawl() -> type[Crawl]:
    return Crawl


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Any]:
    """Writes items to an output below ``tmp_path`` in one crawl, and returns what then stands in the file."""

    async def write(name: str, items: Iterable[Any], **options: Any) -> str:
        async with Crawl(FeedPipeline(tmp_path / name, **options)) as running:
            running.put(*items)
        assert not running.failed
        return (tmp_path / name).read_bytes().decode(options.get("encoding", "utf-8"))

    return write
