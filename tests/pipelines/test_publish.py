"""Segments become a file: whole batches only, each item once, also if this is broken off."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from openoctopus.exceptions import SettingsError
from openoctopus.pipelines.base import Receipt
from openoctopus.pipelines.feeds import Share, SharedFeed, publish
from openoctopus.spider import Spider


async def wrote(target: Path, worker: str, *items: tuple[int, int], crawl: str = "aa", job: str = "", **options: Any) -> None:
    """A worker that wrote these items, by page and number."""
    feed = SharedFeed(target, Share(crawl, worker, job), **options)
    await feed.open_spider(Spider("news"))
    feed.begin(lambda failed: pytest.fail(str(failed.error)), 0)
    for page, number in items:
        receipt = Receipt(lambda page: None)
        receipt.rid, receipt.ordinal = page, number
        feed.put({"n": f"{page}.{number}"}, receipt)
        feed.flush()
    await feed.finish()
    await feed.close_spider(Spider("news"))


def lines(path: Path) -> list[str]:
    return [line.strip() for line in path.read_text().splitlines()]


async def test_items_that_come_twice_are_left_out(tmp_path: Path) -> None:
    target = tmp_path / "items.csv"
    await wrote(target, "1", (1, 1), (1, 2), (2, 1))
    await wrote(target, "2", (2**127, 1), (1, 1), (1, 2), (1, 3))

    (made,) = publish(str(target))

    assert lines(target) == ["n", "1.1", "1.2", "2.1", f"{2**127}.1", "1.3"]
    assert (made.segments, made.items, made.doubles, made.torn) == (2, 5, 2, 0)
    assert os.listdir(tmp_path) == ["items.csv"]


@pytest.mark.parametrize("lost", [1, 5, 9, 30])
async def test_a_torn_batch_is_cut_off(tmp_path: Path, lost: int) -> None:
    target = tmp_path / "items.csv"
    await wrote(target, "1", (1, 1))
    (path,) = (tmp_path / "items.csv.parts").iterdir()
    whole = path.stat().st_size
    await wrote(tmp_path / "b.csv", "1", (1, 1), (2, 2))
    feed = SharedFeed(target, Share("aa", "2"))
    more = path.read_bytes()[-(whole // 4) :]
    path.write_bytes(path.read_bytes() + (b"\xff\x00\x00\x00" + more)[:lost])
    assert feed.folder == path.parent

    (made,) = publish(str(target))

    assert lines(target) == ["n", "1.1"]
    assert made.torn == lost


async def test_a_segment_of_which_nothing_was_written_is_nothing(tmp_path: Path) -> None:
    target = tmp_path / "items.csv"
    await wrote(target, "1", (1, 1))
    (tmp_path / "items.csv.parts" / "aa-2.segment").write_bytes(b"\x09")

    publish(str(target))

    assert lines(target) == ["n", "1.1"]
    assert os.listdir(tmp_path) == ["items.csv"]


async def test_two_crawls_are_two_crawls(tmp_path: Path) -> None:
    """The same identity in another crawl is another item; what is there stays, once."""
    target = tmp_path / "items.csv"
    target.write_text("n\r\nold\r\n")
    await wrote(target, "1", (1, 1))
    with pytest.raises(SettingsError, match="has items of another crawl"):
        await wrote(target, "1", (1, 1), crawl="bb")
    publish(str(target))
    await wrote(target, "1", (1, 1), crawl="bb")
    publish(str(target))

    assert lines(target) == ["n", "old", "1.1", "1.1"]


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("job", ["", "job"])
async def test_broken_off_anywhere_the_next_call_does_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, overwrite: bool, job: str
) -> None:
    class Broken(Exception):
        pass

    for step in range(100):
        folder = tmp_path / str(step)
        folder.mkdir()
        target = folder / "items.csv"
        target.write_text("n\r\nold\r\n")
        await wrote(target, "1", (1, 1), overwrite=overwrite, job=job)
        await wrote(target, "2", (1, 1), (1, 2), overwrite=overwrite, job=job)
        left = step

        def counted(real: Any) -> Any:
            def call(*given: Any, **more: Any) -> Any:
                nonlocal left
                left -= 1
                if left < 0:
                    raise Broken
                return real(*given, **more)

            return call

        try:
            with monkeypatch.context() as patch:
                for name in ("replace", "unlink", "fsync", "rmdir", "rename"):
                    patch.setattr(os, name, counted(getattr(os, name)))
                publish(str(target), is_finished=True)
            is_through = True
        except Broken:
            is_through = False
            assert lines(target) in (["n", "old"], (["n"] if overwrite else ["n", "old"]) + ["1.1", "1.2"])
            if (folder / "items.csv.parts").is_dir():
                publish(str(target), is_finished=True) if any((folder / "items.csv.parts").iterdir()) else None
        assert lines(target) == (["n"] if overwrite else ["n", "old"]) + ["1.1", "1.2"], step
        if is_through:
            assert step > 5
            assert os.listdir(folder) == ["items.csv"]
            return
    raise AssertionError("it never came to its end")


async def test_a_file_that_cannot_go_on_is_named(tmp_path: Path) -> None:
    target = tmp_path / "items.csv"
    await wrote(target, "1", (1, 1))
    target.write_text('n\r\n"torn')

    with pytest.raises(SettingsError, match=r"cannot append to .*/items\.csv: its last line is torn"):
        publish(str(target))
    assert lines(target) == ["n", '"torn']

    target.unlink()
    publish(str(target))
    assert lines(target) == ["n", "1.1"]


async def test_what_is_in_the_way_is_told_before_the_crawl(tmp_path: Path) -> None:
    target = tmp_path / "items.json"
    target.write_text("no array")

    with pytest.raises(SettingsError, match="it is no JSON array"):
        await wrote(target, "1")


async def test_a_crawl_without_items_leaves_what_one_process_leaves(tmp_path: Path) -> None:
    await wrote(tmp_path / "items.json", "1")
    await wrote(tmp_path / "none.json", "1", store_empty=False)

    publish(str(tmp_path / "items.json"))
    publish(str(tmp_path / "none.json"))

    assert os.listdir(tmp_path) == ["items.json"]
    assert (tmp_path / "items.json").read_text() == "[]\n"


async def test_placeholders_are_those_of_the_crawl(tmp_path: Path) -> None:
    target = tmp_path / "%(name)s-%(item_class)s-%(batch_id)02d.csv"
    await wrote(target, "1", *[(1, number) for number in range(1, 6)], batch_item_count=2)
    assert (tmp_path / "name-item_class-batch_id.csv.parts").is_dir()

    publish(str(target))

    found = {path.name: lines(path) for path in tmp_path.iterdir()}
    assert found == {
        "news-dict-01.csv": ["n", "1.1", "1.2"], "news-dict-02.csv": ["n", "1.3", "1.4"], "news-dict-03.csv": ["n", "1.5"],
    }  # fmt: skip


def test_where_nothing_is_nothing_is_made(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="there are no segments"):
        publish(str(tmp_path / "items.csv"))
