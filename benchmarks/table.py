"""What the runs of a crawl say: medians, spread and ratios, as a Markdown table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from benchmarks.peers import REFERENCE, Peer
from benchmarks.process import Cost

HEADER = ["pages/s", "min-max", "CPU ms/page", "start s", "peak MB", "to Scrapy", "to the best peer", "CPU to Scrapy", "items"]


@dataclass(frozen=True)
class Run:
    """One crawl of a tree, and the crawl of a single page beside it."""

    peer: Peer
    pages: int
    cost: Cost
    start: Cost
    #: Every article is there once, with every field.
    complete: bool

    @property
    def pages_per_second(self) -> float:
        return (self.pages - 1) / max(self.cost.wall - self.start.wall, 1e-6)

    @property
    def cpu_per_page(self) -> float:
        """Milliseconds of processor time, of all threads."""
        return (self.cost.cpu - self.start.cpu) / (self.pages - 1) * 1000

    def numbers(self) -> dict[str, Any]:
        return {"pages": self.pages, "complete": self.complete, "crawl": asdict(self.cost), "one page": asdict(self.start)}

    def __str__(self) -> str:
        if not self.complete:
            return f"{self.peer.name}: ITEMS ARE MISSING (exit code {self.cost.exit_code})"
        return f"{self.peer.name}: {self.pages_per_second:,.0f} pages/s, {self.cpu_per_page:.3f} ms/page"


def table(runs: Mapping[Peer, Sequence[Run]], title: str) -> str:
    """A line for each peer, the fastest first."""
    whole = {peer: of_peer for peer, of_peer in runs.items() if all(run.complete for run in of_peer)}
    scrapy = next((of_peer for peer, of_peer in whole.items() if peer.name == REFERENCE), None)
    best = max((of_peer for peer, of_peer in whole.items() if not peer.ours and not peer.floor), key=_speed, default=None)
    lines = [_line(whole[peer], scrapy, best) for peer in sorted(whole, key=lambda peer: -_speed(whole[peer]))]
    lines += [[peer.name, *[""] * (len(HEADER) - 1), "INCOMPLETE"] for peer in runs if peer not in whole]
    return markdown([title, *HEADER], lines)


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in [header, ["---"] * len(header), *rows])


def _line(runs: Sequence[Run], scrapy: Sequence[Run] | None, best: Sequence[Run] | None) -> list[str]:
    speeds = [run.pages_per_second for run in runs]
    return [
        runs[0].peer.name,
        f"{median(speeds):,.0f}",
        f"{min(speeds):,.0f}-{max(speeds):,.0f}",
        f"{median(run.cpu_per_page for run in runs):.3f}",
        f"{median(run.start.wall for run in runs):.2f}",
        f"{median(run.cost.peak_mb for run in runs):.0f}",
        _ratio(runs, scrapy),
        _ratio(runs, best),
        _cpu_ratio(runs, scrapy),
        "complete",
    ]


def _speed(runs: Sequence[Run]) -> float:
    return median(run.pages_per_second for run in runs)


def _ratio(runs: Sequence[Run], others: Sequence[Run] | None) -> str:
    """How many times as fast: the median over rounds, each compared with the same round of the other."""
    if others is None:
        return ""
    return f"{median(run.pages_per_second / other.pages_per_second for run, other in zip(runs, others, strict=True)):.1f}"


def _cpu_ratio(runs: Sequence[Run], others: Sequence[Run] | None) -> str:
    """How many times less of the processor."""
    if others is None:
        return ""
    return f"{median(other.cpu_per_page / run.cpu_per_page for run, other in zip(runs, others, strict=True)):.1f}"
