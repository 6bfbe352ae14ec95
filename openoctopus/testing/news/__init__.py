"""The demo newspaper: what stands in it, how it looks, and how it is served."""

from __future__ import annotations

from openoctopus.testing.news.articles import SECTIONS, Article, Quirk, Section, write_articles
from openoctopus.testing.news.site import NewsSite, serve_news

__all__ = ["SECTIONS", "Article", "NewsSite", "Quirk", "Section", "serve_news", "write_articles"]
