from __future__ import annotations

from openoctopus.scheduler.base import Scheduler
from openoctopus.scheduler.memory import MemoryScheduler

__all__ = ["MemoryScheduler", "Scheduler"]
