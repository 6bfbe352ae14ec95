"""Each item is in its table once: by its key across runs, or by its place on its page within one."""

from __future__ import annotations

import pytest

from openoctopus.exceptions import SettingsError
from tests.pipelines.sql.databases import Crawl, Database, kept


async def test_an_item_with_the_same_key_changes_its_row(database: Database) -> None:
    await kept(database.store(key="url"), [{"url": "a", "title": "old"}, {"url": "b", "title": "b"}])

    await kept(database.store(key="url"), [{"url": "a", "title": "new"}])

    assert sorted(await database.rows("url title")) == [("a", "new"), ("b", "b")]


async def test_within_a_batch_the_last_one_stays(database: Database) -> None:
    await kept(database.store(key="url"), [{"url": "a", "n": n} for n in range(5)])

    assert await database.rows("url n") == [("a", 4)]


@pytest.mark.parametrize("in_one_batch", [True, False])
async def test_the_page_that_was_fetched_last_wins(database: Database, in_one_batch: bool) -> None:
    async with Crawl(database.store(key="url")) as crawl:
        crawl.store.max_items = 500 if in_one_batch else 1
        crawl.page({"url": "a", "title": "newer"}, at=2000.0)
        crawl.page({"url": "a", "title": "older"}, at=1000.0)
        crawl.page({"url": "a", "title": "newest"}, at=3000.0)
        crawl.page({"url": "a", "title": "oldest"}, at=500.0)

    assert await database.rows("title") == ["newest"]


@pytest.mark.parametrize("in_one_batch", [True, False])
async def test_a_field_that_an_item_does_not_have_stays_as_it_is(database: Database, in_one_batch: bool) -> None:
    async with Crawl(database.store(key="url")) as crawl:
        crawl.store.max_items = 500 if in_one_batch else 1
        crawl.page({"url": "a", "title": "from the list"}, {"url": "a", "price": 5}, {"url": "a", "price": None, "stock": 1})

    assert await database.rows("title price stock") == [("from the list", None, 1)]


async def test_a_key_may_have_several_fields(database: Database) -> None:
    for _ in range(2):
        await kept(database.store(key="shop,sku"), [{"shop": s, "sku": n, "x": "1"} for s in "ab" for n in (1, 11)])

    assert sorted(await database.rows("shop sku")) == [("a", 1), ("a", 11), ("b", 1), ("b", 11)]


async def test_the_fields_of_a_key_come_in_any_order(database: Database) -> None:
    await kept(database.store(key="shop,sku"), [{"shop": "1", "sku": "2"}])
    await kept(database.store(key=["sku", "shop"]), [{"shop": "1", "sku": "2"}, {"shop": "2", "sku": "1"}])

    assert sorted(await database.rows("shop sku")) == [("1", "2"), ("2", "1")]


async def test_long_keys_are_told_apart_to_the_last_character(database: Database) -> None:
    urls = ["https://example.com/" + "x" * 100_000 + end for end in ("a", "A", "b", "b ", "é", "e")]
    for _ in range(2):
        await kept(database.store(key="url"), [{"url": url} for url in urls])

    assert sorted(await database.rows("url")) == sorted(urls)


@pytest.mark.parametrize("item", [{"title": "x"}, {"url": None}, {"url": ""}, {}])
async def test_an_item_without_its_key_fails_and_its_neighbours_are_stored(database: Database, item: dict[str, str]) -> None:
    await kept(database.store(key="url"), [{"url": "a", "title": "a"}])

    crawl = await kept(database.store(key="url"), [{"url": "b"}, item, {"url": "c"}])

    assert [failed for failed, _ in crawl.failed] == [item]
    assert "has no url, which is its key" in crawl.errors[0]
    assert sorted(await database.rows("url")) == ["a", "b", "c"]
    assert crawl.settled == [2, 1, 3]


async def test_the_first_item_may_lack_its_key_too(database: Database) -> None:
    crawl = await kept(database.store(key="url"), [{"title": "x"}, {"url": "a", "title": "y"}])

    assert "has no url" in crawl.errors[0]
    assert await database.rows("title") == ["y"]


async def test_without_a_key_a_page_that_is_read_again_adds_nothing(database: Database) -> None:
    async with Crawl(database.store()) as crawl:
        crawl.page({"n": 1}, {"n": 1}, {"n": 2}, rid=7)
        crawl.store.flush()
        crawl.page({"n": 1}, {"n": 1}, {"n": 3}, rid=7)
        crawl.page({"n": 1}, rid=8)

    assert sorted(await database.rows("n")) == [1, 1, 1, 3]


async def test_without_a_key_another_run_adds_its_items(database: Database, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    for _ in range(2):
        await kept(database.store(), [{"n": 1}])

    assert await database.rows("n") == [1, 1]
    assert "no key is given, so another run adds its items anew" in caplog.text


async def test_a_job_that_goes_on_is_the_same_run(database: Database) -> None:
    for _ in range(2):
        await kept(database.store(job="news"), [{"n": 1}, {"n": 2}])
    await kept(database.store(job="other"), [{"n": 3}])

    assert sorted(await database.rows("n")) == [1, 2, 3]


async def test_insert_leaves_a_row_of_before_alone(database: Database) -> None:
    store = {"key": "url", "mode": "insert"}
    await kept(database.store(**store), [{"url": "a", "title": "first"}, {"url": "a", "title": "second"}])
    await kept(database.store(**store), [{"url": "a", "title": "third"}, {"url": "b", "title": "other"}])

    assert sorted(await database.rows("url title")) == [("a", "first"), ("b", "other")]


@pytest.mark.parametrize("in_one_batch", [True, False])
async def test_only_chosen_columns_change(database: Database, in_one_batch: bool) -> None:
    async with Crawl(database.store(key="url", update="price")) as crawl:
        crawl.store.max_items = 500 if in_one_batch else 1
        crawl.page({"url": "a", "title": "first", "price": 1}, {"url": "a", "title": "second", "price": 2})

    assert await database.rows("title price") == [("first", 2)]


async def test_a_table_that_was_made_with_another_key_is_refused(database: Database) -> None:
    await kept(database.store(key="url"), [{"url": "a", "sku": 1}])

    with pytest.raises(SettingsError, match=r"was made with another key \(see _key_url\)"):
        await kept(database.store(key="sku"), [])
    with pytest.raises(SettingsError, match="was made with another key"):
        await kept(database.store(), [])


async def test_the_name_of_a_key_may_be_long(database: Database) -> None:
    key = ["field_" + "x" * 50 + str(n) for n in range(3)]
    for _ in range(2):
        await kept(database.store(key=key), [dict.fromkeys(key, "1")])

    assert len(await database.rows(key[0])) == 1


async def test_values_of_a_key_that_are_written_differently_are_one(database: Database) -> None:
    await kept(database.store(key="sku"), [{"sku": 7, "n": 1}])
    await kept(database.store(key="sku"), [{"sku": "7", "n": 2}, {"sku": 7.0, "n": 3}])

    assert await database.rows("sku n") == [(7, 3)]
