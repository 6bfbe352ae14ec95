from __future__ import annotations

import os
from typing import Any

import pytest

from openoctopus.exceptions import SettingsError
from openoctopus.pipelines.feeds import DISCARD, FeedPipeline
from openoctopus.pipelines.feeds.options import parse


@pytest.mark.parametrize(
    ("target", "path", "format_name", "compression"),
    [
        ("items.jsonl", "items.jsonl", "jsonl", "none"),
        ("items.jl", "items.jl", "jl", "none"),
        ("out/items.JSON", "out/items.JSON", "json", "none"),
        ("items.csv.gz", "items.csv.gz", "csv", "gzip"),
        ("items.txt:csv", "items.txt", "csv", "none"),
        ("items.gz:jsonlines", "items.gz", "jsonlines", "gzip"),
        ("a:b.csv", "a:b.csv", "csv", "none"),
        ("-", "-", "jsonl", "none"),
        ("-:csv", "-", "csv", "none"),
        ("stdout:", "-", "jsonl", "none"),
        ("file:///tmp/my%20items.json", "/tmp/my items.json", "json", "none"),
        (DISCARD, os.devnull, "jsonl", "none"),
    ],
)
def test_a_target_tells_its_format(target: str, path: str, format_name: str, compression: str) -> None:
    assert tuple(parse(target)) == (path, format_name, compression)


@pytest.mark.parametrize(
    ("target", "options", "message"),
    [
        ("items.txt", {}, "does not tell the format; write items.txt:jsonl"),
        ("items.xml", {"format": "xml"}, "no format 'xml'; there are jsonl, json, csv"),
        ("items", {"format": "jsonlins"}, "no format 'jsonlins': did you mean jsonlines?"),
        ("items.csv", {"feilds": ["a"]}, "no option 'feilds': did you mean fields?"),
        ("items.csv", {"batch_count": 5}, "no option 'batch_count': did you mean batch_item_count?"),
        ("items.csv", {"uri_params": 5}, "no option 'uri_params'; there are format, fields"),
        ("items.csv", {"batch_item_count": -1}, "batch_item_count = -1"),
        ("items.csv", {"batch_item_count": 5}, r"needs %\(batch_id\)d in the name"),
        ("-", {"batch_item_count": 5}, r"needs %\(batch_id\)d in the name"),
        ("items.csv", {"delimiter": ";;"}, "delimiter = ';;'"),
        ("items.csv", {"delimiter": '"'}, "delimiter"),
        ("items.csv", {"header": False}, "a CSV without a header needs fields"),
        ("items.csv", {"indent": 2}, "indent is an option of json, and this is csv"),
        ("items.jsonl", {"delimiter": ";"}, "delimiter is an option of csv, and this is jsonl"),
        ("items.csv", {"fields": {"a": "x", "b": "x"}}, "under the same name"),
        ("items.csv", {"encoding": "utf-9"}, "no text encoding 'utf-9'"),
        ("items.csv", {"encoding": "rot13"}, "no text encoding 'rot13'"),
        ("", {}, "an output needs a file"),
    ],
)
def test_a_wrong_option_is_refused_with_the_way_out(target: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        FeedPipeline(target, **options)


def test_all_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(SettingsError) as wrong:
        FeedPipeline("items.csv", indnt=1, batch_item_count="many")

    assert "indnt" in str(wrong.value)
    assert "batch_item_count" in str(wrong.value)
