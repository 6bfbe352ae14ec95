"""``octopus failed``: what a job gave up."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Annotated, Any

import typer

from openoctopus.cli.facts import facts_of, show_facts
from openoctopus.cli.jobs import JobName, find_job
from openoctopus.cli.tables import show_table
from openoctopus.exceptions import InvalidRequest, OctopusError, SettingsError
from openoctopus.http.codec import thaw
from openoctopus.http.data import loaded
from openoctopus.items import to_dict
from openoctopus.log import moment
from openoctopus.pipelines.failed import KeptItem
from openoctopus.scheduler.base import FailedEntry
from openoctopus.scheduler.job import Job
from openoctopus.scheduler.jobfile import JobFile
from openoctopus.scheduler.jobview import JobView

app = typer.Typer(help="The requests and items that a job gave up, by reason.", no_args_is_help=True)

Reason = Annotated[str, typer.Option("--reason", metavar="REASON", help="Only what failed for it; `list` shows all.")]


@app.command("list")
def list_failed(job: JobName = "") -> None:
    """List the reasons: how many requests or items failed for each, when the last one did, and its URL."""
    with JobView(find_job(job)) as view:
        groups, items = view.failed_groups(), view.failed_items()
    rows: list[tuple[str, str, int, str, str]] = [
        ("request", group.reason, group.count, moment(group.last), _url(group.example)) for group in groups
    ]
    for reason, times in Counter(item.reason for item in items).most_common():
        last = [item for item in items if item.reason == reason][-1]
        rows.append(("item", reason, times, moment(last.at), last.url))
    if not rows and sys.stdout.isatty():
        print("nothing failed")
    show_table(("what", "reason", "times", "last", "for example"), rows)


@app.command()
def show(
    job: JobName = "",
    reason: Reason = "",
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="The last so many.")] = 10,
) -> None:
    """Show what failed, with all that is known of it; the last one at the end."""
    for number, facts in enumerate(_all_facts(find_job(job), reason, limit)[-limit:]):
        if number:
            print()
        show_facts(facts)


@app.command()
def retry(job: JobName = "", reason: Reason = "") -> None:
    """Let failed requests wait again, as if they had never been tried, and have failed items stored by the next run.

    A job that runs takes up requests within a second.
    """
    found = find_job(job)
    if (owner := found.owner()) is not None:
        found.tell("retry", reason)
        print(f"process {owner} was asked to retry {_counted(*_numbers(found, reason))} of job {found.name}")
        return
    with _stopped(found) as file:
        entries, items = file.retry(reason, count(file.last_row() + 1))
    print(f"{_counted(len(entries), items)} wait for the next run: `octopus runspider SPIDER --job {found.name}`")


@app.command()
def export(
    path: Annotated[str, typer.Argument(metavar="FILE", help="JSON Lines; - is standard output.")],
    job: JobName = "",
    reason: Reason = "",
) -> None:
    """Write what failed to a file, a JSON object on each line."""
    lines = [json.dumps(facts, ensure_ascii=False, default=str) for facts in _all_facts(find_job(job), reason)]
    if path == "-":
        print(*lines, sep="\n")
        return
    try:
        Path(path).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    except OSError as error:
        raise SettingsError(f"cannot write to {path}: {error.strerror}") from error
    print(f"{len(lines)} failures are in {path}")


@app.command()
def purge(
    job: JobName = "",
    reason: Reason = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Forget what failed. Requests still count as seen: a crawl that goes on does not fetch them."""
    found = find_job(job)
    numbers = _numbers(found, reason)
    if any(numbers) and not yes and not typer.confirm(f"Forget {_counted(*numbers)} of job {found.name}?"):
        return
    if (owner := found.owner()) is not None:
        found.tell("purge", reason)
        print(f"process {owner} was asked to forget {_counted(*numbers)}")
        return
    with _stopped(found) as file:
        print(f"{_counted(*file.purge(reason))} are forgotten")


def _numbers(job: Job, reason: str) -> tuple[int, int]:
    """How many requests and items failed."""
    with JobView(job) as view:
        requests = sum(group.count for group in view.failed_groups() if reason in ("", group.reason))
        return requests, len(view.failed_items(reason))


def _counted(requests: int, items: int) -> str:
    return f"{requests:,} failed requests and {items:,} failed items"


@contextmanager
def _stopped(job: Job) -> Iterator[JobFile]:
    """The file of a job that nobody works on, for as long as this is open."""
    job.lock()
    try:
        with closing(JobFile(job.file, 8)) as file:
            yield file
    except sqlite3.Error as error:
        raise OctopusError(f"cannot change {job.file}: {error}") from error
    finally:
        job.unlock()


def _all_facts(job: Job, reason: str, limit: int = -1) -> list[dict[str, Any]]:
    """What is known of the last ``limit`` requests (-1: of all), then of items."""
    with JobView(job) as view:
        return [*map(_facts, view.failed(reason, limit)), *map(item_facts, view.failed_items(reason))]


def item_facts(failed: KeptItem) -> dict[str, Any]:
    """All that is known of an item."""
    try:
        item = to_dict(loaded(failed.item)) if failed.item else failed.text
    except (InvalidRequest, TypeError, ValueError):
        item = failed.text
    return {
        "url": failed.url, "reason": failed.reason, "detail": failed.detail, "at": moment(failed.at),
        "pipeline": failed.pipeline, "item": item,
    }  # fmt: skip


def _url(body: bytes) -> str:
    try:
        return thaw(body).url
    except InvalidRequest as error:
        return f"({error})"


def _facts(failed: FailedEntry) -> dict[str, Any]:
    return facts_of(failed.entry, reason=failed.reason, detail=failed.detail, at=moment(failed.at))
