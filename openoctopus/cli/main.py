"""Where the command ``octopus`` begins: its commands, and how wrong use is told."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Sequence

import typer

from openoctopus.cli import bench, demo, failed, jobs, options, project, publish, runspider, version, why
from openoctopus.exceptions import JobFinished, JobLost, MissingExtra, OctopusError, ProjectError, SettingsError
from openoctopus.log import safe

#: The exit codes of a command that did not come to a crawl; ``Result.exit_code`` has those of one that did.
NOTHING_TO_DO, FAILED, WRONG_USE, LOST = 0, 1, 2, 4

app = typer.Typer(
    name="octopus",
    help="Crawl the web with OpenOctopus.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="`octopus COMMAND --help` tells more about one of them.",
)
app.command("runspider", short_help="Run a spider, by its name or its file.")(runspider.runspider)
app.command("crawl", hidden=True)(runspider.runspider)
app.command("run", hidden=True)(runspider.runspider)
app.command("jobs", short_help="List the jobs that are kept.")(jobs.jobs)
app.command("queue", short_help="Show what waits in a job.")(jobs.queue)
app.add_typer(failed.app, name="failed", short_help="See and retry what a job gave up.")
app.command("why", short_help="Tell what became of a URL in a job, and why.")(why.why)
app.command("list", short_help="List the spiders of the project.")(project.list_spiders)
app.command("startproject", short_help="Make a new project that runs at once.")(project.startproject)
app.command("settings", short_help="Show every option: value, origin, meaning.")(options.show_settings)
app.command("publish", short_help="Make a file of what several workers wrote.")(publish.publish)
app.command("demo", short_help="Crawl a small newspaper that comes along.")(demo.demo)
app.command("bench", short_help="Measure how fast this machine crawls.")(bench.bench)
app.command("version", short_help="Tell the version; -v: the libraries' too.")(version.version)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line (``sys.argv`` without ``arguments``) and return its exit code.

    Errors of use are told in a line or two.
    """
    _open_streams()
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return app(given or ["--help"], prog_name="octopus", standalone_mode=False) or 0
    except typer.TyperException as error:
        return _told(_words(error), WRONG_USE)
    except (SettingsError, ProjectError, MissingExtra) as error:
        return _told(str(error), WRONG_USE)
    except JobFinished as error:
        return _told(str(error), NOTHING_TO_DO)
    except JobLost as error:
        return _told(str(error), LOST)
    except OctopusError as error:
        return _told(str(error), FAILED)


def _open_streams() -> None:
    """Let nothing stand for a standard stream that is closed, as under some supervisors: whatever is opened first would take
    its number, and uvloop aborts when that is closed.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            try:
                os.fstat(number)
            except OSError:
                os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free
            setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8", closefd=False))  # noqa: SIM115


def _told(text: str, code: int) -> int:
    print("octopus:", "\n".join(safe(line) for line in text.splitlines()), file=sys.stderr)
    return code


def _words(error: typer.TyperException) -> str:
    """What typer found wrong with the command line, and where help is."""
    if likely := getattr(error, "possibilities", None):
        option = error.option_name  # type: ignore[attr-defined]
        text = f"no such option {option}: did you mean {difflib.get_close_matches(option, likely, 1, 0)[0]}?"
    else:
        text = getattr(error, "format_message", error.__str__)()
    context = getattr(error, "ctx", None)
    return f"{text[:1].lower()}{text[1:]}\nTry `{context.command_path if context else 'octopus'} --help`."
