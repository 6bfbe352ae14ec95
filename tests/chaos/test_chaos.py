"""The short forms of the figures in docs/reliability.md; ``make chaos`` makes the long ones."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.chaos import away, disk, drain, faults, kills, ledger, poison
from tests.chaos.site import Chains, Graph
from tests.chaos.victim import Violation


@pytest.mark.parametrize(
    "graph", [Graph(500, twins=True), Graph(500, poison=20), Chains(500)], ids=["tree", "poison", "chains"]
)
def test_every_page_can_be_found_without_reading_poison(graph):
    assert graph.found(graph.poison) == set(range(graph.pages))


@pytest.mark.parametrize(
    ("keys", "complaint"),
    [
        (["a", "b"], "1 items lost (c), 0 doubled (none), 0 that nobody yielded"),
        (["a", "b", "c", "b"], "0 items lost (none), 1 doubled (b), 0 that nobody yielded"),
        (["a", "b", "c", "d"], "0 items lost (none), 0 doubled (none), 1 that nobody yielded (d)"),
    ],
)
def test_the_ledger_sees_what_is_lost_doubled_and_strange(keys, complaint):
    with pytest.raises(Violation, match=r"store: ") as caught:
        ledger.compare("store", {"a", "b", "c"}, Counter(keys))
    assert complaint in str(caught.value)


async def test_a_database_that_is_away_stops_the_claims_and_loses_nothing(tmp_path: Path):
    figures = await away.run(tmp_path, pages=800, seconds=3.0)

    assert figures["pages"] == 800


async def test_a_full_disk_pauses_the_crawl_and_tears_no_line(tmp_path: Path):
    figures = await disk.run(tmp_path, pages=1500, room=300_000, seconds=2.0)

    assert 0 < figures["paused at page"] < 1500


async def test_nothing_is_lost_or_doubled_however_often_the_crawl_is_killed(tmp_path: Path):
    figures = await kills.run(tmp_path, pages=600, kills=6)

    assert figures["kills"] == 6
    assert figures["pages"] == 600


async def test_pages_that_kill_fail_alone(tmp_path: Path):
    figures = await poison.run(tmp_path, pages=200, poison=1)

    assert figures["failed"] == 1
    assert figures["starts"] >= 4


async def test_pages_that_kill_workers_fail_alone(tmp_path: Path):
    figures = await poison.run(tmp_path, pages=400, poison=2, workers=2)

    assert figures["failed"] == 2
    assert figures["starts"] == 1


async def test_a_crawl_that_is_asked_to_end_fetches_nothing_twice(tmp_path: Path):
    figures = await drain.run(tmp_path, pages=1000, times=3)

    assert figures["SIGTERM"] == 3
    assert figures["fetched again"] == 0


@pytest.mark.parametrize("names", ["job.half", "job.committed", "settle.sent,callback.out"])
@pytest.mark.parametrize("action", ["kill", "raise"])
async def test_a_fault_costs_no_page_and_no_item(tmp_path: Path, names: str, action: str):
    figures = await faults.run(tmp_path, pages=100, times=1, names=names, actions=action)

    assert figures["never passed"] == 0
