"""``octopus settings``: every option with its value and where that came from."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from openoctopus import downloadermiddlewares, spidermiddlewares
from openoctopus.cli.runspider import Options, pairs
from openoctopus.crawler import crawl_settings
from openoctopus.exceptions import SettingsError
from openoctopus.log import safe
from openoctopus.plugins import entries
from openoctopus.project import Project, find_spider
from openoctopus.settings import Settings, masked
from openoctopus.spider import Spider

#: On a narrower terminal what an option does stands below it.
WIDE = 140


def show_settings(
    options: Options,
    name: Annotated[str, typer.Argument(metavar="NAME", help="One option; all without it.")] = "",
    spider: Annotated[str, typer.Option("--spider", metavar="SPIDER", help="As this spider would have them.")] = "",
    changed: Annotated[bool, typer.Option("--changed", help="Only those that are not at their default.")] = False,
) -> None:
    """Show every option with its value, where that came from, and what it does; secrets are masked.

    Into a pipe it writes one line for each: NAME = value, the origin and the meaning after a #.
    """
    kind, project = find_spider(spider) if spider else (Spider, Project.at(Path.cwd()))
    settings = crawl_settings(kind, project.settings, pairs(options, "-s"))
    names = _chosen(settings, name, changed)
    order = [] if name or changed else list(_orders(settings))
    if sys.stdout.isatty():
        _show(settings, names, order, Console())
        return
    for one in names:
        print(f"{one} = {_value(settings, one)}  # {settings.origin(one)}: {_meaning(one)}".removesuffix(": "))
    for option, number, path in order:
        print(f"# {option}: {number:g} {path}")


def _chosen(settings: Settings, name: str, changed: bool) -> list[str]:
    known = list(settings.names())
    if not name:
        return [one for one in known if not changed or settings.origin(one) != "default"]
    if name not in settings:
        likely = difflib.get_close_matches(name.upper(), known, n=1)
        guess = f"did you mean {likely[0]}?" if likely else "`octopus settings` lists them all"
        raise SettingsError(f"no option {name}: {guess}")
    return [name]


def _value(settings: Settings, name: str) -> str:
    value = settings[name]
    return safe(masked(name, sorted(value, key=str) if isinstance(value, frozenset | set) else value))


def _meaning(name: str) -> str:
    field = Settings.model_fields.get(name)
    return ((field and field.description) or "").replace("``", "`")


def _orders(settings: Settings) -> Iterator[tuple[str, float, str]]:
    """What stands around each request, the built-in parts among the project's own."""
    families: tuple[tuple[str, dict[type[Any], int]], ...] = (
        ("DOWNLOADER_MIDDLEWARES", downloadermiddlewares.built_in(settings)),
        ("SPIDER_MIDDLEWARES", spidermiddlewares.built_in(settings)),
    )
    for option, built_in in families:
        for entry in entries(option, built_in, settings[option]):
            yield option, entry.order, f"{entry.kind.__module__}.{entry.kind.__qualname__}"


def _show(settings: Settings, names: list[str], order: list[tuple[str, float, str]], console: Console) -> None:
    if console.width >= WIDE:
        console.print(_table(settings, names))
    else:
        for name in names:
            console.print(Text.assemble((name, "bold"), " = ", _value(settings, name), _origin(settings, name)))
            console.print(Padding(Text(_meaning(name), "dim"), (0, 0, 0, 4)))
    for option in dict.fromkeys(option for option, _, _ in order):
        table = Table("", f"in {option}", box=None, header_style="bold", padding=(0, 2, 0, 0))
        for number, path in ((number, path) for own, number, path in order if own == option):
            table.add_row(f"{number:5g}", path)
        console.print("", table, sep="\n")


def _table(settings: Settings, names: list[str]) -> Table:
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("option", no_wrap=True)
    table.add_column("value", max_width=40, overflow="fold")
    table.add_column("from", no_wrap=True)
    table.add_column("what it does")
    for name in names:
        style = "" if settings.origin(name) == "default" else "bold"
        table.add_row(
            Text(name, style), Text(_value(settings, name), style), settings.origin(name), Text(_meaning(name), "dim")
        )
    return table


def _origin(settings: Settings, name: str) -> tuple[str, str]:
    origin = settings.origin(name)
    return (f"  ({origin})", "dim" if origin == "default" else "yellow")
