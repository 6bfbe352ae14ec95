"""The failed items that a job keeps, and who takes them up again."""

from __future__ import annotations

import msgspec
import pytest

from openoctopus.pipelines.base import FailedItem, ItemOfPage
from openoctopus.pipelines.failed import FailedItems, kept_items
from openoctopus.state import State


@pytest.fixture
def marked() -> State:
    """What a job has when somebody wants to have an item retried."""
    items = FailedItems()
    items.restore_state({})
    items.put(FailedItem({"n": 1}, ValueError("odd"), "Fussy", ItemOfPage(5, 2), "https://a.example/"))
    ((key, kept),) = kept_items(items.changed_state()).items()
    kept.retry = True
    return {key: msgspec.msgpack.encode(kept)}


def test_one_of_several_workers_takes_an_item_up(marked: State) -> None:
    first, second = FailedItems(), FailedItems(retries=False)
    first.restore_state(marked)
    second.restore_state(marked)

    ((_, failed),) = first.take_retries()
    assert (failed.item, failed.pipeline, failed.of, failed.url) == ({"n": 1}, "Fussy", (5, 2), "https://a.example/")
    assert not list(second.take_retries())


def test_an_item_that_was_taken_up_is_forgotten_unless_it_fails_again(marked: State) -> None:
    items = FailedItems()
    items.restore_state(marked)
    ((key, failed),) = items.take_retries()

    items.ended(key)
    assert items.changed_state() == {key: b""}

    items.put(failed)
    items.ended(key)
    assert list(kept_items(items.changed_state())) == [key]
