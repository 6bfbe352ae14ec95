"""What is public is exported, documented and named as the design says."""

from __future__ import annotations

import ast
import importlib
import re
import tomllib
from pathlib import Path

import pytest

import openoctopus
from openoctopus.cli.main import app
from openoctopus.settings import Settings

ROOT = Path(openoctopus.__file__).parent
PROJECT = ROOT.parent
PACKAGES = sorted(
    ".".join(path.parent.relative_to(PROJECT).parts) for path in ROOT.rglob("__init__.py") if "template" not in path.parts
)

#: The paths that users know and write into their projects.
KNOWN_PATHS = [
    "openoctopus.Spider",
    "openoctopus.Request",
    "openoctopus.Response",
    "openoctopus.Item",
    "openoctopus.Field",
    "openoctopus.Settings",
    "openoctopus.crawl",
    "openoctopus.run",
    "openoctopus.spider.Spider",
    "openoctopus.http.Request",
    "openoctopus.http.Response",
    "openoctopus.http.FormRequest",
    "openoctopus.http.JsonRequest",
    "openoctopus.items.Item",
    "openoctopus.items.Field",
    "openoctopus.downloadermiddlewares.DownloaderMiddleware",
    "openoctopus.spidermiddlewares.SpiderMiddleware",
    "openoctopus.pipelines.ItemPipeline",
    "openoctopus.pipelines.BatchPipeline",
    "openoctopus.extensions.Extension",
    "openoctopus.exceptions.DropItem",
    "openoctopus.exceptions.IgnoreRequest",
    "openoctopus.exceptions.CloseSpider",
    "openoctopus.scheduler.MemoryScheduler",
    "openoctopus.dupefilter.RFPDupeFilter",
    "openoctopus.dupefilter.BloomDupeFilter",
]


@pytest.mark.parametrize("path", KNOWN_PATHS)
def test_the_known_names_are_where_users_expect_them(path: str) -> None:
    module, _, name = path.rpartition(".")
    assert hasattr(importlib.import_module(module), name)


@pytest.mark.parametrize("package", PACKAGES)
def test_all_is_complete(package: str) -> None:
    module = importlib.import_module(package)
    tree = ast.parse(Path(module.__file__ or "").read_text("utf-8"))
    ours = [node for node in tree.body if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("openoctopus")]
    imported = {name.asname or name.name for node in ours for name in node.names}
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    exported = list(getattr(module, "__all__", []))
    assert all(hasattr(module, name) for name in exported)
    assert imported - used <= set(exported)


def test_each_setting_is_documented() -> None:
    page = (PROJECT / "docs" / "settings.md").read_text("utf-8")
    missing = [name for name in Settings.model_fields if not re.search(rf"\b{name}\b", page)]
    assert not missing
    assert all(field.description for field in Settings.model_fields.values())


def test_each_command_is_documented() -> None:
    page = (PROJECT / "docs" / "commands.md").read_text("utf-8")
    for command in (one.name for one in app.registered_commands if not one.hidden):
        assert f"octopus {command}" in page


def test_each_room_has_a_page() -> None:
    rooms = {
        path.name.removesuffix(".py") for path in ROOT.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()
    }
    pages = {path.stem for path in (PROJECT / "docs").glob("*.md")}
    elsewhere = {
        "__init__": "",
        "__main__": "commands",
        "cli": "commands",
        "http": "requests",
        "folders": "architecture",
        "log": "logging",
        "plugins": "settings",
        "interrupts": "commands",
        "downloadermiddlewares": "middlewares",
        "spidermiddlewares": "middlewares",
        "engine": "architecture",
        "failpoints": "reliability",
        "selector": "selectors",
        "spider": "spiders",
        "crawler": "architecture",
        "runner": "spiders",
        "result": "architecture",
        "channel": "workers",
        "state": "jobs",
        "project": "projects",
        "monitor": "progress",
    }
    assert {elsewhere.get(room, room) or "architecture" for room in rooms if room != "__pycache__"} <= pages


@pytest.mark.parametrize("page", ["README.md", "README.zh-CN.md"])
def test_each_page_is_linked_from_both_readmes(page: str) -> None:
    linked = set(re.findall(r"\]\(docs/(\w+\.md)\)", (PROJECT / page).read_text("utf-8")))
    assert linked == {path.name for path in (PROJECT / "docs").glob("*.md")}


def test_the_changelog_speaks_of_this_version() -> None:
    assert f"## {openoctopus.__version__}" in (PROJECT / "CHANGELOG.md").read_text("utf-8")


def test_dependencies_have_lower_bounds() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = [one for many in project["optional-dependencies"].values() for one in many if not one.startswith("openoctopus[")]
    for requirement in project["dependencies"] + extras:
        assert ">=" in requirement.partition(";")[0], requirement
