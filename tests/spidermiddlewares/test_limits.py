"""Depth, length and endless paths."""

from __future__ import annotations

import time
from typing import Any

import pytest

from openoctopus.exceptions import IgnoreRequest
from openoctopus.http import Request, Response
from openoctopus.plugins import entries
from openoctopus.settings import Settings
from openoctopus.spider import Spider
from openoctopus.spidermiddlewares import DepthMiddleware, UrlLengthMiddleware, UrlTrapMiddleware, built_in
from openoctopus.stats import Stats

SPIDER = Spider("test")
LINK = "http://example.com/x"


def page(depth: int = 0) -> Response:
    request = Request("http://example.com/")
    request.depth = depth
    return Response(request.url, request=request)


def test_a_link_is_one_level_deeper_than_its_page() -> None:
    stats = Stats()
    middleware = DepthMiddleware(stats)
    links = [Request(LINK) for _ in range(4)]

    for depth, link in zip((0, 4, 2, 4), links, strict=True):
        assert middleware.process_found(link, page(depth), SPIDER) is link

    assert [link.depth for link in links] == [1, 5, 3, 5]
    assert stats.snapshot() == {"request_depth_max": 5}


def test_what_is_too_deep_is_dropped() -> None:
    stats = Stats()
    middleware = DepthMiddleware(stats, depth_limit=2)

    assert middleware.process_found(Request(LINK), page(1), SPIDER) is not None
    assert middleware.process_found(Request(LINK), page(2), SPIDER) is None
    assert stats.get("depth/request_ignored_count") == 1


@pytest.mark.parametrize(("depth_priority", "priority"), [(0, 10), (1, 7), (-2, 16)])
def test_depth_changes_the_priority(depth_priority: int, priority: int) -> None:
    link = Request(LINK, priority=10)

    DepthMiddleware(Stats(), depth_priority=depth_priority).process_found(link, page(2), SPIDER)

    assert link.priority == priority


def test_depth_may_begin_again() -> None:
    link = Request(LINK, meta={"depth_reset": True})

    assert DepthMiddleware(Stats(), depth_limit=2).process_found(link, page(9), SPIDER) is link
    assert link.depth == 0


def long_url(length: int) -> str:
    return f"{LINK}/".ljust(length, "y")


@pytest.mark.parametrize(("limit", "length", "passes"), [(100, 100, True), (100, 101, False), (0, 9999, True)])
def test_a_url_is_only_so_long(limit: int, length: int, passes: bool) -> None:
    stats = Stats()
    link = Request(long_url(length))

    assert UrlLengthMiddleware(stats, limit).process_found(link, page(), SPIDER) is (link if passes else None)
    assert stats.get("urllength/request_ignored_count") == (not passes)


@pytest.mark.parametrize(
    ("path", "passes"),
    [
        ("/", True),
        ("/a/a/a/a/a", True),
        ("/a/a/a/a/a/a", False),
        ("/a/b/a/b/a/b/a/b/a/b/a/b", False),
        ("/x/a/y/a/z/a/u/a/v/a/w/a", False),
        ("/1/2/3/4/5/6/7/8/9", True),
        ("///////a", False),
        ("/a/a/a/a/a/b?/a/a/a", True),
        ("/aa/a/aa/a/aa/a", True),
    ],
)
def test_a_path_that_repeats_itself_is_a_trap(path: str, passes: bool) -> None:
    stats = Stats()
    link = Request(f"http://example.com{path}")

    assert UrlTrapMiddleware(stats, 5).process_found(link, page(), SPIDER) is (link if passes else None)
    assert stats.get("urltrap/request_ignored_count") == (not passes)


def test_without_a_limit_no_path_is_a_trap() -> None:
    link = Request("http://example.com" + "/a" * 50)

    assert UrlTrapMiddleware(Stats(), 0).process_found(link, page(), SPIDER) is link


def test_a_path_of_many_segments_is_judged_at_once() -> None:
    link = Request("http://example.com/" + "/".join(map(str, range(20_000))))
    began = time.perf_counter()

    assert UrlTrapMiddleware(Stats(), 5).process_found(link, page(), SPIDER) is link

    assert time.perf_counter() - began < 0.5


@pytest.mark.parametrize(
    ("middleware", "url"),
    [(UrlLengthMiddleware(Stats(), 100), long_url(101)), (UrlTrapMiddleware(Stats(), 5), "http://example.com" + "/a" * 6)],
)
def test_a_start_may_be_so_but_not_its_redirect(middleware: Any, url: str) -> None:
    start, moved = Request(url), Request(url, meta={"redirect_times": 1})
    fine = Request(LINK, meta={"redirect_times": 1})

    assert middleware.process_start(start, SPIDER) is start
    assert middleware.process_start(fine, SPIDER) is fine
    with pytest.raises(IgnoreRequest):
        middleware.process_start(moved, SPIDER)


@pytest.mark.parametrize(
    "middleware", [DepthMiddleware(Stats(), 1), UrlLengthMiddleware(Stats(), 1), UrlTrapMiddleware(Stats(), 1)]
)
def test_items_pass(middleware: Any) -> None:
    item = {"url": LINK}

    assert middleware.process_found(item, page(9), SPIDER) is item


def test_they_stand_in_the_known_order() -> None:
    found = entries("SPIDER_MIDDLEWARES", built_in(Settings()))

    assert [(entry.kind.__name__, entry.order) for entry in found] == [
        ("OffsiteMiddleware", 50),
        ("RefererMiddleware", 700),
        ("UrlLengthMiddleware", 800),
        ("UrlTrapMiddleware", 850),
        ("DepthMiddleware", 900),
    ]


@pytest.mark.parametrize(
    ("option", "value", "name"),
    [
        ("REFERER_ENABLED", False, "RefererMiddleware"),
        ("URLLENGTH_LIMIT", 0, "UrlLengthMiddleware"),
        ("REPEATED_SEGMENTS_LIMIT", 0, "UrlTrapMiddleware"),
    ],
)
def test_some_can_be_switched_off(option: str, value: Any, name: str) -> None:
    assert name not in [kind.__name__ for kind in built_in(Settings.load({"project": {option: value}}))]
