"""Real sites on loopback to test spiders with, and to show and measure what a crawl does."""

from __future__ import annotations

from openoctopus.testing.site import Answer, Handler, Page, Site, Visit, cut, in_turn, slowly, zipped

__all__ = ["Answer", "Handler", "Page", "Site", "Visit", "cut", "in_turn", "slowly", "zipped"]
