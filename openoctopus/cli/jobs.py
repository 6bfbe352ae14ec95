"""``octopus jobs`` and ``octopus queue``: what is kept, and what waits."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Annotated

import typer

from openoctopus.cli.tables import ago, show_table
from openoctopus.crawler import crawl_settings
from openoctopus.exceptions import SettingsError
from openoctopus.log import moment, safe
from openoctopus.project import Project
from openoctopus.scheduler.job import Job
from openoctopus.scheduler.jobview import JobStatus, JobView, jobs_in
from openoctopus.spider import Spider

JobName = Annotated[str, typer.Option("--job", metavar="NAME", help="Which job; not needed where there is only one.")]


def jobs() -> None:
    """List the jobs that are kept here: state, how much is done, failed and left."""
    folder = jobs_dir()
    names = jobs_in(folder)
    if not names:
        raise SettingsError(f"no jobs in {folder}; `octopus runspider SPIDER --job NAME` begins one")
    rows = []
    for name in names:
        with JobView(Job(name, str(folder))) as view:
            status = view.status()
            rows.append(
                (name, status.spider, state_of(status), status.done, status.failed, _waiting(status), moment(status.begun))
            )
    show_table(("job", "spider", "state", "done", "failed", "left", "begun"), rows)


def queue(
    job: JobName = "",
    hosts: Annotated[int, typer.Option("--hosts", metavar="N", min=0, help="So many hosts, those with most requests.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
) -> None:
    """Show what waits in a job, running or not: by state, by priority, by host, and how old it is."""
    with JobView(find_job(job)) as view:
        status, by_host, by_priority = view.status(), view.by_host(hosts), view.by_priority()
    if as_json:
        print(json.dumps(dataclasses.asdict(status) | {
            "hosts": [{"host": host, "waiting": waiting, "delayed": delayed, "oldest": since}
                      for host, waiting, delayed, since in by_host],
            "priorities": [{"priority": priority, "waiting": waiting} for priority, waiting in by_priority],
        }))  # fmt: skip
        return
    print(headline(status))
    print()
    show_table(("state", "requests"), [
        ("under way", status.under_way), ("queued", status.queued), ("delayed", status.delayed),
        ("suspects among these", status.suspects), ("done", status.done), ("failed", status.failed),
        ("duplicates", status.duplicates),
    ])  # fmt: skip
    if by_host:
        print()
        show_table(("host", "waiting", "delayed", "oldest"), [(h, n, later, ago(since)) for h, n, later, since in by_host])
    if len(by_priority) > 1:
        print()
        show_table(("priority", "waiting"), by_priority)


def jobs_dir() -> Path:
    """The folder of jobs, by the settings of this folder's project."""
    return Path(crawl_settings(Spider, Project.at(Path.cwd()).settings).JOBS_DIR)


def find_job(name: str) -> Job:
    """The job of that name, or the only one. Raises ``SettingsError`` that lists those there are."""
    folder = jobs_dir()
    names = jobs_in(folder)
    if not name and len(names) != 1:
        there_are = f"one of {', '.join(names)}" if names else f"there are none in {folder}"
        raise SettingsError(f"which job? --job NAME: {there_are}")
    return Job(name or names[0], str(folder))


def headline(status: JobStatus) -> str:
    """Which job this is about, and how it stands."""
    return safe(f"job {status.name} of spider {status.spider}: {state_of(status)}, begun {moment(status.begun)}")


def state_of(status: JobStatus) -> str:
    """In a few words."""
    if status.state == "running":
        return f"running, process {status.pid}"
    return f"finished {moment(status.finished)}" if status.state == "finished" else status.state


def _waiting(status: JobStatus) -> int:
    return status.under_way + status.queued + status.delayed
