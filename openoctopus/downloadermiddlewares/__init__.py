from __future__ import annotations

from typing import Any

from openoctopus.downloadermiddlewares.auth import HttpAuthMiddleware
from openoctopus.downloadermiddlewares.base import DownloaderMiddleware
from openoctopus.downloadermiddlewares.cookies import CookiesMiddleware
from openoctopus.downloadermiddlewares.headers import DefaultHeadersMiddleware
from openoctopus.downloadermiddlewares.metarefresh import MetaRefreshMiddleware
from openoctopus.downloadermiddlewares.proxy import HttpProxyMiddleware
from openoctopus.downloadermiddlewares.redirect import RedirectMiddleware
from openoctopus.downloadermiddlewares.retry import RetryMiddleware
from openoctopus.downloadermiddlewares.robots import RobotsTxtMiddleware
from openoctopus.downloadermiddlewares.useragent import UserAgentMiddleware
from openoctopus.settings import Settings

__all__ = [
    "CookiesMiddleware",
    "DefaultHeadersMiddleware",
    "DownloaderMiddleware",
    "HttpAuthMiddleware",
    "HttpProxyMiddleware",
    "MetaRefreshMiddleware",
    "RedirectMiddleware",
    "RetryMiddleware",
    "RobotsTxtMiddleware",
    "UserAgentMiddleware",
    "built_in",
]


def built_in(settings: Settings) -> dict[type[Any], int]:
    """The middlewares that stand around every fetch, with their order numbers; without those that are switched off."""
    table = [
        (RobotsTxtMiddleware, 100, settings.ROBOTSTXT_OBEY),
        (HttpAuthMiddleware, 300, True),
        (DefaultHeadersMiddleware, 400, True),
        (UserAgentMiddleware, 500, True),
        (RetryMiddleware, 550, settings.RETRY_ENABLED),
        (MetaRefreshMiddleware, 580, settings.METAREFRESH_ENABLED),
        (RedirectMiddleware, 600, settings.REDIRECT_ENABLED),
        (CookiesMiddleware, 700, settings.COOKIES_ENABLED),
        (HttpProxyMiddleware, 750, settings.HTTPPROXY_ENABLED),
    ]
    return {kind: order for kind, order, enabled in table if enabled}
