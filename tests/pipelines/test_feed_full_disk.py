"""Disks that are full, on real files: the limit of a file's size stands for the end of a disk."""

from __future__ import annotations

import asyncio
import csv
import errno
import gzip
import io
import json
import random
import resource
import string
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from openoctopus.pipelines.feeds import FeedPipeline, pipeline

READ: dict[str, Callable[[bytes], list[Any]]] = {
    "items.jsonl": lambda data: [json.loads(line) for line in data.splitlines()],
    "items.json": json.loads,
    "items.csv": lambda data: list(csv.DictReader(io.StringIO(data.decode(), newline=""), strict=True)),
    "items.jsonl.gz": lambda data: [json.loads(line) for line in gzip.decompress(data).splitlines()],
    "items.json.gz": lambda data: json.loads(gzip.decompress(data)),
}
every = pytest.mark.parametrize("name", READ)


@contextmanager
def room(size: int) -> Iterator[None]:
    """No file may grow beyond ``size`` bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the limit count as a full disk."""
    monkeypatch.setattr(pipeline, "_FULL", frozenset({errno.EFBIG}))
    monkeypatch.setattr(pipeline, "_FULL_PAUSE", 0.01)


async def until(done: Callable[[], Any]) -> None:
    async with asyncio.timeout(5):
        while not done():
            await asyncio.sleep(0.001)


def items(count: int, start: int = 0) -> list[dict[str, str]]:
    """Texts that no packing makes much shorter."""
    letters = string.ascii_letters + string.digits
    return [{"n": str(n), "text": "".join(random.Random(n).choices(letters, k=500))} for n in range(start, start + count)]


@every
async def test_a_full_disk_is_waited_for_and_nothing_is_lost_or_doubled(
    tmp_path: Path, crawl: Any, full: None, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    path = tmp_path / name
    async with crawl(FeedPipeline(path, **({"raw": True} if name == "items.csv" else {}))) as running:
        running.put(*items(5))
        running.store.flush()
        await until(lambda: len(running.settled) == 5)
        with room(path.stat().st_size + 700):
            running.put(*items(20, 5))
            running.store.flush()
            await until(lambda: not running.store.ready)
            assert READ[name](path.read_bytes()) == items(5)
        await until(lambda: running.store.ready)
        running.put(*items(5, 25))

    assert READ[name](path.read_bytes()) == items(30)
    assert not running.failed
    assert f"output {path} is away, the crawl waits for it: output {path}: File too large" in caplog.messages


@every
async def test_what_fits_is_kept_and_the_file_is_whole(tmp_path: Path, crawl: Any, name: str) -> None:
    path = tmp_path / name
    with room(6_000):
        async with crawl(FeedPipeline(path, **({"raw": True} if name == "items.csv" else {}))) as running:
            running.put(*items(40))

    found = READ[name](path.read_bytes())
    assert 3 <= len(found) < 40
    lost = [item["n"] for item, _ in running.failed]
    assert sorted(lost + [item["n"] for item in found], key=int) == [str(n) for n in range(40)]
    assert all(isinstance(error, OSError) for _, error in running.failed)
    assert len(running.settled) == 40


async def test_a_batch_over_several_parts_comes_again_without_doubles(tmp_path: Path, crawl: Any, full: None) -> None:
    async with crawl(FeedPipeline(tmp_path / "%(batch_id)d.jsonl", batch_item_count=4)) as running:
        with room(2_300):
            running.put(*items(3), {"n": "3", "text": "x" * 4_000}, *items(6, 4))
            running.store.flush()
            await until(lambda: not running.store.ready)
        await until(lambda: running.store.ready)

    parts = [READ["items.jsonl"]((tmp_path / f"{n}.jsonl").read_bytes()) for n in (1, 2, 3)]
    assert [[item["n"] for item in part] for part in parts] == [["0", "1", "2", "3"], ["4", "5", "6", "7"], ["8", "9"]]


async def test_a_column_that_did_not_fit_comes_later(tmp_path: Path, crawl: Any, full: None) -> None:
    path = tmp_path / "items.csv"
    async with crawl(FeedPipeline(path, raw=True)) as running:
        running.put(*items(5))
        running.store.flush()
        await until(lambda: running.settled)
        with room(1_000):
            running.put({"n": "5", "new": "x"})
            running.store.flush()
            await until(lambda: not running.store.ready)
            assert READ["items.csv"](path.read_bytes()) == items(5)
            assert [one.name for one in tmp_path.iterdir()] == ["items.csv"]

    assert READ["items.csv"](path.read_bytes()) == [
        *({**item, "new": ""} for item in items(5)),
        {"n": "5", "text": "", "new": "x"},
    ]


async def test_a_device_without_room_is_waited_for(crawl: Any) -> None:
    async with crawl(FeedPipeline("/dev/full:jsonl")) as running:
        running.put({"a": 1})
        running.store.flush()
        await until(lambda: not running.store.ready)
        await running.store.close()

    assert not running.settled
    assert not running.failed
