"""Files of a job in the next run: what is the job's own is cut back, anything else is refused with what was found."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from openoctopus import Request, Result, Spider, crawl
from openoctopus.exceptions import CloseSpider, SettingsError
from openoctopus.pipelines.base import Receipt
from openoctopus.pipelines.feeds import FeedPipeline
from openoctopus.pipelines.feeds.marks import Marks
from openoctopus.testing import Site

Run = Callable[..., Awaitable[Result]]


class Pages(Spider):
    """Four pages; the first run ends after the second."""

    name = "pages"
    custom_settings = {"ROBOTSTXT_OBEY": False, "CONCURRENT_REQUESTS": 1}
    url = ""
    last = 2

    async def start(self):
        yield Request(f"{self.url}1", self.parse, cb_kwargs={"n": 1})

    def parse(self, response, n):
        yield {"n": n, "text": "x" * 20}
        if n < 4:
            yield Request(f"{self.url}{n + 1}", self.parse, cb_kwargs={"n": n + 1})
        if n == self.last:
            raise CloseSpider("enough")


@pytest.fixture
async def run(tmp_path: Path):
    async with Site({f"/{n}": "" for n in range(1, 5)}) as site:

        async def run(*outputs: str, last: int = 0, **options: Any) -> Result:
            jobs = {"JOB": "job", "JOBS_DIR": str(tmp_path / "jobs")}
            return await crawl(
                Pages, url=site.url("/"), outputs=[str(tmp_path / name) for name in outputs], last=last, **jobs | options
            )

        yield run


def numbers(path: Path) -> list[int]:
    return [json.loads(line)["n"] for line in path.read_text().splitlines()]


@pytest.mark.parametrize(
    ("tamper", "complaint"),
    [
        (lambda path: path.unlink(), "and it is gone"),
        (lambda path: shutil.copy(path, f"{path}.2") and os.replace(f"{path}.2", path), "another file stands in its place"),
        (lambda path: os.truncate(path, 10), "it has only 10 bytes now"),
        (lambda path: path.write_bytes(path.read_bytes().replace(b"x", b"y")), "are others now"),
        (lambda path: path.write_bytes(path.read_bytes() + b"mine\n"), "somebody else changed it since the crawl was stopped"),
    ],
    ids=["gone", "another file", "shorter", "others", "longer"],
)
async def test_a_file_that_is_not_as_the_job_left_it_is_refused(run: Run, tmp_path: Path, tamper: Any, complaint: str) -> None:
    await run("items.jsonl", last=2)
    path = tmp_path / "items.jsonl"
    tamper(path)
    before = path.read_bytes() if path.exists() else None

    with pytest.raises(SettingsError, match=complaint) as caught:
        await run("items.jsonl")

    assert "put it back as it was, or begin anew with --fresh" in str(caught.value)
    assert (path.read_bytes() if path.exists() else None) == before


async def test_a_file_that_was_put_back_goes_on(run: Run, tmp_path: Path) -> None:
    await run("items.jsonl", last=2)
    path = tmp_path / "items.jsonl"
    whole = path.read_bytes()
    path.write_bytes(b"")
    with pytest.raises(SettingsError):
        await run("items.jsonl")
    path.write_bytes(whole)

    await run("items.jsonl")

    assert numbers(path) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "options", [{"format": "json"}, {"compression": "gzip"}, {"encoding": "utf-16"}], ids=lambda options: next(iter(options))
)
async def test_an_output_stays_what_it_was(run: Run, tmp_path: Path, options: Any) -> None:
    target = str(tmp_path / "items.jsonl")
    await run(last=2, FEEDS={target: {}})

    with pytest.raises(SettingsError, match="the job writes it as jsonl, utf-8, none, and not as"):
        await run(FEEDS={target: options})


async def test_columns_stay_what_they_were(run: Run, tmp_path: Path) -> None:
    target = str(tmp_path / "items.csv")
    await run(last=2, FEEDS={target: {"fields": ["n"]}})

    with pytest.raises(SettingsError, match="the job writes n, and not text"):
        await run(FEEDS={target: {"fields": ["n", "text"]}})


async def test_a_file_that_is_replaced_takes_its_place_when_the_job_is_finished(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "items.json"
    target.write_text("[]")
    for last in (1, 2, 3):
        await run(last=last, FEEDS={str(target): {"overwrite": True}})
        assert target.read_text() == "[]"
    await run(FEEDS={str(target): {"overwrite": True}})

    assert [item["n"] for item in json.loads(target.read_text())] == [1, 2, 3, 4]
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("items")] == ["items.json"]


async def test_a_job_without_items_leaves_what_a_crawl_leaves(run: Run, tmp_path: Path) -> None:
    class Nothing(Pages):
        def parse(self, response, n): ...

    feeds = {str(tmp_path / "empty.json"): {}, str(tmp_path / "none.json"): {"store_empty": False}}
    await crawl(Nothing, url="http://127.0.0.1:9/", JOB="none", JOBS_DIR=str(tmp_path / "jobs"), RETRY_TIMES=0, FEEDS=feeds)

    assert (tmp_path / "empty.json").read_text() == "[]\n"
    assert not (tmp_path / "none.json").exists()


async def test_a_job_and_another_crawl_do_not_write_to_one_file(run: Run, tmp_path: Path, crawl: Any) -> None:
    async with crawl(FeedPipeline(tmp_path / "items.jsonl")):
        with pytest.raises(SettingsError, match="another crawl is writing to it"):
            await run("items.jsonl")


async def test_names_are_those_of_the_first_run(run: Run, tmp_path: Path) -> None:
    for last in (2, 0):
        await run("%(time)s.jsonl.gz", last=last)

    (path,) = tmp_path.glob("*.gz")
    assert len(gzip.decompress(path.read_bytes()).splitlines()) == 4


def receipt(rid: int, ordinal: int = 0) -> Receipt:
    page = Receipt(lambda page: None)
    page.rid, page.ordinal = rid, ordinal
    return page


def test_items_up_to_the_last_one_are_known_when_a_page_is_read_again() -> None:
    marks = Marks()
    marks.add(receipt(2**127), 3)
    again = Marks(marks.dump())

    assert [again.has(receipt(2**127, ordinal)) for ordinal in (1, 3, 4)] == [True, True, False]
    assert not again.has(receipt(1, 1))


def test_pages_that_were_handed_over_are_forgotten_and_first_items_never() -> None:
    marks, page, first = Marks(), receipt(7), receipt(0)
    for one in (page, first):
        one.owe(1)
        marks.add(one, 1)
        one.close()
    assert Marks(marks.dump()).has(receipt(7, 1)), "it owes an item"

    for one in (page, first):
        one.paid(1)
    again = Marks(marks.dump())

    assert not again.has(receipt(7, 1))
    assert again.has(receipt(0, 1))


def test_a_page_that_yields_nothing_new_is_forgotten_too() -> None:
    earlier = Marks()
    earlier.add(receipt(7), 2)
    marks, page = Marks(earlier.dump()), receipt(7, 1)
    assert marks.has(page)
    page.close()

    assert not Marks(marks.dump()).has(receipt(7, 1))


def test_state_is_small(tmp_path: Path) -> None:
    """Told with each settle, so about 150 bytes for each file and 20 for each page that is not settled."""
    marks = Marks()
    for rid in range(100):
        marks.add(receipt(rid), 1)

    assert len(msgspec.msgpack.encode(marks.dump())) < 2100
