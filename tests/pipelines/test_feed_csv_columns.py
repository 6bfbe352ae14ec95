"""A CSV that goes on: new fields, and files that are there already."""

from __future__ import annotations

import asyncio
import csv
import gzip
import io
import os
from pathlib import Path
from typing import Any

import pytest

from openoctopus.exceptions import SettingsError
from openoctopus.pipelines.feeds import FeedPipeline
from openoctopus.spider import Spider


def table(path: Path, encoding: str = "utf-8-sig") -> list[dict[str, str]]:
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode(encoding)
    found = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
    assert all(None not in row and None not in row.values() for row in found), "a line has more or fewer cells than the header"
    return found


async def batches(running: Any, *groups: list[dict[str, Any]]) -> None:
    """Put each group into a batch of its own."""
    for group in groups:
        done = len(running.settled) + len(group)
        running.put(*group)
        running.store.flush()
        async with asyncio.timeout(5):
            while len(running.settled) < done:
                await asyncio.sleep(0.001)


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gb18030", "utf-16"])
@pytest.mark.parametrize("name", ["items.csv", "items.csv.gz"])
async def test_a_new_field_gets_a_column(
    tmp_path: Path, crawl: Any, caplog: pytest.LogCaptureFixture, name: str, encoding: str, overwrite: bool
) -> None:
    path = tmp_path / name
    first = [{"a": "1", "b": 'two\r\nlines, "quoted"'}, {"a": "标题", "b": ""}]
    second = [{"a": "3", "c": "新"}, {"=d": "4", "c": ""}, {"c": "5"}]
    async with crawl(FeedPipeline(path, overwrite=overwrite, encoding=encoding)) as running:
        await batches(running, first, second, [{"a": "6"}])

    assert table(path, "utf-8-sig" if encoding == "utf-8" else encoding) == [
        {"a": "", "b": "", "c": "", "'=d": ""} | {("'=d" if name == "=d" else name): value for name, value in item.items()}
        for item in [*first, *second, {"a": "6"}]
    ]
    assert [record.message for record in caplog.records if record.levelname == "WARNING"] == [
        f"{path}: new field c, =d, a new column that is empty in the lines so far"
    ]
    assert [one.name for one in tmp_path.iterdir()] == [name]
    assert not running.failed


async def test_the_file_is_whole_while_it_gets_wider(tmp_path: Path, crawl: Any) -> None:
    path = tmp_path / "items.csv"
    async with crawl(FeedPipeline(path)) as running:
        for number in range(10):
            await batches(running, [{f"field {number}": "x"}])
            assert len(table(path)) == number + 1
            assert len(table(path)[0]) == number + 1


async def test_a_large_cell_does_not_hinder_a_new_column(tmp_path: Path, crawl: Any) -> None:
    large = 'a "long" text,\n' * 200_000
    path = tmp_path / "items.csv"
    async with crawl(FeedPipeline(path)) as running:
        await batches(running, [{"a": large}, {"a": "b"}], [{"c": "d"}])

    assert path.read_bytes().decode() == f'a,c\r\n"{large.replace(chr(34), chr(34) * 2)}",\r\nb,\r\n,d\r\n'


async def test_parts_go_on_with_the_columns_known(tmp_path: Path, crawl: Any) -> None:
    async with crawl(FeedPipeline(tmp_path / "%(batch_id)d.csv", batch_item_count=2)) as running:
        await batches(running, [{"a": 1}, {"a": 2}], [{"b": 3}, {"a": 4}], [{"c": 5}])

    assert [(tmp_path / f"{n}.csv").read_text().split() for n in (1, 2, 3)] == [
        ["a", "1", "2"], ["a,b", ",3", "4,"], ["a,b,c", ",,5"],
    ]  # fmt: skip


async def test_the_mode_and_a_link_survive(tmp_path: Path, crawl: Any) -> None:
    (tmp_path / "real.csv").write_text("a\r\n1\r\n")
    os.chmod(tmp_path / "real.csv", 0o640)
    (tmp_path / "link.csv").symlink_to("real.csv")
    async with crawl(FeedPipeline(tmp_path / "link.csv")) as running:
        running.put({"b": 2})

    assert (tmp_path / "link.csv").is_symlink()
    assert table(tmp_path / "real.csv") == [{"a": "1", "b": ""}, {"a": "", "b": "2"}]
    assert os.stat(tmp_path / "real.csv").st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    "text",
    ["a,b\r\n1,2\r\n", "a,b\n1,2\n", "\ufeffa,b\n1,2\n", "a,b\r\n1,2", '"a","b"\n"1","2"\n', "a,b\n1,2"],
)
@pytest.mark.parametrize("item", [{"b": "x"}, {"b": "x", "c": "new"}])
async def test_a_file_goes_on_in_its_own_columns(tmp_path: Path, crawl: Any, text: str, item: dict[str, str]) -> None:
    path = tmp_path / "items.csv"
    path.write_bytes(text.encode())
    async with crawl(FeedPipeline(path)) as running:
        running.put(item)

    empty = dict.fromkeys(["a", "b", *item], "")
    assert table(path) == [empty | {"a": "1", "b": "2"}, empty | item]


async def test_a_defused_header_is_known_again(tmp_path: Path, crawl: Any) -> None:
    for _ in range(2):
        async with crawl(FeedPipeline(tmp_path / "items.csv")) as running:
            running.put({"=a": 1, "'b": 2})

    assert (tmp_path / "items.csv").read_text().split() == ["'=a,'b", "1,2", "1,2"]


async def test_fields_that_the_header_has_in_another_order_fit(tmp_path: Path, crawl: Any) -> None:
    path = tmp_path / "items.csv"
    path.write_text("Name,Price,Note\nx,1,y\n")
    async with crawl(FeedPipeline(path, fields={"price": "Price", "name": "Name"})) as running:
        running.put({"name": "z", "price": 2, "other": 3})

    assert table(path) == [{"Name": "x", "Price": "1", "Note": "y"}, {"Name": "z", "Price": "2", "Note": ""}]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a,b\n1,2\n", {"fields": ["a", "price"]}, "its header has no price; it has a, b"),
        ("a;b\n1;2\n", {}, "its header 'a;b' has another delimiter than ','"),
        ("a,a\n1,2\n", {}, "its header has an empty name, or a name twice"),
        ("a,\n1,2\n", {}, "its header has an empty name, or a name twice"),
        ("\n1,2\n", {}, "its header has an empty name, or a name twice"),
        ("a,b\n1,2\n3", {}, "its last line is torn after 1 bytes"),
        ('a,b\n1,"two\nthree\n', {}, "its last line is torn after 13 bytes"),
        ('a,b\n1,2\n"3",4"', {}, "torn"),
        ("1,2,3\n", {"fields": ["a", "b"], "header": False}, "its lines have 3 cells, and there are 2 fields"),
    ],
)
async def test_a_file_that_does_not_fit_is_left_alone(tmp_path: Path, text: str, options: dict[str, Any], message: str) -> None:
    path = tmp_path / "items.csv"
    path.write_text(text)

    with pytest.raises(SettingsError, match=f"cannot append to .*{message}"):
        await FeedPipeline(path, **options).open_spider(Spider("news"))
    assert path.read_text() == text


async def test_a_file_of_another_encoding_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "items.csv"
    path.write_bytes("标题\r\n长城\r\n".encode("gbk"))

    with pytest.raises(SettingsError, match="it is not in utf-8"):
        await FeedPipeline(path).open_spider(Spider("news"))
