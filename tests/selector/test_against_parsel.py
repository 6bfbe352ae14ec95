"""parsel is the reference: the same queries on the same pages, and every difference has a reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import parsel
import pytest

from openoctopus.selector import Selector
from tests.selector.differences import listed
from tests.selector.queries import QUERIES

PAGES = sorted(Path(__file__).with_name("pages").glob("*.html"))


def answers(document: Any) -> dict[str, list[Any]]:
    """What every query finds; the markup of elements is written differently, so their name and text stand for them."""
    return {" => ".join(steps): _ask(document, steps) for steps in QUERIES}


def _ask(found: Any, steps: tuple[str, ...]) -> list[Any]:
    for step in steps:
        method, query = step.split(" ", 1)
        found = getattr(found, method)(query)
    return [one if isinstance(one, str) else _plain(one) for one in found]


def _plain(selector: Any) -> Any:
    if isinstance(selector.root, str | float | bool) or selector.get().startswith("<!--"):
        return selector.get()
    return selector.xpath("name()").get(), " ".join(selector.xpath("string()").get().split())


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_a_page_gives_parsels_answers_but_for_the_listed_ones(page: Path) -> None:
    text = page.read_text(encoding="utf-8")

    ours, theirs = answers(Selector(text)), answers(parsel.Selector(text, type="html"))

    assert {query for query in ours if ours[query] != theirs[query]} == listed(page.stem)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_the_lxml_tree_gives_parsels_answers_without_exception(page: Path) -> None:
    text = page.read_text(encoding="utf-8")

    assert answers(Selector(text, tree="lxml")) == answers(parsel.Selector(text, type="html"))


def test_enough_is_asked() -> None:
    assert len(PAGES) >= 15
    assert len(QUERIES) >= 400
    assert all(listed(page) for page in ("broken", "stats_table"))


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_markup_that_was_got_gives_the_same_text_when_read_again(page: Path) -> None:
    body = Selector(page.read_text(encoding="utf-8")).css("body")

    assert Selector(body.get()).css("body ::text").getall() == body.css("::text").getall()
