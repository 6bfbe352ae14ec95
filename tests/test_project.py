"""A project's folder: where it is, its settings, and its spiders by name or file."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from openoctopus.exceptions import ProjectError
from openoctopus.project import Project, find_spider


@pytest.fixture(autouse=True)
def forgetful(monkeypatch):
    """Python forgets the modules of each test's project."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.fixture
def project(tmp_path):
    """Makes files in a folder from their names and texts; ``spiders__shop`` is ``spiders/shop.py``."""

    def make(**files: str) -> Path:
        for name, text in files.items():
            path = tmp_path / (name.replace("__", "/") + (".toml" if name == "octopus" else ".py"))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return make


def spider(name: str, own_name: str = "", base: str = "Spider") -> str:
    return f"from openoctopus import Spider\nclass {name}({base}):\n    name = {own_name!r}\n"


# Where it is


@pytest.mark.parametrize("below", [".", "spiders", "spiders/shops/old"])
def test_octopus_toml_marks_the_folder_for_all_below(project, below):
    folder = project(octopus="[project]\nsettings = 'options'", options="RETRY_TIMES = 7\n")
    (folder / below).mkdir(parents=True, exist_ok=True)

    found = Project.at(folder / below)

    assert (found.folder, found.settings) == (folder, {"RETRY_TIMES": 7})


def test_settings_alone_make_a_project_too(project):
    assert Project.at(project(settings="import os\nA_B = 1\n_HIDDEN = 2\nlower = 3\n")).settings == {"A_B": 1}


def test_a_folder_without_any_of_them_is_a_project_without_settings(tmp_path):
    assert Project.at(tmp_path).settings == {}


@pytest.mark.parametrize("text", ["[project", "[project]\nsetings = 'x'", "project = 1", "[project]\nsettings = 'gone'"])
def test_a_mark_that_says_nothing_sensible_is_refused(project, text):
    with pytest.raises(ProjectError, match=r"octopus\.toml|no settings module 'gone'"):
        Project.at(project(octopus=text))


def test_settings_of_another_folder_are_never_taken_for_this_one(project, tmp_path):
    Project.at(project(settings="A_B = 1"))
    other = tmp_path / "other"
    other.mkdir()
    (other / "settings.py").write_text("A_B = 2")

    with pytest.raises(ProjectError, match="which is not in"):
        Project.at(other)


# Spiders by name


def test_a_spider_is_found_by_its_name_and_by_its_modules(project):
    folder = project(spiders__shop_spider=spider("Shop", "shop"), spiders__deep__news_spider=spider("News"))

    for name, expected in {"shop": "Shop", "shop_spider": "Shop", "news_spider": "News"}.items():
        found, its_project = find_spider(name, folder)
        assert (found.__name__, its_project.folder) == (expected, folder)


def test_a_spider_without_a_name_is_called_as_its_module(project):
    found, _ = find_spider("news_spider", project(spiders__news_spider=spider("News")))

    assert found.name == "news_spider"
    assert found().name == "news_spider"


def test_a_base_class_without_a_name_is_no_spider(project):
    text = spider("Base") + "class A(Base):\n    name = 'a'\nclass B(Base):\n    name = 'b'\n"

    spiders, _ = Project.at(project(spiders__all=text)).spiders()

    assert set(spiders) == {"a", "b"}


def test_an_imported_spider_is_not_found_twice(project):
    again = "from spiders.one import One\nfrom openoctopus import Spider\nclass Two(One):\n    name = 'two'\n"

    spiders, _ = Project.at(project(spiders__one=spider("One", "one"), spiders__two=again)).spiders()

    assert {name: kind.__module__ for name, kind in spiders.items()} == {"one": "spiders.one", "two": "spiders.two"}


def test_two_spiders_of_one_name_are_refused(project):
    with pytest.raises(ProjectError, match=r"two spiders are called 'same': in spiders\.one and spiders\.two"):
        find_spider("same", project(spiders__one=spider("A", "same"), spiders__two=spider("B", "same")))


def test_spider_modules_say_where_spiders_are(project):
    folder = project(settings="SPIDER_MODULES = ['shops', 'papers']", shops__one=spider("A", "a"), papers=spider("B", "b"))

    assert set(Project.at(folder).spiders()[0]) == {"a", "b"}


def test_spider_modules_that_are_not_there_are_refused(project):
    with pytest.raises(ProjectError, match="SPIDER_MODULES names 'shops'"):
        find_spider("a", project(settings="SPIDER_MODULES = 'shops'"))


def test_a_broken_module_stops_no_other_spider(project):
    folder = project(spiders__bad="x = (", spiders__good=spider("Good", "good"))

    assert find_spider("good", folder)[0].__name__ == "Good"
    spiders, broken = Project.at(folder).spiders()
    assert set(spiders) == {"good"}
    assert [str(error).splitlines()[0].rpartition("/")[2] for error in broken] == ["bad.py:1: '(' was never closed"]


def test_a_name_that_is_not_found_is_told_with_what_is_broken(project):
    with pytest.raises(ProjectError, match=r"no spider 'bad' among those that can be loaded\n.*bad\.py:1: "):
        find_spider("bad", project(spiders__bad="x = ("))


# Spiders by file


def test_a_file_alone_needs_no_project(project):
    folder = project(news=spider("News", "news"))

    found, its_project = find_spider("news.py", folder)

    assert (found.name, its_project.settings) == ("news", {})


def test_a_class_is_chosen_by_its_name_or_the_spiders(project):
    folder = project(news=spider("News", "news") + "class Sport(Spider):\n    name = 'sport'\n")

    assert find_spider("news.py:Sport", folder)[0].__name__ == "Sport"
    assert find_spider("news.py:news", folder)[0].__name__ == "News"


def test_a_file_has_the_settings_of_the_folder_it_is_run_in(project):
    folder = project(settings="RETRY_TIMES = 9", spiders__news=spider("News"), items="class Thing: ...\n")

    assert find_spider("spiders/news.py", folder)[1].settings == {"RETRY_TIMES": 9}
    assert find_spider(str(folder / "spiders" / "news.py"), folder)[1].folder == folder


def test_a_file_in_a_package_may_import_its_neighbours(project):
    text = "from ..items import Thing\n" + spider("News")
    folder = project(octopus="[project]", settings="", paper__items="class Thing: ...\n", paper__spiders__news=text)
    for package in ("paper", "paper/spiders"):
        (folder / package / "__init__.py").touch()

    assert find_spider("paper/spiders/news.py", folder)[0].__module__ == "paper.spiders.news"


def test_a_file_is_loaded_once(project):
    folder = project(settings="from news import Store\nITEM_PIPELINES = {Store: 1}", news="class Store: ...\n" + spider("News"))

    found, its_project = find_spider("news.py", folder)

    assert sys.modules[found.__module__].Store in its_project.settings["ITEM_PIPELINES"]


@pytest.mark.parametrize("name", ["json", "logging", "aiohttp"])
def test_a_file_never_takes_the_place_of_a_module_that_is_there(project, name):
    folder = project(settings="A_B = 1", **{f"shop__{name}": spider("A")})

    with pytest.raises(ProjectError, match=f"{name}.py is called as a module that is there already"):
        find_spider(f"shop/{name}.py", folder)


def test_items_of_a_spiders_file_can_be_kept_in_a_queue(project):
    """What waits in a queue is found again by the import path of its class."""
    text = spider("News") + "import dataclasses\n@dataclasses.dataclass\nclass Article:\n    title: str\n"
    found, _ = find_spider("news.py", project(news=text))

    module = sys.modules[found.__module__]
    assert module.Article.__module__ == found.__module__ == "news"
