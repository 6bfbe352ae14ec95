"""The job as a loop written by hand, with nothing a framework gives. Variants: CLIENT-PARSER, such as raw-turbohtml."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, BinaryIO
from urllib.parse import urlsplit

import orjson
import uvloop
from floor_clients import CLIENTS, Fetch
from floor_parsers import PARSERS
from job import read_job

JOB = read_job()
CLIENT, _, PARSER = JOB.variant.partition("-")
START = urlsplit(JOB.url)
ORIGIN = f"{START.scheme}://{START.netloc}"

Read = Callable[[Any, str], None]


class Crawl:
    """A queue, a set of seen paths, and workers that read each page as soon as it is there."""

    def __init__(self, fetch: Fetch, file: BinaryIO) -> None:
        self.fetch = fetch
        self.file = file
        self.parser = PARSERS[PARSER]
        self.queue: deque[tuple[Read, str]] = deque()
        self.seen: set[str] = set()
        self.idle: deque[asyncio.Future[None]] = deque()
        self.under_way = 0

    async def run(self) -> None:
        self.push(self.read_broad if JOB.broad else self.read_index, [START.path])
        await asyncio.gather(*[self.work() for _ in range(JOB.concurrency)])

    async def work(self) -> None:
        while True:
            while not self.queue:
                if not self.under_way:
                    self.wake(len(self.idle))
                    return
                news = asyncio.get_running_loop().create_future()
                self.idle.append(news)
                await news
            read, path = self.queue.popleft()
            self.under_way += 1
            read(self.parser.parse(await self.fetch(path)), path)
            self.under_way -= 1
            self.wake(len(self.queue))

    def wake(self, number: int) -> None:
        for _ in range(min(number, len(self.idle))):
            self.idle.popleft().set_result(None)

    def push(self, read: Read, paths: list[str]) -> None:
        for path in paths:
            if path not in self.seen:
                self.seen.add(path)
                self.queue.append((read, path))

    def read_index(self, tree: Any, path: str) -> None:
        self.push(self.read_list, self.parser.links(tree, "a.section-link"))

    def read_list(self, tree: Any, path: str) -> None:
        self.push(self.read_article, self.parser.links(tree, "div.article-list h2 a"))
        self.push(self.read_list, self.parser.links(tree, "a.next-page"))

    def read_article(self, tree: Any, path: str) -> None:
        fields = self.parser.article(tree)
        if fields is not None:
            self.file.write(orjson.dumps({"url": ORIGIN + path, **fields}, option=orjson.OPT_APPEND_NEWLINE))

    def read_broad(self, tree: Any, path: str) -> None:
        self.read_article(tree, path)
        self.push(self.read_broad, self.parser.links(tree, "a"))


async def crawl() -> None:
    with open(JOB.output, "wb") as file:  # noqa: ASYNC230
        async with CLIENTS[CLIENT](ORIGIN, JOB.concurrency) as fetch:
            await Crawl(fetch, file).run()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(crawl())
