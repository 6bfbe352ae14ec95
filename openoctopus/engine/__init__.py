from __future__ import annotations

from openoctopus.engine.carrier import Parts, Stages
from openoctopus.engine.engine import Engine
from openoctopus.engine.fetching import Fetcher
from openoctopus.engine.observers import Observers

__all__ = ["Engine", "Fetcher", "Observers", "Parts", "Stages"]
