"""What becomes of requests, pages and items: one promise of the rules after the other, over real HTTP."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import Any

import pytest

from openoctopus import Item, Request, Result, Spider, crawl
from openoctopus.exceptions import (
    CloseSpider,
    DownloadError,
    DropItem,
    HttpStatusError,
    IgnoreRequest,
    InvalidRequest,
    RefusedItem,
    Retry,
)
from openoctopus.extensions import Extension
from openoctopus.items import Field
from openoctopus.pipelines import BatchPipeline, ItemPipeline
from openoctopus.testing import Site, in_turn, slowly


class Pages(Spider):
    """Reads the pages it is given; each test says how."""

    name = "pages"
    url = ""

    async def start(self):
        yield Request(self.url, self.parse)

    def parse(self, response):
        yield {"url": response.url, "title": response.css("h1::text").get()}


async def run(spider: type[Spider], site: Site, path: str = "/", **options: Any) -> Result:
    options.setdefault("ROBOTSTXT_OBEY", False)
    options.setdefault("RETRY_DELAY", 0.01)
    return await crawl(spider, url=site.url(path), keep_items=True, **options)


@pytest.mark.parametrize("kind", ["function", "one", "generator", "coroutine", "async generator", "nothing"])
async def test_a_callback_may_be_of_any_kind(kind: str) -> None:
    class Kinds(Pages):
        def parse(self, response):
            return getattr(self, f"read_{kind.replace(' ', '_')}")(response)

        def read_nothing(self, response):
            self.stats.inc("read")

        def read_function(self, response):
            return [{"n": 1}, {"n": 2}]

        def read_one(self, response):
            return {"n": 1}

        def read_generator(self, response):
            yield {"n": 1}
            yield {"n": 2}

        async def read_coroutine(self, response):
            await asyncio.sleep(0)
            return [{"n": 1}, {"n": 2}]

        async def read_async_generator(self, response):
            yield {"n": 1}
            await asyncio.sleep(0)
            yield {"n": 2}

    async with Site({"/": ""}) as site:
        result = await run(Kinds, site)
    expected = {"nothing": [], "one": [{"n": 1}]}.get(kind, [{"n": 1}, {"n": 2}])
    assert result.items == expected
    assert (result.reason, result.exit_code) == ("finished", 0)


@dataclass
class Book:
    title: str


class Shop(Item):
    name = Field()


async def test_what_a_request_carries_arrives_as_it_was_yielded() -> None:
    carried = {"book": Book("Emma"), "shop": Shop(name="x"), "pair": (1, 2), "ids": {3, 4}}

    class Carries(Pages):
        def parse(self, response):
            yield Request(response.url + "next", self._read, meta={"kept": carried}, cb_kwargs={"given": carried})

        def _read(self, response, given):
            yield {"same": response.meta["kept"] == carried == given, "depth": response.meta["depth"]}

    async with Site({"/": "", "/next": ""}) as site:
        result = await run(Carries, site)
    assert result.items == [{"same": True, "depth": 1}]


async def test_a_request_that_cannot_be_kept_names_the_field_and_loses_nothing_else(caplog) -> None:
    class Unkeepable(Pages):
        def parse(self, response):
            yield {"n": 1}
            yield Request(response.url + "a", meta={"lock": asyncio.Lock()})

    async with Site({"/": ""}) as site:
        result = await run(Unkeepable, site)
    assert result.items == [{"n": 1}]
    assert [failed.reason for failed in result.failed] == ["callback:InvalidRequest"]
    assert "meta['lock']" in caplog.text
    assert "yield Request(response.url" in caplog.text


async def test_a_callback_may_catch_the_refusal_and_go_on() -> None:
    class Catches(Pages):
        def parse(self, response):
            try:
                yield Request(response.url + "a", meta={"lock": asyncio.Lock()})
            except InvalidRequest:
                yield {"refused": True}
            yield {"n": 1}

    async with Site({"/": ""}) as site:
        result = await run(Catches, site)
    assert result.items == [{"refused": True}, {"n": 1}]


async def test_a_start_url_that_is_none_is_told_and_the_others_are_crawled(caplog) -> None:
    async with Site({"/": "<h1>x</h1>"}) as site:

        class Starts(Spider):
            start_urls = ["nonsense", site.url("/"), "http://[broken"]

            def parse(self, response):
                yield {"url": response.url}

        result = await crawl(Starts, keep_items=True, ROBOTSTXT_OBEY=False)
    assert len(result.items) == 1
    assert result.stats.get("start_urls_refused") == 2
    assert "nonsense" in caplog.text


async def test_a_lambda_as_callback_is_refused_with_a_hint(caplog) -> None:
    class Lambda(Pages):
        def parse(self, response):
            yield Request(response.url + "a", lambda response: None)

    async with Site({"/": ""}) as site:
        await run(Lambda, site)
    assert "write a method" in caplog.text


async def test_each_page_is_fetched_once_unless_forced() -> None:
    class Links(Pages):
        def parse(self, response):
            for query in ("a=1&b=2", "b=2&a=1", "a=1&b=2#x"):
                yield Request(f"{response.url}page?{query}", self.read)
            for _ in range(2):
                yield Request(f"{response.url}page?a=1&b=2", self.read, dont_filter=True)

        def read(self, response):
            pass

    async with Site({"/": "", "/page": ""}) as site:
        result = await run(Links, site)
        assert len([visit for visit in site.log if visit.path.startswith("/page")]) == 3
    assert result.stats.get("dupefilter/filtered") == 2


async def test_a_status_other_than_2xx_goes_to_the_errback_or_fails() -> None:
    class Statuses(Pages):
        handle_httpstatus_list = (410,)

        def parse(self, response):
            for path in ("404", "410", "403"):
                yield Request(response.url + path, self.read, errback=self.failed if path == "404" else None)
            yield Request(response.url + "418", self.read, meta={"handle_httpstatus_all": True})

        def read(self, response):
            yield {"read": response.status}

        def failed(self, failure):
            assert failure.check(HttpStatusError)
            yield {"failed": failure.response.status, "text": failure.response.css("h1::text").get()}

    pages = {"/": "", "/404": (404, {}, "<h1>gone</h1>"), "/410": 410, "/403": 403, "/418": 418}
    async with Site(pages) as site:
        result = await run(Statuses, site)
    assert sorted(result.items, key=str) == [{"failed": 404, "text": "gone"}, {"read": 410}, {"read": 418}]
    assert [failed.reason for failed in result.failed] == ["http_403"]


async def test_a_retry_comes_back_later_and_the_last_answer_is_told() -> None:
    class Retries(Pages):
        def parse(self, response):
            yield Request(response.url + "flaky", self.read)
            yield Request(response.url + "broken", self.read, errback=self.failed)

        def read(self, response):
            yield {"url": response.url, "retries": response.meta.get("retry_times", 0)}

        def failed(self, failure):
            yield {"status": failure.response.status}

    async with Site({"/": "", "/flaky": in_turn(500, 500, "fine"), "/broken": 500}) as site:
        result = await run(Retries, site)
        visits = [visit.path for visit in site.log]
    assert visits.count("/flaky") == visits.count("/broken") == 3
    assert {"url": site.url("/flaky"), "retries": 2} in result.items
    assert {"status": 500} in result.items
    assert result.stats.get("retry/count") == 4
    assert not result.failed


async def test_a_download_that_fails_spends_its_tries_and_then_fails() -> None:
    class Refused(Pages):
        def parse(self, response):
            yield Request("http://127.0.0.1:1234/", self.read, errback=self.failed)
            yield Request("http://127.0.0.1:1235/", self.read)

        def read(self, response):
            yield {"never": True}

        def failed(self, failure):
            assert failure.check(DownloadError)
            yield {"failed": failure.value.reason}

    async with Site({"/": ""}) as site:
        result = await run(Refused, site, RETRY_TIMES=1)
    assert result.items == [{"failed": "connection"}]
    assert [failed.reason for failed in result.failed] == ["connection"]
    assert result.failed[0].entry.attempts == 1


async def test_a_callback_that_raises_keeps_what_it_gave_and_is_not_called_again(caplog) -> None:
    class Raises(Pages):
        def parse(self, response):
            yield {"n": 1}
            yield Request(response.url + "next", self.fine)
            raise KeyError("oops")

        def fine(self, response):
            yield {"n": 2}

    async with Site({"/": "", "/next": ""}) as site:
        result = await run(Raises, site)
        assert [visit.path for visit in site.log].count("/") == 1
    assert result.items == [{"n": 1}, {"n": 2}]
    assert result.failed[0].reason == "callback:KeyError"
    raised = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert len(raised) == 1
    assert site.url("/") in raised[0].getMessage()
    assert "test_crawl.py" in str(raised[0].exc_text or caplog.text)


@pytest.mark.parametrize("error", [SystemExit, asyncio.CancelledError, RecursionError, MemoryError, StopAsyncIteration])
async def test_no_exception_of_a_callback_ends_the_crawl(error: type[BaseException]) -> None:
    class Ends(Pages):
        def parse(self, response):
            yield Request(response.url + "bad", self.bad)
            yield Request(response.url + "good", self.good)

        def bad(self, response):
            raise error

        def good(self, response):
            yield {"good": True}

    async with Site({"/": "", "/bad": "", "/good": ""}) as site:
        result = await run(Ends, site)
    assert result.items == [{"good": True}]
    assert result.reason == "finished"
    assert result.failed[0].reason == f"callback:{error.__name__}"


async def test_an_errback_that_raises_makes_a_failed_entry() -> None:
    class Raises(Pages):
        async def start(self):
            yield Request(self.url + "404", errback=self.failed)

        def failed(self, failure):
            raise ValueError("errback")

    async with Site({}) as site:
        result = await run(Raises, site)
    assert [failed.reason for failed in result.failed] == ["http_404"]
    assert "errback" in result.failed[0].detail


async def test_an_ignored_request_is_counted_and_never_failed() -> None:
    class Ignores(Pages):
        async def start(self):
            yield Request(self.url, errback=self.failed)

        def failed(self, failure):
            assert failure.check(IgnoreRequest)
            yield {"told": True}

    async with Site({"/": "", "/robots.txt": "User-agent: *\nDisallow: /"}) as site:
        result = await run(Ignores, site, ROBOTSTXT_OBEY=True)
        assert [visit.path for visit in site.log] == ["/robots.txt"]
    assert result.items == [{"told": True}]
    assert not result.failed
    assert result.stats.get("robotstxt/forbidden") == 1


async def test_a_redirect_is_the_same_page_at_another_address() -> None:
    class Redirects(Pages):
        async def start(self):
            yield Request(self.url, self.read, cb_kwargs={"n": 7}, meta={"mine": 1})

        def read(self, response, n):
            yield {"url": response.url, "n": n, "mine": response.meta["mine"], "times": response.meta["redirect_times"]}
            yield Request(response.url, self.read, cb_kwargs={"n": 8})

    async with Site({"/": (302, {"Location": "/a"}, ""), "/a": (301, {"Location": "/b"}, ""), "/b": "end"}) as site:
        result = await run(Redirects, site)
        assert [visit.path for visit in site.log] == ["/", "/a", "/b"]
    assert result.items == [{"url": site.url("/b"), "n": 7, "mine": 1, "times": 2}]


async def test_a_redirect_out_of_the_allowed_domains_is_not_followed() -> None:
    class Scope(Pages):
        allowed_domains = ("127.0.0.1",)

    async with Site(
        {"/": lambda request: (302, {"Location": f"http://localhost:{request.url.port}/x"}, ""), "/x": "x"}
    ) as site:
        result = await run(Scope, site)
        assert [visit.path for visit in site.log] == ["/"]
    assert not result.items
    assert result.reason == "finished"


async def test_a_page_can_be_fetched_in_the_middle_of_a_callback() -> None:
    class Inside(Pages):
        custom_settings = {"CONCURRENT_REQUESTS_PER_DOMAIN": 1, "CONCURRENT_REQUESTS": 2}

        async def parse(self, response):
            answer = await self.fetch(Request(response.url + "api"))
            by_url = await self.fetch(response.url + "api")
            yield {"api": answer.json(), "same": by_url.json() == answer.json(), "title": response.css("h1::text").get()}

    async with Site({"/": "<h1>page</h1>", "/api": (302, {"Location": "/real"}, ""), "/real": {"n": 1}}) as site:
        result = await run(Inside, site)
    assert result.items == [{"api": {"n": 1}, "same": True, "title": "page"}]


@pytest.mark.parametrize("per_host", [1, 8])
async def test_a_fetch_from_inside_is_not_starved_by_the_queue(per_host: int) -> None:
    class Busy(Pages):
        async def parse(self, response):
            for n in range(60):
                yield Request(f"{response.url}page?{n}", self.page)
            answer = await self.fetch(Request(response.url + "api"))
            yield {"api": answer.status, "pages": self.stats.get("downloader/response_count")}

        def page(self, response):
            pass

    async with Site({"/": "", "/api": "", "/page": slowly(0.02, "")}) as site:
        options = {"CONCURRENT_REQUESTS": 16, "CONCURRENT_REQUESTS_PER_DOMAIN": per_host, "ROBOTSTXT_OBEY": True}
        result = await run(Busy, site, **options)
    assert result.items[0]["api"] == 200
    assert result.items[0]["pages"] < 30


async def test_items_pass_the_pipelines_in_order_and_may_be_dropped() -> None:
    async with Site({"/": "<h1>a</h1>"}) as site:
        options = {"ITEM_PIPELINES": {Second: 200, First: 100, Drops: 300}}
        result = await run(Many, site, **options)
    assert [item["seen"] for item in result.items] == [["first", "second"]] * 2
    assert result.stats.get("item_dropped_count") == 1
    assert result.stats.get("item_dropped_reasons_count/even") == 1


class Many(Pages):
    def parse(self, response):
        for n in (1, 2, 3):
            yield {"n": n, "seen": []}


class First(ItemPipeline):
    def process_item(self, item, spider):
        return {**item, "seen": [*item["seen"], "first"]}


class Second(ItemPipeline):
    async def process_item(self, item, spider):
        await asyncio.sleep(0)
        return {**item, "seen": [*item["seen"], "second"]}


class Drops(ItemPipeline):
    def process_item(self, item, spider):
        if item["n"] % 2 == 0:
            raise DropItem("even")
        return item


class Fails(ItemPipeline):
    error = ValueError
    tries = 0

    def process_item(self, item, spider):
        if item["n"] == 2:
            Fails.tries += 1
            raise self.error("two")
        return item


class FailsForGood(Fails):
    error = type("TooLong", (RefusedItem,), {})


@pytest.mark.parametrize(("pipeline", "tries"), [(Fails, 4), (FailsForGood, 1)])
async def test_an_item_that_a_pipeline_cannot_take_is_tried_again_if_that_may_help_and_then_failed(pipeline, tries) -> None:
    Fails.tries = 0
    async with Site({"/": ""}) as site:
        result = await run(Many, site, ITEM_PIPELINES={pipeline: 1})
    assert [item["n"] for item in result.items] == [1, 3]
    assert Fails.tries == tries
    assert [failed.item["n"] for failed in result.failed_items] == [2]


class Away(BatchPipeline):
    max_seconds = 0.01
    stored: list[Any]
    away: int

    async def write(self, items):
        if Away.away:
            Away.away -= 1
            raise Retry("database is away", delay=0.02)
        Away.stored += items


async def test_a_store_that_is_away_stops_the_claims_and_loses_nothing(caplog) -> None:
    Away.stored, Away.away = [], 3
    async with Site({"/": ""}) as site:
        result = await run(Many, site, ITEM_PIPELINES={Away: 1})
    assert [item["n"] for item in Away.stored] == [1, 2, 3]
    assert result.stats.get("request_failed_count") == result.stats.get("item_failed_count") == 0
    assert "database is away" in caplog.text
    assert "is back" in caplog.text


async def test_a_pipeline_that_returns_nothing_is_told_so(caplog) -> None:
    class Nothing(ItemPipeline):
        def process_item(self, item, spider):
            pass

    async with Site({"/": ""}) as site:
        result = await run(Many, site, ITEM_PIPELINES={Nothing: 1}, PIPELINE_RETRY_TIMES=0)
    assert len(result.failed_items) == 3
    assert "should return the item" in caplog.text


async def test_a_callback_can_end_the_crawl() -> None:
    class Closes(Pages):
        def parse(self, response):
            yield {"n": 1}
            raise CloseSpider("enough")

    async with Site({"/": ""}) as site:
        result = await run(Closes, site)
    assert (result.reason, result.items, result.exit_code) == ("enough", [{"n": 1}], 0)


@pytest.mark.parametrize(
    ("limit", "reason"),
    [
        ({"CLOSESPIDER_ITEMCOUNT": 20}, "closespider_itemcount"),
        ({"CLOSESPIDER_PAGECOUNT": 20}, "closespider_pagecount"),
        ({"CLOSESPIDER_ERRORCOUNT": 5}, "closespider_errorcount"),
        ({"CLOSESPIDER_TIMEOUT": 0.3}, "closespider_timeout"),
    ],
)
async def test_a_crawl_without_end_is_ended_by_its_limits(limit: dict[str, Any], reason: str) -> None:
    class Endless(Pages):
        def parse(self, response):
            n = response.meta.get("n", 0)
            for k in range(3):
                yield Request(f"{self.url}?n={n}-{k}-{response.meta['depth']}", meta={"n": f"{n}{k}"})
            yield {"n": n}
            if str(n).endswith("2"):
                raise ValueError

    async with Site({"/": ""}) as site:
        result = await run(Endless, site, **limit)
    assert result.reason == reason
    assert result.stats.get("response_received_count") >= 5


async def test_start_requests_are_drawn_only_as_fast_as_they_are_digested() -> None:
    drawn = 0

    class Start(Pages):
        async def start(self):
            nonlocal drawn
            for n in range(100_000):
                drawn += 1
                yield Request(f"{self.url}?{n}")

    async with Site({"/": ""}) as site:
        result = await run(Start, site, CLOSESPIDER_PAGECOUNT=50)
    assert result.reason == "closespider_pagecount"
    assert drawn < 1_500


async def test_start_may_yield_items_and_be_a_plain_generator() -> None:
    class Plain(Pages):
        def start(self):
            yield {"n": 0}
            yield Request(self.url)

    async with Site({"/": "<h1>t</h1>"}) as site:
        result = await run(Plain, site)
    assert result.items == [{"n": 0}, {"url": site.url("/"), "title": "t"}]


async def test_a_start_that_raises_is_told_and_ends_with_code_1() -> None:
    class Broken(Pages):
        async def start(self):
            raise ValueError("start")
            yield

    async with Site({"/": ""}) as site:
        result = await run(Broken, site)
    assert result.exit_code == 1
    assert "ValueError" in result.stats.get("start_error")


async def test_extensions_hear_what_happens_and_cannot_hurt() -> None:
    Hears.heard = []
    async with Site({"/": ""}) as site:
        result = await run(Many, site, ITEM_PIPELINES={Drops: 1}, EXTENSIONS={Hears: 1})
    assert sorted(Hears.heard[1:-2]) == ["dropped even", "stored 1", "stored 3"]
    assert [Hears.heard[0], *Hears.heard[-2:]] == ["opened", "idle", "closed finished"]
    assert result.stats.get("extension/errors") == 2


class Hears(Extension):
    heard: list[str]

    def opened(self, spider):
        self.heard.append("opened")

    async def item_stored(self, item, spider):
        self.heard.append(f"stored {item['n']}")
        raise ValueError("extension")

    def item_dropped(self, item, reason, spider):
        self.heard.append(f"dropped {reason}")

    def idle(self, spider):
        self.heard.append("idle")

    async def closed(self, reason, spider):
        self.heard.append(f"closed {reason}")


async def test_close_and_closed_are_both_called() -> None:
    called = []

    class Closes(Pages):
        def close(self, reason):
            called.append(f"close {reason}")

        async def closed(self, reason):
            called.append(f"closed {reason}")

    async with Site({"/": ""}) as site:
        await run(Closes, site)
    assert called == ["close finished", "closed finished"]


async def test_a_page_that_yields_very_much_lets_others_in() -> None:
    order: list[str] = []

    class Huge(Pages):
        def parse(self, response):
            yield Request(self.url + "huge", self.huge)
            yield Request(self.url + "small", self.small)

        def huge(self, response):
            for n in range(200_000):
                yield Request(f"{self.url}never?{n % 10}", priority=-1)
            order.append("huge")
            raise CloseSpider("done")

        def small(self, response):
            order.append("small")

    async with Site({"/": "", "/huge": "", "/small": ""}) as site:
        await run(Huge, site)
    assert order == ["small", "huge"]


class OpensFirst(ItemPipeline):
    closed = False

    def open_spider(self, spider):
        OpensFirst.closed = False

    def close_spider(self, spider):
        OpensFirst.closed = True


class CannotOpen(ItemPipeline):
    async def open_spider(self, spider):
        raise OSError("no such database")


async def test_a_pipeline_that_cannot_be_opened_ends_the_crawl_before_the_first_request() -> None:
    async with Site({"/": ""}) as site:
        with pytest.raises(OSError, match="no such database"):
            await run(Many, site, ITEM_PIPELINES={OpensFirst: 1, CannotOpen: 2})
        assert not site.log
    assert OpensFirst.closed


async def test_reasons_that_name_their_items_are_not_each_a_kind() -> None:
    class Talks(ItemPipeline):
        def process_item(self, item, spider):
            raise DropItem(f"no price in {item}")

    class Thousand(Pages):
        def parse(self, response):
            yield from ({"n": n} for n in range(1000))

    async with Site({"/": ""}) as site:
        result = await run(Thousand, site, ITEM_PIPELINES={Talks: 1})
    reasons = result.stats.group("item_dropped_reasons_count")
    assert len(reasons) <= 101
    assert sum(reasons.values()) == 1000


async def test_a_lease_does_not_run_out_in_one_process() -> None:
    """However long a page takes, also where a scheduler for several machines would give it to another one."""

    class Slow(Pages):
        def parse(self, response):
            yield Request(response.urljoin("/slow"), self.read)
            yield from (Request(response.urljoin(f"/{n}"), self.read) for n in range(20))

        async def read(self, response):
            await asyncio.sleep(0.2)
            yield {"url": response.url}

    async with Site({"/": "", "/slow": slowly(1.0, "")} | {f"/{n}": "" for n in range(20)}) as site:
        result = await run(Slow, site, LEASE_SECONDS=0.1, CONCURRENT_REQUESTS=4)

    assert len(site.log) == 22
    assert not result.failed
    assert len(result.items) == 21


@pytest.mark.parametrize("priority", [2**40, -(2**70)])
async def test_a_priority_beyond_all_measure_is_refused(priority: int, caplog) -> None:
    class Urgent(Pages):
        def parse(self, response):
            yield Request(response.urljoin("/a"), self.read, priority=2**40 - 1)
            yield Request(response.urljoin("/b"), self.read, priority=priority)

        def read(self, response):
            yield {"url": response.url}

    async with Site({"/": "", "/a": "", "/b": ""}) as site:
        result = await run(Urgent, site)

    assert len(result.items) == 1
    assert "is no number between -2**40 and 2**40" in caplog.text


async def test_a_spider_logs_as_spiders_for_scrapy_do(caplog) -> None:
    class Talks(Pages):
        def parse(self, response):
            self.log(f"saw {response.url}", logging.WARNING)
            self.log("a detail")

    caplog.set_level(logging.DEBUG, "pages")
    async with Site({"/": ""}) as site:
        await run(Talks, site)

    said = [(record.levelname, record.getMessage()) for record in caplog.records if record.name == "pages"]
    assert said == [("WARNING", f"saw {site.url('/')}"), ("DEBUG", "a detail")]
