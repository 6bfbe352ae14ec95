"""B13: the database is killed in the middle of a crawl and comes back later: claims stop meanwhile, and nothing is lost."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from tests.chaos import ledger, stores
from tests.chaos.site import ChaosSite, Graph
from tests.chaos.victim import Victim, Violation, crawl
from tests.services import services

#: After so many seconds without the database nothing more is asked of the site.
CALM = 5.0
AWAY, BACK = "is away, the crawl waits for it", "is back after"


async def run(folder: Path, *, seed: int = 1, pages: int = 5000, seconds: float = 30.0, job: str = "") -> dict[str, Any]:
    """Kill a PostgreSQL of our own for so many seconds."""
    with services.own("postgresql") as server:
        kept = {"postgresql": stores.postgresql(server.url)}
        async with ChaosSite(Graph(pages, seed=seed)) as site:
            victim = Victim(folder, crawl(site.url, [store.target for store in kept.values()], job=job))
            await victim.start()
            await site.asked_for(pages // 2)
            server.kill()
            late = await _without(site, seconds)
            if AWAY not in victim.last_words():
                raise Violation(f"nothing was said about the database: {victim.last_words()}")
            await asyncio.to_thread(server.start)
            if code := await victim.end():
                raise Violation(f"ended with {code}: {victim.last_words()}")
            if BACK not in victim.last_words(30):
                raise Violation(f"nothing was said of its return: {victim.last_words(30)}")
            return {"seconds away": seconds, "asked while away": late, **await ledger.check(site, kept)}


async def _without(site: ChaosSite, seconds: float) -> int:
    """Let the time pass; how many pages were asked for in it. Raises ``Violation`` if claims did not stop."""
    before = site.requests
    await asyncio.sleep(min(CALM, seconds / 2))
    calm = site.requests
    await asyncio.sleep(max(seconds - CALM, seconds / 2))
    if site.requests > calm:
        raise Violation(f"{site.requests - calm} pages were asked for while the database was away")
    return calm - before
