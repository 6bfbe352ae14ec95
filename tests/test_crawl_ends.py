"""How a crawl ends: never later than it may, and never as if nothing had been wrong."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from openoctopus import Request, Spider, crawl, run
from openoctopus.exceptions import InvalidRequest, OctopusError, ProjectError, SettingsError
from openoctopus.pipelines import BatchPipeline, ItemPipeline
from openoctopus.testing import Site
from openoctopus.testing.site import in_turn

PLAIN = {"ROBOTSTXT_OBEY": False, "keep_items": True}


class Pages(Spider):
    name = "pages"
    url = ""

    async def start(self):
        yield Request(self.url)

    def parse(self, response):
        yield {"url": response.url}


@pytest.mark.parametrize("kind", ["plain", "async"])
@pytest.mark.parametrize("found", ["known", "refused"])
async def test_a_start_without_end_never_holds_up_the_crawl(kind: str, found: str) -> None:
    class Endless(Pages):
        def start(self):
            return self.plain() if kind == "plain" else self.asynchronous()

        def plain(self):
            while True:
                yield Request(self.url if found == "known" else "ftp://127.0.0.1/x")

        async def asynchronous(self):
            while True:
                yield Request(self.url if found == "known" else "ftp://127.0.0.1/x")

    async with Site({"/": ""}) as site, asyncio.timeout(20):
        result = await crawl(Endless, url=site.url("/"), CLOSESPIDER_TIMEOUT=0.3, **PLAIN)
    assert result.reason == "closespider_timeout"


@pytest.mark.parametrize("waits", ["for ever", "while it yields"])
async def test_a_callback_without_end_is_ended_with_the_crawl(waits: str) -> None:
    class Endless(Pages):
        async def parse(self, response):
            yield {"n": 1}
            while True:
                await asyncio.sleep(1000 if waits == "for ever" else 0.01)
                yield {"n": 2}

    async with Site({"/": ""}) as site, asyncio.timeout(20):
        result = await crawl(Endless, url=site.url("/"), CLOSESPIDER_ITEMCOUNT=1, DRAIN_SECONDS=0.2, **PLAIN)
    assert result.reason == "closespider_itemcount"


async def test_an_errback_is_told_the_failure_and_nothing_else() -> None:
    class Tells(Pages):
        async def start(self):
            yield Request(self.url + "404", errback=self.failed, cb_kwargs={"section": "news"})

        def failed(self, failure):
            yield {"section": failure.cb_kwargs["section"]}

    async with Site({}) as site:
        result = await crawl(Tells, url=site.url("/"), **PLAIN)
    assert result.items == [{"section": "news"}]


async def test_two_sessions_are_two_visitors() -> None:
    class Sessions(Pages):
        async def start(self):
            for account in ("alice", "bob", "bob"):
                yield Request(self.url, session=account)

    async with Site({"/": ""}) as site:
        result = await crawl(Sessions, url=site.url("/"), **PLAIN)
        assert len(site.log) == 2
    assert len(result.items) == 2


async def test_the_older_start_requests_is_taken() -> None:
    class Older(Pages):
        start = Spider.start

        def start_requests(self):
            yield Request(self.url, self.parse)

    async with Site({"/": ""}) as site:
        result = await crawl(Older, url=site.url("/"), **PLAIN)
    assert len(result.items) == 1


@pytest.mark.parametrize(
    "urls",
    [["www.example.com"], "http://127.0.0.1/", ["file:///etc/hostname"], ["ftp://127.0.0.1/x"], ["http://127.0.0.1:25/"]],
)
async def test_a_crawl_that_could_fetch_nothing_ends_with_code_1(urls: Any) -> None:
    class Nothing(Pages):
        start = Spider.start
        start_urls = urls

    result = await crawl(Nothing, **PLAIN)
    assert result.exit_code == 1


@pytest.mark.parametrize("given", ["text", b"bytes", 7, [[{"n": 1}]]])
async def test_a_callback_that_gives_neither_requests_nor_items_is_told_so(given: Any, caplog) -> None:
    class Gives(Pages):
        def parse(self, response):
            return given

    async with Site({"/": ""}) as site:
        result = await crawl(Gives, url=site.url("/"), **PLAIN)
    assert not result.items
    assert result.failed[0].reason == "callback:OctopusError"
    assert "it should give requests and items" in caplog.text


@pytest.mark.parametrize("cookies", [{"a": "b\r\nX: y"}, {"a": "b; c=d"}, {"a": None}, [{"name": "a", "value": "\n"}]])
def test_a_cookie_that_would_end_its_header_is_refused(cookies: Any) -> None:
    with pytest.raises(InvalidRequest, match="cookie"):
        Request("http://127.0.0.1/", cookies=cookies)


@pytest.mark.parametrize("spider", ["news", None, Pages()])
async def test_what_is_no_spider_class_is_told_so(spider: Any) -> None:
    with pytest.raises(OctopusError, match="spider class"):
        await crawl(spider)


async def test_run_says_what_to_use_in_a_running_loop() -> None:
    with pytest.raises(OctopusError, match="await"):
        run(Pages)


async def test_a_spider_that_reads_nothing_is_refused_before_it_asks_for_anything() -> None:
    class Mute(Spider):
        start_urls = ("http://127.0.0.1/",)

    with pytest.raises(ProjectError, match="Mute has no parse method to read its start_urls"):
        await crawl(Mute)


async def test_a_request_that_nobody_would_read_is_refused_where_it_is_yielded(caplog) -> None:
    class Half(Spider):
        async def start(self):
            yield Request(self.url)
            yield Request(self.url, self.first)

        def first(self, response):
            yield {"n": 1}
            yield Request(self.url + "next")

    async with Site({"/": "", "/next": ""}) as site:
        result = await crawl(Half, url=site.url("/"), **PLAIN)
        assert len(site.log) == 1

    assert result.items == [{"n": 1}]
    assert [failed.reason for failed in result.failed] == ["callback:InvalidRequest"]
    refusals = [record for record in caplog.records if "names no callback, and Half has no parse method" in record.message]
    assert [record.exc_info for record in refusals] == [None]
    assert "start request left out" in refusals[0].message


@pytest.mark.parametrize(
    "link", ["javascript:void(0)", "mailto:a@b.example", "tel:+49", "data:text/plain,x", "ftp://b.example/"]
)
async def test_a_link_that_is_no_page_does_not_end_the_callback(link: str) -> None:
    class Follows(Pages):
        def parse(self, response):
            for one in response.css("a"):
                yield response.follow(one, self.page)

        def page(self, response):
            yield {"url": response.url}

    async with Site({"/": f"<a href='{link}'>x</a><a href='/1'>1</a>", "/1": ""}) as site:
        result = await crawl(Follows, url=site.url("/"), **PLAIN)
        assert result.items == [{"url": site.url("/1")}]
    assert result.stats.get("offsite/scheme_filtered") == 1
    assert not result.failed


class Broken(ItemPipeline):
    def __init__(self) -> None:
        raise KeyError("DSN")


async def test_a_plugin_that_cannot_be_made_is_named() -> None:
    with pytest.raises(SettingsError, match="Broken cannot be made: KeyError: 'DSN'"):
        await crawl(Pages, ITEM_PIPELINES={Broken: 1})


async def test_custom_settings_that_are_no_mapping_are_named() -> None:
    class Wrong(Pages):
        custom_settings = [1]  # type: ignore[assignment]

    with pytest.raises(SettingsError, match=r"Wrong\.custom_settings"):
        await crawl(Wrong)


class Patient(BatchPipeline):
    """Would wait for more items for an hour."""

    max_seconds = 3600.0

    def __init__(self) -> None:
        self.written = asyncio.Event()

    def open_spider(self, spider: Any) -> None:
        spider.store = self

    async def write(self, items: Any) -> None:
        self.written.set()


class Stores(Pages):
    """Each page is one item of a kilobyte."""

    def parse(self, response):
        yield {"text": "x" * 1000}


class StartWaits(Stores):
    async def start(self):
        yield Request(self.url)
        await self.store.written.wait()


class CallbackWaits(Stores):
    async def parse(self, response):
        yield {"text": "x"}
        if response.url.endswith("?last"):
            return
        yield Request(self.url + "?last", delay=1)


@pytest.mark.parametrize(
    ("spider", "pages", "options"),
    [
        (Stores, {"/": ""}, {}),
        (StartWaits, {"/": ""}, {}),
        (Stores, {"/": in_turn(503, "")}, {"RETRY_DELAY": 0.1}),
        (CallbackWaits, {"/": ""}, {"MAX_PENDING_BYTES": 1}),
        (Stores, {"/": ""}, {"MAX_PENDING_BYTES": 1, "CONCURRENT_REQUESTS": 1}),
    ],
)
async def test_no_crawl_waits_for_the_timer_of_a_batch(spider: Any, pages: Any, options: Any) -> None:
    async with Site(pages) as site, asyncio.timeout(10):
        result = await crawl(spider, url=site.url("/"), ITEM_PIPELINES={Patient: 1}, **options, **PLAIN)
    assert result.reason == "finished"
    assert result.items
