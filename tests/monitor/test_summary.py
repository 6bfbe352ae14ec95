"""What stands at the end of a crawl: everything worth telling, in words, on a terminal and in a file."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from openoctopus.monitor import Bottleneck, Report, show, summary
from openoctopus.scheduler.base import HostLoad
from openoctopus.stats import Stats


@pytest.fixture
def report():
    """A crawl with some of everything."""
    stats = Stats()
    for name, count in {
        "response_received_count": 223,
        "downloader/response_bytes": 612_345,
        "item_scraped_count": 197,
        "item_dropped_count": 3,
        "item_dropped_reasons_count/no text": 2,
        "item_dropped_reasons_count/too old": 1,
        "item_failed_count": 1,
        "item_failed_reasons_count/OperationalError": 1,
        "downloader/response_status_count/200": 222,
        "downloader/response_status_count/404": 12,
        "scheduler/enqueued": 1234,
        "dupefilter/filtered": 56,
        "retry/count": 11,
        "retry/reason_count/503": 10,
        "retry/reason_count/timeout": 1,
        "request_dropped_count": 4,
        "request_dropped_reasons_count/offsite": 4,
        "request_failed_count": 12,
        "error_count": 13,
    }.items():
        stats.inc(name, count)
    for _ in range(12):
        stats.trouble("request_failed_reasons_count/http_404", "http://a.example/gone")
    hosts = [HostLoad("slow.example", 0, 0, 0.0, 1.5), HostLoad("silent.example", 0, 0, 0.0, 0.0)]
    return Report("news", "finished", stats, 75.0, Bottleneck("network", "network: all of it"), hosts, 7)


LINES = [
    "news: finished after 1 min 15 s",
    "  pages      223 (178/min), 0.6 MB",
    "  items      197 (158/min), 3 dropped: 2 × no text, 1 × too old, 1 failed",
    "  statuses   222 × 200, 12 × 404",
    "  requests   1,234 queued, 56 duplicates left out, 12 failed, 7 left",
    "  retries    11: 10 × 503, 1 × timeout",
    "  left out   4: offsite",
    "  errors     12 × status 404, such as http://a.example/gone",
    "             1 × item not stored: OperationalError",
    "  slowest    slow.example 1,500 ms",
    "  limit      network: all of it",
]


def test_every_fact_is_a_line(report):
    assert summary(report).splitlines() == LINES


def test_a_file_gets_whole_lines_without_colours(report):
    file = io.StringIO()
    show(report, Console(file=file, width=40))

    assert file.getvalue().splitlines() == LINES


@pytest.mark.parametrize("width", [40, 80, 120])
def test_a_terminal_gets_lines_that_fit_and_stay_in_their_column(report, terminal, width):
    shown, console = terminal(width=width)
    show(report, console)

    lines = shown.lines()
    assert max(map(len, lines)) <= width
    assert all(line[2:11].strip() == "" or line[2].isalpha() for line in lines[1:])
    assert " ".join(" ".join(lines).split()) == " ".join(" ".join(LINES).split())


def test_what_the_reason_and_the_name_hold_is_safe(report, terminal):
    shown, console = terminal()
    odd = Report("a\x1b[2J", "enough\nof \x07it", report.stats, 1.0, report.bottleneck, [], 0)
    show(odd, console)

    assert shown.lines()[0] == "a\\x1b[2J: enough\\nof \\x07it after 1.0 s"


def test_only_so_many_kinds_of_errors_are_listed():
    stats = Stats()
    for number in range(20):
        stats.trouble(f"request_failed_reasons_count/kind {number}", "http://a.example/")
    lines = summary(Report("news", "finished", stats, 1.0, Bottleneck("network", ""), [], 0)).splitlines()

    assert sum("kind " in line for line in lines) == 8
    assert "             and 12 more kinds" in lines


def test_hours_are_told_as_hours(report):
    long = Report("news", "finished", report.stats, 7260.0, report.bottleneck, [], 0)

    assert summary(long).startswith("news: finished after 2 h 1 min\n")
