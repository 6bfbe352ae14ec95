"""Hosts that do not answer, in whole crawls: what makes one dead, and how its pages end."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from aiohttp import web

from openoctopus import Request, Spider, crawl
from openoctopus.extensions import Extension
from openoctopus.result import Result
from openoctopus.scheduler import hosts
from openoctopus.scheduler.hosts import DEAD_PAUSE
from openoctopus.testing import Site
from openoctopus.testing.site import cut, in_turn

FAST = {"RETRY_DELAY": 0.02, "RETRY_DELAY_MAX": 0.05}
engines = pytest.mark.parametrize("engine", ["http", "aiohttp"])


class Visits(Spider):
    """Asks for all at once; an item for each says what it ended with."""

    name = "visits"

    def __init__(self, urls: Iterable[str], told: bool) -> None:
        super().__init__()
        self.urls = list(urls)
        self.errback = self.failed if told else None

    async def start(self):
        for url in self.urls:
            yield Request(url, errback=self.errback)

    def parse(self, response):
        yield {"end": "page"}

    def failed(self, failure):
        yield {"end": type(failure.value).__name__}


async def visited(*urls: str, told: bool = True, **options: Any) -> tuple[Result, Counter[str]]:
    """What came of visits to all of them, and how they ended if the errback was to be told."""
    result = await crawl(Visits, urls=urls, told=told, keep_items=True, **{**FAST, **options})
    return result, Counter(item["end"] for item in result.items)


def closed_ports(count: int) -> list[int]:
    """Ports of 127.0.0.1 at which nobody listens."""
    free = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in free]
    for one in free:
        one.close()
    return ports


async def silence(request: web.Request) -> int:
    await asyncio.sleep(60)
    return 500


async def reset(request: web.Request) -> int:
    assert request.transport is not None
    request.transport.abort()
    return await silence(request)


@engines
@pytest.mark.parametrize("bad", [silence, reset, cut(b"<p>" * 99, at=10)], ids=["silence", "reset", "cut"])
async def test_a_host_that_can_be_connected_to_is_not_dead_however_many_pages_fail(engine: str, bad: Any) -> None:
    options = {"DOWNLOADER": engine, "DOWNLOAD_TIMEOUT": 0.3, "ROBOTSTXT_OBEY": False, "RETRY_TIMES": 1}
    pages = {f"/{number}": bad for number in range(12)}

    async with Site({**pages, "/good": "fine"}) as site, asyncio.timeout(DEAD_PAUSE / 2):
        _, ends = await visited(*map(site.url, [*pages, "/good"]), **options)

    assert (ends["page"], ends.total()) == (1, 13)


@engines
@pytest.mark.parametrize("obey", [True, False], ids=["robots.txt", "no robots.txt"])
async def test_a_host_that_cannot_be_connected_to_ends_its_pages_with_that(engine: str, obey: bool, caplog) -> None:
    url = f"http://127.0.0.1:{closed_ports(1)[0]}/"

    result, _ = await visited(url, told=False, DOWNLOADER=engine, ROBOTSTXT_OBEY=obey)

    assert [(failed.reason, failed.entry.attempts) for failed in result.failed] == [("connection", 2)]
    assert result.stats.get("request_failed_reasons_count/connection") == 1
    assert result.stats.get("downloader/request_count") == 3
    assert result.stats.get("request_dropped_count") == 0
    assert result.exit_code == 1
    assert [record.levelname for record in caplog.records if url in record.message] == ["WARNING"]
    assert (await visited(url, DOWNLOADER=engine, ROBOTSTXT_OBEY=obey))[1] == {"NotConnected": 1}


@engines
async def test_a_name_without_an_address_is_such_a_host(engine: str) -> None:
    _, ends = await visited("http://nowhere.invalid/", DOWNLOADER=engine, RETRY_TIMES=0)

    assert ends == {"NameNotResolved": 1}


async def test_a_file_that_cannot_be_had_from_a_living_host_is_told_once_in_the_log(caplog) -> None:
    caplog.set_level(logging.WARNING)
    pages = {f"/{number}": "page" for number in range(5)}

    async with Site({**pages, "/robots.txt": 500}) as site:
        result, ends = await visited(*map(site.url, pages))
        assert [visit.path for visit in site.log] == ["/robots.txt"] * 3

    assert ends == {"IgnoreRequest": 5}
    assert not result.failed
    assert [message for message in caplog.messages if "robots.txt" in message] == [
        f"{site.url('')}/robots.txt cannot be had (http_500): nothing is fetched there for 600 s"
    ]


async def test_a_file_that_is_had_at_the_second_try_costs_no_page_its_end() -> None:
    pages = {f"/{number}": "page" for number in range(5)}

    async with Site({**pages, "/robots.txt": in_turn(503, "User-agent: *\nDisallow: /3")}) as site:
        result, ends = await visited(*map(site.url, pages))

    assert ends == {"page": 4, "IgnoreRequest": 1}
    assert not result.failed


async def test_what_waits_for_a_host_that_is_given_up_is_counted_told_and_logged_like_any_that_failed(
    monkeypatch, caplog
) -> None:
    monkeypatch.setattr(hosts, "DEAD_PAUSE", 0.3)
    told: list[str] = []

    class Tells(Extension):
        def request_failed(self, request: Request, reason: str, spider: Spider) -> None:
            told.append(request.url)

    port = closed_ports(1)[0]
    urls = [f"http://127.0.0.1:{port}/{number}" for number in range(40)]

    result, _ = await visited(*urls, told=False, EXTENSIONS={Tells: 1}, ROBOTSTXT_OBEY=False)

    reasons = Counter(failed.reason for failed in result.failed)
    assert reasons["host_unreachable"] > 20
    assert result.stats.group("request_failed_reasons_count") == reasons
    assert result.stats.get("request_failed_count") == len(result.failed) == 40
    assert sorted(told) == sorted(urls)
    (line,) = [record.message for record in caplog.records if "host_unreachable" in record.message]
    assert line.startswith(f"failed: {reasons['host_unreachable']} requests that waited (host_unreachable: 127.0.0.1 could")


async def test_many_dead_hosts_take_as_long_as_their_connections() -> None:
    """Their pages wait for another try without a slot, also where robots.txt is what could not be had."""
    port = closed_ports(1)[0]
    urls = [f"http://127.1.{number // 200}.{number % 200 + 1}:{port}/" for number in range(400)]

    async with asyncio.timeout(12):
        _, ends = await visited(*urls, RETRY_DELAY=1.0, RETRY_DELAY_MAX=2.0)

    assert ends == {"NotConnected": 400}
