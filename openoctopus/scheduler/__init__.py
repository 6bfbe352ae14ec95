from __future__ import annotations

from openoctopus.scheduler.base import Scheduler
from openoctopus.scheduler.memory import MemoryScheduler
from openoctopus.scheduler.sqlite import SqliteScheduler

__all__ = ["MemoryScheduler", "Scheduler", "SqliteScheduler"]
