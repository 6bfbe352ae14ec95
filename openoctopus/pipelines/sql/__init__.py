"""Items in tables of PostgreSQL, MySQL, MariaDB and SQLite."""

from __future__ import annotations

from openoctopus.pipelines.sql.options import is_sql
from openoctopus.pipelines.sql.pipeline import SqlPipeline

__all__ = ["SqlPipeline", "is_sql"]
