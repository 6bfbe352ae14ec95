from __future__ import annotations

from typing import Any

from openoctopus.settings import Settings
from openoctopus.spidermiddlewares.base import SpiderMiddleware
from openoctopus.spidermiddlewares.depth import DepthMiddleware
from openoctopus.spidermiddlewares.offsite import OffsiteMiddleware
from openoctopus.spidermiddlewares.referer import RefererMiddleware
from openoctopus.spidermiddlewares.traps import UrlTrapMiddleware
from openoctopus.spidermiddlewares.urllength import UrlLengthMiddleware

__all__ = [
    "DepthMiddleware",
    "OffsiteMiddleware",
    "RefererMiddleware",
    "SpiderMiddleware",
    "UrlLengthMiddleware",
    "UrlTrapMiddleware",
    "built_in",
]


def built_in(settings: Settings) -> dict[type[Any], int]:
    """The middlewares that judge what pages yield, with their order numbers; without those that are switched off."""
    table = [
        (OffsiteMiddleware, 50, True),
        (RefererMiddleware, 700, settings.REFERER_ENABLED),
        (UrlLengthMiddleware, 800, settings.URLLENGTH_LIMIT),
        (UrlTrapMiddleware, 850, settings.REPEATED_SEGMENTS_LIMIT),
        (DepthMiddleware, 900, True),
    ]
    return {kind: order for kind, order, enabled in table if enabled}
