"""A whole crawl into a table: pages over HTTP, items in the database."""

from __future__ import annotations

import asyncio
import gc
import warnings
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from openoctopus import Request, Spider, crawl
from openoctopus.exceptions import SettingsError
from openoctopus.pipelines.sql.errors import Trouble
from openoctopus.testing import Site
from tests.pipelines.sql.databases import Database

PAGES = 200


class Numbers(Spider):
    """Reads the pages it is told of; each yields two items."""

    name = "numbers"
    url = ""

    async def start(self) -> AsyncIterator[Any]:
        for n in range(PAGES):
            yield Request(f"{self.url}?n={n}", self.parse)

    def parse(self, response: Any) -> Any:
        n = int(response.url.rpartition("=")[2])
        for part in range(2):
            yield {"url": response.url, "part": part, "n": n, "title": f"标题 {n} 🐙"}


async def run(site: Site, **options: Any) -> Any:
    return await crawl(Numbers, url=site.url("/"), ROBOTSTXT_OBEY=False, **options)


@pytest.mark.parametrize("how", ["output", "feed", "pipeline"])
async def test_the_three_ways_to_name_a_table(database: Database, how: str) -> None:
    url = database.url(key="url,part")
    options = {
        "output": {"outputs": [url]},
        "feed": {"FEEDS": {database.base: {"table": database.table, "key": ["url", "part"]}}},
        "pipeline": {"ITEM_PIPELINES": {"openoctopus.pipelines.SqlPipeline": {"order": 900, "url": url}}},
    }[how]
    async with Site({"/": "<h1>x</h1>"}) as site:
        for _ in range(2):
            result = await run(site, **options)
            assert (result.reason, result.failed_items) == ("finished", [])

    assert sorted(await database.rows("n part")) == [(n, part) for n in range(PAGES) for part in range(2)]


async def test_connections_that_are_cut_in_mid_crawl_cost_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openoctopus.pipelines.sql.pipeline._PAUSES", dict.fromkeys(Trouble, 0.02))
    monkeypatch.setattr("openoctopus.pipelines.SqlPipeline.max_items", 10)
    database = Database("postgresql", tmp_path)
    cut = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = '{t}'"

    async def cutting() -> int:
        times = 0
        while not await database.columns() or not await database.one("SELECT count(*) FROM {t}"):
            await asyncio.sleep(0.005)
        while True:
            times += await database.one(cut)
            if times >= 5:
                return times
            await asyncio.sleep(0.02)

    async with Site({"/": "<h1>x</h1>"}) as site:
        cuts = asyncio.create_task(cutting())
        result = await run(site, outputs=[database.url(key="url,part", application_name=database.table)], DOWNLOAD_DELAY=0.005)
        assert await cuts >= 5

    assert (result.reason, result.failed_items, result.failed) == ("finished", [], [])
    assert len(await database.rows("n part")) == PAGES * 2
    await database.close()


async def test_nothing_is_left_open(database: Database) -> None:
    async with Site({"/": "<h1>x</h1>"}) as site:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            await run(site, outputs=[database.url(key="url,part")])
            with pytest.raises(SettingsError, match="another key"):
                await run(site, outputs=[database.url(key="url")])
            await asyncio.sleep(0)  # transports close in the next turn
            gc.collect()

    assert [str(one.message) for one in caught if issubclass(one.category, ResourceWarning)] == []
    assert not [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
