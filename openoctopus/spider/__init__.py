from __future__ import annotations

from openoctopus.spider.base import Spider

__all__ = ["Spider"]
