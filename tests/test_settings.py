"""Settings: typed, checked once, every mistake named, no secret shown."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from openoctopus.exceptions import SettingsError
from openoctopus.scheduler import MemoryScheduler
from openoctopus.settings import Settings, check_names, environment, masked


def load(**options: Any) -> Settings:
    return Settings.load({"command line": options})


# Layers


def test_a_later_layer_wins_and_is_the_origin() -> None:
    settings = Settings.load(
        {
            "project": {"RETRY_TIMES": 1, "DOWNLOAD_DELAY": 1, "MY_OWN": "p"},
            "spider": {"RETRY_TIMES": 2, "DOWNLOAD_DELAY": 2},
            "environment": {"RETRY_TIMES": "3"},
            "command line": {},
        }
    )

    assert (settings.RETRY_TIMES, settings.DOWNLOAD_DELAY, settings["MY_OWN"]) == (3, 2.0, "p")
    names = ("RETRY_TIMES", "DOWNLOAD_DELAY", "MY_OWN", "CONCURRENT_REQUESTS")
    assert [settings.origin(name) for name in names] == ["environment", "spider", "project", "default"]


def test_a_value_can_be_read_in_three_ways() -> None:
    settings = load(MY_OWN=[1])

    assert settings.RETRY_TIMES == settings["RETRY_TIMES"] == settings.get("RETRY_TIMES") == 2
    assert settings.MY_OWN == settings["MY_OWN"] == settings.get("MY_OWN") == [1]
    assert settings.get("NOBODYS") is None
    assert settings.get("NOBODYS", 5) == 5
    assert "MY_OWN" in settings
    assert "NOBODYS" not in settings
    assert "load" not in settings
    with pytest.raises(KeyError):
        settings["NOBODYS"]
    with pytest.raises(AttributeError):
        settings.NOBODYS  # noqa: B018


def test_all_names_can_be_listed() -> None:
    names = list(load(MY_OWN=1, ANOTHER=2).names())
    assert names[0] == "CONCURRENT_REQUESTS"
    assert names[-2:] == ["ANOTHER", "MY_OWN"]
    assert len(names) == len(set(names)) == len(Settings.model_fields) + 2


def test_settings_do_not_change() -> None:
    settings = load(ITEM_PIPELINES={"a.B": 1})
    with pytest.raises(ValidationError):
        settings.RETRY_TIMES = 3  # type: ignore[misc]
    with pytest.raises(TypeError):
        settings["RETRY_TIMES"] = 3  # type: ignore[index]


def test_settings_of_two_crawls_share_nothing() -> None:
    table = {"a.B": 1}
    one, other = load(ITEM_PIPELINES=table), load()
    table["c.D"] = 2
    other.ITEM_PIPELINES["x"] = 1

    assert one.ITEM_PIPELINES == {"a.B": 1}
    assert load().ITEM_PIPELINES == {}


def test_every_option_is_explained_and_its_default_is_of_its_type() -> None:
    defaults = {name: field.get_default(call_default_factory=True) for name, field in Settings.model_fields.items()}
    settings = Settings.load({"again": defaults})

    assert {name: settings[name] for name in Settings.model_fields} == defaults
    for name, field in Settings.model_fields.items():
        assert field.description, name
        assert re.fullmatch(r"[A-Z][A-Z0-9_]*", name)


def test_the_table_of_all_options_is_fresh() -> None:
    generate = runpy.run_path(str(Path(__file__).parents[1] / "docs" / "generate.py"))
    assert generate["main"](["--check"]) == 0
    assert all(f"`{name}`" in generate["settings_table"]() for name in Settings.model_fields)


# Types, as text from the environment or the command line


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        *[("ROBOTSTXT_OBEY", text, True) for text in ("true", "True", "yes", "YES", "on", "1", "y", "t")],
        *[("ROBOTSTXT_OBEY", text, False) for text in ("false", "no", "off", "0", "n", "f")],
        ("RETRY_TIMES", "5", 5),
        ("RETRY_TIMES", " 5 ", 5),
        ("DEPTH_PRIORITY", "-1", -1),
        ("DOWNLOAD_DELAY", "0.25", 0.25),
        ("DOWNLOAD_DELAY", "2", 2.0),
        ("RANDOMIZE_DOWNLOAD_DELAY", "wide", "wide"),
        ("RANDOMIZE_DOWNLOAD_DELAY", "off", False),
        ("SPIDER_MODULES", "a.b, c ,", ("a.b", "c")),
        ("SPIDER_MODULES", '["a", "b"]', ("a", "b")),
        ("SPIDER_MODULES", "", ()),
        ("RETRY_HTTP_CODES", "500,502", frozenset({500, 502})),
        ("RETRY_HTTP_CODES", "[500]", frozenset({500})),
        ("RETRY_HTTP_CODES", "", frozenset()),
        ("ITEM_PIPELINES", '{"a.B": 100, "c.D": null}', {"a.B": 100, "c.D": None}),
        ("ITEM_PIPELINES", "", {}),
        ("USER_AGENTS", "desktop", "desktop"),
        (
            "USER_AGENTS",
            "Mozilla/5.0 (X11) AppleWebKit (KHTML, like Gecko)",
            "Mozilla/5.0 (X11) AppleWebKit (KHTML, like Gecko)",
        ),
        ("USER_AGENTS", '["a, b", "c"]', ("a, b", "c")),
        ("LOG_LEVEL", "debug", "DEBUG"),
        ("LOG_FILE", "x.log", "x.log"),
    ],
)
def test_text_becomes_what_the_option_is(name: str, text: str, value: Any) -> None:
    found = load(**{name: text})[name]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("name", "given", "value"),
    [
        ("RETRY_HTTP_CODES", [500, 500], frozenset({500})),
        ("RETRY_HTTP_CODES", {500}, frozenset({500})),
        ("SPIDER_MODULES", ["a"], ("a",)),
        ("USER_AGENTS", ["a, b"], ("a, b",)),
        ("ITEM_PIPELINES", None, {}),
        ("ITEM_PIPELINES", {dict: 1}, {dict: 1}),
        ("LOG_FILE", Path("x.log"), "x.log"),
        ("SCHEDULER", MemoryScheduler, MemoryScheduler),
        ("DOWNLOAD_DELAY", 3, 3.0),
        ("CONCURRENT_REQUESTS", 8.0, 8),
    ],
)
def test_values_in_python_are_taken_as_they_are_meant(name: str, given: Any, value: Any) -> None:
    assert load(**{name: given})[name] == value


# Mistakes


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("CONCURRENT_REQUESTS", "many", "CONCURRENT_REQUESTS must be a whole number, not 'many' (command line)"),
        ("CONCURRENT_REQUESTS", "1.5", "CONCURRENT_REQUESTS must be a whole number, not '1.5' (command line)"),
        ("CONCURRENT_REQUESTS", 0, "CONCURRENT_REQUESTS must be greater than or equal to 1, not 0 (command line)"),
        ("DOWNLOAD_DELAY", "fast", "DOWNLOAD_DELAY must be a number, not 'fast' (command line)"),
        ("DOWNLOAD_DELAY", -1, "DOWNLOAD_DELAY must be greater than or equal to 0, not -1 (command line)"),
        ("DOWNLOAD_DELAY", "nan", "DOWNLOAD_DELAY must be a finite number, not 'nan' (command line)"),
        ("DOWNLOAD_DELAY", "inf", "DOWNLOAD_DELAY must be a finite number, not 'inf' (command line)"),
        ("DOWNLOAD_TIMEOUT", float("inf"), "DOWNLOAD_TIMEOUT must be a finite number, not inf (command line)"),
        ("DOWNLOAD_DELAY", None, "DOWNLOAD_DELAY must be a number, not None (command line)"),
        ("ROBOTSTXT_OBEY", "maybe", "ROBOTSTXT_OBEY must be true or false, not 'maybe' (command line)"),
        (
            "RANDOMIZE_DOWNLOAD_DELAY",
            "wid",
            "RANDOMIZE_DOWNLOAD_DELAY must be true or false or 'wide', not 'wid' (command line)",
        ),
        ("RETRY_HTTP_CODES", [500, "x"], "RETRY_HTTP_CODES[1] must be a whole number, not 'x' (command line)"),
        ("RETRY_HTTP_CODES", 500, "RETRY_HTTP_CODES must be a list, not 500 (command line)"),
        ("SPIDER_MODULES", "[a", "SPIDER_MODULES must be a list, in JSON or separated by commas, not '[a' (command line)"),
        ("ITEM_PIPELINES", "a.B", "ITEM_PIPELINES must be a mapping, in JSON, not 'a.B' (command line)"),
        ("ITEM_PIPELINES", ["a.B"], "ITEM_PIPELINES must be a mapping, not ['a.B'] (command line)"),
        ("LOG_LEVEL", "loud", "LOG_LEVEL must be 'DEBUG', 'INFO', 'WARNING', 'ERROR' or 'CRITICAL', not 'LOUD' (command line)"),
        ("USER_AGENT", 5, "USER_AGENT must be text, not 5 (command line)"),
        ("JOB", 5, "JOB must be text, not 5 (command line)"),
        ("HTTPAUTH_PASS", ["hidden"], "HTTPAUTH_PASS must be text, not '***' (command line)"),
        ("HTTP_PROXY", ["http://u:hidden@h/"], "HTTP_PROXY must be text, not ['http://***@h/'] (command line)"),
    ],
)
def test_a_wrong_value_is_named_with_its_origin_and_what_is_allowed(name: str, given: Any, message: str) -> None:
    with pytest.raises(SettingsError) as error:
        load(**{name: given})
    assert str(error.value) == message


def test_all_wrong_values_are_told_at_once() -> None:
    with pytest.raises(SettingsError) as error:
        Settings.load({"project": {"RETRY_TIMES": "x", "LOG_JSON": "x"}, "environment": {"DEPTH_LIMIT": "x"}})
    assert str(error.value).splitlines() == [
        "DEPTH_LIMIT must be a whole number, not 'x' (environment)",
        "RETRY_TIMES must be a whole number, not 'x' (project)",
        "LOG_JSON must be true or false, not 'x' (project)",
    ]


@pytest.mark.parametrize("name", ["", "news", "news-2024.08", "A_b", "7", "_x", "新闻", "a" * 60])
def test_a_job_has_a_name_that_is_a_file_name_everywhere(name: str) -> None:
    assert name == load(JOB=name).JOB


@pytest.mark.parametrize(
    "name",
    ["a/b", "..", ".", ".a", "a b", " ", "a\n", "-a", "a\\b", "a:b", "a*", "~", "a\0", "a" * 61, "jobs/../x", "a\u202eb"],
)
def test_no_other_name_of_a_job_is_taken(name: str) -> None:
    with pytest.raises(SettingsError) as error:
        load(JOB=name)
    assert str(error.value) == (
        "JOB must be a name of up to 60 letters, digits, - _ and . that does not begin with - or ."
        f", not {name!r} (command line)"
    )


KNOWN = {*Settings.model_fields, "REDIS_URL", "FOO"}


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("RETRY_TIME", "RETRY_TIMES"),
        ("RETRY_TIMESS", "RETRY_TIMES"),
        ("CONCURENT_REQUEST", "CONCURRENT_REQUESTS"),
        ("USER_AGNET", "USER_AGENT"),
        ("USER_AGENTZ", "USER_AGENTS"),
        ("REDIS_URI", "REDIS_URL"),
        ("FEED", "FEEDS"),
    ],
)
def test_a_misspelt_name_is_refused_with_the_likely_one(name: str, meant: str) -> None:
    for own_allowed in (True, False):
        with pytest.raises(SettingsError, match=rf"no option {name} \(project\): did you mean {meant}\?"):
            check_names([name], KNOWN, "project", own_allowed=own_allowed)


def test_own_names_are_allowed_in_a_project_alone() -> None:
    check_names(["MY_SHOP", "FO", "BAR", "RETRY_TIMES", "REDIS"], KNOWN, "project", own_allowed=True)
    with pytest.raises(SettingsError, match=r"no option MY_SHOP \(-s\); `octopus settings` lists them all"):
        check_names(["MY_SHOP"], KNOWN, "-s", own_allowed=False)


def test_all_wrong_names_are_told_at_once() -> None:
    with pytest.raises(SettingsError) as error:
        check_names(["RETRY_TIME", "FEEDS", "MY_SHOP"], KNOWN, "-s", own_allowed=False)
    assert len(str(error.value).splitlines()) == 2


def test_the_environment_sets_options_but_for_what_is_reserved(monkeypatch: pytest.MonkeyPatch) -> None:
    before = environment()
    monkeypatch.setenv("OCTOPUS_RETRY_TIMES", "7")
    monkeypatch.setenv("OCTOPUS_WEB_TOKEN", "x")
    monkeypatch.setenv("RETRY_TIMES", "8")

    assert {name: value for name, value in environment().items() if name not in before} == {"RETRY_TIMES": "7"}


# Secrets


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("HTTPAUTH_PASS", "geheim", "'***'"),
        ("HTTPAUTH_PASS", "", "''"),
        ("MYSQL_PASSWORD", 12345, "'***'"),
        ("API_TOKEN", b"geheim", "'***'"),
        ("AWS_SECRET_ACCESS_KEY", "geheim", "'***'"),
        ("OPENAI_API_KEY", "geheim", "'***'"),
        ("SECRETS", {"a": "geheim"}, "'***'"),
        ("HTTP_PROXY", "http://user:geheim@proxy:8080", "'http://***@proxy:8080'"),
        ("HTTP_PROXY", "socks5://user:ge/he@im@proxy:1080/", "'socks5://***@proxy:1080/'"),
        ("REDIS_URL", "redis://:ge'heim@redis:6379/0", "'redis://***@redis:6379/0'"),
        ("MONGO_URI", "mongodb://u:geheim@a:1,b:2/db", "'mongodb://***@a:1,b:2/db'"),
        ("PROXY_POOL_URL", "http://pool/?n=1&token=geheim&x=2", "'http://pool/?n=1&token=***&x=2'"),
        ("PROXIES", ["http://a:geheim@b", "c"], "['http://***@b', 'c']"),
        ("PROXIES", ("http://a:geheim@b", 1), "('http://***@b', 1)"),
        (
            "DEFAULT_REQUEST_HEADERS",
            {"Authorization": "Basic x", "cookie": "a=b", "A": "b"},
            "{'Authorization': '***', 'cookie': '***', 'A': 'b'}",
        ),
        (
            "ITEM_PIPELINES",
            {"a.B": {"order": 1, "password": "x", "dsn": "pg://u:p@h/d"}},
            "{'a.B': {'order': 1, 'password': '***', 'dsn': 'pg://***@h/d'}}",
        ),
        ("FEEDS", {"ftp://u:p@h/x": {"format": "csv"}}, "{'ftp://***@h/x': {'format': 'csv'}}"),
        ("COOKIES_ENABLED", True, "True"),
        ("COOKIES_FILE", "cookies.txt", "'cookies.txt'"),
        ("BYPASS", "shown", "'shown'"),
        ("START", "http://example.com/a@b?x=1", "'http://example.com/a@b?x=1'"),
        ("RETRY_TIMES", 2, "2"),
    ],
)
def test_what_is_secret_is_not_shown(name: str, value: Any, shown: str) -> None:
    assert masked(name, value) == shown
