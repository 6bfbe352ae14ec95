"""A project's folder: its settings, and its spiders found by name."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from openoctopus.exceptions import ProjectError
from openoctopus.spider import Spider

#: The file that marks a project's folder.
MARK = "octopus.toml"


@dataclass(frozen=True)
class Project:
    """A folder with ``octopus.toml`` or ``settings.py``; or none, where a spider's file stands alone."""

    folder: Path
    #: The options in capitals of its settings module.
    settings: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def at(cls, start: Path) -> Project:
        """The project that ``start`` is in. Raises ``ProjectError`` if its settings cannot be loaded."""
        folder = next((place for place in (start, *start.parents) if (place / MARK).is_file()), start)
        _importable(folder)
        return cls(folder, _settings(folder))

    def spiders(self) -> dict[str, type[Spider]]:
        """All spiders by their names. Raises ``ProjectError`` for two of one name, or a module that cannot be loaded."""
        found: dict[str, type[Spider]] = {}
        for spider in self._all():
            other = found.setdefault(spider.name, spider)
            if other is not spider:
                raise ProjectError(f"two spiders are called {spider.name!r}: {other.__module__} and {spider.__module__}")
        return found

    def _all(self) -> Iterator[type[Spider]]:
        for package in self.settings.get("SPIDER_MODULES", ("spiders",)):
            for module in _modules(package, required="SPIDER_MODULES" in self.settings):
                yield from spiders_in(module)

    def find(self, name: str) -> type[Spider]:
        """The spider of that name, or of the module of that name. Raises ``ProjectError`` that lists those there are."""
        spiders = self.spiders()
        if name in spiders:
            return spiders[name]
        of_module = [spider for spider in spiders.values() if spider.__module__.rpartition(".")[2] == name]
        if len(of_module) == 1:
            return of_module[0]
        known = ", ".join(sorted(spiders)) or f"none (looked in {', '.join(self.settings.get('SPIDER_MODULES', ('spiders',)))})"
        raise ProjectError(f"no spider {name!r} in {self.folder}; there are: {known}")


def find_spider(name: str, folder: Path | None = None) -> tuple[type[Spider], Project]:
    """The spider of a file (``news.py``, ``news.py:NewsSpider``) or of that name in the project."""
    path, _, wanted = name.partition(":")
    if path.endswith(".py"):
        file = Path(path).resolve()
        if not file.is_file():
            raise ProjectError(f"there is no file {path}")
        project = Project.at(file.parent)
        return _spider_of(_load_file(file), wanted, path), project
    project = Project.at(folder or Path.cwd())
    return project.find(name), project


def _spider_of(module: ModuleType, wanted: str, path: str) -> type[Spider]:
    spiders = {spider.__name__: spider for spider in spiders_in(module)}
    chosen = [s for s in spiders.values() if wanted in (s.__name__, s.name)] if wanted else list(spiders.values())
    if len(chosen) == 1:
        return chosen[0]
    if not spiders:
        raise ProjectError(f"{path} defines no spider: a class derived from openoctopus.Spider")
    raise ProjectError(f"{path} defines {', '.join(spiders)}: say which one as {path}:{next(iter(spiders))}")


def spiders_in(module: ModuleType) -> Iterator[type[Spider]]:
    """The spider classes that a module defines itself; one without a name is called as its module."""
    for value in vars(module).values():
        if isinstance(value, type) and issubclass(value, Spider) and value.__module__ == module.__name__:
            value.name = value.name or module.__name__.rpartition(".")[2]
            yield value


def _modules(package: str, required: bool) -> Iterator[ModuleType]:
    try:
        root = importlib.import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package.partition(".")[0] and error.name != package:
            raise
        if required:
            raise ProjectError(f"SPIDER_MODULES names {package}, and there is no such package") from error
        return
    yield root
    for info in pkgutil.walk_packages(getattr(root, "__path__", []), package + "."):
        yield importlib.import_module(info.name)


def _settings(folder: Path) -> dict[str, Any]:
    """The project's options: of the module that ``octopus.toml`` names, else of ``settings.py``."""
    mark = folder / MARK
    name = "settings"
    if mark.is_file():
        try:
            table = tomllib.loads(mark.read_text("utf-8"))
        except tomllib.TOMLDecodeError as error:
            raise ProjectError(f"{mark} cannot be read: {error}") from error
        name = table.get("project", {}).get("settings", name)
    elif not (folder / "settings.py").is_file():
        return {}
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name not in (name, name.partition(".")[0]):
            raise
        raise ProjectError(f"{folder} has no settings module {name!r}") from error
    return {key: value for key, value in vars(module).items() if key.isupper() and not key.startswith("_")}


def _importable(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _load_file(file: Path) -> ModuleType:
    _importable(file.parent)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None:
        raise ProjectError(f"{file} cannot be loaded as a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    return module
