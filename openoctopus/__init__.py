"""OpenOctopus: a crawler that loses nothing."""

from __future__ import annotations

from openoctopus.http import FormRequest, JsonRequest, Request, Response
from openoctopus.items import Field, Item
from openoctopus.result import Result
from openoctopus.runner import crawl, run
from openoctopus.settings import Settings
from openoctopus.spider import Spider

__version__ = "0.1.0"
__all__ = ["Field", "FormRequest", "Item", "JsonRequest", "Request", "Response", "Result", "Settings", "Spider", "crawl", "run"]
