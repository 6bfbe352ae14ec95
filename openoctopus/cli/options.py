"""``octopus settings``: every option with its value and where that came from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from openoctopus import downloadermiddlewares, spidermiddlewares
from openoctopus.cli.runspider import pairs
from openoctopus.crawler import crawl_settings
from openoctopus.exceptions import SettingsError
from openoctopus.plugins import entries
from openoctopus.project import Project, find_spider
from openoctopus.settings import Settings, masked
from openoctopus.spider import Spider


def show_settings(
    name: Annotated[str, typer.Argument(help="One option; all without it.")] = "",
    spider: Annotated[str, typer.Option("--spider", help="With this spider's custom_settings.")] = "",
    options: Annotated[list[str], typer.Option("-s", "--set", metavar="NAME=VALUE", help="As runspider takes it.")] = [],
    changed: Annotated[bool, typer.Option("--changed", help="Only those that are not at their default.")] = False,
) -> None:  # fmt: skip
    """Show every option with its value, where that came from, and what it does; secrets are masked."""
    kind, project = find_spider(spider) if spider else (Spider, Project.at(Path.cwd()))
    settings = crawl_settings(kind, project.settings, pairs(options, "-s"))
    if name:
        if name not in settings:
            raise SettingsError(f"no option {name}; `octopus settings` lists them all")
        print(masked(name, settings[name]))
        return
    console = Console(soft_wrap=False)
    console.print(_table(settings, changed))
    if not changed:
        console.print(_order("DOWNLOADER_MIDDLEWARES", downloadermiddlewares.built_in(settings), settings))
        console.print(_order("SPIDER_MIDDLEWARES", spidermiddlewares.built_in(settings), settings))


def _table(settings: Settings, changed: bool) -> Table:
    table = Table("option", "value", "from", "what it does", box=None, header_style="bold", padding=(0, 2, 0, 0))
    for name in settings.names():
        origin = settings.origin(name)
        if changed and origin == "default":
            continue
        field = Settings.model_fields.get(name)
        table.add_row(name, masked(name, settings[name]), origin, (field and field.description) or "")
    return table


def _order(option: str, built_in: dict[type, int], settings: Settings) -> Table:
    table = Table("order", f"in {option}", box=None, header_style="bold", padding=(0, 2, 0, 0))
    for entry in entries(option, built_in, settings[option]):
        table.add_row(f"{entry.order:g}", f"{entry.kind.__module__}.{entry.kind.__qualname__}")
    return table
