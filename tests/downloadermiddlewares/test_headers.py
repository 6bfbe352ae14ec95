"""Default headers."""

from __future__ import annotations

from typing import Any

from openoctopus.downloadermiddlewares import DefaultHeadersMiddleware
from openoctopus.http import Request
from openoctopus.plugins import build
from openoctopus.settings import Settings
from openoctopus.spider import Spider


def sent(settings: dict[str, Any], **options: Any) -> list[tuple[str, str]]:
    loaded = Settings.load({"project": settings})
    middleware = build(DefaultHeadersMiddleware, loaded, settings=loaded)
    request = Request("http://a.example/", **options)
    middleware.process_request(request, Spider("test"))
    return request.headers.raw


CHOSEN = {"DEFAULT_REQUEST_HEADERS": {"Accept": "text/html", "X-Team": "octo"}}


def test_each_request_has_them() -> None:
    assert [name for name, _ in sent({})] == ["Accept", "Accept-Language"]
    assert sent(CHOSEN) == [("Accept", "text/html"), ("X-Team", "octo")]


def test_what_a_request_sets_itself_stays() -> None:
    assert sent(CHOSEN, headers={"accept": "*/*"}) == [("accept", "*/*"), ("X-Team", "octo")]


def test_requests_do_not_share_them() -> None:
    loaded = Settings.load({"project": CHOSEN})
    middleware = build(DefaultHeadersMiddleware, loaded, settings=loaded)
    first, second = Request("http://a.example/"), Request("http://a.example/")
    middleware.process_request(first, Spider("test"))

    first.headers["X-Mine"] = "1"
    middleware.process_request(second, Spider("test"))

    assert "X-Mine" not in second.headers


def test_none_leaves_one_out() -> None:
    assert sent({"DEFAULT_REQUEST_HEADERS": {"Accept": None, "X-Team": "octo"}}) == [("X-Team", "octo")]


def test_a_browser_speaks_for_itself_unless_headers_were_chosen() -> None:
    assert sent({"IMPERSONATE": "chrome"}) == []
    assert sent({"IMPERSONATE": "chrome", **CHOSEN}) == [("Accept", "text/html"), ("X-Team", "octo")]
