"""``octopus startproject`` and ``octopus list``: a project's folder."""

from __future__ import annotations

import keyword
import re
from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from openoctopus.exceptions import ProjectError
from openoctopus.project import Project

#: What stands for the project's name in the template's files.
PLACEHOLDER = "PROJECT_NAME"


def list_spiders() -> None:
    """List the spiders of the project in this folder."""
    project = Project.at(Path.cwd())
    for name, spider in sorted(project.spiders().items()):
        summary = (spider.__doc__ or "").strip().partition("\n")[0]
        print(f"{name:24} {summary}".rstrip())


def startproject(
    name: Annotated[str, typer.Argument(help="The project's name.")],
    folder: Annotated[Path | None, typer.Argument(help="Where; by default a folder of that name.")] = None,
) -> None:
    """Make a project that runs at once, with a spider, a pipeline, a middleware and commented settings."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) or keyword.iskeyword(name):
        raise ProjectError(f"{name!r} cannot be a project's name: letters, digits and _, beginning with a letter")
    target = folder or Path(name)
    if target.exists() and any(target.iterdir()):
        raise ProjectError(f"{target} is there already and not empty")
    for path, text in template():
        file = target / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.replace(PLACEHOLDER, name), "utf-8")
    print(f"Made {target}. Next:\n\n  cd {target}\n  octopus runspider news_spider -o items.jsonl\n")


def template() -> list[tuple[str, str]]:
    """The files of a new project: path and text."""
    root = resources.files("openoctopus.cli") / "template"
    return [(path, (root / path).read_text("utf-8")) for path in _FILES]


_FILES = ("octopus.toml", "settings.py", "pipelines.py", "middlewares.py", "spiders/__init__.py", "spiders/news_spider.py")
