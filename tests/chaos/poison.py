"""B5: pages that kill whoever reads them fail, each alone; no other page does, and nothing is lost."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

from tests.chaos import ledger, stores
from tests.chaos.jobfile import failed_pages
from tests.chaos.site import ChaosSite, Graph
from tests.chaos.victim import Victim, Violation, crawl


async def run(folder: Path, *, seed: int = 1, pages: int = 3000, poison: int = 20, workers: int = 0) -> dict[str, Any]:
    """Crawl a site with so many such pages; a crawl without workers is started again whenever it died."""
    graph, kept, starts = Graph(pages, seed=seed, poison=poison), {"sqlite": stores.sqlite(folder)}, 0
    async with ChaosSite(graph) as site:
        victim = Victim(folder, crawl(site.url, [kept["sqlite"].target], {"WORKERS": workers}))
        code = None
        while code != 0:
            await victim.start()
            starts += 1
            code = await victim.end()
            if code not in (0, -signal.SIGKILL) or (code and workers):
                raise Violation(f"ended with {code}: {victim.last_words()}")
        failed = failed_pages(folder)
        if innocent := {*failed} - graph.poison:
            raise Violation(f"innocent pages failed: {ledger.some(innocent)}")
        if unfailed := graph.poison - {*failed}:
            raise Violation(f"poison pages did not fail: {ledger.some(unfailed)}")
        if {*failed.values()} != {"worker_lost"}:
            raise Violation(f"failed for another reason: {ledger.some({*failed.values()})}")
        deaths = sum(site.asked[page] for page in graph.poison)
        return {
            "poison pages": poison,
            "failed": len(failed),
            "deaths": deaths,
            "starts": starts,
            **await ledger.check(site, kept),
        }
