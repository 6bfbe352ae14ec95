"""The killer of B2 beside Scrapy with a JOBDIR, and what it loses. Needs an interpreter that has Scrapy."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

from tests.chaos.kills import SECONDS, asked_for
from tests.chaos.site import ChaosSite, Graph
from tests.chaos.victim import Victim, Violation, crawl

SCRAPY = Path(__file__).with_name("scrapy_spider.py")
#: Requests that a run makes before it is killed, at most.
REQUESTS = 200
#: Starts in a row that ask for nothing, after which it counts as unable to go on.
IDLE = 3


async def run(
    folder: Path, *, seed: int = 1, pages: int = 3000, kills: int = 20, python: str = sys.executable, crawler: str = "scrapy"
) -> dict[str, Any]:
    """Kill a crawl of ``scrapy`` or ``octopus`` so often, then let it finish, and count what is there."""
    random, graph = Random(f"kills {seed}"), Graph(pages, seed=seed)
    async with ChaosSite(graph) as site:
        if crawler == "scrapy":
            command = [python, "-m", "scrapy", "runspider", str(SCRAPY), "-a", f"site={site.url}"]
        else:
            command = crawl(site.url, ["sqlite:///items.db?table=items&key=key"])
        victim = Victim(folder, command)
        killed = 0
        while killed < kills:
            await victim.start()
            if not await asked_for(site, victim, random.randrange(1, REQUESTS)):
                break  # it says that it is finished, or cannot go on
            await asyncio.sleep(random.random() * SECONDS)
            victim.kill()
            await victim.end()
            killed += 1
        code = None
        for _ in range(IDLE):
            before = site.requests
            await victim.start()
            code = await victim.end()
            if site.requests == before:
                break
        with closing(sqlite3.connect(folder / "items.db")) as database:
            stored = {key for (key,) in database.execute("SELECT key FROM items")}
    expected = graph.expected()
    if strange := stored - expected:
        raise Violation(f"{len(strange)} items that nobody yielded: {strange}")
    return {
        "kills": killed, "last exit code": code, "pages": pages, "pages never asked for": pages - len(site.asked),
        "items": len(expected), "items lost": len(expected - stored), "fetched again": site.requests - len(site.asked),
    }  # fmt: skip
