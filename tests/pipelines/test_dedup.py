from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from openoctopus.exceptions import DropItem, RefusedItem
from openoctopus.pipelines import DedupPipeline
from openoctopus.pipelines.base import Receipt
from openoctopus.plugins import build
from openoctopus.settings import Settings


class Page:
    """Gives a pipeline its items one by one, as a page does."""

    def __init__(self, pipeline: DedupPipeline, rid: int) -> None:
        self.pipeline = pipeline
        self.receipt = Receipt(lambda page: None)
        self.receipt.rid = rid

    def give(self, *items: Any) -> list[bool]:
        """Which ones passed."""
        passed = []
        for item in items:
            self.receipt.ordinal += 1
            try:
                passed.append(self.pipeline.process_item_of(item, self.receipt) is item)
            except DropItem:
                passed.append(False)
        return passed


@dataclass
class Book:
    title: str
    price: float = 1.0


def run_on(told: dict[str, bytes], **options: Any) -> DedupPipeline:
    """The pipeline of another run, with what the job was told."""
    pipeline = DedupPipeline(**options)
    pipeline.restore_state(told)
    return pipeline


@pytest.mark.parametrize(
    ("fields", "items", "passed"),
    [
        ((), [{"a": 1}, {"a": 1}, {"a": 2}], [True, False, True]),
        ((), [{"a": 1, "b": 2}, {"b": 2, "a": 1}], [True, False]),
        ((), [{"a": 1}, {"a": "1"}, {"a": 1, "b": None}], [True, True, True]),
        (("title",), [Book("x"), Book("x", 2.0), Book("y"), {"title": "x"}], [True, False, True, False]),
        ("title, price", [Book("x"), Book("x", 2.0), Book("x")], [True, True, False]),
        ((), [{"a": "\ud800"}, {"a": "\ud800"}], [True, False]),
    ],
)
def test_what_counts_as_the_same(fields: Any, items: list[Any], passed: list[bool]) -> None:
    pipeline = build(DedupPipeline, Settings.load({"project": {"DEDUPPIPELINE_FIELDS": fields}}))

    assert Page(pipeline, 1).give(*items) == passed


def test_an_item_without_the_field_is_refused() -> None:
    with pytest.raises(RefusedItem, match="no field url, price to tell duplicates by"):
        Page(DedupPipeline(["url", "price"]), 1).give({"title": "x"})


def test_the_next_run_knows_what_came() -> None:
    first = DedupPipeline()
    page = Page(first, 1)
    page.give({"a": 1})
    page.receipt.close()

    assert Page(run_on(dict(first.changed_state())), 1).give({"a": 1}, {"a": 2}) == [False, True]


def test_an_item_whose_page_is_read_again_is_not_its_own_duplicate() -> None:
    first = DedupPipeline()
    Page(first, 2**64).give({"a": 1}, {"a": 1}, {"a": 2})
    again = run_on(dict(first.changed_state()))

    assert Page(again, 5).give({"a": 1}, {"a": 2}) == [False, False]
    page = Page(again, 2**64)
    assert page.give({"a": 1}, {"a": 1}, {"a": 2}) == [True, False, True]
    page.receipt.close()
    again.changed_state()
    assert Page(again, 2**64).give({"a": 1}) == [False], "it was handed over to be settled, and is no more read again"


def test_a_page_that_owes_an_item_may_be_read_again() -> None:
    first = DedupPipeline()
    page = Page(first, 1)
    page.give({"a": 1})
    page.receipt.owe(1)
    page.receipt.close()

    assert Page(run_on(dict(first.changed_state())), 1).give({"a": 1}) == [True]


def test_nothing_is_told_twice() -> None:
    pipeline, told = DedupPipeline(), {}
    for number in range(50):
        page = Page(pipeline, number)
        page.give({"a": number})
        page.receipt.close()
        news = dict(pipeline.changed_state())
        assert not [key for key in news if key in told and not key.endswith("unsettled")]
        assert sum(map(len, news.values())) <= 60
        told |= news

    assert not pipeline.changed_state()
    assert Page(run_on(told), 1000).give(*[{"a": number} for number in range(50)]) == [False] * 50


def test_owners_are_forgotten_with_their_pages() -> None:
    pipeline = DedupPipeline()
    for number in range(1000):
        page = Page(pipeline, number)
        page.give({"a": number})
        page.receipt.close()
        pipeline.changed_state()

    assert not pipeline._owners
    assert not pipeline._pages
