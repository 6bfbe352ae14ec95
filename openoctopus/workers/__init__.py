from __future__ import annotations

from openoctopus.workers.mission import Mission
from openoctopus.workers.supervisor import Supervisor

__all__ = ["Mission", "Supervisor"]
