"""What every item passes: cleaning, checking, and the stores that keep it."""

from __future__ import annotations

from openoctopus.pipelines.base import BatchPipeline, ItemPipeline
from openoctopus.pipelines.dedup import DedupPipeline
from openoctopus.pipelines.sql import SqlPipeline

__all__ = ["BatchPipeline", "DedupPipeline", "ItemPipeline", "SqlPipeline"]
