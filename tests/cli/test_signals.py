"""What Ctrl-C and SIGTERM do to a crawl: items found until then are in a whole file, and a summary is printed."""

from __future__ import annotations

import json
import signal
import sys
import time

import pytest

from openoctopus.testing import Site, slowly


@pytest.fixture
def slow_pages(site: Site) -> Site:
    """The front page links to nine quick pages, and then to nine that take 20 seconds."""
    site.pages["/"] = "".join(f"<a href='{path}{n}'>{n}</a>" for path in ("/", "/slow/") for n in range(1, 10))
    return site


async def test_ctrl_c_completes_what_is_under_way(octopus, site, links):
    site.pages["/"] = "".join(f"<a href='/slow/{n}'>{n}</a>" for n in range(1, 10))
    for n in range(1, 10):
        site.pages[f"/slow/{n}"] = slowly(1.0, f"<h1>Page {n}</h1>")
    crawl = await octopus.start(*links("-O", "items.json", "-s", "CONCURRENT_REQUESTS=3", "-s", "LOGSTATS_INTERVAL=0.1"))
    await crawl.until("3 under way")

    crawl.send(signal.SIGINT)
    ran = await crawl.end()

    assert ran.code == 3
    assert len(json.loads((octopus.folder / "items.json").read_text())) == 3
    assert "SIGINT: completing what is under way; once more to hurry" in ran.err
    assert "links: shutdown after" in ran.err
    assert "6 left" in ran.err


@pytest.mark.parametrize("output", ["items.json", "items.jsonl"])
async def test_a_second_ctrl_c_hurries(octopus, slow_pages, links, output):
    octopus.write(output, "old")
    crawl = await octopus.start(*links("-O", output, "-s", "LOGSTATS_INTERVAL=0.1"))
    await crawl.until("9 items")

    crawl.send(signal.SIGINT)
    await crawl.until("once more to hurry")
    started = time.monotonic()
    crawl.send(signal.SIGINT)
    ran = await crawl.end()

    assert time.monotonic() - started < 5
    assert ran.code == 3
    text = (octopus.folder / output).read_text()
    items = json.loads(text) if output == "items.json" else [json.loads(line) for line in text.splitlines()]
    assert sorted(item["title"] for item in items) == [f"Page {n}" for n in range(1, 10)]
    assert {path.name for path in octopus.folder.glob("items*")} == {output}
    assert "9 left" in ran.err


async def test_a_third_ctrl_c_breaks_off_even_while_a_callback_computes(octopus):
    octopus.write("stuck.py", STUCK)
    crawl = await octopus.start("runspider", "stuck.py")
    await crawl.until("computing")

    for _ in range(3):
        crawl.send(signal.SIGINT)
        time.sleep(0.05)
    ran = await crawl.end()

    assert ran.code == 130


STUCK = """
import time
from openoctopus import Spider

class Stuck(Spider):
    async def start(self):
        self.logger.info("computing")
        began = time.monotonic()
        while time.monotonic() - began < 20:
            pass
        yield
"""


async def test_sigterm_drains_for_a_while_and_then_hurries(octopus, slow_pages, links):
    crawl = await octopus.start(*links("-O", "items.json", "-s", "LOGSTATS_INTERVAL=0.1", "-s", "DRAIN_SECONDS=0.5"))
    await crawl.until("9 items")

    started = time.monotonic()
    crawl.send(signal.SIGTERM)
    ran = await crawl.end()

    assert 0.4 < time.monotonic() - started < 5
    assert ran.code == 3
    assert len(json.loads((octopus.folder / "items.json").read_text())) == 9
    assert "SIGTERM: completing what is under way" in ran.err
    assert "0.5 seconds are over: what is under way goes back to the queue" in ran.err
    assert "9 left" in ran.err


async def test_a_closed_terminal_ends_a_crawl_like_sigterm(octopus, slow_pages, links):
    crawl = await octopus.start(*links("-s", "LOGSTATS_INTERVAL=0.1", "-s", "DRAIN_SECONDS=0"))
    await crawl.until("9 items")

    crawl.send(signal.SIGHUP)
    ran = await crawl.end()

    assert ran.code == 3
    assert "SIGHUP: completing what is under way" in ran.err


async def test_ctrl_c_before_the_first_answer_is_no_failure(octopus, site, links):
    crawl = await octopus.start(*links("-s", "LOGSTATS_INTERVAL=0.1", "-s", "DRAIN_SECONDS=0", path="/slow/1"))
    await crawl.until("1 under way")

    crawl.send(signal.SIGINT)

    assert (await crawl.end()).code == 3


async def test_run_in_a_script_is_ended_by_ctrl_c_too(octopus, slow_pages):
    octopus.write("script.py", SCRIPT)
    octopus.line = lambda *arguments: [sys.executable, *arguments]
    crawl = await octopus.start("script.py", slow_pages.url())
    await crawl.until("found 9")

    crawl.send(signal.SIGINT)
    ran = await crawl.end()

    assert ran.code == 0
    assert ran.out == "shutdown 9\nback to Python's own: True\n"


SCRIPT = """
import signal
import sys
import openoctopus
from openoctopus.extensions import Extension


class Tell(Extension):
    found = 0

    def item_stored(self, item, spider):
        self.found += 1
        print("found", self.found, file=sys.stderr, flush=True)


class Links(openoctopus.Spider):
    start_urls = [sys.argv[1]]

    def parse(self, response):
        yield from response.follow_all(css="a", callback=self.parse_page)

    def parse_page(self, response):
        yield {"url": response.url}


result = openoctopus.run(Links, DRAIN_SECONDS=0.1, EXTENSIONS={Tell: 1}, keep_items=True)
print(result.reason, len(result.items))
print("back to Python's own:", signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""
