"""What parts of a crawl find again when it is resumed: ``spider.state``, cookies, counts, and what a plug-in keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from openoctopus import Request, Result, Spider, crawl
from openoctopus.exceptions import CloseSpider, SettingsError
from openoctopus.extensions import Extension
from openoctopus.pipelines import ItemPipeline
from openoctopus.state import Stateful
from openoctopus.testing import Site

PAGES = 10


class InParts(Spider):
    """Reads one page after the other, and ends at page ``last``."""

    name = "in_parts"
    custom_settings = {"ROBOTSTXT_OBEY": False, "CONCURRENT_REQUESTS": 1}
    url = ""
    last = 4

    async def start(self):
        yield Request(f"{self.url}1", self.parse, cb_kwargs={"n": 1})

    def parse(self, response, n):
        yield {"n": n}
        if n < PAGES:
            yield Request(f"{self.url}{n + 1}", self.parse, cb_kwargs={"n": n + 1})
        self.read(response, n)
        if n == self.last:
            raise CloseSpider("enough")

    def read(self, response, n): ...


@pytest.fixture
async def site():
    pages: dict[str, Any] = {f"/{n}": "" for n in range(1, PAGES + 1)}
    pages["/1"] = (200, {"Set-Cookie": "sid=1; Path=/"}, "")
    async with Site(pages) as site:
        yield site


@pytest.fixture
def run(site: Site, tmp_path: Path):
    async def run(spider: type[Spider], **options: Any) -> Result:
        return await crawl(spider, url=site.url("/"), JOB="job", JOBS_DIR=str(tmp_path), **options)

    return run


async def test_the_spider_finds_its_state_again(run) -> None:
    class Counts(InParts):
        def read(self, response, n):
            self.state.setdefault("read", set()).add(n)
            self.stats.set("read", self.state["read"])

    await run(Counts)
    result = await run(Counts)

    assert result.reason == "finished"
    assert result.stats.get("read") == {*range(1, PAGES + 1)}


async def test_a_state_that_cannot_be_kept_is_named_once_and_costs_nothing_else(run, caplog) -> None:
    class Opens(InParts):
        def read(self, response, n):
            self.state["file"] = object()

    result = await run(Opens)

    assert result.reason == "enough"
    assert caplog.text.count("spider.state['file']") == 1


async def test_cookies_are_sent_in_the_next_run(run, site: Site) -> None:
    await run(InParts)
    await run(InParts)

    assert [visit.headers.get("Cookie") for visit in site.log] == [None, *["sid=1"] * (PAGES - 1)]


async def test_a_pipeline_may_keep_a_state(run) -> None:
    kept = []

    class Sums(ItemPipeline, Stateful):
        state_prefix = "sums"

        def __init__(self):
            self.sum = self.told = 0

        def process_item(self, item, spider):
            self.sum += item["n"]
            return item

        def changed_state(self):
            if self.sum == self.told:
                return {}
            self.told = self.sum
            return {"sum": b"%d" % self.sum}

        def restore_state(self, state):
            kept.append(dict(state))
            self.sum = int(state.get("sum", b"0"))

    await run(InParts, ITEM_PIPELINES={Sums: 1})
    await run(InParts, ITEM_PIPELINES={Sums: 1})

    assert kept == [{}, {"sum": b"10"}]


async def test_two_parts_of_one_name_are_refused(run) -> None:
    class One(Extension, Stateful):
        state_prefix = "same"

        def changed_state(self):
            return {}

        def restore_state(self, state): ...

    class Two(One): ...

    with pytest.raises(SettingsError, match="2 parts of the crawl keep their state as 'same'"):
        await run(InParts, EXTENSIONS={One: 1, Two: 2})


async def test_without_a_job_nobody_is_asked_for_a_state(site: Site) -> None:
    class Never(Extension, Stateful):
        state_prefix = "never"

        def changed_state(self):
            raise AssertionError

        restore_state = changed_state

    result = await crawl(InParts, url=site.url("/"), EXTENSIONS={Never: 1})

    assert result.reason == "enough"
