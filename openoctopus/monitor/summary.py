"""What a crawl came to, for a person to read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from openoctopus.engine import Stages
from openoctopus.log import safe
from openoctopus.scheduler.base import HostLoad
from openoctopus.stats import Stats

#: From this share of one core on, the processor is what a crawl waits for.
BUSY = 0.85
#: Groups of errors and hosts that are listed.
LISTED = 8

Limit = Literal["reading", "engine", "network", "politeness", "pipelines", "links"]


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """What the crawl waited for most."""

    limit: Limit
    sentence: str

    @classmethod
    def of(cls, stages: Stages, elapsed: float, cpu: float, slots: int) -> Bottleneck:
        """Judge by where the slots spent their time and how busy the processor was (``cpu``: seconds of it used)."""
        reading = max(stages.reading - stages.storing, 0.0)
        busy = cpu / elapsed if elapsed else 0.0
        if busy > BUSY:
            share = reading / elapsed
            if share > 0.4:
                return cls(
                    "reading",
                    f"The processor was the limit ({busy:.0%} of a core); {share:.0%} of the time went into reading pages.",
                )
            return cls(
                "engine", f"The processor was the limit ({busy:.0%} of a core); reading pages took {share:.0%} of the time."
            )
        waits: dict[Limit, float] = {
            "network": stages.fetching,
            "politeness": stages.polite,
            "pipelines": stages.storing,
            "links": stages.starved,
            "reading": reading,
        }
        limit = max(waits, key=lambda name: waits[name])
        share = waits[limit] / max(sum(waits.values()), 1e-9)
        return cls(limit, f"{_ADVICE[limit]} ({share:.0%} of the time of {slots} slots).")


_ADVICE: dict[Limit, str] = {
    "network": "The crawl waited mostly for servers to answer: a higher CONCURRENT_REQUESTS may help",
    "politeness": "The crawl waited mostly for its turn at the hosts: more hosts, a smaller DOWNLOAD_DELAY or more per host would help",
    "pipelines": "The crawl waited mostly for its pipelines: a BatchPipeline or a faster store would help",
    "links": "The crawl waited mostly for new links: there was not more to fetch at a time",
    "reading": "The crawl waited mostly for callbacks that wait for something",
}


def summary(
    name: str, reason: str, stats: Stats, elapsed: float, bottleneck: Bottleneck, slowest: list[HostLoad], left: int
) -> str:
    """The lines that stand at the end of a crawl."""
    return "\n".join(_lines(name, reason, stats, elapsed, bottleneck, slowest, left))


def _lines(
    name: str, reason: str, stats: Stats, elapsed: float, bottleneck: Bottleneck, slowest: list[HostLoad], left: int
) -> Iterator[str]:
    pages, items = stats.get("response_received_count"), stats.get("item_scraped_count")
    minutes = max(elapsed, 1e-6) / 60
    yield f"{safe(name)}: {reason} after {_duration(elapsed)}"
    yield f"  pages     {pages:,} ({pages / minutes:,.0f}/min), {stats.get('downloader/response_bytes') / 1e6:,.1f} MB"
    dropped, failed = stats.get("item_dropped_count"), stats.get("item_failed_count")
    more = "".join(f", {count:,} {word}" for count, word in ((dropped, "dropped"), (failed, "failed")) if count)
    yield f"  items     {items:,} ({items / minutes:,.0f}/min){more}"
    statuses = stats.group("downloader/response_status_count")
    if statuses:
        yield "  statuses  " + ", ".join(f"{status}: {count:,}" for status, count in sorted(statuses.items()))
    yield (
        f"  requests  {stats.get('scheduler/enqueued'):,} queued, {stats.get('dupefilter/filtered'):,} duplicates left out, "
        f"{stats.get('retry/count'):,} retries, {stats.get('request_failed_count'):,} failed"
        + (f", {left:,} left" if left else "")
    )
    yield from _errors(stats)
    hosts = [load for load in slowest if load.latency]
    if hosts:
        yield "  slowest   " + ", ".join(f"{safe(load.host)} {load.latency * 1000:,.0f} ms" for load in hosts[:LISTED])
    yield f"  {bottleneck.sentence}"


def _errors(stats: Stats) -> Iterator[str]:
    """Errors grouped, each with an example, the most frequent first."""
    groups = sorted(stats.examples, key=lambda name: -stats.get(name))
    for number, group in enumerate(groups[:LISTED]):
        title = "errors" if not number else ""
        label = _GROUPS.get(group.partition("/")[0], "")
        yield f"  {title:9} {stats.get(group):,} x {label}{group.rpartition('/')[2]}, such as {safe(stats.examples[group])[:120]}"
    if len(groups) > LISTED:
        yield f"            and {len(groups) - LISTED} more kinds"


#: What a group of errors is called, by the first part of its stat.
_GROUPS = {
    "downloader": "download: ",
    "httperror": "status ",
    "request_failed_reasons_count": "failed: ",
    "spider_exceptions": "callback: ",
}


def _duration(seconds: float) -> str:
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(minutes), 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest:.0f} s" if minutes else f"{rest:.1f} s"
