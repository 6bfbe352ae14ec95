from __future__ import annotations

from openoctopus.monitor.board import Board
from openoctopus.monitor.progress import LiveProgress, PlainProgress
from openoctopus.monitor.summary import Bottleneck, summary

__all__ = ["Board", "Bottleneck", "LiveProgress", "PlainProgress", "summary"]
