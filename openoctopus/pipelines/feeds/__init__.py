"""Files of items: JSON Lines, JSON and CSV, on disk or on standard output."""

from __future__ import annotations

from openoctopus.pipelines.feeds.options import DISCARD
from openoctopus.pipelines.feeds.pipeline import FeedPipeline
from openoctopus.pipelines.feeds.publish import Published, publish
from openoctopus.pipelines.feeds.segments import Share
from openoctopus.pipelines.feeds.sharing import SharedFeed

__all__ = ["DISCARD", "FeedPipeline", "Published", "Share", "SharedFeed", "publish"]
