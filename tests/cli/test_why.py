"""``octopus why``: what a job knows of one URL, in real processes."""

from __future__ import annotations

import asyncio
import signal

import pytest

from openoctopus.testing import Site
from openoctopus.testing.site import slowly
from tests.cli.conftest import PATIENCE

SPIDER = """
from openoctopus import Request, Spider
from openoctopus.exceptions import IgnoreRequest, RefusedItem
from openoctopus.pipelines import ItemPipeline
from openoctopus.spidermiddlewares import SpiderMiddleware


class Weekdays(SpiderMiddleware):
    def process_found(self, found, response, spider):
        if isinstance(found, Request) and "sunday" in found.url:
            raise IgnoreRequest("closed on sundays")
        return found


class Picky(ItemPipeline):
    def process_item(self, item, spider):
        if "bad" in item:
            raise RefusedItem("no bad ones")
        return item


class Some(Spider):
    name = "some"
    allowed_domains = ["127.0.0.1"]
    custom_settings = {
        "RETRY_TIMES": 0, "ITEM_PIPELINES": {Picky: 1},
        "URLLENGTH_LIMIT": 60, "CONCURRENT_REQUESTS_PER_DOMAIN": 2, "SPIDER_MIDDLEWARES": {Weekdays: 100},
    }

    def __init__(self, site):
        super().__init__()
        self.start_urls = [site]

    def parse(self, response):
        for path in ("/1", "/2?b=1&a=2", "/错误", "/禁/1", "/moved"):
            yield Request(response.urljoin(path), self.read)
        yield Request(response.urljoin("/later"), self.read, "POST", {"Cookie": "a=secret"}, "x=1", delay=3600)

    def read(self, response):
        yield {"url": response.url}
        if response.url.endswith("/1"):
            yield {"bad": 1}
        if response.meta.get("redirect_times"):  # the last one, so that all others have gone before
            for n in range(5):
                yield Request(response.urljoin(f"/slow/{n}"), self.read, priority=-n, meta={"u": response.url})
"""


@pytest.fixture
async def site():
    pages = {"/": "", "/robots.txt": (200, {}, "User-agent: *\nDisallow: /禁/\n"), "/1": "", "/2": "", "/新": ""}
    pages |= {"/%E9%94%99%E8%AF%AF": (500, {}, ""), "/%E6%96%B0": "", "/moved": (302, {"Location": "/%E6%96%B0"}, "")}
    pages |= {f"/slow/{n}": slowly(60.0, "") for n in range(5)}
    async with Site(pages) as site:
        yield site


@pytest.fixture
def some(octopus, site):
    octopus.write("some.py", SPIDER)
    return lambda *more: ["runspider", "some.py", "-a", f"site={site.url('/')}", "--job", "新闻", *more]


@pytest.fixture
def why(octopus, site):
    """What ``octopus why`` tells of a path of the site, by the names that it gives it; the first of each name."""

    async def ask(path, *more):
        url = path if "://" in path else site.url(path)
        ran = await octopus("why", url, "--spider", "some.py", "-a", f"site={site.url('/')}", *more)
        assert ran.code == 0, ran.err
        return dict(line.split(maxsplit=1) for line in reversed(ran.out.splitlines()) if line)

    return ask


async def busy(site):
    """Until only slow pages are left, and all that went before is on the disk."""
    async with asyncio.timeout(PATIENCE):
        while sum(request.path.startswith("/slow/") for request in site.log) < 2:
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.2)


@pytest.fixture
async def running(octopus, site, some):
    """A crawl that has done all but the slow pages, two of which are under way."""
    crawl = await octopus.start(*some("-s", "DRAIN_SECONDS=0"))
    await busy(site)
    return crawl


@pytest.fixture(params=["running", "stopped", "killed"])
async def kept(request, running):
    """The job of such a crawl, while it runs and after each kind of end."""
    if request.param != "running":
        running.send(signal.SIGKILL if request.param == "killed" else signal.SIGTERM)
        await running.end()
    return request.param


async def test_what_became_of_each(why, kept):
    failed = await why("/错误")
    assert (failed["state"], failed["reason"], failed["detail"]) == ("failed", "http_500", "status 500")
    assert failed["callback"] == "read"
    assert failed["url"].endswith("/%E9%94%99%E8%AF%AF")

    item = await why("/1")
    assert (item["state"], item["reason"], item["item"]) == ("an item of it failed", "RefusedItem", '{"bad": 1}')

    first, last = await why("/slow/0"), await why("/slow/4")
    if kept == "running":
        assert first["state"].startswith("under way")
        assert "turn" not in first
        assert last["turn"] == "2 of its host go before it"
    else:
        assert (first["state"], first["turn"]) == ("waits", "0 of its host go before it")
        assert last["turn"] == "4 of its host go before it"
    assert (last["state"], last["priority"]) == ("waits", "-4")

    for more in ((), ("--method", "POST", "--body", "x=1")):
        later = await why("/later", *more)
        assert (later["state"], later["method"], later["body"]) == ("waits", "POST", "x=1")
        assert ", in 3" in later["due"]
        assert later["headers"].startswith('{"Cookie": "***"')

    for path, robots in (
        ("/2?a=2&b=1", "allows it"), ("/moved", "allows it"), ("/新", "allows it"), ("/禁/1", "refuses it: robots.txt forbids"),
    ):  # fmt: skip
        ended = await why(path)
        assert ended["state"].startswith("seen, and at its end"), path
        assert ended["robots"] == robots


NEVER_SEEN = [
    ("/new", "none of them refuses it", "allows it"),
    ("/1?a=1", "none of them refuses it", "allows it"),
    ("http://example.com/", "OffsiteMiddleware refuses it: Drops requests to hosts", "that of http://example.com is not"),
    ("ftp://127.0.0.1/", "OffsiteMiddleware refuses it: ", "that of"),
    ("/a/a/a/a/a/a/a", "UrlTrapMiddleware refuses it: Drops links", "allows it"),
    (f"/{'x' * 60}", "UrlLengthMiddleware refuses it: Drops links", "allows it"),
    ("/sunday", "Weekdays refuses it: closed on sundays", "allows it"),
    ("/禁/new", "none of them refuses it", "refuses it: robots.txt forbids"),
]


async def test_what_was_never_seen_and_which_rule_would_refuse_it(why, running):
    for path, rules, robots in NEVER_SEEN:
        facts = await why(path)

        assert facts["state"] == "never seen"
        assert facts["rules"].startswith(rules)
        assert facts["robots"].startswith(robots)


async def test_rules_that_settings_change(why, running):
    deep, careless = await why("/new", "-s", "DEPTH_LIMIT=3"), await why("/禁/new", "-s", "ROBOTSTXT_OBEY=false")

    assert deep["rules"] == "refused only if it is more than 3 links from the start (DEPTH_LIMIT)"
    assert careless["robots"] == "not obeyed"


@pytest.mark.parametrize("given", ["FINGERPRINT_BITS=128", "FINGERPRINT_IGNORE_QUERY=true"])
async def test_the_dupefilter_is_that_of_the_job(octopus, site, some, why, given):
    crawl = await octopus.start(*some("-s", given, "-s", "DRAIN_SECONDS=0"))
    await busy(site)
    crawl.send(signal.SIGTERM)
    await crawl.end()

    assert (await why("/2?b=1&a=2", "-s", given))["state"].startswith("seen, and at its end")
    assert (await why("/3?b=1&a=2", "-s", given))["state"] == "never seen"
    assert ((await why("/2?c=3", "-s", given))["state"] == "never seen") is ("QUERY" not in given)


WRONG = [
    (("/new",), "not an absolute URL"),
    (("http://a/",), "say where the spider of job 新闻 is: --spider FILE"),
    (("http://a/", "--spider", "none.py"), "there is no file none.py"),
    (("http://a/", "--spider", "other.py"), "job 新闻 is one of spider some, not other"),
    (("http://a/", "--spider", "some.py", "-s", "FINGERPRINT_BITS=128"), "as exact64, not exact128"),
    (("http://a/", "--job", "none"), "there is no job none"),
]


async def test_wrong_use_is_told(octopus, running):
    octopus.write("other.py", "from openoctopus import Spider\n\n\nclass Other(Spider):\n    def parse(self, r): pass\n")
    for asked, told in WRONG:
        ran = await octopus("why", *asked)

        assert ran.code == 2
        assert told in ran.err
        assert "Traceback" not in ran.err


async def test_without_the_spiders_arguments_the_rest_is_told(octopus, site, running):
    ran = await octopus("why", site.url("/new"), "--spider", "some.py")

    assert ran.code == 0
    assert "never seen" in ran.out
    assert "rules     cannot be asked: Some missing a required argument: 'site'" in ran.out
