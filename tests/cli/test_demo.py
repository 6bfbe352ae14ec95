"""``octopus demo`` and ``octopus bench``: what comes along to be looked at."""

from __future__ import annotations

import json
import re
import time

from openoctopus.testing.news import NewsSite


async def test_the_demo_finds_every_article_and_says_what_was_hard(octopus):
    started = time.monotonic()
    ran = await octopus("demo")

    expected = NewsSite().expected_articles
    items = [json.loads(line) for line in (octopus.folder / "demo-items.jsonl").read_text("utf-8").splitlines()]
    assert time.monotonic() - started < 30
    assert ran.code == 0
    assert {(item["title"], item["author"]) for item in items} == {(one.title, one.author) for one in expected}
    assert f"{len(expected)} of {len(expected)} articles are in demo-items.jsonl" in ran.out
    summary = ran.err[ran.err.index("news: finished") :]
    assert re.search(r"errors     1 × status 500: http://127\.0\.0\.1:\d+/", summary)
    assert re.search(r"slowest    127\.0\.0\.2 \d+ ms, 127\.0\.0\.1", summary)
    assert "limit      politeness: " in summary
    assert "2 dropped: no text" in summary


async def test_the_demo_shows_live_progress_on_a_terminal(octopus):
    impatient = ("-s", "AUTOTHROTTLE_MAX_DELAY=0", "-s", "RETRY_AFTER_MAX=0.1", "-s", "RETRY_DELAY=0.1")
    ran = await octopus.on_terminal("demo", "-O", "found.json", *impatient)

    assert ran.code == 0
    assert "Ctrl-C ends it" in ran.err
    assert "busiest hosts" in ran.err
    assert "\x1b[?25l" not in ran.err, "a hidden cursor would stay hidden if the process were killed"
    assert len(json.loads((octopus.folder / "found.json").read_text("utf-8"))) == len(NewsSite().expected_articles)


async def test_the_bench_tells_pages_per_second_and_where_the_time_goes(octopus):
    ran = await octopus("bench", "--pages", "300", "--concurrency", "16")

    assert ran.code == 0
    assert re.match(r"pages +300 in \d+\.\d s\npages/s +[\d,]+\nprocessor +[\d,]+ µs a page, \d+% of a core\n", ran.out)
    assert [line.split()[0] for line in ran.out.splitlines()[3:]] == ["reading", "storing", "HTTP,"]
