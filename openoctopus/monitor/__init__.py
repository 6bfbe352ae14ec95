from __future__ import annotations

from openoctopus.monitor.board import Board, Snapshot
from openoctopus.monitor.bottleneck import Bottleneck
from openoctopus.monitor.progress import LiveProgress, PlainProgress
from openoctopus.monitor.summary import Report, facts, show, summary

__all__ = ["Board", "Bottleneck", "LiveProgress", "PlainProgress", "Report", "Snapshot", "facts", "show", "summary"]
