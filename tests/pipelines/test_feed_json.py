from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openoctopus.exceptions import SettingsError
from openoctopus.pipelines.feeds import FeedPipeline
from openoctopus.spider import Spider

ENCODINGS = ["utf-8", "utf-8-sig", "gb18030", "gbk", "latin-1", "ascii", "utf-16", "shift_jis", "iso2022_jp"]
texts = st.text(st.characters(exclude_categories=("Cs",)))
data = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
items = st.lists(st.dictionaries(texts, data, max_size=5), max_size=5)


def read(path: Path, encoding: str = "utf-8") -> list[Any]:
    text = path.read_bytes().decode(encoding)
    return json.loads(text) if path.suffix == ".json" else [json.loads(line) for line in text.split("\n")[:-1]]


@pytest.mark.parametrize("name", ["items.jsonl", "items.json"])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(given_items=items)
async def test_any_item_comes_back(tmp_path: Path, crawl: Any, name: str, given_items: list[dict[str, Any]]) -> None:
    async with crawl(FeedPipeline(tmp_path / name, overwrite=True)) as running:
        running.put(*given_items)

    assert read(tmp_path / name) == given_items
    assert not running.failed


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("name", ["items.jsonl", "items.json"])
async def test_any_encoding_keeps_every_character(tmp_path: Path, crawl: Any, name: str, encoding: str) -> None:
    texts = ["ascii", "äöü", "标题", "🐙 octopus", 'a "quoted" \\ one\nnext']
    for text in texts:
        async with crawl(FeedPipeline(tmp_path / name, encoding=encoding)) as running:
            running.put({"标": text})

    assert read(tmp_path / name, encoding) == [{"标": text} for text in texts]


async def test_what_an_encoding_has_is_written_in_it(written: Any) -> None:
    assert await written("items.jsonl", [{"a": "标题🐙"}], encoding="gbk") == '{"a":"标题\\ud83d\\udc19"}\n'


async def test_json_is_one_item_on_each_line(written: Any) -> None:
    assert await written("items.json", [{"a": 1}, {"a": [2]}]) == '[\n{"a":1},\n{"a":[2]}\n]\n'


async def test_json_may_be_indented(written: Any) -> None:
    assert await written("items.json", [{"a": 1}, {}], indent=2) == '[\n{\n  "a": 1\n},\n{}\n]\n'


async def test_json_without_items_is_an_empty_array(written: Any) -> None:
    assert await written("items.json", []) == "[]\n"


async def test_json_lines_without_items_are_an_empty_file(written: Any) -> None:
    assert await written("items.jsonl", []) == ""


ARRAYS = ["[]", " [ \n ] \n", '[{"a":0}]', '[\n  {"a": 0}\n]\n\n', '\ufeff[{"a": 0},{"a": "]"}]', '[{"a":[]}  ]   ']


@pytest.mark.parametrize("text", ARRAYS)
@pytest.mark.parametrize("count", [0, 1, 3])
async def test_an_array_of_any_layout_goes_on(tmp_path: Path, crawl: Any, text: str, count: int) -> None:
    path = tmp_path / "items.json"
    path.write_text(text, "utf-8")
    new = [{"a": n} for n in range(count)]
    async with crawl(FeedPipeline(path)) as running:
        running.put(*new)

    assert json.loads(path.read_text("utf-8-sig")) == json.loads(text.removeprefix("\ufeff")) + new


@pytest.mark.parametrize("text", ['{"a": 1}\n', '[{"a": 1},\n', "[", "]", "nonsense", '[{"a": 1}]\n{"b": 2}\n'])
async def test_what_is_no_array_is_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "items.json"
    path.write_text(text)

    with pytest.raises(SettingsError, match=r"cannot append to .*it is no JSON array .*replace it with -O"):
        await FeedPipeline(path).open_spider(Spider("news"))
    assert path.read_text() == text


@pytest.mark.parametrize(
    ("tail", "kept"),
    [("", 2), ('{"a":2}', 3), ('{"a":"标题"}', 3), ("[1, 2]", 3)],
)
async def test_lines_go_on_after_a_last_line_without_newline(tmp_path: Path, crawl: Any, tail: str, kept: int) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text('{"a":0}\n{"a":1}\n' + tail, "utf-8")
    async with crawl(FeedPipeline(path)) as running:
        running.put({"a": "new"})

    found = read(path)
    assert len(found) == kept + 1
    assert found[-1] == {"a": "new"}


@pytest.mark.parametrize("tail", [b'{"a": "torn in the mid', b'{"a": "\xe6\xa0', b'{"a":1}}', b"x" * 3_000_000])
async def test_a_torn_line_is_refused_and_its_length_is_said(tmp_path: Path, crawl: Any, tail: bytes) -> None:
    path = tmp_path / "items.jsonl"
    path.write_bytes(b'{"a":0}\n' + tail)

    with pytest.raises(SettingsError, match=rf"its last line is torn after {len(tail):,} bytes .*`truncate -s 8 "):
        await FeedPipeline(path).open_spider(Spider("news"))
    assert path.read_bytes() == b'{"a":0}\n' + tail

    path.write_bytes(path.read_bytes()[:8])
    async with crawl(FeedPipeline(path)) as running:
        running.put({"a": 1})
    assert read(path) == [{"a": 0}, {"a": 1}]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
async def test_a_torn_line_is_found_in_wide_encodings(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text('{"a":"标"}\n{"a":', encoding)

    with pytest.raises(SettingsError, match="torn after"):
        await FeedPipeline(path, encoding=encoding).open_spider(Spider("news"))


async def test_a_file_of_another_encoding_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl.gz"
    path.write_bytes(gzip.compress('{"a":"标题"}\n'.encode("gbk")))

    with pytest.raises(SettingsError, match=r"it is not in utf-8: .* at byte"):
        await FeedPipeline(path).open_spider(Spider("news"))


@pytest.mark.parametrize(
    "damaged",
    [b'{"a":0}\n', gzip.compress(b'{"a":0}\n' * 100)[:-9], gzip.compress(b'{"a":0}\n') + b"rubbish"],
    ids=["not packed", "cut", "rubbish behind"],
)
async def test_a_damaged_gzip_file_is_refused(tmp_path: Path, damaged: bytes) -> None:
    path = tmp_path / "items.jsonl.gz"
    path.write_bytes(damaged)

    with pytest.raises(SettingsError, match="it is no whole gzip file"):
        await FeedPipeline(path).open_spider(Spider("news"))


async def test_a_torn_line_is_found_in_a_gzip_file(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"a":0}\n{"a":'))

    with pytest.raises(SettingsError, match="torn after 5 bytes") as refused:
        await FeedPipeline(path).open_spider(Spider("news"))
    assert "truncate" not in str(refused.value)
