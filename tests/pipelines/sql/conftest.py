"""The databases that every promise of tables is tested over."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.pipelines.sql.databases import NAMES, Database, need


@pytest.fixture(params=NAMES)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    need(request.param)
    found = Database(request.param, tmp_path)
    yield found
    await found.close()
