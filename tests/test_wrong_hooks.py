"""Hooks and methods that return what they should not: it is said by whom, and the crawl ends."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from openoctopus import Request, Result, Spider, crawl
from openoctopus.testing import Site


class Page(Spider):
    name = "page"
    custom_settings = None

    def __init__(self, url: str) -> None:
        super().__init__()
        self.start_urls = [url]

    def parse(self, response):
        yield {"url": response.url}


async def crawled(spider: type[Spider] = Page, **options: Any) -> Result:
    async with Site({"/": "page", "/other": "page"}) as site, asyncio.timeout(20):
        return await crawl(spider, url=site.url("/"), keep_items=True, ROBOTSTXT_OBEY=False, **options)


class Same:
    def process_request(self, request, spider):
        return request


class SameAfter:
    def process_response(self, request, response, spider):
        return request


class Another:
    async def process_request(self, request, spider):
        return request.replace(url=request.url + "x")


class BackAndForth:
    def process_request(self, request, spider):
        return request.replace(url=request.url[:-5] if request.url.endswith("other") else request.url + "other")


@pytest.mark.parametrize("middleware", [Same, SameAfter, Another, BackAndForth])
async def test_a_middleware_that_returns_requests_without_end_is_stopped(middleware: type) -> None:
    result = await crawled(DOWNLOADER_MIDDLEWARES={middleware: 1}, REDIRECT_MAX_TIMES=5)

    assert (result.reason, [failed.reason for failed in result.failed]) == ("finished", ["too_many_redirects"])
    assert "middlewares returned another request 6 times" in result.failed[0].detail


@pytest.mark.parametrize("found", [[{}], Request("http://a.example/"), "text", 5, True, iter(()), dict])
async def test_a_pipeline_that_returns_no_item_is_named(found: Any) -> None:
    class Wrong:
        def process_item(self, item, spider):
            return found

    result = await crawled(ITEM_PIPELINES={Wrong: 1}, PIPELINE_RETRY_TIMES=0)

    assert not result.items
    assert str(result.failed_items[0].error) == (
        f"Wrong.process_item returned a {type(found).__name__}; it should return the item or raise DropItem"
    )


@pytest.mark.parametrize("found", ["http://a.example/", b"x", 5, True, ["http://a.example/"]])
async def test_a_start_that_gives_no_request_is_said(found: Any) -> None:
    class Wrong(Page):
        async def start(self):
            yield found

    result = await crawled(Wrong)

    assert (result.items, result.exit_code) == ([], 1)
    assert result.stats.get("start_error") == (
        f"OctopusError: start() gave a {type(found).__name__}; it should give requests and items"
    )
