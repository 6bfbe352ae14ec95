from __future__ import annotations

import asyncio
import gzip
import json
import logging
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from openoctopus.exceptions import SettingsError
from openoctopus.pipelines.feeds import DISCARD, FeedPipeline
from openoctopus.spider import Spider


def jsonl(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


async def test_the_old_file_stays_until_the_crawl_ends(tmp_path: Path, crawl: Any) -> None:
    path = tmp_path / "items.json"
    path.write_text("[1]")
    async with crawl(FeedPipeline(path, overwrite=True)) as running:
        running.put({"a": 2})
        running.store.flush()
        async with asyncio.timeout(5):
            while not running.settled:
                await asyncio.sleep(0.001)
        assert path.read_text() == "[1]"

    assert json.loads(path.read_text()) == [{"a": 2}]
    assert os.listdir(tmp_path) == ["items.json"]


async def test_a_stopped_crawl_leaves_what_was_collected(tmp_path: Path, crawl: Any) -> None:
    for name in ("items.json", "items.jsonl", "items.csv"):
        store = FeedPipeline(tmp_path / name, overwrite=True)
        async with crawl(store) as running:
            running.put(*[{"a": n} for n in range(10)])
            store.flush()
            async with asyncio.timeout(5):
                while not running.settled:
                    await asyncio.sleep(0.001)
            running.put({"a": "not written yet"})
            await store.close()

    assert json.loads((tmp_path / "items.json").read_text()) == [{"a": n} for n in range(10)]
    assert jsonl(tmp_path / "items.jsonl") == [{"a": n} for n in range(10)]
    assert (tmp_path / "items.csv").read_text().split() == ["a", *map(str, range(10))]


async def test_a_new_file_has_the_mode_of_the_one_it_replaces(tmp_path: Path, crawl: Any) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text("")
    os.chmod(path, 0o604)
    async with crawl(FeedPipeline(path, overwrite=True)) as running:
        running.put({"a": 1})

    assert os.stat(path).st_mode & 0o777 == 0o604


async def test_a_link_is_followed_not_replaced(tmp_path: Path, crawl: Any) -> None:
    (tmp_path / "real.jsonl").write_text("old\n")
    (tmp_path / "link.jsonl").symlink_to("real.jsonl")
    async with crawl(FeedPipeline(tmp_path / "link.jsonl", overwrite=True)) as running:
        running.put({"a": 1})

    assert (tmp_path / "link.jsonl").is_symlink()
    assert jsonl(tmp_path / "real.jsonl") == [{"a": 1}]


async def test_folders_are_made(tmp_path: Path, crawl: Any) -> None:
    async with crawl(FeedPipeline(tmp_path / "a" / "b" / "items.jsonl")) as running:
        running.put({"a": 1})

    assert jsonl(tmp_path / "a" / "b" / "items.jsonl") == [{"a": 1}]


async def test_what_cannot_be_opened_is_said_before_the_first_request(tmp_path: Path) -> None:
    (tmp_path / "folder.jsonl").mkdir()
    (tmp_path / "file").write_text("")
    for target, message in [
        (tmp_path / "folder.jsonl", "folder.jsonl: it is a folder"),
        (tmp_path / "file" / "items.jsonl", "items.jsonl: "),
        (tmp_path / ("x" * 300 + ".jsonl"), "File name too long"),
    ]:
        for overwrite in (False, True):
            with pytest.raises(SettingsError, match=rf"cannot write to .*{message}"):
                await FeedPipeline(target, overwrite=overwrite).open_spider(Spider("news"))

    assert sorted(os.listdir(tmp_path)) == ["file", "folder.jsonl"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize(
    ("name", "text"),
    [("items.json", "[]\n"), ("items.jsonl", ""), ("items.csv", ""), ("wide.csv", "url,title\r\n")],
)
async def test_a_packed_file_without_items_is_whole(
    tmp_path: Path, crawl: Any, name: str, text: str, overwrite: bool, encoding: str
) -> None:
    options = {"fields": ["url", "title"]} if name == "wide.csv" else {}
    path = tmp_path / f"{name}.gz"
    for item in (None, {"url": "a", "title": "b"}):
        async with crawl(FeedPipeline(path, encoding=encoding, overwrite=overwrite, **options)) as running:
            if item:
                running.put(item)
        done = subprocess.run(["gzip", "-dc", path], capture_output=True, check=True).stdout
        if item is None:
            assert done.decode(encoding) == text

    assert done.decode(encoding).count("\ufeff") == 0
    assert "b" in done.decode(encoding)


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("name", ["items.json", "items.csv", "items.jsonl", "items.jsonl.gz"])
async def test_no_file_without_items_if_asked(tmp_path: Path, crawl: Any, name: str, overwrite: bool) -> None:
    async with crawl(FeedPipeline(tmp_path / name, store_empty=False, overwrite=overwrite)):
        pass

    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("overwrite", [False, True])
async def test_no_items_leave_the_old_file_if_asked(tmp_path: Path, crawl: Any, overwrite: bool) -> None:
    (tmp_path / "items.json").write_text("[1]")
    async with crawl(FeedPipeline(tmp_path / "items.json", store_empty=False, overwrite=overwrite)):
        pass

    assert (tmp_path / "items.json").read_text() == "[1]"


async def test_parts_are_full_and_the_last_is_not_empty(tmp_path: Path, crawl: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with crawl(FeedPipeline(tmp_path / "%(batch_id)d.json", batch_item_count=3, overwrite=True)) as running:
        running.put(*[{"n": n} for n in range(6)])

    assert [json.loads((tmp_path / f"{n}.json").read_text()) for n in (1, 2)] == [
        [{"n": 0}, {"n": 1}, {"n": 2}],
        [{"n": 3}, {"n": 4}, {"n": 5}],
    ]
    assert sorted(os.listdir(tmp_path)) == ["1.json", "2.json"]
    assert [record.message for record in caplog.records] == [
        f"3 items written to {tmp_path}/1.json",
        f"3 items written to {tmp_path}/2.json",
    ]


async def test_parts_of_an_earlier_crawl_stay(tmp_path: Path, crawl: Any) -> None:
    for start in (0, 10):
        async with crawl(FeedPipeline(tmp_path / "%(batch_id)d.jsonl", batch_item_count=2)) as running:
            running.put(*[{"n": start + n} for n in range(3)])

    assert [jsonl(tmp_path / f"{n}.jsonl") for n in (1, 2, 3, 4)] == [
        [{"n": 0}, {"n": 1}], [{"n": 2}], [{"n": 10}, {"n": 11}], [{"n": 12}],
    ]  # fmt: skip


async def test_a_packed_file_is_whole_after_each_batch(tmp_path: Path, crawl: Any) -> None:
    path = tmp_path / "items.jsonl.gz"
    async with crawl(FeedPipeline(path)) as running:
        for number in range(3):
            running.put({"n": number})
            running.store.flush()
            async with asyncio.timeout(5):
                while len(running.settled) <= number:
                    await asyncio.sleep(0.001)
            assert gzip.decompress(path.read_bytes()).count(b"\n") == number + 1


async def test_packing_may_be_asked_for_under_any_name(tmp_path: Path, crawl: Any) -> None:
    async with crawl(FeedPipeline(tmp_path / "items.jsonl", compression="gzip")) as running:
        running.put({"a": 1})
    async with crawl(FeedPipeline(tmp_path / "plain.jsonl.gz", compression="none")) as running:
        running.put({"a": 1})

    assert gzip.decompress((tmp_path / "items.jsonl").read_bytes()) == b'{"a":1}\n'
    assert (tmp_path / "plain.jsonl.gz").read_bytes() == b'{"a":1}\n'


async def test_two_crawls_may_add_lines_to_one_file(tmp_path: Path, crawl: Any) -> None:
    path = tmp_path / "items.jsonl"
    async with crawl(FeedPipeline(path)) as one, crawl(FeedPipeline(path)) as two:
        for number in range(200):
            one.put({"one": number, "text": "x" * 5_000})
            two.put({"two": number, "text": "y" * 5_000})
            await asyncio.sleep(0)

    found = jsonl(path)
    assert [item["one"] for item in found if "one" in item] == list(range(200))
    assert [item["two"] for item in found if "two" in item] == list(range(200))


@pytest.mark.parametrize("name", ["items.json", "items.csv"])
async def test_two_crawls_cannot_add_to_one_array_or_table(tmp_path: Path, crawl: Any, name: str) -> None:
    async with crawl(FeedPipeline(tmp_path / name)) as running:
        running.put({"a": 1})
        with pytest.raises(SettingsError, match="another crawl is writing to it"):
            await FeedPipeline(tmp_path / name).open_spider(Spider("news"))

    async with crawl(FeedPipeline(tmp_path / name)) as again:
        again.put({"a": 2})
    assert not running.failed
    assert not again.failed


async def test_what_is_discarded_is_encoded_and_goes_nowhere(crawl: Any) -> None:
    bad = {"a": object()}
    async with crawl(FeedPipeline(DISCARD, overwrite=True)) as running:
        running.put({"a": 1}, bad)

    assert [item for item, _ in running.failed] == [bad]
    assert Path(os.devnull).is_char_device()
