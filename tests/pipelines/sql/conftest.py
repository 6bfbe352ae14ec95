"""The databases that every promise of tables is tested over."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.pipelines.sql.databases import NAMES, Database
from tests.servers import SERVERS


@pytest.fixture(params=NAMES)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    found = Database(request.param, tmp_path)
    yield found
    await found.close()


@pytest.fixture(params=SERVERS)
async def remote(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    """One that is a server."""
    found = Database(request.param, tmp_path)
    yield found
    await found.close()
