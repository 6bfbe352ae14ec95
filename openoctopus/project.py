"""A project's folder: its settings, and its spiders found by name."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import inspect
import sys
import tomllib
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from openoctopus.exceptions import OctopusError, ProjectError, SettingsError
from openoctopus.spider import Spider

#: The file that marks a project's folder.
MARK = "octopus.toml"
#: Where spiders are looked for unless ``SPIDER_MODULES`` says otherwise.
SPIDER_MODULES = ("spiders",)


@dataclass(frozen=True)
class Project:
    """A folder with ``octopus.toml`` or ``settings.py``; or any other, where a spider's file stands alone."""

    folder: Path
    #: The options in capitals of its settings module.
    settings: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def at(cls, start: Path) -> Project:
        """The project that ``start`` is in: the nearest folder with ``octopus.toml``, else ``start`` itself.

        Raises ``ProjectError`` if its settings cannot be loaded.
        """
        folder = next((place for place in (start, *start.parents) if (place / MARK).is_file()), start)
        _importable(folder)
        return cls(folder, _settings(folder))

    @property
    def spider_modules(self) -> tuple[str, ...]:
        named = self.settings.get("SPIDER_MODULES", SPIDER_MODULES)
        return (named,) if isinstance(named, str) else tuple(named)

    def spiders(self) -> tuple[dict[str, type[Spider]], list[ProjectError]]:
        """All spiders by their names, and what is wrong with the modules that cannot be loaded.

        Raises ``ProjectError`` for two spiders of one name.
        """
        found: dict[str, type[Spider]] = {}
        broken: list[ProjectError] = []
        for module in self._modules(broken):
            for spider in spiders_in(module):
                other = found.setdefault(spider.name, spider)
                if other is not spider:
                    raise ProjectError(f"two spiders are called {spider.name!r}: in {other.__module__} and {spider.__module__}")
        return found, broken

    def find(self, name: str) -> type[Spider]:
        """The spider of that name, or of the module of that name. Raises ``ProjectError`` that lists those there are."""
        spiders, broken = self.spiders()
        if name in spiders:
            return spiders[name]
        of_module = [spider for spider in spiders.values() if spider.__module__.rpartition(".")[2] == name]
        if len(of_module) == 1:
            return of_module[0]
        if broken:
            raise ProjectError("\n".join([f"no spider {name!r} among those that can be loaded", *map(str, broken)]))
        raise ProjectError(_unknown(name, spiders, self))

    def _modules(self, broken: list[ProjectError]) -> Iterator[ModuleType]:
        for package in self.spider_modules:
            try:
                root = _import(package)
            except ModuleNotFoundError as error:
                if "SPIDER_MODULES" not in self.settings:
                    continue
                raise ProjectError(f"SPIDER_MODULES names {package!r}, and there is no such package") from error
            yield root
            for name in _modules_below(root, package):
                try:
                    yield _import(name)
                except ProjectError as error:
                    broken.append(error)


def _modules_below(root: ModuleType, package: str) -> Iterator[str]:
    """The modules in a package and in the folders below it, whether they have an ``__init__.py`` or not."""
    for place in map(Path, getattr(root, "__path__", ())):
        for file in sorted(place.rglob("*.py")):
            parts = file.relative_to(place).with_suffix("").parts
            if parts[-1] not in ("__init__", "__main__") and all(part.isidentifier() for part in parts):
                yield ".".join((package, *parts))


def _unknown(name: str, spiders: dict[str, type[Spider]], project: Project) -> str:
    if not spiders:
        places = ", ".join(project.spider_modules)
        return f"no spider {name!r}: there are no spiders in {project.folder} (looked in: {places})"
    likely = difflib.get_close_matches(name, spiders, n=1)
    guess = f"; did you mean {likely[0]}?" if likely else ""
    return f"no spider {name!r} in {project.folder}{guess}\nthere are: {', '.join(sorted(spiders))}"


def find_spider(name: str, folder: Path | None = None) -> tuple[type[Spider], Project]:
    """The spider of a file (``news.py``, ``news.py:NewsSpider``) or of that name in the project of ``folder``.

    Raises ``ProjectError``.
    """
    here = folder or Path.cwd()
    path, wanted = (name, "") if name.endswith(".py") else name.rpartition(":")[::2]
    if not path.endswith(".py"):
        project = Project.at(here)
        return project.find(name), project
    file = (here / path).resolve()
    if not file.is_file():
        raise ProjectError(f"there is no file {path}")
    project = Project.at(_folder_of(file, here.resolve()))
    return _spider_of(_load_file(file), wanted, path), project


def _folder_of(file: Path, here: Path) -> Path:
    """Where a file's project is: its own folder, or ``here`` if that is above it and has the settings."""
    if (file.parent / "settings.py").is_file() or here not in file.parents:
        return file.parent
    return here if (here / "settings.py").is_file() else file.parent


def _spider_of(module: ModuleType, wanted: str, path: str) -> type[Spider]:
    spiders = list(spiders_in(module))
    chosen = [spider for spider in spiders if not wanted or wanted in (spider.__name__, spider.name)]
    if len(chosen) == 1:
        return chosen[0]
    if not spiders:
        raise ProjectError(f"{path} has no spider: a class derived from openoctopus.Spider")
    names = ", ".join(spider.__name__ for spider in spiders)
    if wanted and not chosen:
        raise ProjectError(f"{path} has no spider {wanted!r}; there are: {names}")
    raise ProjectError(f"{path} has several spiders ({names}): say which one, as {path}:{spiders[0].__name__}")


def spiders_in(module: ModuleType) -> Iterator[type[Spider]]:
    """The spider classes that a module defines itself; one without a name is called as its module.

    Of those without a name, one that others are derived from is a base class and no spider.
    """
    for value in list(vars(module).values()):
        if not (isinstance(value, type) and issubclass(value, Spider) and value.__module__ == module.__name__):
            continue
        if not value.name:
            if value.__subclasses__():
                continue
            value.name = module.__name__.rpartition(".")[2]
        yield value


def _settings(folder: Path) -> dict[str, Any]:
    """The project's options: of the module that ``octopus.toml`` names, else of ``settings.py``."""
    mark = folder / MARK
    if not mark.is_file() and not (folder / "settings.py").is_file():
        return {}
    name = _settings_module(mark) if mark.is_file() else "settings"
    try:
        module = _import(name)
    except ModuleNotFoundError as error:
        raise ProjectError(f"{folder} has no settings module {name!r}") from error
    if folder not in Path(module.__file__ or "").resolve().parents:
        raise ProjectError(f"the settings module {name!r} is {module.__file__}, which is not in {folder}")
    return {key: value for key, value in vars(module).items() if key.isupper() and not key.startswith("_")}


def _settings_module(mark: Path) -> str:
    try:
        table = tomllib.loads(mark.read_text("utf-8")).get("project", {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise ProjectError(f"{mark} cannot be read: {error}") from error
    if not isinstance(table, dict) or not table.keys() <= {"settings"}:
        raise ProjectError(f'{mark} should have [project] with settings = "module" and nothing else, not {table!r}')
    return str(table.get("settings", "settings"))


def _import(name: str) -> ModuleType:
    """A module of the project. Raises ``ModuleNotFoundError`` if there is none of that name, ``ProjectError`` for any
    trouble inside of it.
    """
    try:
        return importlib.import_module(name)
    except OctopusError:
        raise
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(error.name + ".")):
            raise
        raise ProjectError(explained(error)) from error
    except Exception as error:
        raise ProjectError(explained(error)) from error


def _load_file(file: Path) -> ModuleType:
    """A spider's file: as part of its package, where it is in one, so that it may import its neighbours."""
    top, names = file.parent, [file.stem]
    while (top / "__init__.py").is_file():
        names.insert(0, top.name)
        top = top.parent
    _importable(top)
    name = ".".join(names)
    loaded = sys.modules.get(name)
    if loaded is not None and Path(loaded.__file__ or "").resolve() == file:
        return loaded
    if loaded is not None or name.partition(".")[0] in sys.stdlib_module_names:
        raise ProjectError(f"{file.name} is called as a module that is there already: give it another name")
    if len(names) > 1:
        return _import(name)
    return _execute(name, file)


def _execute(name: str, file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ProjectError(f"{file} cannot be loaded as a Python module")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except OctopusError:
        raise
    except Exception as error:
        raise ProjectError(explained(error)) from error
    return module


def _importable(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def explained(error: Exception) -> str:
    """An error in a user's file in two lines: where, what, and the line itself."""
    if isinstance(error, SyntaxError):
        return f"{_short(error.filename)}:{error.lineno}: {error.msg}\n    {(error.text or '').strip()}"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not _is_ours(frame.filename)]
    what = traceback.format_exception_only(error)[-1].strip()
    if not frames:
        return what
    place = next((frame for frame in reversed(frames) if "site-packages" not in frame.filename), frames[-1])
    return f"{_short(place.filename)}:{place.lineno}: {what}\n    {place.line}"


def _is_ours(filename: str) -> bool:
    return filename.startswith("<frozen") or Path(filename).is_relative_to(Path(__file__).parent) or "importlib" in filename


def _short(filename: str | None) -> str:
    path = Path(filename or "?")
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def make(spider: type[Spider], arguments: dict[str, Any]) -> Spider:
    """The spider with its arguments. Raises ``SettingsError`` for those that it does not take or cannot use."""
    taken = inspect.signature(spider)
    try:
        taken.bind(**arguments)
    except TypeError as error:
        known = ", ".join(name for name, one in taken.parameters.items() if one.kind is not one.VAR_KEYWORD) or "none"
        raise SettingsError(f"{spider.__name__} {error}; the arguments (-a) that it takes: {known}") from error
    try:
        return spider(**arguments)
    except OctopusError:
        raise
    except Exception as error:
        raise ProjectError(f"{spider.__name__} cannot be made: {explained(error)}") from error
