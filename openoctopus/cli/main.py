"""Where the command ``octopus`` begins: its commands, and how its errors are told."""

from __future__ import annotations

import sys

import typer

from openoctopus.cli import bench, demo, options, project, runspider, version
from openoctopus.exceptions import MissingExtra, OctopusError
from openoctopus.log import safe

#: Wrong use: an unknown option, a spider that is not there, a library that is missing.
WRONG_USE = 2

app = typer.Typer(
    name="octopus",
    help="Crawl the web with OpenOctopus.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("runspider")(runspider.runspider)
app.command("crawl", hidden=True)(runspider.runspider)
app.command("run", hidden=True)(runspider.runspider)
app.command("list")(project.list_spiders)
app.command("startproject")(project.startproject)
app.command("settings")(options.show_settings)
app.command("demo")(demo.demo)
app.command("bench")(bench.bench)
app.command("version")(version.version)


def main() -> None:
    """Run the command line; errors of use are told in a line or two and end with code 2."""
    try:
        app()
    except (OctopusError, MissingExtra) as error:
        print(f"octopus: {safe_lines(str(error))}", file=sys.stderr)
        sys.exit(WRONG_USE)


def safe_lines(text: str) -> str:
    """The text fit for a terminal, line by line."""
    return "\n".join(safe(line) for line in text.splitlines())
