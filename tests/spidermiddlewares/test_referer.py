"""Telling where a link was found."""

from __future__ import annotations

from typing import Any

import pytest

from openoctopus.exceptions import SettingsError
from openoctopus.http import Request, Response
from openoctopus.spider import Spider
from openoctopus.spidermiddlewares import RefererMiddleware
from openoctopus.spidermiddlewares.referer import POLICIES

PAGE = "https://me:secret@example.com/list?page=2#top"
FULL, SITE = "https://example.com/list?page=2", "https://example.com/"
SAME, OTHER, PLAIN = "https://example.com/x", "https://other.com/x", "http://example.com/x"


def told(
    target: str, page: str = PAGE, headers: Any = None, policy: str = "strict-origin-when-cross-origin", **options: Any
) -> str | None:
    request = Request(target, **options)
    RefererMiddleware(policy).process_found(request, Response(page, headers=headers), Spider("test"))
    value: str | None = request.headers.get("Referer")
    return value


@pytest.mark.parametrize(
    ("policy", "same", "other"),
    [
        ("no-referrer", None, None),
        ("no-referrer-when-downgrade", FULL, FULL),
        ("same-origin", FULL, None),
        ("origin", SITE, SITE),
        ("strict-origin", SITE, SITE),
        ("origin-when-cross-origin", FULL, SITE),
        ("strict-origin-when-cross-origin", FULL, SITE),
        ("unsafe-url", FULL, FULL),
    ],
)
def test_a_policy_says_how_much(policy: str, same: str | None, other: str | None) -> None:
    for asked in ({"policy": policy}, {"headers": {"Referrer-Policy": policy}}, {"meta": {"referrer_policy": policy}}):
        assert (told(SAME, **asked), told(OTHER, **asked)) == (same, other)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_page_that_came_over_https_is_never_told_over_http(policy: str) -> None:
    assert told(PLAIN, policy=policy) is None
    assert told("http://other.com/", policy=policy) is None


def test_http_tells_https() -> None:
    assert told(SAME, page="http://example.com/list?page=2") == "http://example.com/"
    assert told("http://example.com/x", page="http://example.com/list?page=2") == "http://example.com/list?page=2"


def test_a_port_is_another_origin() -> None:
    assert told("https://example.com:8443/") == SITE
    assert told("https://example.com:443/") == FULL


@pytest.mark.parametrize(
    ("header", "other"),
    [
        ("no-referrer, origin", SITE),
        ("UNSAFE-URL", FULL),
        ("unsafe-url, something-new", FULL),
        ("something-new", SITE),
        ("os.system", SITE),
        ("openoctopus.testing.Evil", SITE),
        ("", SITE),
    ],
)
def test_of_a_servers_names_the_last_known_counts(header: str, other: str) -> None:
    assert told(OTHER, headers={"Referrer-Policy": header}) == other


@pytest.mark.parametrize("named", ["os.system", 7, None])
def test_an_unknown_name_of_a_request_is_the_default(named: Any) -> None:
    assert told(OTHER, meta={"referrer_policy": named}) == SITE


def test_a_request_stands_over_the_page() -> None:
    assert told(OTHER, headers={"Referrer-Policy": "no-referrer"}, meta={"referrer_policy": "origin"}) == SITE


def test_an_unknown_setting_is_refused() -> None:
    with pytest.raises(SettingsError, match="REFERRER_POLICY"):
        RefererMiddleware("openoctopus.policies.Mine")


def test_a_referer_of_the_request_stays() -> None:
    assert told(SAME, headers={}) == FULL
    assert told(SAME, headers=None) == FULL
    request = Request(SAME, headers={"referer": "http://mine.example/"})
    RefererMiddleware().process_found(request, Response(PAGE), Spider("test"))
    assert request.headers.raw == [("referer", "http://mine.example/")]


def test_a_long_address_is_told_by_its_origin() -> None:
    assert told(SAME, page=f"https://example.com/{'x' * 5000}") == SITE


def test_pages_in_turn_are_told_apart() -> None:
    middleware, spider = RefererMiddleware(), Spider("test")
    pages = [Response("http://example.com/a"), Response("http://example.com/b", headers={"Referrer-Policy": "origin"})]
    requests = [Request("http://example.com/x") for _ in range(4)]

    for number, request in enumerate(requests):
        middleware.process_found(request, pages[number % 2], spider)

    assert [request.headers["Referer"] for request in requests] == ["http://example.com/a", "http://example.com/"] * 2


@pytest.mark.parametrize("page", ["file:///tmp/page.html", "data:text/html,x"])
def test_what_is_no_web_page_is_not_told(page: str) -> None:
    assert told(SAME, page=page) is None


def test_items_pass() -> None:
    item = {"a": 1}

    assert RefererMiddleware().process_found(item, Response(PAGE), Spider("test")) is item
