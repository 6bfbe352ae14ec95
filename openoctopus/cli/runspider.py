"""``octopus runspider``: run one spider until it has finished."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import typer

from openoctopus.cli.watch import watch
from openoctopus.crawler import Crawler, crawl_settings
from openoctopus.exceptions import SettingsError
from openoctopus.project import find_spider, make
from openoctopus.workers import Mission, Supervisor

#: The options of every command that crawls or shows settings.
Options = Annotated[
    list[str],
    typer.Option(
        "-s",
        "--set",
        metavar="NAME=VALUE",
        help="A setting; `octopus settings` lists them.",
        default_factory=list,
        show_default=False,
    ),
]
#: Those of every command that makes a spider.
Arguments = Annotated[
    list[str],
    typer.Option(
        "-a",
        "--argument",
        metavar="NAME=VALUE",
        help="An argument of the spider.",
        default_factory=list,
        show_default=False,
    ),
]
Progress = Annotated[
    bool | None, typer.Option("--progress/--no-progress", help="Show live progress; by default on a terminal.")
]


def runspider(
    name: Annotated[
        str, typer.Argument(metavar="SPIDER", help="Its name in the project, or its file: news.py, news.py:NewsSpider.")
    ],
    arguments: Arguments,
    options: Options,
    append: Annotated[
        list[str],
        typer.Option(
            "-o",
            "--output",
            metavar="OUTPUT",
            help="Add the items to a file (.jsonl, .json, .csv, .jsonl.gz...; - is standard output) or to a table: "
            "'sqlite:///items.db?table=articles&key=url', postgresql://..., mysql://... (docs/sql.md).",
            default_factory=list,
            show_default=False,
        ),
    ],
    overwrite: Annotated[
        list[str],
        typer.Option(
            "-O",
            "--overwrite",
            metavar="FILE",
            help="Write the items to a file in place of what it held.",
            default_factory=list,
            show_default=False,
        ),
    ],
    level: Annotated[
        str, typer.Option("-L", "--loglevel", metavar="LEVEL", help="DEBUG, INFO, WARNING, ERROR or CRITICAL.")
    ] = "",
    job: Annotated[
        str, typer.Option("--job", metavar="NAME", help="Keep the crawl under this name, and go on where it ended: JOB.")
    ] = "",
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget what the job kept, and crawl it anew: JOB_FRESH.")] = False,
    trace: Annotated[
        bool, typer.Option("--trace", help="Keep the history of each URL with the job, for `octopus why`: TRACE.")
    ] = False,
    workers: Annotated[
        int | None, typer.Option("--workers", metavar="N", min=0, help="Crawl in so many processes: WORKERS.")
    ] = None,
    progress: Progress = None,
) -> int:
    """Run a spider until it has finished.

    Ctrl-C completes what is under way, a second one gives it back, a third breaks off. Exit codes: 0 finished, 1 failed or
    nothing could be fetched, 2 wrong use, 3 stopped before the end, 4 the job cannot be written, 130 broken off.
    """
    spider, project = find_spider(name)
    overrides = pairs(options, "-s")
    if level:
        overrides["LOG_LEVEL"] = level.upper()
    if job:
        overrides["JOB"] = job
    if fresh:
        overrides["JOB_FRESH"] = True
    if trace:
        overrides["TRACE"] = True
    if workers is not None:
        overrides["WORKERS"] = workers
    settings = crawl_settings(spider, project.settings, overrides)
    outputs = [(target, False) for target in append] + [(target, True) for target in overwrite]
    if settings.WORKERS:
        mission = Mission(name, pairs(arguments, "-a"), overrides, outputs)
        return watch(Supervisor(spider.name, mission, settings), progress).exit_code
    crawler = Crawler(make(spider, pairs(arguments, "-a")), settings, outputs=outputs)
    return watch(crawler, progress).exit_code


def pairs(given: Iterable[str], option: str) -> dict[str, Any]:
    """NAME=VALUE pairs of the command line. Raises ``SettingsError``."""
    found: dict[str, Any] = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise SettingsError(f"{option} takes NAME=VALUE, not {pair!r}")
        found[name.strip()] = value
    return found
