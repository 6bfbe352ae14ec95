"""Who takes part in the crawl: a script, the environment that it runs in, and how it is set up."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks import folder

#: What the ratios of the table are taken to.
REFERENCE = "scrapy"


@dataclass(frozen=True)
class Peer:
    """``name`` is also how the command line chooses."""

    name: str
    script: str
    environment: str
    variant: str = "default"
    #: Can follow every link without fetching a page twice.
    broad: bool = True
    #: Can obey robots.txt and keep cookies.
    duties: bool = True

    @property
    def ours(self) -> bool:
        return self.environment == "openoctopus"

    @property
    def floor(self) -> bool:
        """A loop written by hand: a limit, not a competitor."""
        return self.environment == "floor"

    def command(self) -> list[str | Path]:
        python = Path(sys.executable) if self.ours else folder.python_of(self.environment)
        return [python, folder.PEERS / self.script, "--variant", self.variant]


def _floor(variant: str) -> Peer:
    return Peer(f"floor {variant}", "floor_news.py", "floor", variant, duties=False)


PEERS = [
    Peer("openoctopus", "openoctopus_news.py", "openoctopus"),
    Peer("openoctopus aiohttp", "openoctopus_news.py", "openoctopus", "aiohttp"),
    Peer("scrapy", "scrapy_news.py", "scrapy"),
    Peer("scrapy items4", "scrapy_news.py", "scrapy", "items4"),
    Peer("scrapy tuned", "scrapy_news.py", "scrapy", "tuned"),
    Peer("crawlee", "crawlee_news.py", "crawlee"),
    Peer("crawlee memory", "crawlee_news.py", "crawlee", "memory"),
    Peer("crawlee tuned", "crawlee_news.py", "crawlee", "tuned"),
    Peer("scrapling", "scrapling_news.py", "scrapling"),
    Peer("scrapling uvloop", "scrapling_news.py", "scrapling", "uvloop"),
    Peer("aioscrapy", "aioscrapy_news.py", "aioscrapy", broad=False, duties=False),
    Peer("feapder", "feapder_news.py", "feapder", broad=False, duties=False),
    _floor("aiohttp-parsel"),
    _floor("aiohttp-lexbor"),
    _floor("wreq-turbohtml"),
    _floor("raw-lexbor"),
    _floor("raw-turbohtml"),
]
