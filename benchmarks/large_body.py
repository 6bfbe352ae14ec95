"""Bodies of 200 MB are refused at the limit, and memory stays flat. ``python -m benchmarks.large_body``

Announced by Content-Length, without a length, and packed into 200 kB (a bomb); each in a process of its own.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import zlib

import openoctopus
from benchmarks import folder, nginx
from benchmarks.table import markdown
from openoctopus import Request, Response, Spider
from openoctopus.spider import Failure

SIZE = 200_000_000
LIMIT = 1_000_000
BODIES = {"announced": "large/zeros.html", "no length": "unannounced/zeros.html", "packed": "packed/zeros.html"}


def write_bodies() -> None:
    """The body (a sparse file), and the same packed by gzip."""
    for name in ("large", "packed"):
        (folder.SITE / name).mkdir(parents=True, exist_ok=True)
    with (folder.SITE / BODIES["announced"]).open("wb") as file:
        file.truncate(SIZE)
    packer = zlib.compressobj(9, wbits=31)
    zeros = bytes(1_000_000)
    packed = b"".join(packer.compress(zeros) for _ in range(SIZE // len(zeros))) + packer.flush()
    (folder.SITE / BODIES["packed"]).write_bytes(packed)


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


class LargeSpider(Spider):
    """A small page first, so that only what the large one takes is counted."""

    path: str
    start_urls = (nginx.url("quick/1"),)

    def parse(self, response: Response) -> Request:
        self.before = peak_mb()
        return Request(nginx.url(self.path), self.parse_large, errback=self.refused)

    def parse_large(self, response: Response) -> None:
        print(f"taken: {len(response.body)} bytes|{peak_mb() - self.before:.1f}")

    def refused(self, failure: Failure) -> None:
        print(f"{type(failure.value).__name__}|{peak_mb() - self.before:.1f}")


def crawl(path: str, downloader: str) -> None:
    openoctopus.run(
        LargeSpider, path=path, DOWNLOADER=downloader, DOWNLOAD_MAXSIZE=LIMIT, ROBOTSTXT_OBEY=False, LOG_LEVEL="CRITICAL"
    )


def measure(name: str, downloader: str) -> list[str]:
    command = [sys.executable, "-m", "benchmarks.large_body", BODIES[name], downloader]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=60).stdout
    return [name, downloader, *printed.strip().split("|")]


def main() -> None:
    write_bodies()
    with nginx.running():
        rows = [measure(name, downloader) for name in BODIES for downloader in ("http", "aiohttp")]
    print(markdown([f"200 MB, {LIMIT / 1e6:.0f} MB allowed", "downloader", "outcome", "MB of memory more"], rows))


if __name__ == "__main__":
    if len(sys.argv) == 3:
        crawl(sys.argv[1], sys.argv[2])
    else:
        main()
