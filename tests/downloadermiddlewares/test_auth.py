"""User and password for one origin."""

from __future__ import annotations

from typing import Any

import pytest

from openoctopus.downloadermiddlewares import HttpAuthMiddleware
from openoctopus.exceptions import SettingsError
from openoctopus.http import Request
from openoctopus.spider import Spider

ME = "Basic bWU6c2VjcmV0"


def authorization(middleware: HttpAuthMiddleware, url: str, spider: Spider | None = None, **options: Any) -> str | None:
    request = Request(url, **options)
    middleware.process_request(request, spider or Spider("test"))
    value: str | None = request.headers.get("Authorization")
    return value


@pytest.mark.parametrize(
    ("url", "sent"),
    [
        ("https://a.example/x", ME),
        ("https://a.example:443/x", ME),
        ("https://A.EXAMPLE/", ME),
        ("http://a.example/x", None),
        ("https://a.example:8443/x", None),
        ("https://www.a.example/x", None),
        ("https://evil-a.example/x", None),
        ("https://a.example.evil.example/", None),
    ],
)
def test_it_is_sent_to_one_origin_alone(url: str, sent: str | None) -> None:
    assert authorization(HttpAuthMiddleware("me", "secret", "https://a.example"), url) == sent


@pytest.mark.parametrize("origin", ["", "a.example", "ftp://a.example", "nonsense"])
def test_a_user_without_an_origin_is_refused(origin: str) -> None:
    with pytest.raises(SettingsError, match="HTTPAUTH_ORIGIN"):
        HttpAuthMiddleware("me", "secret", origin)


def test_a_header_of_the_request_wins() -> None:
    middleware = HttpAuthMiddleware("me", "secret", "https://a.example")

    assert authorization(middleware, "https://a.example/", headers={"authorization": "Bearer x"}) == "Bearer x"


@pytest.mark.parametrize(
    ("meta", "sent"),
    [
        ({"http_user": "me", "http_pass": "secret"}, ME),
        ({"http_user": "me"}, "Basic bWU6"),
        ({"http_user": "me", "http_pass": "secret", "http_auth_domain": "b.example"}, ME),
        ({"http_user": "me", "http_pass": "secret", "http_auth_domain": "a.example"}, None),
    ],
)
def test_a_request_may_bring_its_own(meta: dict[str, Any], sent: str | None) -> None:
    assert authorization(HttpAuthMiddleware(), "https://b.example/", meta=meta) == sent


def test_user_and_password_of_a_url_are_sent() -> None:
    assert authorization(HttpAuthMiddleware(), "http://me:secret@b.example/") == ME
    assert authorization(HttpAuthMiddleware(), "http://m%C3%A9:a%3Ab@b.example/") == "Basic bcOpOmE6Yg=="


def test_a_spider_may_name_its_domain() -> None:
    spider = Spider("test", http_user="me", http_pass="secret", http_auth_domain="a.example")
    middleware = HttpAuthMiddleware()

    hosts = ["a.example", "www.a.example", "evila.example", "b.example"]

    assert [authorization(middleware, f"http://{host}/", spider) for host in hosts] == [ME, ME, None, None]


@pytest.mark.parametrize("domain", [None, ""])
def test_a_spiders_user_without_a_domain_is_refused(domain: str | None) -> None:
    spider = Spider("test", http_user="me", http_pass="secret", http_auth_domain=domain)

    with pytest.raises(SettingsError, match="http_auth_domain"):
        authorization(HttpAuthMiddleware(), "http://a.example/", spider)


def test_nothing_is_sent_unless_asked() -> None:
    request = Request("http://a.example/")

    HttpAuthMiddleware().process_request(request, Spider("test"))

    assert request.headers.raw == []
