"""The spider of the chaos runs: follows every link, keeps every item, and dies of poison."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from typing import Any

from openoctopus import Request, Response, Spider
from openoctopus.pipelines import DedupPipeline


class Graph(Spider):
    name = "graph"
    custom_settings = {
        "ALLOW_PRIVATE_ADDRESSES": True,
        "CONCURRENT_REQUESTS": 16,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
        "RETRY_DELAY": 0.1,
        "ITEM_PIPELINES": {DedupPipeline: {"order": 100, "fields": ["key"]}},
    }

    def __init__(self, site: str, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.start_urls = [site]

    def parse(self, response: Response) -> Iterator[Request | dict[str, Any]]:
        if "/poison/" in response.url:
            os.kill(os.getpid(), signal.SIGKILL)
        for item in response.css("li.item"):
            yield {"key": item.attrib["id"], "text": item.css("::text").get(), "page": response.url}
        for twin in response.css("li.twin"):
            yield {"key": twin.css("::text").get(), "text": "", "page": response.url}
        yield from response.follow_all(css="a")

    def close(self, reason: str) -> None:
        self.logger.info("tasks at the end: %d", len(asyncio.all_tasks()))
