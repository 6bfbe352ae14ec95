"""Which proxy a request goes through."""

from __future__ import annotations

from typing import Any

import pytest

from openoctopus.downloadermiddlewares import HttpProxyMiddleware
from openoctopus.downloadermiddlewares.proxy import NoProxy
from openoctopus.exceptions import ConnectionFailed
from openoctopus.http import Request, Response
from openoctopus.spider import Spider

SPIDER = Spider("test")
VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "ftp_proxy", "REQUEST_METHOD")


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return monkeypatch


async def made(http_proxy: str = "") -> HttpProxyMiddleware:
    middleware = HttpProxyMiddleware(http_proxy)
    await middleware.open()
    return middleware


def proxy(middleware: HttpProxyMiddleware, url: str = "http://a.example/", **options: Any) -> Any:
    request = Request(url, **options)
    middleware.process_request(request, SPIDER)
    return request.meta.get("proxy")


async def test_without_a_proxy_nothing_is_set() -> None:
    request = Request("http://a.example/")

    (await made()).process_request(request, SPIDER)

    assert request.meta == {}


async def test_the_setting_is_for_every_request(environment: Any) -> None:
    environment.setenv("http_proxy", "http://other.example:1")
    environment.setenv("no_proxy", "*")
    middleware = await made("http://me:secret@p.example:3128")

    for url in ("http://a.example/", "https://a.example/", "http://127.0.0.1/"):
        assert proxy(middleware, url) == "http://me:secret@p.example:3128"


async def test_the_environment_names_one_per_scheme(environment: Any) -> None:
    environment.setenv("http_proxy", "p.example:1")
    environment.setenv("HTTPS_PROXY", "https://p.example:2")
    middleware = await made()

    assert proxy(middleware, "http://a.example/") == "http://p.example:1"
    assert proxy(middleware, "https://a.example/") == "https://p.example:2"


async def test_all_proxy_is_for_what_has_no_other(environment: Any) -> None:
    environment.setenv("all_proxy", "socks5://p.example:1080")
    environment.setenv("https_proxy", "http://p.example:2")
    middleware = await made()

    assert proxy(middleware, "http://a.example/") == "socks5://p.example:1080"
    assert proxy(middleware, "https://a.example/") == "http://p.example:2"


@pytest.mark.parametrize(
    ("written", "host", "direct"),
    [
        ("", "a.example", False),
        ("", "localhost", True), ("", "x.localhost", True), ("", "127.0.0.1", True),
        ("", "127.9.9.9", True), ("", "[::1]", True),
        ("*", "a.example", True),
        ("a.example", "a.example", True), ("a.example", "www.a.example", True), ("a.example", "evila.example", False),
        (".a.example", "a.example", True), (".a.example", "www.a.example", True), ("*.a.example", "b.example", False),
        ("A.Example", "a.example", True), ("a.example.", "a.example", True), ("a.example", "a.example.", True),
        ("x.example, a.example", "a.example", True), ("x.example a.example", "a.example", True), (" , ,", "a.example", False),
        ("10.0.0.1", "10.0.0.1", True), ("10.0.0.1", "10.0.0.2", False), ("10.0.0.0/8", "10.9.9.9", True),
        ("10.0.0.0/8", "11.0.0.1", False), ("fd00::/8", "[fd00::1]", True), ("[fd00::1]", "[fd00::1]", True),
        ("0.0.1", "10.0.0.1", False), ("10.0.0.0/99", "10.0.0.1", False),
    ],
)  # fmt: skip
def test_some_hosts_are_asked_directly(written: str, host: str, direct: bool) -> None:
    assert NoProxy(written).covers(host) is direct


async def test_no_proxy_of_the_environment_holds_for_its_proxies(environment: Any) -> None:
    environment.setenv("http_proxy", "http://p.example:1")
    environment.setenv("no_proxy", "a.example")
    middleware = await made()

    assert proxy(middleware, "http://www.a.example/") is None
    assert proxy(middleware, "http://b.example/") == "http://p.example:1"
    assert proxy(middleware, "http://a.example/", meta={"proxy": "http://own.example:1"}) == "http://own.example:1"


@pytest.mark.parametrize(
    ("written", "used"),
    [
        ("http://own.example:1", "http://own.example:1"),
        ("own.example:1", "http://own.example:1"),
        ("//own.example:1", "http://own.example:1"),
        ("socks5h://u:p@own.example:1", "socks5h://u:p@own.example:1"),
        (None, None),
        ("", ""),
    ],
)
async def test_a_request_says_its_own(written: str | None, used: str | None) -> None:
    middleware = await made("http://p.example:1")
    request = Request("http://a.example/", meta={"proxy": written})

    middleware.process_request(request, SPIDER)
    middleware.process_response(request, Response(request.url, request=request), SPIDER)

    assert request.meta == {"proxy": used}


async def test_what_was_set_here_is_taken_back_after_the_fetch(environment: Any) -> None:
    environment.setenv("http_proxy", "http://p.example:1")
    middleware = await made()
    request = Request("http://a.example/", meta={"mine": 1})

    middleware.process_request(request, SPIDER)
    middleware.process_response(request, Response(request.url, request=request), SPIDER)
    assert request.meta == {"mine": 1}

    middleware.process_request(request, SPIDER)
    assert middleware.process_exception(request, ConnectionFailed(), SPIDER) is None
    assert request.meta == {"mine": 1}


@pytest.mark.parametrize("name", ["Proxy-Authorization", "proxy-authorization"])
async def test_credentials_for_a_proxy_never_go_to_a_target(name: str) -> None:
    request = Request("http://a.example/", headers={"X-Mine": "1", name: "Basic x"})

    (await made()).process_request(request, SPIDER)

    assert request.headers.raw == [("X-Mine", "1")]
