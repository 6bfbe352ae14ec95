"""``octopus failed``: the requests that a job gave up."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Annotated, Any

import typer

from openoctopus.cli.jobs import JobName, find_job
from openoctopus.cli.tables import moment, show_table
from openoctopus.exceptions import InvalidRequest, OctopusError, SettingsError
from openoctopus.http.codec import thaw
from openoctopus.log import safe
from openoctopus.scheduler.base import FailedEntry
from openoctopus.scheduler.job import Job
from openoctopus.scheduler.jobfile import JobFile
from openoctopus.scheduler.jobview import JobView

app = typer.Typer(help="The requests that a job gave up, by reason.", no_args_is_help=True)

#: Headers that are nobody's business.
_SECRETS, _SECRET = frozenset({"authorization", "proxy-authorization", "cookie"}), "***"

Reason = Annotated[str, typer.Option("--reason", metavar="REASON", help="Only those that failed for it; `list` shows all.")]


@app.command("list")
def list_failed(job: JobName = "") -> None:
    """List the reasons, with how many requests failed for each, when the last one did, and its URL."""
    with JobView(find_job(job)) as view:
        groups = view.failed_groups()
    if not groups and sys.stdout.isatty():
        print("nothing failed")
    show_table(
        ("reason", "requests", "last", "for example"),
        [(group.reason, group.count, moment(group.last), _url(group.example)) for group in groups],
    )


@app.command()
def show(
    job: JobName = "",
    reason: Reason = "",
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="The last so many.")] = 10,
) -> None:
    """Show requests that failed, with all that is known of them; the last one at the end."""
    with JobView(find_job(job)) as view:
        found = view.failed(reason, limit)
    for number, failed in enumerate(found):
        if number:
            print()
        for name, value in _facts(failed).items():
            print(f"{name:9} {safe(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))}")


@app.command()
def retry(job: JobName = "", reason: Reason = "") -> None:
    """Let failed requests wait again, as if they had never been tried; a job that runs takes them up within a second."""
    found = find_job(job)
    with JobView(found) as view:
        expected = len(view.failed(reason))
    if (owner := found.owner()) is not None:
        found.tell("retry", reason)
        print(f"process {owner} was asked to let {expected} requests of job {found.name} wait again")
        return
    with _stopped(found) as file:
        entries = file.retry(reason, count(file.last_row() + 1))
    print(f"{len(entries)} requests wait again: `octopus runspider SPIDER --job {found.name}` fetches them")


@app.command()
def export(
    path: Annotated[str, typer.Argument(metavar="FILE", help="JSON Lines; - is standard output.")],
    job: JobName = "",
    reason: Reason = "",
) -> None:
    """Write failed requests to a file, a JSON object on each line."""
    with JobView(find_job(job)) as view:
        lines = [json.dumps(_facts(failed), ensure_ascii=False, default=str) for failed in view.failed(reason)]
    if path == "-":
        print(*lines, sep="\n")
        return
    try:
        Path(path).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    except OSError as error:
        raise SettingsError(f"cannot write to {path}: {error.strerror}") from error
    print(f"{len(lines)} requests are in {path}")


@app.command()
def purge(
    job: JobName = "",
    reason: Reason = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Forget failed requests. They count as seen: a crawl that goes on does not fetch them."""
    found = find_job(job)
    with JobView(found) as view:
        expected = len(view.failed(reason))
    if expected and not yes and not typer.confirm(f"Forget {expected} failed requests of job {found.name}?"):
        return
    if (owner := found.owner()) is not None:
        found.tell("purge", reason)
        print(f"process {owner} was asked to forget {expected} failed requests")
        return
    with _stopped(found) as file:
        print(f"{file.purge(reason)} failed requests are forgotten")


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


def _url(body: bytes) -> str:
    try:
        return thaw(body).url
    except InvalidRequest as error:
        return f"({error})"


def _facts(failed: FailedEntry) -> dict[str, Any]:
    """All that is known of it; what was left at its default is left out."""
    entry = failed.entry
    facts: dict[str, Any] = {
        "reason": failed.reason, "detail": failed.detail, "at": moment(failed.at),
        "attempts": entry.attempts, "lost": entry.lost, "priority": entry.priority,
    }  # fmt: skip
    try:
        request = thaw(entry.body)
    except InvalidRequest as error:
        return {"url": f"({error})"} | facts
    facts |= {
        "method": request.method, "callback": request.callback or "parse", "errback": request.errback or "",
        "headers": {name: _SECRET if name.lower() in _SECRETS else value for name, value in request.headers.raw},
        "body": request.body.decode("utf-8", "backslashreplace"), "meta": request.meta, "cb_kwargs": request.cb_kwargs,
        "session": request.session, "depth": request.depth,
    }  # fmt: skip
    return {"url": request.url} | {name: value for name, value in facts.items() if value not in ("", {}, 0)}
