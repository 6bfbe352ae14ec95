"""What stands around every fetch unless it is switched off."""

from __future__ import annotations

import pytest

from openoctopus.downloadermiddlewares import built_in
from openoctopus.plugins import entries
from openoctopus.settings import Settings

NAMES = [
    "RobotsTxtMiddleware", "HttpAuthMiddleware", "DefaultHeadersMiddleware", "UserAgentMiddleware", "RetryMiddleware",
    "MetaRefreshMiddleware", "RedirectMiddleware", "CookiesMiddleware", "HttpProxyMiddleware",
]  # fmt: skip


def test_they_stand_in_the_known_order() -> None:
    found = entries("DOWNLOADER_MIDDLEWARES", built_in(Settings()))

    assert [entry.kind.__name__ for entry in found] == NAMES
    assert [entry.order for entry in found] == [100, 300, 400, 500, 550, 580, 600, 700, 750]


@pytest.mark.parametrize(
    ("option", "name"),
    [
        ("ROBOTSTXT_OBEY", "RobotsTxtMiddleware"),
        ("RETRY_ENABLED", "RetryMiddleware"),
        ("METAREFRESH_ENABLED", "MetaRefreshMiddleware"),
        ("REDIRECT_ENABLED", "RedirectMiddleware"),
        ("COOKIES_ENABLED", "CookiesMiddleware"),
        ("HTTPPROXY_ENABLED", "HttpProxyMiddleware"),
    ],
)
def test_each_can_be_switched_off(option: str, name: str) -> None:
    names = [kind.__name__ for kind in built_in(Settings.load({"project": {option: False}}))]

    assert names == [other for other in NAMES if other != name]
