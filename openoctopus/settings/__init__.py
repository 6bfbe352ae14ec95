"""The options of a crawl: typed, laid over each other in layers, checked once."""

from __future__ import annotations

from openoctopus.settings.kinds import Names
from openoctopus.settings.names import check_names
from openoctopus.settings.secrets import masked
from openoctopus.settings.settings import Settings, environment

__all__ = ["Names", "Settings", "check_names", "environment", "masked"]
