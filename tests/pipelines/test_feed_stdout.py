"""Standard output, in processes of their own."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

SCRIPT = """
import asyncio, logging, sys
from openoctopus.exceptions import CloseSpider
from openoctopus.pipelines.base import Receipt
from openoctopus.pipelines.feeds import FeedPipeline
from openoctopus.spider import Spider

async def crawl(target, count, options):
    logging.basicConfig(format="%(levelname)s %(message)s")
    feed = FeedPipeline(target, **options)
    await feed.open_spider(Spider("news"))
    feed.begin(lambda failed: print("failed", type(failed.error).__name__, failed.error, file=sys.stderr), 3)
    receipt = Receipt(lambda _: None)
    for number in range(count):
        try:
            feed.put({"n": number, "text": "x" * 1000} | ({"late": "文"} if number >= 500 else {}), receipt)
        except CloseSpider as reason:
            print("ended:", reason, file=sys.stderr)
            break
        if number % 50 == 49:
            feed.flush()
            await asyncio.sleep(0.001)
            while feed.pending_bytes > 500_000:
                await asyncio.sleep(0.001)
    await feed.finish()
    await feed.close_spider(None)

asyncio.run(crawl(sys.argv[1], int(sys.argv[2]), eval(sys.argv[3])))
"""


def run(target: str, count: int, options: str = "{}") -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", SCRIPT, target, str(count), options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def output(target: str, count: int, options: str = "{}") -> bytes:
    process = run(target, count, options)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return out


@pytest.mark.parametrize("target", ["-", "-:jsonl", "/dev/stdout:jsonl"])
def test_lines_come_out(target: str) -> None:
    assert [json.loads(line)["n"] for line in output(target, 300).splitlines()] == list(range(300))


@pytest.mark.parametrize("count", [0, 300])
def test_an_array_comes_out_whole(count: int) -> None:
    assert [item["n"] for item in json.loads(output("-:json", count))] == list(range(count))


@pytest.mark.parametrize("count", [0, 300])
def test_packed_lines_come_out(count: int) -> None:
    packed = output("-", count, "{'compression': 'gzip'}")
    out = subprocess.run(["gzip", "-d"], input=packed, capture_output=True, check=True).stdout

    assert [json.loads(line)["n"] for line in out.splitlines()] == list(range(count))


def test_a_late_field_of_a_table_is_kept_in_one_more_cell() -> None:
    process = run("-:csv", 600)
    out, err = process.communicate(timeout=60)

    header, *rows = csv.reader(io.StringIO(out.decode(), newline=""))
    assert header == ["n", "text"]
    assert rows[499] == ["499", "x" * 1000]
    assert rows[500] == ["500", "x" * 1000, '{"late":"文"}']
    assert err.decode().splitlines() == ["WARNING -: new field late, kept as JSON in one more cell at the end"]


def test_a_reader_that_leaves_ends_the_crawl_without_a_traceback() -> None:
    process = run("-", 1_000_000)
    assert process.stdout is not None
    assert process.stderr is not None
    first = process.stdout.readline()
    process.stdout.close()
    err = process.stderr.read().decode()
    process.stderr.close()
    process.wait(60)

    assert json.loads(first)["n"] == 0
    assert process.returncode == 0
    assert "ended: nobody reads output - any more" in err
    assert "Traceback" not in err
    assert set(err.splitlines()) == {
        "failed CloseSpider nobody reads output - any more",
        "ended: nobody reads output - any more",
    }


def test_a_slow_reader_gets_whole_lines() -> None:
    process = run("-", 2_000)
    assert process.stdout is not None
    time.sleep(0.05)
    found = [json.loads(line)["n"] for line in process.stdout]
    process.communicate(timeout=60)

    assert found == list(range(2_000))


def test_an_output_that_does_not_block_is_waited_for() -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with open(reading, "rb") as lines:
        process = subprocess.Popen([sys.executable, "-c", SCRIPT, "-", "1000", "{}"], stdout=writing)
        os.close(writing)
        found = [json.loads(line)["n"] for line in lines]
        assert process.wait(60) == 0

    assert found == list(range(1_000))


def test_a_named_pipe_is_written_to(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    process = run(f"{tmp_path}/pipe:jsonl", 300)
    with open(tmp_path / "pipe", "rb") as lines:
        found = [json.loads(line)["n"] for line in lines]
    process.communicate(timeout=60)

    assert found == list(range(300))


def test_no_standard_output_is_said_at_the_start() -> None:
    command = f"exec {sys.executable} -c '{SCRIPT}' - 1 '{{}}' >&-"
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, timeout=60)

    assert done.returncode == 1
    assert b"there is no standard output to write items to" in done.stderr
