"""How long a job of a million requests takes to begin, and to be resumed. ``python -m benchmarks.resume``"""

from __future__ import annotations

import asyncio
import resource
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from pathlib import Path
from time import perf_counter

from openoctopus.dupefilter import RFPDupeFilter
from openoctopus.http import Request
from openoctopus.http.codec import freeze
from openoctopus.runner import new_runner
from openoctopus.scheduler import SqliteScheduler
from openoctopus.scheduler.base import Entry
from openoctopus.settings import Settings

HOSTS, TOGETHER = 1000, 100


def scheduler_in(folder: str) -> tuple[SqliteScheduler, RFPDupeFilter]:
    dupefilter = RFPDupeFilter()
    return SqliteScheduler(dupefilter, Settings.load({"benchmark": {"JOB": "job", "JOBS_DIR": folder}})), dupefilter


async def fill(folder: str, requests: int) -> None:
    """Make the job."""
    scheduler, dupefilter = scheduler_in(folder)
    began = perf_counter()
    async with scheduler:
        for first in range(0, requests, TOGETHER):
            found = [
                Request(f"https://host{n % HOSTS}.example.com/articles/2026/{n}/a-title-as-long-as-most.html")
                for n in range(first, first + TOGETHER)
            ]
            await scheduler.add([Entry(dupefilter.fingerprint(one), one.host, freeze(one, str)) for one in found])
            await asyncio.sleep(0)
    print(f"{requests:,} requests added in {perf_counter() - began:.1f} s")


async def resume(folder: str) -> None:
    """Take it up, as a new process does."""
    scheduler, _ = scheduler_in(folder)
    began = perf_counter()
    async with scheduler:
        assert await scheduler.claim()
        seconds = perf_counter() - began
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{scheduler.counts.pending:,} requests resumed in {seconds:.2f} s, {memory:,.0f} MB in all", flush=True)


def main() -> None:
    parser = ArgumentParser(prog="python -m benchmarks.resume", description=__doc__)
    parser.add_argument("--requests", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", help="a job that is there: only resume it")
    options = parser.parse_args()
    if options.folder:
        with new_runner() as runner:
            runner.run(resume(options.folder))
        return
    with tempfile.TemporaryDirectory() as folder:
        with new_runner() as runner:
            runner.run(fill(folder, options.requests))
        size = Path(folder, "job", "job.sqlite").stat().st_size
        print(f"{size / options.requests:.0f} bytes each in the file", flush=True)
        for _ in range(options.rounds):
            subprocess.run([sys.executable, "-m", "benchmarks.resume", "--folder", folder], check=True)


if __name__ == "__main__":
    main()
