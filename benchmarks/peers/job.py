"""What every peer is told on its command line. It runs in the peer's environment, so it needs nothing but Python."""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import dataclass


@dataclass(frozen=True)
class Job:
    """Where to begin, how many requests at a time, where the items go."""

    url: str
    concurrency: int
    output: str
    #: How this peer is set up.
    variant: str
    #: Follow every link, instead of lists and articles only.
    broad: bool
    #: Obey robots.txt, keep cookies, log as usual.
    duties: bool

    @property
    def log_level(self) -> str:
        return "INFO" if self.duties else "ERROR"


def read_job() -> Job:
    parser = ArgumentParser()
    parser.add_argument("--url", required=True)
    parser.add_argument("--concurrency", type=int, required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--variant", default="default")
    parser.add_argument("--broad", action="store_true")
    parser.add_argument("--duties", action="store_true")
    return Job(**vars(parser.parse_args()))
