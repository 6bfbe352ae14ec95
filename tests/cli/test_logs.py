"""What a command writes into its log, and what it never writes anywhere."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path

import pytest

CANARY = "c4n4ry-pass"

HOSTILE = """
from openoctopus import Spider


class Hostile(Spider):
    name = "hostile"

    async def start(self):
        self.logger.warning("title: %s", "a\\nFORGED \\x1b[2J\\u202e\\u2028\\ud800" + "x" * 100_000)
        yield {"n": 1}
        raise ValueError("b\\nFORGED \\x1b[2J")
"""


async def test_every_line_is_json_and_the_last_one_has_the_numbers(octopus):
    octopus.write("hostile.py", HOSTILE)
    ran = await octopus("runspider", "hostile.py", "-s", "LOG_JSON=1")

    lines = [json.loads(line) for line in ran.err.splitlines()]
    assert [line["message"] for line in lines][:1] == ["hostile begins"]
    assert {"time", "level", "logger", "message"} <= set(lines[1])
    assert lines[1]["message"].startswith("title: a\nFORGED \x1b[2J\u202e\u2028\ufffdx")
    assert lines[-1]["message"] == "summary"
    assert lines[-1]["reason"] == "finished"
    assert lines[-1]["stats"]["item_scraped_count"] == 1
    assert "\x1b" not in ran.err


async def test_nothing_that_pages_hold_forges_a_line_or_drives_the_terminal(octopus):
    octopus.write("hostile.py", HOSTILE)
    ran = await octopus("runspider", "hostile.py")

    assert not [line for line in ran.err.splitlines() if line.startswith("FORGED")]
    assert not [c for c in ran.err if ord(c) < 32 and c != "\n"]


async def test_a_log_file_has_the_summary_too_and_the_terminal_only_that(octopus, links):
    ran = await octopus(*links("-s", "LOG_FILE=log/links.log"))

    log = (octopus.folder / "log" / "links.log").read_text()
    assert "openoctopus.crawler: links begins\n" in log
    assert "links: finished after" in log
    assert ran.err.startswith("links: finished after")


async def test_a_log_file_is_opened_anew_while_the_crawl_runs(octopus, links):
    crawl = await octopus.start(*links("-s", "LOG_FILE=links.log", "-s", "LOGSTATS_INTERVAL=0.05", path="/slow/1"))
    log, moved = octopus.folder / "links.log", octopus.folder / "links.log.1"
    await until_written(log, "1 under way")
    log.rename(moved)
    crawl.send(signal.SIGHUP)
    await until_written(log, "1 under way")
    assert crawl.process.returncode is None

    crawl.send(signal.SIGINT)
    await until_written(log, "once more to hurry")
    crawl.send(signal.SIGINT)
    assert (await crawl.end()).code == 3
    assert "links: shutdown after" in log.read_text()
    assert "links begins" in moved.read_text()


async def until_written(log: Path, words: str) -> None:
    async with asyncio.timeout(20):
        while not (log.exists() and words in log.read_text()):
            await asyncio.sleep(0.02)


SECRETIVE = """
from openoctopus import Request, Spider
from openoctopus.downloadermiddlewares import DownloaderMiddleware


class Quoting(DownloaderMiddleware):
    def process_request(self, request, spider):
        spider.logger.info("asking %s with %s", request.url, spider.settings.HTTPAUTH_PASS)
        if request.url.endswith("/raises"):
            raise ValueError(f"bad: {request.url} {spider.settings.HTTPAUTH_PASS}")


class Secretive(Spider):
    name = "secretive"
    custom_settings = {"DOWNLOADER_MIDDLEWARES": {Quoting: 1}, "RETRY_TIMES": 0}

    async def start(self):
        for path in ("", "gone", "raises", "callback"):
            yield Request(self.site.replace("//", "//me:CANARY@") + path)
        yield Request(self.site + "?access_token=CANARY")
        yield Request(self.site + "proxied", meta={"proxy": "http://me:CANARY@127.0.0.1:9/"})
        raise ValueError(f"no answer to {self.settings.HTTPAUTH_PASS}")

    def parse(self, response):
        if "callback" in response.url:
            raise KeyError(response.request.url)
        yield {"url": response.request.url}
""".replace("CANARY", CANARY)


@pytest.mark.parametrize("options", [(), ("-s", "LOG_JSON=1"), ("-s", "LOG_FILE=secret.log")], ids=["lines", "json", "file"])
async def test_no_secret_is_written_anywhere(octopus, site, options):
    octopus.write("secretive.py", SECRETIVE)
    site.pages["/callback"] = "<h1>x</h1>"
    secrets = ("-s", f"HTTPAUTH_PASS={CANARY}", "-s", "HTTPAUTH_USER=me", "-s", f"HTTPAUTH_ORIGIN={site.url('')}")
    ran = await octopus("runspider", "secretive.py", "-a", f"site={site.url()}", "-L", "DEBUG", *secrets, *options)

    log = octopus.folder / "secret.log"
    written = ran.out + ran.err + (log.read_text() if log.exists() else "")
    assert "no answer to ***" in written
    assert "KeyError" in written
    assert "ValueError" in written
    assert CANARY not in written
    assert any(CANARY in str(visit.headers.raw) or "Authorization" in visit.headers for visit in site.log)


LEAKY = """
import asyncio
from openoctopus import Spider

class Leaky(Spider):
    custom_settings = {"MEMUSAGE_LIMIT_MB": 200, "MEMUSAGE_WARNING_MB": 150}

    async def start(self):
        self.kept = []
        for n in range(100):
            self.kept.append(bytearray(8_000_000))
            yield {"n": n}
            await asyncio.sleep(0.1)
"""


async def test_a_crawl_that_takes_too_much_memory_ends_cleanly(octopus):
    octopus.write("leaky.py", LEAKY)
    ran = await octopus("runspider", "leaky.py", "-O", "items.json")

    assert ran.code == 3
    assert "leaky: memusage_exceeded after" in ran.err
    assert "more than MEMUSAGE_WARNING_MB" in ran.err
    assert len(json.loads((octopus.folder / "items.json").read_text())) > 3


async def test_a_callback_that_holds_everything_up_is_named(octopus, site):
    octopus.write("blocking.py", BLOCKING)
    ran = await octopus("runspider", "blocking.py", "-a", f"site={site.url()}", "-s", "CALLBACK_WARN_BLOCKING=0.2")

    warnings = [line for line in ran.err.splitlines() if "has kept the crawl from running" in line]
    assert len(warnings) == 1
    assert f"parse for <GET {site.url()}> has kept the crawl from running for 0.2 s: compute (" in warnings[0]
    assert "blocking.py:13) < parse (" in warnings[0]
    assert ran.code == 0


BLOCKING = """
import time
from openoctopus import Request, Spider

class Blocking(Spider):
    async def start(self):
        yield Request(self.site)

    def parse(self, response):
        self.compute()

    def compute(self):
        time.sleep(0.7)
"""
