from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from openoctopus.exceptions import CloseSpider, RefusedItem, Retry
from openoctopus.pipelines import BatchPipeline
from openoctopus.pipelines.base import Receipt, size_of


class Shelf(BatchPipeline):
    """Keeps its batches; refuses what is named "bad"."""

    def __init__(self, *, max_items: int = 500, max_seconds: float = 60.0, max_bytes: int = 1 << 20) -> None:
        self.max_items, self.max_seconds, self.max_bytes = max_items, max_seconds, max_bytes
        self.batches: list[list[Any]] = []
        self.tries = 0

    async def write(self, items: Sequence[Any]) -> None:
        self.tries += 1
        if "bad" in items:
            raise ValueError("refused")
        self.batches.append(list(items))


async def soon(done: Any) -> None:
    async with asyncio.timeout(5):
        while not done():
            await asyncio.sleep(0.001)


async def test_a_full_batch_is_written_at_once(crawl: Any) -> None:
    async with crawl(Shelf(max_items=3)) as running:
        running.put("a", "b", "c")
        await soon(lambda: running.store.batches == [["a", "b", "c"]])

        assert running.settled == ["a", "b", "c"]


async def test_many_bytes_make_a_batch_full(crawl: Any) -> None:
    async with crawl(Shelf(max_bytes=1000)) as running:
        running.put("a" * 600, "b" * 600)
        await soon(lambda: len(running.settled) == 2)


async def test_a_batch_is_written_when_its_first_item_is_old(crawl: Any) -> None:
    async with crawl(Shelf(max_seconds=0.03)) as running:
        running.put("a")
        await asyncio.sleep(0.01)
        running.put("b")
        assert not running.settled
        await soon(lambda: running.settled == ["a", "b"])

        assert running.store.batches == [["a", "b"]]


async def test_flush_does_not_wait_for_more(crawl: Any) -> None:
    async with crawl(Shelf()) as running:
        running.put("a")
        running.store.flush()
        await soon(lambda: running.settled == ["a"])


async def test_finish_writes_the_rest(crawl: Any) -> None:
    async with crawl(Shelf()) as running:
        running.put("a", "b")

    assert running.store.batches == [["a", "b"]]
    assert running.settled == ["a", "b"]


async def test_close_without_finish_settles_nothing(crawl: Any) -> None:
    async with crawl(Shelf()) as running:
        running.put("a")
        await running.store.close()

    assert running.settled == []
    assert running.store.batches == []


async def test_what_came_while_a_slow_batch_was_written_is_cut_to_batches(crawl: Any) -> None:
    class Slow(Shelf):
        async def write(self, items: Sequence[Any]) -> None:
            await asyncio.sleep(0.01)
            await super().write(items)

    async with crawl(Slow(max_items=2)) as running:
        running.put("a", "b")
        await asyncio.sleep(0)
        running.put(*"cdefg")

    assert running.store.batches == [["a", "b"], ["c", "d"], ["e", "f"], ["g"]]
    assert running.settled == list("abcdefg")


async def test_pending_bytes_come_and_go(crawl: Any) -> None:
    async with crawl(Shelf()) as running:
        running.put("a" * 100, "b" * 100)
        assert running.store.pending_bytes >= 200

    assert running.store.pending_bytes == 0


async def test_a_refused_item_is_found_and_its_neighbours_are_stored(crawl: Any) -> None:
    items = [f"item {number}" for number in range(60)]
    items.insert(37, "bad")
    async with crawl(Shelf()) as running:
        running.put(*items)

    assert [item for item, _ in running.failed] == ["bad"]
    assert sorted(item for batch in running.store.batches for item in batch) == sorted(set(items) - {"bad"})
    assert sorted(running.settled) == sorted(items)
    assert running.store.tries <= 14


async def test_an_item_is_tried_again_before_it_fails(crawl: Any) -> None:
    class Moody(Shelf):
        async def write(self, items: Sequence[Any]) -> None:
            self.tries += 1
            if "moody" in items and self.tries < 6:
                raise ValueError("not yet")
            self.batches.append(list(items))

    async with crawl(Moody(), retry_times=1) as running:
        running.put("a", "b", "c", "moody")
        running.store.flush()
        await soon(lambda: len(running.settled) == 3)
        assert sorted(running.settled) == ["a", "b", "c"]

    assert not running.failed
    assert running.settled[-1] == "moody"


async def test_a_store_that_is_away_is_waited_for(crawl: Any, caplog: pytest.LogCaptureFixture) -> None:
    class Away(Shelf):
        here = False

        async def write(self, items: Sequence[Any]) -> None:
            self.tries += 1
            if not self.here:
                raise Retry("restarting", delay=0.001)
            self.batches.append(list(items))

    async with crawl(Away()) as running:
        running.put("a", "b")
        running.store.flush()
        await soon(lambda: running.store.tries > 5)
        assert not running.store.ready
        assert not running.settled

        running.store.here = True
        await soon(lambda: running.store.ready)

    assert running.store.batches == [["a", "b"]]
    assert running.settled == ["a", "b"]
    assert not running.failed
    assert [record.message for record in caplog.records if "away" in record.message] == [
        "Away is away, the crawl waits for it: restarting"
    ]
    assert any("is back after" in record.message for record in caplog.records)


async def test_a_broken_connection_counts_as_away(crawl: Any) -> None:
    class Broken(Shelf):
        async def write(self, items: Sequence[Any]) -> None:
            self.tries += 1
            if self.tries == 1:
                raise ConnectionResetError("gone")
            await super().write(items)

    broken = Broken()
    async with crawl(broken) as running:
        running.put("a")
        broken.flush()
        await soon(lambda: not broken.ready)

    assert running.settled == ["a"]
    assert broken.ready


class TooLong(RefusedItem):
    """The shelf is not that wide."""


class Narrow(Shelf):
    """Refuses for good what is long, and for now what is named "bad"."""

    async def write(self, items: Sequence[Any]) -> None:
        if any(len(item) > 5 for item in items):
            self.tries += 1
            raise TooLong
        await super().write(items)


async def test_what_is_refused_for_good_fails_at_once(crawl: Any) -> None:
    async with crawl(Narrow(), retry_times=3) as running:
        running.put("a", "b", "too long", "c", "longer", "d")

    assert sorted(item for batch in running.store.batches for item in batch) == ["a", "b", "c", "d"]
    assert [(item, str(error)) for item, error in running.failed] == [
        ("too long", "The shelf is not that wide."),
        ("longer", "The shelf is not that wide."),
    ]
    assert running.store.tries == 11  # the six together, the halves, and what they were halved into
    assert running.store.pending_bytes == 0


async def test_what_is_refused_for_now_is_tried_again_beside_it(crawl: Any) -> None:
    async with crawl(Narrow(), retry_times=1) as running:
        running.put("too long", "bad", "a")

    assert [item for item, _ in running.failed] == ["too long", "bad"]
    assert running.store.batches == [["a"]]
    assert running.store.tries == 6  # all, the first, the other two, each of them, and "bad" again


async def test_a_store_may_end_the_crawl(crawl: Any) -> None:
    class Full(Shelf):
        async def write(self, items: Sequence[Any]) -> None:
            self.tries += 1
            raise CloseSpider("quota used up")

    async with crawl(Full(), retry_times=3) as running:
        running.put("a", "b")
        running.store.flush()
        await soon(lambda: len(running.failed) == 2)
        with pytest.raises(CloseSpider, match="quota"):
            running.store.put("c", Receipt(lambda _: None))

    assert running.store.tries == 1
    assert all(isinstance(error, CloseSpider) for _, error in running.failed)


async def test_a_plain_function_serves_as_write(crawl: Any) -> None:
    class Plain(BatchPipeline):
        def write(self, items: Sequence[Any]) -> None:  # type: ignore[override]
            self.batches = [list(items)]

    async with crawl(Plain()) as running:
        running.put("a")

    assert running.store.batches == [["a"]]
    assert not running.failed


def test_a_store_without_write_cannot_be_made() -> None:
    class Nothing(BatchPipeline):
        pass

    with pytest.raises(TypeError, match="write"):
        Nothing()  # type: ignore[abstract]


async def test_what_prepare_makes_is_what_write_gets(crawl: Any) -> None:
    class Upper(Shelf):
        def prepare(self, item: Any) -> tuple[Any, int]:
            return item.upper(), len(item)

    class Shouting(Upper):
        async def write(self, items: Sequence[Any]) -> None:
            await super().write(items)
            raise ValueError("no")

    async with crawl(Upper()) as running:
        running.put("a")
    async with crawl(Shouting()) as refused:
        refused.put("b")

    assert running.store.batches == [["A"]]
    assert refused.failed[0][0] == "b"


def test_a_page_is_settled_once_when_it_is_closed_and_nothing_is_owed() -> None:
    settled: list[int] = []
    receipt = Receipt(lambda _: settled.append(1))

    receipt.owe(10)
    receipt.paid(10)
    assert not settled
    receipt.owe(10)
    receipt.owe(5)
    receipt.close()
    receipt.paid(5)
    assert not settled
    assert receipt.bytes == 10
    receipt.paid(10)
    assert settled == [1]


def test_a_page_without_items_is_settled_when_it_is_closed() -> None:
    settled: list[int] = []
    Receipt(lambda _: settled.append(1)).close()

    assert settled == [1]


def test_the_size_of_an_item_follows_its_texts() -> None:
    small, large = size_of({"a": "x", "n": [1, None, b"y"]}), size_of({"a": "x" * 10_000, "n": [1, None, b"y"]})

    assert 100 < small < 500
    assert large - small == 9_999
    assert size_of(object()) > 0
