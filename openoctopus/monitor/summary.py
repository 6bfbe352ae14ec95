"""What a crawl came to, for a person to read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table
from rich.text import Text

from openoctopus.log import Hide, safe
from openoctopus.monitor.bottleneck import Bottleneck
from openoctopus.monitor.errors import counted, error_groups, statuses
from openoctopus.scheduler.base import HostLoad
from openoctopus.stats import Stats

#: Groups of errors and hosts that are listed.
LISTED = 8


@dataclass(frozen=True, slots=True)
class Report:
    """What a summary is made of."""

    name: str
    #: Why the crawl ended.
    reason: str
    stats: Stats
    #: Seconds.
    elapsed: float
    bottleneck: Bottleneck
    slowest: Sequence[HostLoad]
    #: Requests that still wait.
    left: int
    #: The job's name, and its counts over all of its runs; empty for a crawl that is not kept.
    job: str = ""
    totals: Mapping[str, float] = field(default_factory=dict)
    #: Takes the crawl's secrets out of a text.
    hide: Hide = str


def summary(report: Report) -> str:
    """The lines that stand at the end of a crawl."""
    return "\n".join([_title(report), *(f"  {label:9}  {text}" for label, text in facts(report))])


def show(report: Report, console: Console) -> None:
    """Print the summary: laid out for a terminal, else one line for each fact, however long."""
    if not console.is_terminal:
        print(summary(report), file=console.file, flush=True)
        return
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for label, text in facts(report):
        table.add_row(f"  {label}", Text(text, "red" if label in _TROUBLE else ""))
    console.print(Text(_title(report), f"bold {_color(report)}"), table, sep="\n")


_TROUBLE = ("errors", "start")


def _color(report: Report) -> str:
    asked, pages = report.stats.get("scheduler/enqueued"), report.stats.get("response_received_count")
    if report.stats.get("start_error") or (asked and not pages):
        return "red"
    return "green" if report.reason == "finished" else "yellow"


def _title(report: Report) -> str:
    return f"{safe(report.name)}: {safe(report.reason)} after {_duration(report.elapsed)}"


def facts(report: Report) -> Iterator[tuple[str, str]]:
    """What is worth telling, each fact with its label; the label is empty where the one before goes on."""
    for label, text in _facts(report):
        yield label, report.hide(text)


def _facts(report: Report) -> Iterator[tuple[str, str]]:
    stats, minutes = report.stats, max(report.elapsed, 1e-6) / 60
    pages, items, size = (
        stats.get(name) for name in ("response_received_count", "item_scraped_count", "downloader/response_bytes")
    )
    yield "pages", f"{pages:,} ({pages / minutes:,.0f}/min), {size / 1e6:,.1f} MB"
    yield "items", f"{items:,} ({items / minutes:,.0f}/min){''.join(_lost_items(stats))}"
    if answers := statuses(stats):
        yield "statuses", ", ".join(f"{count:,} × {status}" for status, count in answers.items())
    yield "requests", ", ".join(_requests(report))
    if retries := stats.group("retry/reason_count"):
        yield "retries", f"{stats.get('retry/count'):,}: {counted(retries)}"
    if dropped := stats.group("request_dropped_reasons_count"):
        yield "left out", f"{stats.get('request_dropped_count'):,}: {counted(dropped)}"
    yield from _errors(stats)
    hosts = [load for load in report.slowest if load.latency]
    if hosts:
        yield "slowest", ", ".join(f"{safe(load.host)} {load.latency * 1000:,.0f} ms" for load in hosts[:LISTED])
    if report.job:
        yield "job", _job(report)
    if pages:
        yield "limit", report.bottleneck.sentence


def _job(report: Report) -> str:
    runs, pages, items = (report.totals.get(n, 0) for n in ("runs", "response_received_count", "item_scraped_count"))
    return f"{report.job}, run {runs:,.0f}: {pages:,.0f} pages and {items:,.0f} items in all"


def _lost_items(stats: Stats) -> Iterator[str]:
    if dropped := stats.get("item_dropped_count"):
        yield f", {dropped:,} dropped: {counted(stats.group('item_dropped_reasons_count'), most=3)}"
    if failed := stats.get("item_failed_count"):
        yield f", {failed:,} failed"


def _requests(report: Report) -> Iterator[str]:
    stats = report.stats
    queued = stats.get("scheduler/enqueued")
    nothing = not queued and not report.left and not stats.get("downloader/request_count") and not stats.get("start_error")
    yield "none: the spider asked for nothing" if nothing else f"{queued:,} queued"
    for count, words in (
        (stats.get("dupefilter/filtered"), "duplicates left out"),
        (stats.get("request_failed_count"), "failed"),
        (report.left, "left"),
    ):
        if count:
            yield f"{count:,} {words}"


def _errors(stats: Stats) -> Iterator[tuple[str, str]]:
    """Errors grouped, each with an example."""
    if error := stats.get("start_error"):
        yield "start", f"start() raised {safe(error)}"
    groups = error_groups(stats)
    for number, group in enumerate(groups[:LISTED]):
        yield "" if number else "errors", str(group)
    if len(groups) > LISTED:
        yield "", f"and {len(groups) - LISTED:,} more kinds"
    closing = sum(stats.get(name) for name in ("close_errors", "pipeline/close_errors", "extension/errors"))
    if closing:
        yield "", f"{closing:,} × while closing, or in an extension; see the log"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(minutes), 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest:.0f} s" if minutes else f"{rest:.1f} s"
