"""The short forms of the figures in docs/reliability.md; ``make chaos`` makes the long ones."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.chaos import away, disk, ledger
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
