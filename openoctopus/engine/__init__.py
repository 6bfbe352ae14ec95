from __future__ import annotations

from openoctopus.engine.engine import Engine, Parts, Stages
from openoctopus.engine.fetching import Fetcher
from openoctopus.engine.observers import Observers

__all__ = ["Engine", "Fetcher", "Observers", "Parts", "Stages"]
