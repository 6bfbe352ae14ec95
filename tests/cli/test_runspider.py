"""``octopus runspider`` from its arguments to its exit code."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys

import pytest

from openoctopus.testing import Site


async def test_items_are_in_the_file_and_the_summary_says_what_was_done(octopus, links):
    ran = await octopus(*links("-o", "items.jsonl"))

    items = [json.loads(line) for line in (octopus.folder / "items.jsonl").read_text().splitlines()]
    assert sorted(item["title"] for item in items) == [f"Page {n}" for n in range(1, 10)]
    assert ran.code == 0
    assert ran.out == ""
    assert "links: finished after" in ran.err
    assert "pages      10 (" in ran.err
    assert "items      9 (" in ran.err
    assert "statuses   10 × 200\n" in ran.err
    assert ran.err.splitlines()[-1].startswith("  limit      "), "nothing is said after the summary"


@pytest.mark.parametrize("alias", ["crawl", "run"])
async def test_the_known_names_of_the_command_work_too(octopus, links, alias):
    ran = await octopus(alias, *links("-O", "items.json")[1:])

    assert ran.code == 0
    assert len(json.loads((octopus.folder / "items.json").read_text())) == 9


async def test_the_installed_command_is_the_same(octopus):
    script = os.path.join(os.path.dirname(sys.executable), "octopus")
    assert subprocess.run([script, "version"], capture_output=True, text=True).stdout == (await octopus("version")).out


async def test_items_go_to_standard_output_and_everything_else_to_standard_error(octopus, links):
    ran = await octopus(*links("-o", "-"))

    assert len([json.loads(line) for line in ran.out.splitlines()]) == 9
    assert "links begins" in ran.err


async def test_a_reader_that_has_enough_ends_the_crawl_without_noise(octopus, links):
    octopus.write("endless.py", ENDLESS)
    command = f"{' '.join(octopus.line('runspider', 'endless.py', '-o', '-', '--no-progress'))} | head -1"

    shell = await asyncio.create_subprocess_shell(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=octopus.folder, env=octopus.variables()
    )
    async with asyncio.timeout(30):
        out, err = await shell.communicate()

    assert json.loads(out) == {"n": 0}
    assert b"Traceback" not in err


ENDLESS = """
import asyncio
from openoctopus import Spider

class Endless(Spider):
    async def start(self):
        for n in range(1_000_000):
            yield {"n": n}
            await asyncio.sleep(0.001)
"""


async def test_arguments_and_settings_of_the_line_stand_above_those_of_the_spider(octopus):
    octopus.write(
        "told.py",
        "from openoctopus import Spider\n"
        "class Told(Spider):\n"
        "    custom_settings = {'RETRY_TIMES': 5, 'DOWNLOAD_DELAY': 1}\n"
        "    async def start(self):\n"
        "        yield {'word': self.word, 'retries': self.settings.RETRY_TIMES, 'delay': self.settings.DOWNLOAD_DELAY,\n"
        "               'level': self.settings.LOG_LEVEL}\n",
    )
    ran = await octopus("runspider", "told.py", "-a", "word=a=b", "-s", "RETRY_TIMES=7", "-L", "error", "-o", "-")

    assert json.loads(ran.out) == {"word": "a=b", "retries": 7, "delay": 1, "level": "ERROR"}
    assert "INFO" not in ran.err


async def test_a_crawl_that_fetches_nothing_has_failed(octopus, links):
    async with Site({}) as gone:
        url = gone.url()
    ran = await octopus("runspider", "links.py", "-a", f"site={url}", "-s", "RETRY_TIMES=0")

    assert ran.code == 1
    assert f"errors     1 × connection: {url}" in ran.err


async def test_a_start_that_raises_has_failed(octopus):
    octopus.write(
        "broken.py",
        "from openoctopus import Spider\n"
        "class Broken(Spider):\n"
        "    async def start(self):\n"
        "        yield {'n': 1}\n"
        "        raise ValueError('no list of shops')\n",
    )
    ran = await octopus("runspider", "broken.py")

    assert ran.code == 1
    assert "start      start() raised ValueError: no list of shops" in ran.err
    assert "broken.py" in ran.err


async def test_a_spider_that_asks_for_nothing_is_told_so(octopus):
    octopus.write("empty.py", "from openoctopus import Spider\nclass Empty(Spider): ...\n")
    ran = await octopus("runspider", "empty.py")

    assert ran.code == 0
    assert "requests   none: the spider asked for nothing" in ran.err


async def test_a_store_that_cannot_be_opened_has_failed_with_the_line_in_the_project(octopus):
    octopus.write(
        "stored.py",
        "from openoctopus import Spider\n"
        "class Store:\n"
        "    def open_spider(self, spider):\n"
        "        raise RuntimeError('no such database')\n"
        "class Stored(Spider):\n"
        "    custom_settings = {'ITEM_PIPELINES': {Store: 100}}\n",
    )
    ran = await octopus("runspider", "stored.py")

    assert ran.code == 1
    assert "RuntimeError: no such database" in ran.err
    assert 'stored.py", line 4' in ran.err
    assert "openoctopus/cli" not in ran.err


async def test_plain_lines_of_progress_stand_in_the_log_where_there_is_no_terminal(octopus):
    octopus.write("endless.py", ENDLESS)
    ran = await octopus("runspider", "endless.py", "-s", "LOGSTATS_INTERVAL=0.2", "-s", "CLOSESPIDER_TIMEOUT=1")

    lines = [line for line in ran.err.splitlines() if "openoctopus.monitor.progress: 0 pages (0/min), " in line]
    assert 2 <= len(lines) <= 5
    assert "\x1b" not in ran.err


MOVES = "\x1b[J"


async def test_a_terminal_shows_how_it_goes_and_the_log_above(octopus, links):
    ran = await octopus.on_terminal(*links("-o", "items.jsonl"))

    assert ran.code == 0
    assert MOVES in ran.err
    assert "Ctrl-C ends it" in ran.err
    assert "links begins\r\n" in ran.err
    assert "finished after" in ran.err


@pytest.mark.parametrize(("more", "variables"), [(["--no-progress"], {}), ([], {"TERM": "dumb"})], ids=["asked for", "dumb"])
async def test_a_terminal_gets_plain_lines_where_no_view_is_wanted(octopus, links, more, variables):
    ran = await octopus.on_terminal(*links("-o", "items.jsonl", *more), **variables)

    assert MOVES not in ran.err
    assert "links begins" in ran.err
    assert "finished after" in ran.err


async def test_colours_that_ci_forces_make_no_view_in_its_log(octopus, links):
    ran = await octopus(*links("-o", "items.jsonl"), FORCE_COLOR="1")

    assert MOVES not in ran.err
    assert "Ctrl-C" not in ran.err


async def test_items_that_go_to_the_terminal_are_not_torn_by_a_view(octopus, links):
    ran = await octopus.on_terminal(*links("-o", "-"))

    assert MOVES not in ran.err
    assert len([json.loads(line) for line in ran.err.splitlines() if line.startswith("{")]) == 9


async def test_a_view_can_be_asked_for_where_no_terminal_is_seen(octopus, links):
    ran = await octopus(*links("--progress", "-o", "-"))

    assert "Ctrl-C ends it" in ran.err
    assert len(ran.out.splitlines()) == 9


async def test_the_version_names_the_libraries_for_a_report(octopus):
    ran = await octopus("version", "-v")

    assert ran.out.startswith("OpenOctopus 0.1.0\n")
    assert "wreq" in ran.out
    assert "Python" in ran.out
