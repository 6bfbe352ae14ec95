"""Wrong use is told in a line or two on standard error, and ends with code 2."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from openoctopus.cli.main import main

SPIDERS = """
from openoctopus import Spider


class News(Spider):
    name = "news"

    def __init__(self, section, pages=1):
        super().__init__()
        self.pages = int(pages)


class Sport(Spider):
    name = "sport"


class Mute(Spider):
    name = "mute"
    start_urls = ["http://127.0.0.1:59998/"]


class Plain:
    pass


def function():
    pass
"""

#: What a person types, and what is said about it.
MISTAKES = {
    "an unknown command": ("runspidr", "no such command 'runspidr'. Did you mean 'runspider'?"),
    "an unknown option": ("runspider sport --progess", "no such option --progess: did you mean --progress?"),
    "no spider": ("runspider", "missing argument 'SPIDER'."),
    "no file for -o": ("runspider sport -o", "option '-o' requires an argument."),
    "an unknown spider": ("runspider nevs", "no spider 'nevs' in {folder}; did you mean news?\nthere are: mute, news, sport"),
    "a missing file": ("runspider gone.py", "there is no file gone.py"),
    "two spiders in a file": (
        "runspider spiders/all.py",
        "spiders/all.py has several spiders (News, Sport, Mute): say which one, as spiders/all.py:News",
    ),
    "an unknown class": (
        "runspider spiders/all.py:Weather",
        "spiders/all.py has no spider 'Weather'; there are: News, Sport, Mute",
    ),
    "a file without spiders": (
        "runspider settings.py",
        "settings.py has no spider: a class derived from openoctopus.Spider",
    ),
    "a misspelt setting": (
        "runspider sport -s DOWNLAOD_DELAY=1",
        "no option DOWNLAOD_DELAY (command line): did you mean DOWNLOAD_DELAY?",
    ),
    "an unknown setting": (
        "runspider sport -s SUNSHINE=1",
        "no option SUNSHINE (command line); `octopus settings` lists them all",
    ),
    "a setting without a value": ("runspider sport -s DOWNLOAD_DELAY", "-s takes NAME=VALUE, not 'DOWNLOAD_DELAY'"),
    "a value of another type": (
        "runspider sport -s RETRY_TIMES=often",
        "RETRY_TIMES must be a whole number, not 'often' (command line)",
    ),
    "an unknown level": (
        "runspider sport -L LOUD",
        "LOG_LEVEL must be 'DEBUG', 'INFO', 'WARNING', 'ERROR' or 'CRITICAL', not 'LOUD' (command line)",
    ),
    "a log format that fits no record": (
        "runspider sport -s LOG_FORMAT=%(spider)s",
        "LOG_FORMAT = '%(spider)s' fits no record: Formatting field not found in record: 'spider'",
    ),
    "an argument that the spider does not take": (
        "runspider news -a section=world -a page=2",
        "News got an unexpected keyword argument 'page'; the arguments (-a) that it takes: section, pages",
    ),
    "an argument that is missing": (
        "runspider news",
        "News missing a required argument: 'section'; the arguments (-a) that it takes: section, pages",
    ),
    "an argument that the spider cannot use": (
        "runspider news -a section=world -a pages=many",
        "News cannot be made: spiders/all.py:10: ValueError: invalid literal for int() with base 10: 'many'",
    ),
    "the same output twice": ("runspider sport -o a.jsonl -O ./a.jsonl", "two outputs write to one place: output ./a.jsonl"),
    "an unknown format": (
        "runspider sport -o items.xyz",
        "items.xyz: the name does not tell the format; write items.xyz:jsonl (or :json, :csv), or give a format",
    ),
    "a folder that cannot be made": (
        "runspider sport -o settings.py/items.jsonl",
        "cannot write to settings.py/items.jsonl: {folder}/settings.py is a file and no folder",
    ),
    "a log that cannot be written": (
        "runspider sport -s LOG_FILE=settings.py/log",
        "cannot write the log to settings.py/log: {folder}/settings.py is a file and no folder",
    ),
    "a downloader that is not there": (
        "runspider sport -s DOWNLOADER=no.such.Thing",
        "cannot load 'no.such.Thing': there is no module no",
    ),
    "a downloader that nobody knows": (
        "runspider sport -s DOWNLOADER=foo",
        "DOWNLOADER = 'foo': write aiohttp or http, or package.module.Name",
    ),
    "a downloader that is none": (
        "runspider sport -s DOWNLOADER=spiders.all.Plain",
        "DOWNLOADER = 'spiders.all.Plain' is no class derived from openoctopus.downloaders.base.Downloader",
    ),
    "another downloader that is not there": (
        'runspider sport -s DOWNLOADERS={"mine":"spiders.all.Gone"}',
        "cannot load 'spiders.all.Gone': spiders.all has no Gone",
    ),
    "a scheduler that is none": (
        "runspider sport -s SCHEDULER=spiders.all.function",
        "SCHEDULER = 'spiders.all.function' is no class derived from openoctopus.scheduler.base.Scheduler",
    ),
    "a dupefilter that is none": (
        "runspider sport -s DUPEFILTER_CLASS=spiders.all.Plain",
        "DUPEFILTER_CLASS = 'spiders.all.Plain' is no class derived from openoctopus.dupefilter.RFPDupeFilter",
    ),
    "a spider that reads nothing": ("runspider mute", "Mute has no parse method to read its start_urls"),
    "a proxy that is none": (
        "runspider sport -s HTTP_PROXY=ftp://me:hush@127.0.0.1:1",
        "HTTP_PROXY: no proxy: 'ftp://***@127.0.0.1:1'; write it as http://host:port or socks5://host:port",
    ),
    "a proxy without a host": ("runspider sport -s HTTP_PROXY=http://", "HTTP_PROXY: no proxy: 'http://'; "),
    "a name server that is no address": (
        "runspider sport -s DNS_SERVERS=foo",
        "DNS_SERVERS = ['foo']: addresses are needed",
    ),
    "a user agent that breaks its line": (
        "runspider sport -s USER_AGENT=a\x07b",
        "USER_AGENT: 'a\\x07b' cannot be sent: a User-Agent is one line of latin-1",
    ),
    "a user agent beyond latin-1": (
        "runspider sport -s USER_AGENT=\u722c\u866b",
        "USER_AGENT: '\u722c\u866b' cannot be sent: a User-Agent is one line of latin-1",
    ),
    "one of several user agents": (
        'runspider sport -s USER_AGENTS=["fine","\u722c"]',
        "USER_AGENTS: '\u722c' cannot be sent: a User-Agent is one line of latin-1",
    ),
    "a header that breaks its line": (
        'runspider sport -s DEFAULT_REQUEST_HEADERS={"X":"a\\u0007b"}',
        "DefaultHeadersMiddleware cannot be made: ",
    ),
    "a name that is no project's": (
        "startproject 1st",
        "'1st' cannot be a project's name: letters, digits and _, beginning with a letter",
    ),
    "a folder that is not empty": ("startproject spiders", "spiders is there already and not empty"),
    "an unknown option to be shown": ("settings download_delay", "no option download_delay: did you mean DOWNLOAD_DELAY?"),
    "too few pages": ("bench --pages 1", "invalid value for '--pages': Input should be greater than or equal to 3"),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project, and a process that forgets it afterwards."""
    (tmp_path / "settings.py").write_text("RETRY_TIMES = 1\n")
    (tmp_path / "spiders").mkdir()
    (tmp_path / "spiders" / "all.py").write_text(SPIDERS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = dict(sys.modules)
    yield tmp_path
    for name in sys.modules.keys() - before.keys():
        del sys.modules[name]


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Callable[[str], str]:
    """What the command says on standard error, after it ended with code 2."""

    def run(line: str) -> str:
        assert main(line.split()) == 2
        out, err = capsys.readouterr()
        assert out == ""
        return err

    return run


@pytest.mark.parametrize(("line", "words"), MISTAKES.values(), ids=MISTAKES)
def test_wrong_use_is_told(folder, said, line, words):
    told = [one for one in said(line).splitlines() if not one.startswith("Try `octopus")]

    assert "\n".join(told).startswith("octopus: " + words.format(folder=folder))
    assert len(told) <= 2


BROKEN = {
    "SyntaxError": ("def parse(self:\n    pass\n", "spiders/broken.py:1: '(' was never closed\n    def parse(self:"),
    "NameError": ("x = 1\ny = z\n", "spiders/broken.py:2: NameError: name 'z' is not defined\n    y = z"),
    "ModuleNotFoundError": (
        "import no_such_library\n",
        "spiders/broken.py:1: ModuleNotFoundError: No module named 'no_such_library'\n    import no_such_library",
    ),
}


@pytest.mark.parametrize(("text", "words"), BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("spider", ["broken", "spiders/broken.py"])
def test_a_spider_that_cannot_be_loaded_is_told_with_its_line_and_not_ours(folder, said, text, words, spider):
    (folder / "spiders" / "broken.py").write_text(text)

    err = said(f"runspider {spider}")

    assert words in err
    assert "Traceback" not in err
    assert "openoctopus/" not in err


SINGLE = ("DOWNLOADER", "SCHEDULER", "DUPEFILTER_CLASS")
FAMILIES = ("DOWNLOADER_MIDDLEWARES", "SPIDER_MIDDLEWARES", "ITEM_PIPELINES", "EXTENSIONS")


@pytest.mark.parametrize("option", SINGLE + FAMILIES)
@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("no.such.Thing", "cannot load 'no.such.Thing': there is no module no"),
        ("spiders.all.Gone", "cannot load 'spiders.all.Gone': spiders.all has no Gone"),
        ("spiders.all.function", " is no class"),
        ("broken.Thing", "broken.py:1: NameError: name 'undefined' is not defined\n    x = undefined"),
    ],
)
def test_a_plugin_that_cannot_be_had_is_told_whatever_names_it(folder, said, option, path, words):
    (folder / "broken.py").write_text("x = undefined\n")
    value = path if option in SINGLE else f'{{"{path}":1}}'

    err = said(f"runspider sport -s {option}={value}")

    assert words in err
    assert "Traceback" not in err
    assert len(err.splitlines()) <= 2


@pytest.mark.parametrize("variable", ["http_proxy", "ALL_PROXY"])
def test_a_proxy_of_the_environment_that_is_none_is_told_with_its_variable(folder, said, monkeypatch, variable):
    monkeypatch.setenv(variable, "gopher://127.0.0.1:70")

    assert f"{variable.lower()} of the environment: no proxy: 'gopher://127.0.0.1:70'" in said("runspider sport")


def test_settings_that_cannot_be_loaded_are_told_with_their_line(folder, said):
    (folder / "settings.py").write_text("RETRY_TIMES = 1\nUSER_AGENT = name\n")

    assert said("list") == "octopus: settings.py:2: NameError: name 'name' is not defined\n    USER_AGENT = name\n"


def test_a_library_that_is_missing_is_told_with_how_to_install_it(folder, said, monkeypatch):
    monkeypatch.setitem(sys.modules, "aiodns", None)

    assert "pip install 'openoctopus[dns]'" in said("runspider sport -s DNS_SERVERS=127.0.0.1 -s DOWNLOADER=aiohttp")


def test_what_is_told_is_safe_for_a_terminal(folder, capsys):
    assert main(["runspider", "a\x1b[31m\nb"]) == 2
    assert "'a\\x1b[31m\\nb'" in capsys.readouterr().err


def test_without_arguments_the_commands_are_listed_with_a_line_each(capsys):
    assert main([]) == 0

    out = capsys.readouterr().out
    commands = out.partition("Commands:\n")[2].partition("\n\n")[0].splitlines()
    assert [line.split()[0] for line in commands] == [
        "runspider",
        "jobs",
        "queue",
        "why",
        "list",
        "startproject",
        "settings",
        "publish",
        "demo",
        "bench",
        "version",
        "failed",
    ]
    assert max(map(len, out.splitlines())) < 80
