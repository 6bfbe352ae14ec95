"""Files of items: JSON Lines, JSON and CSV, on disk or on standard output."""

from __future__ import annotations

from openoctopus.pipelines.feeds.options import DISCARD
from openoctopus.pipelines.feeds.pipeline import FeedPipeline

__all__ = ["DISCARD", "FeedPipeline"]
