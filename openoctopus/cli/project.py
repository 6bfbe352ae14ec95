"""``octopus startproject`` and ``octopus list``: a project's folder."""

from __future__ import annotations

import inspect
import keyword
import re
import sys
from importlib import resources
from pathlib import Path
from typing import Annotated

import typer
from rich.cells import cell_len

from openoctopus.exceptions import ProjectError
from openoctopus.log import safe
from openoctopus.project import Project

#: What stands for the project's name in the template's files.
PLACEHOLDER = "PROJECT_NAME"
#: The template's files, and where they stand in a project: a ``.gitignore`` of its own would hide them from ours.
FILES = {
    "octopus.toml": "octopus.toml",
    "settings.py": "settings.py",
    "pipelines.py": "pipelines.py",
    "middlewares.py": "middlewares.py",
    "spiders/__init__.py": "spiders/__init__.py",
    "spiders/news_spider.py": "spiders/news_spider.py",
    "gitignore": ".gitignore",
}


def list_spiders() -> int:
    """List the spiders of the project in this folder, each with the first line of what its docstring says."""
    project = Project.at(Path.cwd())
    spiders, broken = project.spiders()
    width = max(map(cell_len, spiders), default=0)
    for name, spider in sorted(spiders.items()):
        line = (inspect.cleandoc(vars(spider).get("__doc__") or "")).partition("\n")[0]
        print(safe(f"{name}{' ' * (width - cell_len(name))}  {line}".rstrip()))
    for error in broken:
        print("octopus: cannot be loaded:", "\n".join(safe(line) for line in str(error).splitlines()), file=sys.stderr)
    if not spiders and not broken:
        raise ProjectError(
            f"no spiders in {project.folder} (looked in: {', '.join(project.spider_modules)})\n"
            "`octopus startproject NAME` makes a project with a first one."
        )
    return 1 if broken else 0


def startproject(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Letters, digits and _.")],
    folder: Annotated[Path | None, typer.Argument(metavar="FOLDER", help="Where; by default a folder of that name.")] = None,
) -> None:
    """Make a project with a spider that runs at once, a pipeline, a middleware, and settings with comments."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) or keyword.iskeyword(name):
        raise ProjectError(f"{name!r} cannot be a project's name: letters, digits and _, beginning with a letter")
    target = folder or Path(name)
    try:
        _make(target, name)
    except OSError as error:
        raise ProjectError(f"cannot make {target}: {error.strerror}") from error
    print(f"Made {target}. Next:\n\n  cd {target}\n  octopus runspider news_spider -o items.jsonl\n")


def _make(target: Path, name: str) -> None:
    if target.exists() and any(target.iterdir()):
        raise ProjectError(f"{target} is there already and not empty")
    template = resources.files("openoctopus.cli") / "template"
    for source, path in FILES.items():
        file = target / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text((template / source).read_text("utf-8").replace(PLACEHOLDER, name), "utf-8")
