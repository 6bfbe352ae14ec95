"""Staying on the spider's own domains."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from openoctopus.exceptions import IgnoreRequest
from openoctopus.http import Request, Response
from openoctopus.spider import Spider
from openoctopus.spidermiddlewares import OffsiteMiddleware
from openoctopus.spidermiddlewares.offsite import domains
from openoctopus.stats import Stats

PAGE = Response("http://example.com/")


def spider(*allowed: str) -> Spider:
    made = Spider("test")
    made.allowed_domains = allowed
    return made


@pytest.mark.parametrize(
    ("allowed", "url", "passes"),
    [
        ("example.com", "http://example.com/", True),
        ("example.com", "https://example.com:8443/x", True),
        ("example.com", "http://www.example.com/", True),
        ("example.com", "http://a.b.example.com/", True),
        ("example.com", "http://EXAMPLE.com/", True),
        ("example.com", "http://example.com./", True),
        ("example.com", "http://evilexample.com/", False),
        ("example.com", "http://example.com.evil.com/", False),
        ("example.com", "http://example.org/", False),
        ("example.com", "http://com/", False),
        ("example.com", "http://example.com@evil.com/", False),
        ("example.com", "http://evil.com\\@example.com/", False),
        ("example.com", "http://evil.com/?example.com", False),
        ("example.com", "http://evil.com#example.com", False),
        ("www.example.com", "http://example.com/", False),
        ("EXAMPLE.com", "http://example.com/", True),
        (".example.com", "http://example.com/", True),
        ("*.example.com", "http://www.example.com/", True),
        ("https://example.com/path", "http://example.com/", True),
        ("example.com:8080", "http://example.com/", True),
        ("bücher.example", "http://xn--bcher-kva.example/", True),
        ("xn--bcher-kva.example", "http://bücher.example/", True),
        ("127.0.0.1", "http://127.0.0.1:8080/", True),
        ("127.0.0.1", "http://0x7f.1/", True),
        ("0.0.1", "http://127.0.0.1/", False),
        ("[::1]", "http://[::1]/", True),
        ("localhost", "http://localhost/", True),
    ],
)
def test_a_link_stays_on_the_domain(allowed: str, url: str, passes: bool) -> None:
    middleware, request, own = OffsiteMiddleware(Stats()), Request(url), spider(allowed)

    # Twice: the verdict is remembered.
    for _ in range(2):
        assert middleware.process_found(request, PAGE, own) is (request if passes else None)


def test_without_domains_everything_passes() -> None:
    request = Request("http://anywhere.example/")

    assert OffsiteMiddleware(Stats()).process_found(request, PAGE, spider()) is request


@pytest.mark.parametrize(
    "url", ["ftp://example.com/", "file:///etc/hostname", "data:text/html,x", "mailto:a@example.com", "about:blank"]
)
def test_only_http_is_crawled(url: str) -> None:
    stats = Stats()
    middleware = OffsiteMiddleware(stats)

    assert middleware.process_found(Request(url), PAGE, spider()) is None
    assert middleware.process_start(Request(url), spider()) is None
    assert stats.snapshot() == {"offsite/scheme_filtered": 2}


def test_a_request_may_leave() -> None:
    request = Request("http://other.com/", meta={"allow_offsite": True})

    assert OffsiteMiddleware(Stats()).process_found(request, PAGE, spider("example.com")) is request


def test_what_is_left_out_is_counted() -> None:
    stats = Stats()
    middleware, own = OffsiteMiddleware(stats), spider("example.com")

    for url in ("http://a.com/1", "http://a.com/2", "http://b.com/"):
        middleware.process_found(Request(url, dont_filter=True), PAGE, own)

    assert stats.snapshot() == {"offsite/domains": 2, "offsite/filtered": 3}


def test_a_start_may_be_anywhere_but_not_its_redirect() -> None:
    middleware, own = OffsiteMiddleware(Stats()), spider("example.com")
    start, moved = Request("http://other.com/"), Request("http://other.com/", meta={"redirect_times": 1})
    home = Request("http://www.example.com/", meta={"redirect_times": 1})

    assert middleware.process_start(start, own) is start
    assert middleware.process_start(home, own) is home
    with pytest.raises(IgnoreRequest, match="offsite"):
        middleware.process_start(moved, own)


@pytest.mark.parametrize("found", [{"url": "http://other.com/"}, None, "text"])
def test_items_pass(found: Any) -> None:
    middleware = OffsiteMiddleware(Stats())

    assert middleware.process_found(found, PAGE, spider("example.com")) is found
    assert middleware.process_start(found, spider("example.com")) is found


def test_a_domain_that_is_none_is_said(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)

    assert domains(["exa mple", "example.com"]) == {"example.com"}
    assert "'exa mple'" in caplog.text
