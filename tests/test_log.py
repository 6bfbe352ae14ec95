"""The log: one line for each record whatever it holds, no secret in it, and files that can be rotated."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import os
import signal

import pytest

from openoctopus import Spider, crawl
from openoctopus.exceptions import SettingsError
from openoctopus.log import hiding, safe, writing
from openoctopus.settings import Settings

HOSTILE = {
    "newline": "title\n2026-01-01 00:00:00 INFO    octopus: all is well",
    "carriage return": "title\rINFO all is well",
    "ANSI": "\x1b[2J\x1b[31mred\x1b]0;owned\x07",
    "C1": "\x9b31mred\x85next",
    "line separators": "a\u2028b\u2029c\x0bd\x0ce\x1cf",
    "bidi": "user\u202etxt.exe\u2066\u2069\u200f",
    "lone surrogates": "\ud800 half \udfff",
    "nul": "a\x00b",
    "percent": "100 % %s %(name)s {} {0}",
    "10 MB": "x" * 10_000_000,
    "10 MB of hostile": "\x1b[31m://@" * 1_500_000,
    "emoji and Chinese": "新闻 📰 naïve",
}


class Stream(io.StringIO):
    """Standard error that is, or is not, a terminal."""

    def __init__(self, *, terminal: bool = False) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


def logged(*records, stream: Stream | None = None, **options) -> str:
    """What is written when these records are logged."""
    stream = stream or Stream()
    with writing(Settings(**options), stream):
        for record in records:
            record(logging.getLogger("octopus.test"))
    return stream.getvalue()


def fails(text: str):
    def log(logger: logging.Logger) -> None:
        try:
            raise ValueError(text)
        except ValueError:
            logger.exception("failed")

    return log


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_record_is_one_line_of_limited_length(text):
    written = logged(lambda logger: logger.warning("%s", text))

    assert written.endswith("\n")
    assert len(written.splitlines()) == 1
    assert len(written) < 4200
    assert not [c for c in written[:-1] if ord(c) < 32 or 127 <= ord(c) < 160 or 0xD800 <= ord(c) < 0xE000]
    written.encode("utf-8")


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_nothing_in_a_traceback_looks_like_a_record(text):
    first, *rest = logged(fails(text)).splitlines()

    assert first.endswith(" ERROR   octopus.test: failed")
    assert all(line.startswith("    ") for line in rest)
    assert len(rest) < 100
    assert max(map(len, rest)) < 4200


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_line_of_json_is_whole_whatever_it_holds(text):
    written = logged(lambda logger: logger.warning("%s", text, extra={"page": {"title": text, text[:9]: 1}}), LOG_JSON=True)

    assert len(written.splitlines()) == 1
    line = json.loads(written)
    assert (line["level"], line["logger"]) == ("WARNING", "octopus.test")
    expected = "".join("\ufffd" if 0xD800 <= ord(c) < 0xE000 else c for c in text[:4096])
    if "://@" not in text:
        assert line["message"] == expected
        assert line["page"]["title"] == expected
    written.encode("utf-8")


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_traceback_in_json_is_a_text_of_its_own(text):
    line = json.loads(logged(fails(text), LOG_JSON=True))

    assert line["message"] == "failed"
    assert line["exception"].startswith("Traceback (most recent call last):\n")
    assert "ValueError: " in line["exception"]
    assert len(line["exception"]) < 20_000


def test_what_json_cannot_say_is_said_in_words():
    given = {"nan": float("nan"), "ratio": 0.5, "none": None, "tags": ("a", 1), "thing": object, "time": "mine"}
    line = json.loads(logged(lambda logger: logger.warning("x", extra=given), LOG_JSON=True))

    assert {name: line[name] for name in ("nan", "ratio", "none", "tags", "thing")} == {
        "nan": "nan", "ratio": 0.5, "none": None, "tags": ["a", 1], "thing": "<class 'object'>",
    }  # fmt: skip
    assert line["time"] != "mine"
    assert line["time"][10] == "T"


def test_a_traceback_that_another_handler_kept_is_not_taken_as_it_is():
    def log(logger: logging.Logger) -> None:
        record = logger.makeRecord("octopus.test", logging.ERROR, "f", 1, "failed", (), (ValueError, ValueError("x"), None))
        record.exc_text = "kept\nFORGED"
        logger.handle(record)

    assert "FORGED" not in logged(log)


# Secrets


CANARY = "c4n4ry-pass"


@pytest.mark.parametrize(
    "text",
    [
        f"http://user:{CANARY}@example.com/page",
        f"socks5://{CANARY}@proxy:1080",
        f"redis://:{CANARY}@127.0.0.1:6379/0 refused",
        f"http://user:p@ss{CANARY}@example.com/",
        f"two: http://a:{CANARY}@x/ and https://b:{CANARY}@y/",
        f"http://example.com/?access_token={CANARY}&page=2",
        f"http://example.com/?a=1&API_KEY={CANARY}",
        f"http://example.com/?password={CANARY}#top",
    ],
)
def test_secrets_in_urls_are_masked(text):
    assert CANARY not in safe(text)
    assert "***" in safe(text)
    for options in ({}, {"LOG_JSON": True}):
        assert CANARY not in logged(lambda logger: logger.warning("got %s", text), fails(text), **options)


@pytest.mark.parametrize("text", ["http://example.com/@user/page?monkey=1", "mail me@example.com", "a://b", "x=1&token"])
def test_what_is_no_secret_stays(text):
    assert safe(text) == text


@pytest.mark.parametrize(
    "options",
    [
        {"HTTPAUTH_PASS": CANARY},
        {"HTTP_PROXY": f"http://me:{CANARY}@proxy:8080"},
        {"SHOP_TOKEN": CANARY},
        {"ITEM_PIPELINES": {"p.Store": {"order": 1, "password": CANARY}}},
        {"DEFAULT_REQUEST_HEADERS": {"Authorization": CANARY}},
        {"DATABASES": [{"url": f"mysql://root:{CANARY}@db/x"}]},
    ],
    ids=lambda options: next(iter(options)),
)
def test_a_secret_of_the_settings_is_masked_wherever_it_turns_up(options):
    def log(logger: logging.Logger) -> None:
        logger.warning("cannot log in as me/%s at shop", CANARY)
        logger.warning("x", extra={"headers": {"auth": CANARY}})

    for own in (options, {**options, "LOG_JSON": True}):
        written = logged(log, fails(f"access denied ({CANARY})"), **own)
        assert CANARY not in written
        assert "me/*** at shop" in written


def test_a_short_password_masks_no_innocent_words():
    assert hiding(Settings(HTTPAUTH_PASS="page"))("a page of pages") == "a page of pages"


# Layout and levels


def test_level_and_layout_are_those_of_the_settings():
    def log(logger: logging.Logger) -> None:
        logger.info("quiet")
        logger.error("loud")

    assert logged(log, LOG_LEVEL="ERROR", LOG_FORMAT="%(levelname)s|%(message)s") == "ERROR|loud\n"
    assert logged(log, LOG_FORMAT="%(asctime)s %(message)s", LOG_DATEFORMAT="at").splitlines() == ["at quiet", "at loud"]


@pytest.mark.parametrize("layout", ["no field", "%(nothing)s", "%(levelno)z"])
def test_a_layout_that_fits_no_record_is_refused(layout):
    with pytest.raises(SettingsError, match="LOG_FORMAT"):
        logged(LOG_FORMAT=layout)


@pytest.mark.parametrize("layout", ["%Q", "%H:%M:%S.%f", "at %", "%Y%_", "%E"])
def test_a_time_that_strftime_does_not_know_is_refused(layout):
    with pytest.raises(SettingsError, match="LOG_DATEFORMAT"):
        logged(LOG_DATEFORMAT=layout)


@pytest.mark.parametrize("layout", ["", "100%%", "%d.%m.%Y %H:%M:%S %z", "%c %A %B %j %U %p", "时间 %H时%M分"])
def test_a_time_that_strftime_knows_is_not(layout):
    assert logged(lambda logger: logger.error("x"), LOG_DATEFORMAT=layout)


def test_everything_is_as_before_afterwards():
    root = logging.getLogger()
    before = root.level, list(root.handlers), logging.getLogger("asyncio").level

    logged(lambda logger: logger.info("x"), LOG_LEVEL="DEBUG")

    assert (root.level, list(root.handlers), logging.getLogger("asyncio").level) == before


def test_colours_are_for_terminals_that_want_them(monkeypatch):
    def log(logger: logging.Logger) -> None:
        logger.info("plain")
        logger.error("red")

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    plain, red = logged(log, stream=Stream(terminal=True)).splitlines()
    assert "\x1b" not in plain
    assert red.startswith("\x1b[31m")
    assert red.endswith("red\x1b[0m")

    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in logged(log, stream=Stream(terminal=True))
    assert "\x1b" not in logged(log)


# Files


def write(path, *texts: str, **options) -> None:
    with writing(Settings(LOG_FILE=str(path), LOG_FORMAT="%(message)s", **options)):
        for text in texts:
            logging.getLogger("octopus.test").info("%s", text)


def test_a_file_is_appended_to_and_its_folder_made(tmp_path):
    path = tmp_path / "log" / "octopus.log"
    write(path, "one", "二")
    write(path, "three")

    assert path.read_text("utf-8") == "one\n二\nthree\n"


def test_a_file_that_was_moved_away_is_opened_anew(tmp_path):
    path, moved = tmp_path / "octopus.log", tmp_path / "octopus.log.1"
    logger = logging.getLogger("octopus.test")
    with writing(Settings(LOG_FILE=str(path), LOG_FORMAT="%(message)s")):
        logger.info("one")
        path.rename(moved)
        logger.info("two")
        logger.info("three")

    assert moved.read_text() == "one\n"
    assert path.read_text() == "two\nthree\n"


@pytest.mark.parametrize("options", [{}, {"LOG_MAX_MB": 1}], ids=["watched", "rotating"])
def test_sighup_opens_the_file_anew(tmp_path, options):
    path, moved = tmp_path / "octopus.log", tmp_path / "octopus.log.1"
    logger, before = logging.getLogger("octopus.test"), signal.getsignal(signal.SIGHUP)
    with writing(Settings(LOG_FILE=str(path), LOG_FORMAT="%(message)s", **options)):
        logger.info("one")
        path.rename(moved)
        os.kill(os.getpid(), signal.SIGHUP)
        logger.info("two")

    assert (moved.read_text(), path.read_text()) == ("one\n", "two\n")
    assert signal.getsignal(signal.SIGHUP) == before


def test_an_ignored_sighup_stays_ignored(tmp_path):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with writing(Settings(LOG_FILE=str(tmp_path / "octopus.log"))):
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_file_is_rotated_at_its_size_and_only_so_many_are_kept(tmp_path):
    write(tmp_path / "octopus.log", *[f"{n:03} {'x' * 995}" for n in range(60)], LOG_MAX_MB=0.01, LOG_BACKUPS=2)

    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == ["octopus.log", "octopus.log.1", "octopus.log.2"]
    assert max(file.stat().st_size for file in files) <= 10_000
    lines = [line for file in reversed(files) for line in file.read_text().splitlines()]
    assert [int(line[:3]) for line in lines] == list(range(60 - len(lines), 60))


def test_a_file_that_cannot_be_written_is_refused(tmp_path):
    with pytest.raises(SettingsError, match=f"cannot write the log to {tmp_path}: "):
        write(tmp_path, "x")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_told_once_and_ends_nothing(capsys):
    write("/dev/full", "one", "two", "three")

    assert capsys.readouterr().err == "octopus: the log cannot be written to /dev/full: No space left on device\n"


async def test_crawls_at_once_in_one_process_share_the_log_and_add_nothing_to_it():
    class Quick(Spider):
        async def start(self):
            yield {"n": self.name}

    handlers, stream = list(logging.getLogger().handlers), Stream()
    with writing(Settings(), stream):
        await asyncio.gather(crawl(Quick, name="one"), crawl(Quick, name="two"))

    written = stream.getvalue()
    assert [written.count(f"{name} {word}") for name in ("one", "two") for word in ("begins", "ended")] == [1] * 4
    assert logging.getLogger().handlers == handlers
