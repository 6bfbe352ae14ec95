"""robots.txt."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiohttp import web

from openoctopus.downloadermiddlewares import RedirectMiddleware, RetryMiddleware, RobotsTxtMiddleware
from openoctopus.downloadermiddlewares import robots as module
from openoctopus.downloadermiddlewares.robots import product
from openoctopus.exceptions import (
    BlockedAddress,
    CertificateInvalid,
    ConnectionFailed,
    ConnectTimeout,
    DownloadTimeout,
    FetchError,
    IgnoreRequest,
    Later,
    NotConnected,
    ProxyFailed,
    ResponseTooLarge,
    RobotsUnreachable,
)
from openoctopus.http import Request, Response
from openoctopus.spider import Spider
from openoctopus.stats import Stats

SPIDER = Spider("test")


class Records:
    """What a scheduler keeps about hosts."""

    def __init__(self, delay: float = 0.0) -> None:
        self.kept: dict[str, tuple[bytes, float]] = {}
        self.delays: dict[str, float] = {}
        self.delay = delay

    async def recall(self, key: str) -> bytes | None:
        await asyncio.sleep(0)
        return self.kept[key][0] if key in self.kept else None

    async def remember(self, key: str, value: bytes, seconds: float) -> None:
        self.kept[key] = (value, seconds)

    def set_crawl_delay(self, host: str, seconds: float) -> None:
        self.delays[host] = seconds

    async def delay_of(self, host: str) -> float:
        return max(self.delay, self.delays.get(host, 0.0))


class World:
    """robots.txt files by origin, and who asked for them."""

    def __init__(self, files: dict[str, Any]) -> None:
        self.files = files
        self.asked: list[Request] = []

    async def fetch(self, request: Request) -> Response:
        self.asked.append(request)
        await asyncio.sleep(0)
        answer = self.files.get(request.url.removesuffix("/robots.txt"), (404, b""))
        if isinstance(answer, Exception):
            if isinstance(answer, FetchError):
                answer.url = answer.url or request.url
            raise answer
        status, body = answer if isinstance(answer, tuple) else (200, answer)
        return Response(request.url, status, {}, body, request)


def robots(body: Any, records: Records | None = None, **options: Any) -> tuple[RobotsTxtMiddleware, World, Stats]:
    world, stats = World({"http://a.example": body}), Stats()
    return RobotsTxtMiddleware(stats, world.fetch, records or Records(), **options), world, stats


async def verdict(middleware: RobotsTxtMiddleware, path: str, host: str = "a.example", **meta: Any) -> str:
    """``yes``, or why not; there is one try."""
    request = Request(f"http://{host}{path}", meta=meta)
    try:
        try:
            await middleware.process_request(request, SPIDER)
        except RobotsUnreachable as error:
            await middleware.process_exception(request, error, SPIDER)
            raise
    except (IgnoreRequest, Later) as refused:
        return refused.reason
    return "yes"


FORBIDS = "robots.txt forbids"
FILES = {
    "the longest match": (b"User-agent: *\nDisallow: /\nAllow: /pub/\nAllow: /p$", {"/pub/a": 1, "/x": 0, "/p": 1, "/p5": 0}),
    "a tie is allowed": (b"User-agent: *\nDisallow: /a\nAllow: /a", {"/a": 1}),
    "wildcards": (b"User-agent: *\nDisallow: /*.json$\nDisallow: /*?", {"/a.json": 0, "/a.json.html": 1, "/p?q=1": 0, "/p": 1}),
    "our own group only": (b"User-agent: octo\nDisallow: /x\n\nUser-agent: *\nDisallow: /y", {"/x": 0, "/y": 1}),
    "names ignore case, groups share rules": (b"User-agent: other\nUser-agent: OCTO\nDisallow: /x", {"/x": 0, "/y": 1}),
    "groups of one name are one": (b"User-agent: octo\nDisallow: /x\n\nUser-agent: octo\nDisallow: /y", {"/x": 0, "/y": 0}),
    "somebody else's group": (b"User-agent: other\nDisallow: /", {"/x": 1}),
    "no part of another name": (b"User-agent: octopus\nDisallow: /", {"/x": 1}),
    "an empty Disallow": (b"User-agent: *\nDisallow:", {"/x": 1}),
    "an empty file": (b"", {"/x": 1}),
    "a byte order mark": (b"\xef\xbb\xbfUser-agent: *\nDisallow: /x", {"/x": 0, "/y": 1}),
    "UTF-16": ("User-agent: *\nDisallow: /x".encode("utf-16"), {"/x": 0, "/y": 1}),
    "lines that end with CR": (b"User-agent: *\rDisallow: /x\r", {"/x": 0, "/y": 1}),
    "comments and blanks": (b"# hi\n  user-agent : * # all\n\n  DISALLOW : /x # no", {"/x": 0, "/y": 1}),
    "a misspelling": (b"User-agent: *\nDissallow: /x", {"/x": 0, "/y": 1}),
    "unknown lines between": (b"User-agent: *\nFoo: bar\nDisallow: /x\n<b>", {"/x": 0, "/y": 1}),
    "percent-encoding is the same": (b"User-agent: *\nDisallow: /caf%c3%a9", {"/caf\xe9": 0, "/caf%C3%A9/x": 0}),
    "a page instead of rules": (b"<!DOCTYPE html><pre>\nUser-agent: *\nDisallow: /\n", {"/x": 1}),
    "bytes that are no text": (bytes(range(256)) + b"\nUser-agent: *\nDisallow: /x", {"/x": 0}),
    "robots.txt itself": (b"User-agent: *\nDisallow: /", {"/robots.txt": 1}),
}  # fmt: skip


@pytest.mark.parametrize(("body", "paths"), FILES.values(), ids=FILES)
async def test_rules_are_obeyed(body: bytes, paths: dict[str, int]) -> None:
    middleware, _, _ = robots(body, user_agent="octo/1.0 (+http://octo.example/)")

    assert {path: await verdict(middleware, path) for path in paths} == {
        p: "yes" if may else FORBIDS for p, may in paths.items()
    }


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 410, 451])
async def test_no_file_allows_everything(status: int) -> None:
    middleware, _, _ = robots((status, b"User-agent: *\nDisallow: /"))

    assert await verdict(middleware, "/x") == "yes"


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ((500, b""), "http_500"),
        ((503, b"User-agent: *\nAllow: /"), "http_503"),
        ((429, b""), "http_429"),
        (ConnectionFailed(), "connection"),
        (DownloadTimeout(), "timeout"),
        (ResponseTooLarge(), "too_large"),
        (IgnoreRequest("mine"), "mine"),
    ],
)
async def test_an_unreachable_file_forbids_everything_for_a_while_and_says_so_once(answer: Any, why: str, caplog) -> None:
    records = Records()
    middleware, world, stats = robots(answer, records)

    verdicts = await asyncio.gather(*(verdict(middleware, path) for path in ("/x", "/y", "/z")))
    assert {*verdicts, await verdict(middleware, "/later")} == {f"robots.txt unreachable ({why})"}

    assert caplog.messages == [f"http://a.example/robots.txt cannot be had ({why}): nothing is fetched there for 600 s"]
    assert len(world.asked) == 1
    assert stats.get("robotstxt/unreachable") == 1
    assert stats.get("robotstxt/forbidden") == 4
    assert records.kept["robots:http://a.example"][1] == 600


@pytest.mark.parametrize("kind", [NotConnected, ConnectTimeout, BlockedAddress, CertificateInvalid, ProxyFailed])
async def test_what_keeps_the_page_from_its_host_too_is_told_as_the_error_of_the_page(kind: type[FetchError], caplog) -> None:
    records = Records()
    middleware, world, _ = robots(kind(), records)

    for _ in range(2):
        with pytest.raises(kind):
            await verdict(middleware, "/x")

    assert len(world.asked) == 2
    assert not records.kept
    assert not caplog.messages


async def test_a_host_that_its_file_has_moved_to_is_another_matter() -> None:
    error = NotConnected()
    error.url = "http://b.example/robots.txt"
    middleware, _, _ = robots(error)

    assert await verdict(middleware, "/x") == "robots.txt unreachable (connection)"


async def test_the_pages_that_wait_for_it_are_what_is_tried_again(site: Any, crawl: Any) -> None:
    unwell = web.Response(status=503)
    site.answers = {"/robots.txt": [unwell, unwell, web.Response(text="")], "/x": web.Response(text="page")}
    stats = Stats()
    outer = crawl(RobotsTxtMiddleware(stats, crawl().page, Records(), retry_delay=0.0), RetryMiddleware(stats, retry_delay=0.0))

    assert (await outer.page(Request(site.url("/x")))).body == b"page"

    assert site.paths() == ["/robots.txt"] * 3 + ["/x"]
    assert stats.get("retry/count") == 2
    assert not stats.get("robotstxt/unreachable")


async def test_a_file_that_fails_is_asked_for_no_more_often_than_one_page_is_tried_again() -> None:
    middleware, world, _ = robots((500, b""), retry_delay=0.05)
    async with asyncio.timeout(5):
        for tries in range(1, 4):
            for path in ("/a", "/b", "/c"):
                with pytest.raises(RobotsUnreachable, match="http_500"):
                    await middleware.process_request(Request(f"http://a.example{path}"), SPIDER)
            assert len(world.asked) == tries
            await asyncio.sleep(0.05)


async def test_all_who_wait_share_one_fetch() -> None:
    middleware, world, stats = robots(b"User-agent: *\nDisallow: /no")

    verdicts = await asyncio.gather(*(verdict(middleware, path) for path in ("/1", "/2", "/no", "/3")))

    assert verdicts == ["yes", "yes", FORBIDS, "yes"]
    assert len(world.asked) == 1
    assert stats.get("robotstxt/request_count") == 1
    assert stats.get("robotstxt/response_status_count/200") == 1


async def test_one_who_gives_up_does_not_spoil_it_for_the_others() -> None:
    middleware, world, _ = robots(b"User-agent: *\nDisallow: /no")
    first, second = (asyncio.create_task(verdict(middleware, "/no")) for _ in range(2))
    await asyncio.sleep(0)

    first.cancel()

    assert await second == FORBIDS
    assert len(world.asked) == 1


async def test_each_origin_has_its_own() -> None:
    middleware, world, _ = robots(b"User-agent: *\nDisallow: /")
    world.files["http://a.example:8080"] = b"User-agent: *\nAllow: /"

    assert await verdict(middleware, "/x") == FORBIDS
    assert await verdict(middleware, "/x", "a.example:8080") == "yes"
    assert await verdict(middleware, "/x", "b.example") == "yes"


async def test_other_workers_need_not_ask_again() -> None:
    records = Records()
    first, _, _ = robots(b"User-agent: *\nDisallow: /no\nCrawl-delay: 2", records)
    await verdict(first, "/x")
    second, world, _ = robots(b"", records)

    assert await verdict(second, "/no") == FORBIDS
    assert await verdict(second, "/x") == "yes"

    assert world.asked == []
    assert records.kept["robots:http://a.example"][1] == 24 * 3600


@pytest.mark.parametrize(("body", "kept"), [(b"# nothing\n" * 999, b"+"), ((404, b"gone"), b"+"), (b"<html>" * 99, b"+")])
async def test_a_record_that_says_nothing_is_small(body: Any, kept: bytes) -> None:
    records = Records()
    middleware, _, _ = robots(body, records)

    await verdict(middleware, "/x")

    assert records.kept["robots:http://a.example"][0] == kept


@pytest.mark.parametrize(
    ("lines", "delay"),
    [
        ("Crawl-delay: 2.5", 2.5),
        ("Crawl-delay: 3600", 60.0),
        ("Request-rate: 1/10", 10.0),
        ("Request-rate: 30/1m", 2.0),
        ("Crawl-delay: 1\nRequest-rate: 1/5", 5.0),
        ("Request-rate: 1/10 0100-0200", None),
        ("Crawl-delay: soon", None),
        ("Disallow: /x", None),
    ],
)
async def test_a_crawl_delay_is_handed_on(lines: str, delay: float | None) -> None:
    records = Records()
    middleware, _, _ = robots(f"User-agent: *\n{lines}".encode(), records)

    await verdict(middleware, "/")

    assert records.delays.get("a.example") == delay


async def test_a_page_that_waited_at_a_slow_host_comes_back_in_its_turn() -> None:
    middleware, _, _ = robots(b"User-agent: *\nDisallow: /no", Records(delay=1.0))

    assert await asyncio.gather(verdict(middleware, "/a"), verdict(middleware, "/no")) == ["robots.txt was read", FORBIDS]
    assert await verdict(middleware, "/a") == "yes"


async def test_it_is_asked_by_the_way_of_the_page_and_passes_by_itself() -> None:
    middleware, world, _ = robots(b"User-agent: *\nDisallow: /")

    assert await verdict(middleware, "/x", proxy="http://p.example:1") == FORBIDS

    asked = world.asked[0]
    assert (asked.url, asked.meta["proxy"]) == ("http://a.example/robots.txt", "http://p.example:1")
    assert await middleware.process_request(asked, SPIDER) is None


async def test_a_request_may_pass_by() -> None:
    middleware, world, _ = robots(b"User-agent: *\nDisallow: /")

    assert await verdict(middleware, "/x", dont_obey_robotstxt=True) == "yes"
    assert world.asked == []


async def test_redirects_are_followed(site: Any, crawl: Any) -> None:
    site.answers = {
        "/robots.txt": web.Response(status=301, headers={"Location": "/r1"}),
        "/r1": web.Response(status=302, headers={"Location": site.url("/r2", "b.example")}),
        "/r2": web.Response(text="User-agent: *\nDisallow: /no\n"),
        "/yes": web.Response(text="page"),
    }
    stats = Stats()
    inner = crawl(RedirectMiddleware(stats))
    outer = crawl(RobotsTxtMiddleware(stats, inner.page, Records()), RedirectMiddleware(stats))

    assert (await outer.page(Request(site.url("/yes")))).body == b"page"
    with pytest.raises(IgnoreRequest, match=FORBIDS):
        await outer.page(Request(site.url("/no")))

    assert site.paths() == ["/robots.txt", "/r1", "/r2", "/yes"]


async def test_endless_redirects_are_no_file(site: Any, crawl: Any) -> None:
    site.answers = {
        "/robots.txt": web.Response(status=301, headers={"Location": "/robots.txt"}),
        "/x": web.Response(text="page"),
    }
    inner = crawl(RedirectMiddleware(Stats(), redirect_max_times=5))
    outer = crawl(RobotsTxtMiddleware(Stats(), inner.page, Records()))

    assert (await outer.page(Request(site.url("/x")))).body == b"page"


async def test_as_much_as_512_kb_are_read_in_whole_lines() -> None:
    rule = b"Disallow: /first\n"
    filler = b"# " + b"x" * 97 + b"\n"
    body = b"User-agent: *\n" + rule + filler * 5242 + b"Disallow: /late\nDisallow: /later\n"
    cut = body.index(b"/late") + 3 - 512 * 1024
    middleware, _, _ = robots(body[:50] + b"#" * max(-cut, 0) + body[50:])

    assert await verdict(middleware, "/first") == FORBIDS
    assert await verdict(middleware, "/later") == "yes"
    assert await verdict(middleware, "/la-ola") == "yes"


async def test_what_is_held_in_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_PARSED", 3)
    middleware, world, _ = robots(b"")
    for number in range(10):
        world.files[f"http://h{number}.example"] = b"User-agent: *\nDisallow: /no"
        assert await verdict(middleware, "/no", f"h{number}.example") == FORBIDS

    assert len(middleware._known) == 3
    assert await verdict(middleware, "/no", "h0.example") == FORBIDS
    assert len(world.asked) == 10


@pytest.mark.parametrize(
    ("user_agent", "name"),
    [
        ("", "OpenOctopus"),
        ("CaseBot/1.0 (+http://bot.example/)", "CaseBot"),
        ("my-bot", "my-bot"),
        ("Mozilla/5.0 (compatible; FooBot/2.1; +http://foo.example/)", "FooBot"),
        ("(odd)", "OpenOctopus"),
    ],
)
def test_our_name_is_the_product_token(user_agent: str, name: str) -> None:
    assert product(user_agent) == name


async def test_the_name_for_robots_can_be_another() -> None:
    middleware, _, _ = robots(b"User-agent: special\nDisallow: /", robotstxt_user_agent="Special", user_agent="octo/1.0")

    assert await verdict(middleware, "/x") == FORBIDS
