"""B17: SIGTERM at any moment; the crawl ends by itself, goes on, and fetches no page twice."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from random import Random
from typing import Any

from tests.chaos import ledger, stores
from tests.chaos.jobfile import failed_pages
from tests.chaos.site import ChaosSite, Graph
from tests.chaos.victim import Victim, Violation, crawl

#: Seconds that a run may take to its end.
SECONDS = 20.0


async def run(folder: Path, *, seed: int = 1, pages: int = 30_000, times: int = 100, workers: int = 0) -> dict[str, Any]:
    """Ask a crawl so often to end, then let it finish."""
    random, kept = Random(f"drain {seed}"), stores.every(folder)
    try:
        async with ChaosSite(Graph(pages, seed=seed, twins=not workers)) as site:
            victim = Victim(folder, crawl(site.url, [store.target for store in kept.values()], {"WORKERS": workers}))
            for number in range(times):
                before = site.requests
                await victim.start()
                while site.requests == before and victim.code is None:
                    await asyncio.sleep(0.002)
                await asyncio.sleep(random.random() * 0.3)
                victim.send(signal.SIGTERM)
                if (code := await victim.end(SECONDS)) != 3:
                    raise Violation(f"SIGTERM number {number + 1}: ended with {code}: {victim.last_words()}")
            await victim.start()
            if code := await victim.end():
                raise Violation(f"ended with {code}: {victim.last_words()}")
            if failed := failed_pages(folder):
                raise Violation(f"{len(failed)} pages failed: {failed}")
            figures = await ledger.check(site, kept)
            if figures["fetched again"]:
                raise Violation(f"{figures['fetched again']} pages were fetched twice")
            return {"SIGTERM": times, "stores": ", ".join(kept), **figures}
    finally:
        for store in kept.values():
            await store.drop()
