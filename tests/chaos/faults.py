"""B4: every failpoint of a job, with a kill, an error that nobody expects, and a process that stands still."""

from __future__ import annotations

import asyncio
import signal
import tempfile
from pathlib import Path
from random import Random
from typing import Any

from openoctopus.failpoints import NAMES
from tests.chaos import ledger, stores
from tests.chaos.jobfile import failed_pages
from tests.chaos.site import ChaosSite, Graph
from tests.chaos.victim import Victim, Violation, crawl

ACTIONS = ("kill", "raise", "hang")
#: A process that asked for nothing for so many seconds stands still.
STILL = 3.0
#: What is passed a few times in a crawl, and not for each page.
RARE = ("store.", "settle.", "job.", "giveback")
#: No host of the site has a name to look for, and no item has a new field.
PLACES = [name for name in NAMES if name not in ("dns", "feed.widening")]


async def run(
    folder: Path,
    *,
    seed: int = 1,
    pages: int = 150,
    times: int = 3,
    names: str = ",".join(PLACES),
    actions: str = ",".join(ACTIONS),
) -> dict[str, Any]:
    """Have a fault at each place so many times, at other moments of the crawl, and resume without."""
    random, figures = Random(f"faults {seed}"), {"runs": 0, "never passed": 0, "pages that failed": 0}
    for name in names.split(","):
        for action in actions.split(","):
            for _ in range(times):
                turn = random.randrange(1, 3 if name.startswith(RARE) else 100)
                fault = f"{name}={action}#{turn}"
                with tempfile.TemporaryDirectory(dir=folder) as place:
                    passed, failed = await _one(Path(place), fault, Graph(pages, seed=random.randrange(1000)))
                figures["runs"] += 1
                figures["never passed"] += not passed
                figures["pages that failed"] += failed
    return figures


async def _one(folder: Path, fault: str, graph: Graph) -> tuple[bool, int]:
    """One fault; whether it happened, and how many pages failed of it. Raises ``Violation`` that names it."""
    kept = {"sqlite": stores.sqlite(folder), "jsonl": stores.jsonl(folder), "csv": stores.table(folder)}
    async with ChaosSite(graph) as site:
        command = crawl(site.url, [store.target for store in kept.values()], {"LOG_LEVEL": "WARNING"})
        victim = Victim(folder, command, {"OCTOPUS_FAILPOINTS": fault})
        await victim.start()
        if "giveback" in fault:
            await site.asked_for(graph.pages // 4)
            victim.send(signal.SIGTERM)
            await asyncio.sleep(0.01)
            victim.send(signal.SIGTERM)
        code = await _end(site, victim)
        happened = f"failpoint {fault.partition('=')[0]}, passed" in victim.log.read_text("utf-8")
        if happened and "=kill" in fault and code != -signal.SIGKILL:
            raise Violation(f"{fault}: ended with {code}: {victim.last_words()}")
        resumed = Victim(folder, command)
        await resumed.start()
        if code := await resumed.end(60.0):
            raise Violation(f"{fault}: resumed, and ended with {code}: {victim.last_words()}")
        failed = failed_pages(folder)
        if strange := {reason for reason in failed.values() if "Injected" not in reason}:
            raise Violation(f"{fault}: pages failed as {strange}: {victim.last_words()}")
        if len(failed) > 1:
            raise Violation(f"{fault}: one fault made {len(failed)} pages fail: {failed}")
        try:
            await ledger.check(site, kept, failed)
        except Violation as violation:
            raise Violation(f"{fault}: {violation}; {victim.last_words()}") from None
        return happened, len(failed)


async def _end(site: ChaosSite, victim: Victim) -> int:
    """Wait for the end of the crawl; end it if it stands still."""
    asked = -1
    while victim.code is None and asked != site.requests:
        asked = site.requests
        for _ in range(int(STILL / 0.05)):
            if victim.code is not None:
                break
            await asyncio.sleep(0.05)
    victim.kill()
    return await victim.end()
