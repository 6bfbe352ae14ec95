from __future__ import annotations

from openoctopus.spider.base import Spider
from openoctopus.spider.failure import Failure

__all__ = ["Failure", "Spider"]
