"""What the pages name is there, and what a user meets is on the pages."""

from __future__ import annotations

import ast
import importlib
import re
import textwrap
from pathlib import Path

import pytest

import openoctopus

ROOT = Path(openoctopus.__file__).parent
PROJECT = ROOT.parent
PAGES = [*sorted((PROJECT / "docs").glob("*.md")), *sorted(PROJECT.glob("*.md"))]
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def exists(path: str) -> bool:
    """Whether a dotted path leads to something."""
    parts = path.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ImportError:
            continue
        for name in parts[length:]:
            found = getattr(found, name, None)
        return found is not None
    return False


@every_page
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", page.read_text("utf-8"))
    assert not [link for link in links if not (page.parent / link).exists()]


@every_page
def test_dotted_paths_lead_somewhere(page: Path) -> None:
    paths = set(re.findall(r"\bopenoctopus(?:\.\w+)+", page.read_text("utf-8")))
    assert not [path for path in paths if not exists(path)]


@every_page
def test_examples_are_python(page: Path) -> None:
    for example in re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
        ast.parse("async def example():\n" + textwrap.indent(textwrap.dedent(example), "    "))


def test_each_stat_is_on_its_page() -> None:
    code = "\n".join(path.read_text("utf-8") for path in ROOT.rglob("*.py"))
    written = {re.sub(r"\{.*?\}", "<>", name) for name in re.findall(r'stats\.(?:inc|set|max)\(\s*f?"([^"]+)"', code)}
    told = re.findall(r"`([\w/<>]+)`", (PROJECT / "docs" / "stats.md").read_text("utf-8"))
    assert not written - {re.sub(r"<\w+>", "<>", name) for name in told}
