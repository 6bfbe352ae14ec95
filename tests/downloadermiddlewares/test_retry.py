"""Trying again."""

from __future__ import annotations

import time
from email.utils import formatdate
from typing import Any

import pytest
from aiohttp import web

from openoctopus.downloadermiddlewares import RetryMiddleware
from openoctopus.exceptions import BlockedAddress, ConnectionFailed, DownloadTimeout, Retry
from openoctopus.http import Request, Response
from openoctopus.spider import Spider
from openoctopus.stats import Stats

SPIDER = Spider("test")
URL = "http://a.example/"


def again(middleware: RetryMiddleware, status: int = 503, headers: Any = None, **meta: Any) -> float | None:
    """The pause before another try after this answer, ``None`` if there is none."""
    request = Request(URL, meta=meta)
    try:
        answer = middleware.process_response(request, Response(URL, status, headers, request=request), SPIDER)
    except Retry as retry:
        return retry.delay
    assert answer.status == status
    return None


async def test_a_passing_error_loses_nothing(site: Any, crawl: Any) -> None:
    site.answers["/"] = [web.Response(status=503), web.Response(text="arrived")]
    stats = Stats()

    page = await crawl(RetryMiddleware(stats)).page(Request(site.url()))

    assert page.body == b"arrived"
    assert len(site.asked) == 2
    assert stats.snapshot() == {"retry/count": 1, "retry/reason_count/503 Service Unavailable": 1}


async def test_the_last_answer_is_delivered_when_the_tries_are_spent(site: Any, crawl: Any) -> None:
    site.answers["/"] = web.Response(status=500, text="broken")
    stats = Stats()

    page = await crawl(RetryMiddleware(stats, retry_times=2)).page(Request(site.url()))

    assert (page.status, page.body) == (500, b"broken")
    assert len(site.asked) == 3
    assert stats.get("retry/max_reached") == 1


async def test_the_last_error_is_raised_when_the_tries_are_spent(crawl: Any) -> None:
    stats = Stats()

    with pytest.raises(ConnectionFailed):
        await crawl(RetryMiddleware(stats, retry_times=1)).page(Request("http://a.example:9/"))

    assert stats.snapshot() == {"retry/count": 1, "retry/max_reached": 1, "retry/reason_count/connection": 1}


@pytest.mark.parametrize("status", [200, 301, 403, 404, 501])
def test_an_answer_is_an_answer(status: int) -> None:
    assert again(RetryMiddleware(Stats()), status) is None


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 522, 524])
def test_what_may_pass_is_tried_again(status: int) -> None:
    assert again(RetryMiddleware(Stats()), status) is not None


def test_a_refusal_of_our_own_is_final() -> None:
    assert RetryMiddleware(Stats()).process_exception(Request(URL), BlockedAddress(), SPIDER) is None


def test_a_failed_download_says_why_it_is_tried_again() -> None:
    with pytest.raises(Retry, match="timeout"):
        RetryMiddleware(Stats()).process_exception(Request(URL), DownloadTimeout(), SPIDER)


@pytest.mark.parametrize(
    ("meta", "tried"),
    [
        ({"retry_times": 1}, True),
        ({"retry_times": 2}, False),
        ({"dont_retry": True}, False),
        ({"max_retry_times": 0}, False),
        ({"max_retry_times": 5, "retry_times": 4}, True),
        ({"max_retry_times": 5, "retry_times": 5}, False),
    ],
)
def test_a_request_says_how_often(meta: dict[str, Any], tried: bool) -> None:
    assert (again(RetryMiddleware(Stats(), retry_times=2), **meta) is not None) is tried


def test_the_pause_doubles_up_to_its_limit() -> None:
    middleware = RetryMiddleware(Stats(), retry_times=99, retry_delay=1.0, retry_delay_max=10.0)

    for attempt, (least, most) in enumerate([(1, 1.5), (2, 3), (4, 6), (8, 10), (10, 10), (10, 10)]):
        pauses = {again(middleware, retry_times=attempt) or 0.0 for _ in range(50)}
        assert least <= min(pauses) <= max(pauses) <= most
        assert len(pauses) > 1 or least == most


def test_the_pause_of_a_thousandth_try_is_a_number() -> None:
    assert again(RetryMiddleware(Stats(), retry_times=9999), retry_times=5000) == 60.0


@pytest.mark.parametrize(
    ("written", "least", "most"),
    [
        ("20", 20.0, 20.0),
        ("0", 1.0, 1.5),
        ("9999999", 300.0, 300.0),
        ("-20", 1.0, 1.5),
        ("soon", 1.0, 1.5),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 1.0, 1.5),
        ("Fri, 01 Jan 2100 00:00:00 GMT", 300.0, 300.0),
    ],
)
def test_retry_after_is_the_least_pause(written: str, least: float, most: float) -> None:
    pause = again(RetryMiddleware(Stats(), retry_after_max=300.0), 429, {"Retry-After": written})

    assert pause is not None
    assert least <= pause <= most


def test_retry_after_may_be_a_date_to_come() -> None:
    written = formatdate(time.time() + 50, usegmt=True)

    pause = again(RetryMiddleware(Stats(), retry_after_max=300.0), 429, {"Retry-After": written})

    assert pause is not None
    assert 40.0 <= pause <= 50.0
