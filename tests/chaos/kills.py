"""B2: kill -9 again and again, each time while requests are under way, until the job is finished; everything is there once."""

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

#: Requests that a run makes before it is killed, at most, and seconds that may pass then.
REQUESTS, SECONDS = 80, 0.1


async def run(folder: Path, *, seed: int = 1, pages: int = 30_000, kills: int = 500, workers: int = 0) -> dict[str, Any]:
    """Kill a crawl so often that held leases, then let it finish."""
    random, kept = Random(f"kills {seed}"), stores.every(folder)
    # The pages under way are blamed for each kill: with hundreds of them an innocent one may be hit three times.
    settings = {"MAX_LOST": 1000, "WORKERS": workers}
    try:
        # Each of several workers drops its own duplicates only.
        async with ChaosSite(Graph(pages, seed=seed, twins=not workers)) as site:
            victim = Victim(folder, crawl(site.url, [store.target for store in kept.values()], settings))
            counted = unheld = 0
            while counted < kills:
                await victim.start()
                if not await asked_for(site, victim, random.randrange(1, REQUESTS)):
                    raise Violation(f"ended with {victim.code} after {counted} kills: {victim.last_words()}")
                await asyncio.sleep(random.random() * SECONDS)
                is_held = site.under_way > 0
                victim.kill()
                if (code := await victim.end()) != -signal.SIGKILL:
                    raise Violation(f"ended with {code} after {counted} kills: {victim.last_words()}")
                counted += is_held
                unheld += not is_held
            await victim.start()
            if code := await victim.end():
                raise Violation(f"ended with {code}: {victim.last_words()}")
            if failed := failed_pages(folder):
                raise Violation(f"{len(failed)} pages failed: {failed}")
            return {
                "kills": counted,
                "more without leases": unheld,
                "stores": ", ".join(kept),
                **await ledger.check(site, kept),
            }
    finally:
        for store in kept.values():
            await store.drop()


async def asked_for(site: ChaosSite, victim: Victim, requests: int) -> bool:
    """Wait until so many more requests came; whether they did before the crawl ended."""
    wanted = site.requests + requests
    while site.requests < wanted:
        if victim.code is not None:
            return False
        await asyncio.sleep(0.002)
    return True
