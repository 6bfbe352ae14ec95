"""B15: a long crawl in one process takes no more memory, descriptors and threads at its end than early on."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any, NamedTuple

from tests.chaos import ledger, stores
from tests.chaos.site import Chains, ChaosSite
from tests.chaos.victim import Victim, Violation, crawl

#: What memory may grow to between the two looks.
GROWTH = 1.05


class Taken(NamedTuple):
    """What a process holds of the system. ``files`` are descriptors of anything but connections."""

    memory_mb: float
    files: int
    connections: int
    threads: int

    @classmethod
    def by(cls, pid: int) -> Taken:
        proc = Path(f"/proc/{pid}")
        memory = int((proc / "statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6
        open_now = [os.readlink(descriptor) for descriptor in (proc / "fd").iterdir()]
        connections = sum(one.startswith("socket:") for one in open_now)
        return cls(round(memory, 1), len(open_now) - connections, connections, len([*(proc / "task").iterdir()]))


async def run(
    folder: Path,
    *,
    seed: int = 1,
    pages: int = 500_000,
    first: int = 50_000,
    growth: float = GROWTH,
    dupefilter: str = "openoctopus.dupefilter.BloomDupeFilter",
    job: str = "",
) -> dict[str, Any]:
    """Look at the process after ``first`` pages and just before the end."""
    kept = {"jsonl": stores.jsonl(folder)}
    async with ChaosSite(Chains(pages, seed=seed), latency=0.005) as site:
        settings = {
            "CONCURRENT_REQUESTS": 64, "CONCURRENT_REQUESTS_PER_DOMAIN": 64, "DUPEFILTER_CLASS": dupefilter,
            "ITEM_PIPELINES": "{}",  # what drops duplicates remembers every item
        }  # fmt: skip
        victim = Victim(folder, crawl(site.url, [store.target for store in kept.values()], settings, job=job))
        await victim.start()
        early = await _taken_after(site, victim, first)
        late = await _taken_after(site, victim, pages - 100)
        if code := await victim.end():
            raise Violation(f"ended with {code}: {victim.last_words()}")
        if late.memory_mb > growth * early.memory_mb or late.files > early.files or late.threads > early.threads:
            raise Violation(f"it grew: {early} after {first} pages, {late} at the end")
        counts = await ledger.check(site, kept)
        return {f"after {first:,}": early, "at the end": late, "growth": round(late.memory_mb / early.memory_mb, 3), **counts}


async def _taken_after(site: ChaosSite, victim: Victim, requests: int) -> Taken:
    asked = asyncio.ensure_future(site.asked_for(requests))
    ended = asyncio.ensure_future(victim.end())
    await asyncio.wait([asked, ended], return_when=asyncio.FIRST_COMPLETED)
    if ended.done():
        raise Violation(f"ended with {await ended} after {site.requests} pages: {victim.last_words()}")
    ended.cancel()
    return Taken.by(victim.pid)
