"""The numbers of a running crawl, and how fast they change."""

from __future__ import annotations

import itertools
import time

import pytest

from openoctopus.dupefilter import RFPDupeFilter
from openoctopus.monitor import Board
from openoctopus.scheduler import MemoryScheduler
from openoctopus.settings import Settings
from openoctopus.stats import Stats


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is moved."""
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def board(clock):
    settings = Settings()
    return Board(Stats(), MemoryScheduler(RFPDupeFilter(), settings))


async def test_a_rate_is_taken_over_the_last_ten_seconds(board, clock):
    rates = []
    for pages in itertools.chain([10] * 20, [2] * 20):
        clock[0] += 1.0
        board.stats.inc("response_received_count", pages)
        rates.append((await board.look()).pages_per_second)

    assert rates[0] == 10
    assert rates[19] == 10
    assert rates[24] == 6
    assert rates[39] == 2


async def test_a_rate_between_rare_looks_is_that_since_the_last_one(board, clock):
    for pages in (600, 60):
        clock[0] += 60.0
        board.stats.inc("response_received_count", pages)
        now = await board.look()

    assert now.pages_per_second == 1
    assert now.elapsed == 120


async def test_downloads_under_way_are_those_that_were_neither_answered_nor_failed(board):
    board.stats.inc("downloader/request_count", 10)
    board.stats.inc("downloader/response_count", 6)
    board.stats.inc("downloader/exception_count", 1)

    assert (await board.look()).in_flight == 3
