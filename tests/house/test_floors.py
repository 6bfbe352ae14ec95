"""Imports run downhill only, and rooms stay small enough to be read."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import openoctopus

ROOT = Path(openoctopus.__file__).parent

#: From the lowest to the highest; a room may import from its own and from lower ones.
FLOORS = [
    {"exceptions", "folders", "items", "selector"},
    {"channel", "state"},
    {"http", "settings", "failpoints", "stats"},
    {"log", "interrupts"},
    {"plugins", "spider"},
    {"dupefilter", "downloaders", "downloadermiddlewares", "spidermiddlewares", "extensions", "pipelines"},
    {"scheduler", "project"},
    {"engine"},
    {"monitor", "result"},
    {"crawler"},
    {"runner"},
    {"workers"},
    {"testing"},
    {"cli"},
    {"__main__"},
]
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
FILES = sorted(path for path in ROOT.rglob("*.py") if "template" not in path.parts)

#: What knows everything by its name: the public names of the package.
LOBBY = ROOT / "__init__.py"

#: Members of these families do not know each other: only their ``base`` and what puts them together.
FAMILIES = {"downloadermiddlewares", "spidermiddlewares"}


def room_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports(path: Path) -> list[str]:
    """The modules of ours that a file imports, wherever in it."""
    found = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("openoctopus"):
            module = node.module or ""
            found += [f"{module}.{name.name}" for name in node.names] if module == "openoctopus" else [module]
        elif isinstance(node, ast.Import):
            found += [name.name for name in node.names if name.name.startswith("openoctopus")]
    return found


@pytest.mark.parametrize("path", [p for p in FILES if p != LOBBY], ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_run_downhill(path: Path) -> None:
    room = room_of(path)
    for module in imports(path):
        below = module.split(".")[1]
        if below == "__version__":
            continue
        assert below == room or FLOOR[below] < FLOOR[room], f"{room} imports {module}, which is not below it"


@pytest.mark.parametrize("path", [p for p in FILES if room_of(p) in FAMILIES], ids=lambda p: str(p.relative_to(ROOT)))
def test_members_of_a_family_do_not_know_each_other(path: Path) -> None:
    if path.name == "__init__.py":
        return
    family = room_of(path)
    known = {module.split(".")[2] for module in imports(path) if module.startswith(f"openoctopus.{family}.")}
    assert known <= {"base"}


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_import_is_hidden(path: Path) -> None:
    text = path.read_text("utf-8")
    assert "TYPE_CHECKING" not in text
    assert all(not _imports_inside(node) for node in ast.walk(ast.parse(text)))


def _imports_inside(node: ast.AST) -> bool:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    return any(isinstance(inner, ast.Import | ast.ImportFrom) for inner in ast.walk(node))


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_are_short(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= 420


def test_what_must_be_overridden_is_abstract() -> None:
    everywhere = [*FILES, *(ROOT.parent / "tests").rglob("*.py")]
    stub = "NotImplemented" + "Error"
    assert not [path for path in everywhere if stub in path.read_text("utf-8")]


def test_no_room_without_a_subject() -> None:
    assert not [
        p for p in FILES if {"utils", "helpers", "misc", "common", "managers", "manager"} & set(p.with_suffix("").parts)
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_nothing_from_outside_is_executed(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [name.name for name in node.names] + [getattr(node, "module", None) or ""]
            assert not {"pickle", "marshal", "shelve", "dill"} & {name.partition(".")[0] for name in names}
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in {"eval", "exec"}
