"""The schedulers that the contract suite runs over."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from openoctopus.scheduler import Scheduler
from tests.scheduler.virtual import SCHEDULERS, Clock, settings

Make = Callable[..., Awaitable[Scheduler]]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=SCHEDULERS)
async def make(request: pytest.FixtureRequest, clock: Clock) -> AsyncIterator[Make]:
    """Opens a scheduler with the settings that are given."""
    async with AsyncExitStack() as stack:

        async def opened(lease_seconds: float = math.inf, **options: Any) -> Scheduler:
            return await stack.enter_async_context(SCHEDULERS[request.param](settings(**options), lease_seconds, clock))

        yield opened


@pytest.fixture
async def scheduler(make: Make) -> Scheduler:
    return await make()
