"""What a request that waits takes in memory, and a URL that was seen. ``python -m benchmarks.memory``

Each number is the growth of a fresh process's resident memory; that of the seen URLs is taken from that of the queue.
"""

from __future__ import annotations

import subprocess
import sys
from argparse import ArgumentParser
from pathlib import Path

from benchmarks import folder, nginx
from benchmarks.table import markdown

PROGRAMS = {
    "openoctopus": (Path(sys.executable), "openoctopus_memory.py"),
    "scrapy": (folder.python_of("scrapy"), "scrapy_memory.py"),
}


def measure(python: Path, script: str, what: str, requests: int) -> int:
    """Bytes for so many requests."""
    command = [str(python), str(folder.PEERS / script), what, str(requests), nginx.url("quick/1")]
    return int(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=600).stdout)


def main() -> None:
    parser = ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    parser.add_argument("--requests", type=int, default=200_000, help="how many wait (default: 200000)")
    requests = parser.parse_args().requests
    rows = []
    with nginx.running():
        for name, (python, script) in PROGRAMS.items():
            if not python.exists():
                continue
            seen = measure(python, script, "seen", requests)
            both = measure(python, script, "queued", requests)
            rows.append([name, f"{(both - seen) / requests:.0f}", f"{seen / requests:.0f}", f"{both / 1e6:.0f}"])
    print(markdown([f"{requests:,} requests wait", "bytes a queued request", "bytes a seen URL", "MB in all"], rows))


if __name__ == "__main__":
    main()
