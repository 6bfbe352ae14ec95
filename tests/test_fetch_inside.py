"""Fetches in the middle of something, in whole crawls: they wait for no slot that waits for theirs."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from openoctopus import Request, Spider, crawl
from openoctopus.downloadermiddlewares import DownloaderMiddleware
from openoctopus.testing import Site
from openoctopus.testing.site import slowly

HOSTS = ("127.0.0.1", "127.0.0.2", "127.0.0.3")
#: Longer than anybody's patience, and much shorter than for ever.
ENOUGH = 20.0


class Pages(Spider):
    """All pages of the hosts ``urls``."""

    name = "pages"

    def __init__(self, urls: list[str]) -> None:
        super().__init__()
        self.start_urls = urls

    def parse(self, response):
        yield {"url": response.url}


def next_to(host: str) -> str:
    return HOSTS[(HOSTS.index(host) + 1) % len(HOSTS)]


def elsewhere(site: Site, path: str) -> Any:
    """A page that leads to the same path of the next host."""

    def answer(request: Any) -> Any:
        host = request.host.partition(":")[0]
        return 302, {"Location": site.url(path, next_to(host))}, ""

    return slowly(0.1, answer)


@pytest.mark.parametrize("slots", [1, 2])
async def test_files_that_lead_to_each_other_do_not_stop_the_crawl(slots: int) -> None:
    """Each host's robots.txt is at the next one, and all slots are taken by pages that wait for it."""
    async with Site({"/1": "one", "/2": "two"}, hosts=HOSTS) as site, asyncio.timeout(ENOUGH):
        site.pages["/robots.txt"] = elsewhere(site, "/rules")
        site.pages["/rules"] = slowly(0.1, "User-agent: *\nDisallow: /2")
        urls = [site.url(path, host) for host in HOSTS for path in ("/1", "/2")]
        result = await crawl(
            Pages, urls=urls, keep_items=True, CONCURRENT_REQUESTS_PER_DOMAIN=slots, CONCURRENT_REQUESTS=len(urls)
        )

    assert sorted(item["url"] for item in result.items) == sorted(site.url("/1", host) for host in HOSTS)
    assert not result.failed


class AsksElsewhere(DownloaderMiddleware):
    """Needs something of another host for each page."""

    def __init__(self, fetch: Any, token_urls: dict[str, str]) -> None:
        self.fetch = fetch
        self.urls = token_urls

    async def process_request(self, request: Request, spider: Spider) -> None:
        if request.url not in self.urls.values():
            await asyncio.sleep(0.05)  # until each host is taken
            token = await self.fetch(Request(self.urls[request.host]))
            request.headers["X-Token"] = token.text


async def test_a_middleware_may_ask_a_host_that_is_busy_asking_this_one() -> None:
    async with Site({"/page": "fine", "/token": slowly(0.1, "secret")}, hosts=HOSTS) as site, asyncio.timeout(ENOUGH):
        token_urls = {host: site.url("/token", next_to(host)) for host in HOSTS}
        result = await crawl(
            Pages,
            urls=[site.url("/page", host) for host in HOSTS],
            keep_items=True,
            ROBOTSTXT_OBEY=False,
            CONCURRENT_REQUESTS_PER_DOMAIN=1,
            DOWNLOADER_MIDDLEWARES={AsksElsewhere: {"order": 50, "token_urls": token_urls}},
        )
        tokens = [visit.headers.get("X-Token") for visit in site.log if visit.path == "/page"]

    assert len(result.items) == 3
    assert tokens == ["secret"] * 3


async def test_who_waits_inside_is_served_as_soon_as_a_slot_is_free_and_before_the_queue() -> None:
    class Asks(Pages):
        async def parse(self, response):
            if response.url.endswith("/first"):
                asked = time.monotonic()
                await self.fetch(Request(response.url.replace("first", "inside")))
                yield {"took": time.monotonic() - asked}

    others = {f"/{number}": slowly(0.05, "page") for number in range(40)}
    async with Site({"/first": "page", "/inside": "page", **others}) as site:
        urls = [site.url(path) for path in ("/first", *others)]
        result = await crawl(Asks, urls=urls, keep_items=True, ROBOTSTXT_OBEY=False, CONCURRENT_REQUESTS_PER_DOMAIN=2)
        order = [visit.path for visit in site.log]

    assert order.index("/inside") < 6
    assert result.items[0]["took"] < 0.2
