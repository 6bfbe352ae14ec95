"""What went wrong in a crawl, grouped, for people to read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from openoctopus.log import safe
from openoctopus.stats import Stats

_WORDS = {"http": "status", "callback": "callback raised", "middleware": "middleware raised"}


@dataclass(frozen=True, slots=True)
class ErrorGroup:
    """So many errors of one kind, and the first URL that had it (empty where it had none)."""

    count: int
    kind: str
    example: str = ""

    def __str__(self) -> str:
        example = (
            f", such as {self.example}" if self.example and self.count > 1 else f": {self.example}" if self.example else ""
        )
        return f"{self.count:,} × {self.kind}{example}"


def error_groups(stats: Stats) -> list[ErrorGroup]:
    """The failed requests and items by their reasons, the most frequent first; then what only an errback heard of."""
    failed, handled = list(_failed(stats)), list(_handled(stats))
    return sorted(failed, key=lambda group: -group.count) + sorted(handled, key=lambda group: -group.count)


def _failed(stats: Stats) -> Iterator[ErrorGroup]:
    for reason, count in stats.group("request_failed_reasons_count").items():
        yield ErrorGroup(count, _kind(reason), _example(stats, f"request_failed_reasons_count/{reason}"))
    for kind, count in stats.group("item_failed_reasons_count").items():
        yield ErrorGroup(count, f"item not stored: {safe(kind)}")


def _handled(stats: Stats) -> Iterator[ErrorGroup]:
    """Trouble that did not make a request a failed one: it was told to the errback, or it was about robots.txt."""
    failed = stats.group("request_failed_reasons_count")
    for prefix, word in (("httperror/response_ignored_status_count", "http_"), ("spider_exceptions", "callback:")):
        for name, count in stats.group(prefix).items():
            left = count - failed.get(word + name, 0)
            if left > 0 and name != "count":
                yield ErrorGroup(left, f"{_kind(word + name)}, told to the errback", _example(stats, f"{prefix}/{name}"))
    for name, count in stats.group("robotstxt/exception_count").items():
        example = _example(stats, f"downloader/exception_type_count/{name}")
        yield ErrorGroup(count, f"robots.txt not to be had ({safe(name)})", example)


def _kind(reason: str) -> str:
    """A reason in words: ``http_404`` is "status 404"."""
    word, separator, rest = reason.partition(":") if ":" in reason else reason.partition("_")
    return safe(f"{_WORDS[word]} {rest}" if separator and word in _WORDS else reason.replace("_", " "))


def _example(stats: Stats, name: str) -> str:
    return safe(stats.examples.get(name, ""))


def statuses(stats: Stats) -> dict[str, int]:
    """How often each status was answered, by status; those of robots.txt, which nobody asked for, are left out."""
    aside = stats.group("robotstxt/response_status_count")
    answers = stats.group("downloader/response_status_count")
    counts = {status: count - aside.get(status, 0) for status, count in sorted(answers.items())}
    return {status: count for status, count in counts.items() if count > 0}


def counted(groups: Mapping[str, int], most: int = 6) -> str:
    """Counts by name on one line, the most frequent first: ``10 × 503, 1 × timeout``; a single one is only named."""
    ordered = sorted(groups.items(), key=lambda item: -item[1])
    if len(ordered) == 1:
        return safe(ordered[0][0])
    rest = f", and {len(ordered) - most:,} more kinds" if len(ordered) > most else ""
    return ", ".join(f"{count:,} × {safe(name)}" for name, count in ordered[:most]) + rest
