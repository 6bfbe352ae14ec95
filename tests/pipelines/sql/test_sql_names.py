"""No name of a field or a table becomes SQL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from openoctopus.exceptions import SettingsError
from tests.pipelines.sql.databases import NAMES, Crawl, Database, kept

HOSTILE = [
    'a"; DROP TABLE victim; --',
    "a`; DROP TABLE victim; --",
    "a'); DROP TABLE victim; --",
    "a b",
    "a.b",
    "a-b",
    "1a",
    "",
    "a\0b",
    "a\nb",
    "%s",
    "%(a)s",
    ":a",
    "$1",
    "?",
    "{}",
    "a" * 100,
    "a" * 64 + "é",
    "\ud83d",
    "\u202ea",
    "a;",
    "--",
    "/**/",
    "*",
    "日本語 ",
    "@x",
    "a\u200db",
]
GOOD = ["order", "select", "Title", "名字", "naïve", "_x", "ключ", "x" * 63, "group", "user", "from_", "a1"]
OWN = ["_id", "_row", "_fetched_at", "_key_url", "_key_"]


@pytest.mark.parametrize("name", [*HOSTILE, *OWN, 5, None], ids=range(len(HOSTILE) + len(OWN) + 2))
async def test_a_field_with_such_a_name_costs_its_item(database: Database, name: Any) -> None:
    crawl = await kept(database.store(key="url"), [{"url": "a"}, {"url": "b", name: "x"}, {"url": "c"}])

    assert [item["url"] for item, _ in crawl.failed] == ["b"]
    assert sorted(await database.rows("url")) == ["a", "c"]
    crawl = await kept(database.store(key="url"), [{"url": "d", name: "x"}, {"url": "e"}])
    assert [item["url"] for item, _ in crawl.failed] == ["d"]


async def test_names_of_every_script_and_words_of_sql_are_columns(database: Database) -> None:
    names = [name for name in GOOD if database.name == "mysql" or len(name.encode()) <= 63]
    crawl = await kept(database.store(key="order"), [dict.fromkeys(names, "x"), dict.fromkeys(names, "y")])

    assert not crawl.failed
    assert sorted(await database.rows(" ".join(names[:3]))) == [("x",) * 3, ("y",) * 3]


@pytest.mark.parametrize("name", ["order", "Table", "文章"])
async def test_tables_may_have_such_names_too(database: Database, name: str) -> None:
    name = f"{name}_{database.table}" if name != "order" else name
    for title in ("x", "y"):
        await kept(database.store(table=name, key="select"), [{"select": 1, "title": title}])

    assert await database.rows("select title", name) == [(1, "y")]
    await database.run(f"DROP TABLE {database.quoted(name)}")


async def test_a_table_may_be_in_another_schema(tmp_path: Path) -> None:
    database = Database("postgresql", tmp_path)
    await database.run("CREATE SCHEMA {t}_s")
    for title in ("x", "y"):
        await kept(database.store(table=f"{database.table}_s.Prices", key="url"), [{"url": "a", "title": title, title: 1}])

    assert await database.rows("url title x y", f"{database.table}_s.Prices") == [("a", "y", 1, 1)]
    await database.run("DROP SCHEMA {t}_s CASCADE")
    await database.close()


@pytest.mark.parametrize("name", ["a b", 'a"b', "a;b", "a.b.c", ".", "a" * 70, "a`b"])
async def test_a_table_with_such_a_name_is_refused_before_the_first_request(database: Database, name: str) -> None:
    with pytest.raises(SettingsError, match="cannot be a table"):
        await kept(database.store(table=name), [])


async def test_names_that_are_one_to_the_database_are_not_mixed_up(database: Database) -> None:
    await kept(database.store(key="url"), [{"url": "a", "title": "x"}])
    crawl = await kept(database.store(key="url"), [{"url": "b", "Title": "y"}, {"url": "c", "title": "1", "TITLE": "2"}])

    if database.name == "postgresql":
        assert not crawl.failed
        assert sorted(await database.rows("url"))[1:] == ["b", "c"]
    else:
        assert "belong into one column" in crawl.errors[0]
        assert sorted(await database.rows("url title")) == [("a", "x"), ("b", "y")]


@pytest.mark.parametrize("name", NAMES)
async def test_hostile_names_never_reach_the_database(name: str, tmp_path: Path) -> None:
    database = Database(name, tmp_path)
    columns = st.dictionaries(
        st.text(max_size=70) | st.from_regex(r"\A[a-z_\"'`;$%]{1,8}\Z"),
        st.text(st.characters(exclude_characters="\0"), max_size=5),
        max_size=4,
    )

    async with Crawl(database.store(key="url")) as crawl:
        crawl.page({"url": "first"})

        @given(columns)
        @example({'x" TEXT); DROP TABLE victim; --': "x"})
        @settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
        def put(item: dict[str, str]) -> None:
            crawl.page({"url": "x"} | item)

        put()

    for item, error in crawl.failed:
        told = str(error)
        assert (
            "cannot be a column" in told or "the store's own" in told or "two of the fields" in told or "has no url" in told
        ), (item, told)
    await database.close()
