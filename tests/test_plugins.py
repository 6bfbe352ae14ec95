"""How a name in the settings becomes a part of the crawl."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Any

import pytest

from openoctopus.exceptions import MissingExtra, SettingsError
from openoctopus.pipelines import ItemPipeline
from openoctopus.plugins import Entry, Plugin, build, entries, keywords_of, load, option_names, optional, require
from openoctopus.settings import Settings

PATH = f"{__name__}."


class Store(ItemPipeline):
    def __init__(self, host: str, port: int = 3306, user: str = "", ratio: float = 1, safe: bool = True) -> None:
        self.given = (host, port, user, ratio, safe)


class Quiet(ItemPipeline):
    """Asks for nothing."""


class Watcher(Plugin):
    def __init__(self, settings: Settings, stats: Any, name: str = "watcher") -> None:
        self.settings, self.stats, self.name = settings, stats, name


class BaseStore(Plugin):
    def __init__(self, host: str, port: int = 1) -> None:
        self.host, self.port = host, port


class TableStore(BaseStore):
    def __init__(self, table: str = "items", **keywords: Any) -> None:
        super().__init__(**keywords)
        self.table = table


class OpenEnded(Plugin):
    def __init__(self, **options: Any) -> None:
        self.options = options


class Typed(Plugin):
    def __init__(
        self,
        count: int | None = None,
        names: list[str] | None = None,
        folder: Path = Path(),
        plain="",
        guessed=5,
        odd: Gone = None,  # type: ignore  # noqa: F821
    ) -> None:
        self.given = {"count": count, "names": names, "folder": folder, "plain": plain, "guessed": guessed, "odd": odd}


def load_settings(**options: Any) -> Settings:
    return Settings.load({"command line": options})


# Found


def test_a_dotted_path_becomes_the_class_there() -> None:
    assert load("openoctopus.pipelines.ItemPipeline") is ItemPipeline
    assert load(Store) is Store


@pytest.mark.parametrize("path", ["", "Store", ".Store", "a..B", "a.", "a b.C", "os.path:join", "../x.Y", "a.1"])
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(SettingsError, match=r"write it as package\.module\.Name"):
        load(path)


def test_what_is_missing_is_named() -> None:
    with pytest.raises(SettingsError, match=r"cannot load 'nowhere\.at\.All': there is no module nowhere$"):
        load("nowhere.at.All")
    with pytest.raises(SettingsError, match=r"there is no module openoctopus\.nothing$"):
        load("openoctopus.nothing.Here")
    with pytest.raises(SettingsError, match=r"cannot load 'openoctopus\.pipelines\.Gone': openoctopus\.pipelines has no Gone"):
        load("openoctopus.pipelines.Gone")
    with pytest.raises(SettingsError, match=r"there is no module openoctopus\.pipelines\.ItemPipeline$"):
        load("openoctopus.pipelines.ItemPipeline.Inner")


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        ("import not_installed_anywhere", ModuleNotFoundError, "not_installed_anywhere"),
        ("import brokenshop.missing", ModuleNotFoundError, "brokenshop.missing"),
        ("from os import nothing_like_it", ImportError, "nothing_like_it"),
        ("1 / 0", ZeroDivisionError, "division"),
        ("x = (", SyntaxError, "never closed"),
    ],
)
def test_what_is_wrong_inside_a_module_is_not_hidden(
    source: str, error: type[Exception], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "brokenshop").mkdir()
    (tmp_path / "brokenshop" / "__init__.py").write_text("")
    (tmp_path / "brokenshop" / "pipelines.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.startswith("brokenshop")]:
        monkeypatch.delitem(sys.modules, name)

    with pytest.raises(error, match=message):
        load("brokenshop.pipelines.Clean")


def test_an_optional_library_says_how_it_is_installed() -> None:
    assert require("json", "x") is optional("json")
    assert optional("not_installed_anywhere") is None
    with pytest.raises(MissingExtra, match=r"not_installed_anywhere is not installed: pip install 'openoctopus\[shop\]'"):
        require("not_installed_anywhere", "shop")


# Ordered


def test_entries_are_sorted_by_their_numbers() -> None:
    found = entries("ITEM_PIPELINES", {Store: 300, f"{PATH}Quiet": 100.5, BaseStore: {"order": 200, "host": "h"}})
    assert found == [Entry(Quiet, 100.5, {}), Entry(BaseStore, 200, {"host": "h"}), Entry(Store, 300, {})]


def test_entries_of_one_number_stay_in_order() -> None:
    assert [entry.kind for entry in entries("X", {Store: 1, Quiet: 1, BaseStore: 1})] == [Store, Quiet, BaseStore]


def test_a_later_table_overrides_and_none_switches_off() -> None:
    built_in = {Store: 100, Quiet: 200, BaseStore: 300}
    found = entries("X", built_in, {f"{PATH}Store": None, Quiet: 400, f"{PATH}BaseStore": {"order": 50, "port": 2}})
    assert found == [Entry(BaseStore, 50, {"port": 2}), Entry(Quiet, 400, {})]


def test_a_class_by_its_path_and_by_itself_is_one() -> None:
    assert entries("X", {Store: 1, f"{PATH}Store": 2}) == [Entry(Store, 2, {})]


def test_an_entry_is_left_as_the_user_wrote_it() -> None:
    table = {Store: {"order": 1, "host": "h"}}
    entries("X", table)
    assert table == {Store: {"order": 1, "host": "h"}}


@pytest.mark.parametrize("value", [True, "100", [1], {}, {"host": "h"}, {"order": None}, {"order": "1"}, {"order": False}])
def test_an_entry_without_a_number_is_refused(value: Any) -> None:
    with pytest.raises(SettingsError, match="ITEM_PIPELINES: Store needs a number, or a mapping with an order, not"):
        entries("ITEM_PIPELINES", {Store: value})


def test_an_entry_that_is_no_class_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"EXTENSIONS: <function .* is no class"):
        entries("EXTENSIONS", {"os.path.join": 1})


# Built


def test_keywords_come_from_entry_class_name_plain_name_and_default_in_this_order() -> None:
    options = {"HOST": "plain", "STORE_HOST": "class", "PORT": 1, "STORE_PORT": 2, "USER": "plain"}
    built = build(Store, load_settings(**options), {"host": "entry"})
    assert built.given == ("entry", 2, "plain", 1, True)


def test_what_the_framework_offers_is_given_to_whoever_asks() -> None:
    settings = load_settings(STATS="not this")
    stats = object()
    built = build(Watcher, settings, settings=settings, stats=stats, fetch=None)
    assert (built.settings, built.stats, built.name) == (settings, stats, "watcher")
    assert build(Watcher, load_settings(WATCHER_STATS="this"), stats=stats, settings=settings).stats == "this"
    assert build(Watcher, settings, {"stats": "mine"}, stats=stats, settings=settings).stats == "mine"


def test_a_missing_keyword_is_named_with_the_ways_to_give_it() -> None:
    with pytest.raises(SettingsError) as error:
        build(Store, load_settings())
    assert str(error.value) == 'Store needs host: set HOST (or STORE_HOST), or give "host" beside the "order" of its entry'


def test_a_keyword_that_it_does_not_have_is_named() -> None:
    with pytest.raises(SettingsError, match=r"Store has no keyword 'hots'; it has host, port, user, ratio, safe"):
        build(Store, load_settings(), {"hots": "h", "host": "h"})
    with pytest.raises(SettingsError, match=r"Quiet has no keyword 'x', 'y'; it has none"):
        build(Quiet, load_settings(), {"x": 1, "y": 2})


def test_keywords_of_base_classes_are_known() -> None:
    built = build(TableStore, load_settings(TABLESTORE_HOST="h", PORT="7"), {"table": "t"})
    assert (built.host, built.port, built.table) == ("h", 7, "t")
    assert list(keywords_of(TableStore)) == ["host", "port", "table"]
    with pytest.raises(SettingsError, match="TableStore needs host"):
        build(TableStore, load_settings())


def test_whoever_takes_any_keyword_gets_it() -> None:
    assert build(OpenEnded, load_settings(), {"a": 1}).options == {"a": 1}


def test_text_of_the_command_line_becomes_what_the_keyword_says() -> None:
    options = {"HOST": "5", "PORT": "3307", "USER": "12", "RATIO": "0.5", "SAFE": "no"}
    assert build(Store, load_settings(**options)).given == ("5", 3307, "12", 0.5, False)
    with pytest.raises(SettingsError, match=r"STORE_PORT must be int, not 'many' \(command line\)"):
        build(Store, load_settings(STORE_PORT="many"), {"host": "h"})


def test_annotations_of_any_kind_are_understood_or_left_alone() -> None:
    options = {"COUNT": "5", "NAMES": '["a", "b"]', "FOLDER": "x/y", "PLAIN": "7", "GUESSED": "8", "ODD": "9"}
    given = build(Typed, load_settings(**options)).given
    assert given == {"count": "5", "names": '["a", "b"]', "folder": "x/y", "plain": "7", "guessed": 8, "odd": "9"}

    class Understood(Plugin):
        def __init__(self, count: int | None = None, names: list[str] | None = None, folder: Path = Path(), plain="") -> None:  # type: ignore[no-untyped-def]
            self.given = (count, names, folder, plain)

    options.pop("ODD")
    assert build(Understood, load_settings(**options)).given == (5, ["a", "b"], Path("x/y"), "7")


def test_values_that_are_no_text_are_left_alone() -> None:
    assert build(Store, load_settings(PORT=1.5, RATIO=None), {"host": "h"}).given == ("h", 1.5, "", None, True)
    assert build(Store, load_settings(), {"host": "h", "port": "9"}).given[1] == "9"


def test_the_names_of_all_keywords_are_known_options() -> None:
    assert option_names([BaseStore, Quiet]) == {"HOST", "BASESTORE_HOST", "PORT", "BASESTORE_PORT"}


async def test_a_plugin_is_opened_and_closed_by_with() -> None:
    seen = []

    class Noted(Plugin):
        async def open(self) -> None:
            seen.append("open")

        async def close(self) -> None:
            seen.append("close")

    with contextlib.suppress(ZeroDivisionError):
        async with Noted() as plugin:
            assert isinstance(plugin, Noted)
            raise ZeroDivisionError
    assert seen == ["open", "close"]
