"""How a table is named, and what is said of a name that cannot serve."""

from __future__ import annotations

from typing import Any

import pytest

from openoctopus.exceptions import SettingsError
from openoctopus.pipelines import SqlPipeline
from openoctopus.pipelines.sql import is_sql
from openoctopus.pipelines.sql.options import parse, table_name
from openoctopus.plugins import build
from openoctopus.settings import Settings
from openoctopus.spider import Spider

SECRET = "s3cr3t-p%40ss"
URL = f"mysql://user:{SECRET}@db.example.com:3307/shop"


def settings(**options: Any) -> Settings:
    return Settings.load({"test": options})


def test_everything_can_be_said_in_the_url() -> None:
    target, options = parse(
        f"{URL}?table=prices&key=shop,sku&mode=upsert&update=price&on_new_field=refuse&connect_timeout=3", {}
    )

    assert (options.table, options.key, options.update, options.on_new_field) == (
        "prices",
        ("shop", "sku"),
        ("price",),
        "refuse",
    )
    assert target.driver == {"connect_timeout": "3"}
    assert (target.database, target.url.port) == ("shop", 3307)


def test_options_beside_the_url_win() -> None:
    _, options = parse(f"{URL}?table=prices&key=sku", {"table": "other", "columns": ["sku", "price"], "created_at": None})

    assert (options.table, options.key, options.columns) == ("other", ("sku",), ("sku", "price"))


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///items.db", "items.db"),
        ("sqlite:////var/lib/a%20b.db", "/var/lib/a b.db"),
        ("sqlite:///a/b.db?table=x", "a/b.db"),
    ],
)
def test_a_file_of_sqlite(url: str, path: str) -> None:
    assert parse(url, {})[0].path == path


@pytest.mark.parametrize(
    "url", ["postgres://h/d", "postgresql+asyncpg://h/d", "mariadb://h/d", "mysql+asyncmy://h/d", "SQLITE:///x"]
)
def test_other_names_of_the_same(url: str) -> None:
    assert is_sql(url)
    assert parse(url, {})[0].scheme in ("postgresql", "mysql", "sqlite")


@pytest.mark.parametrize(
    "target", ["items.jsonl", "-", "file:///tmp/mysql", "mongodb://h/d", "mysql", "https://postgresql://h"]
)
def test_what_is_no_table(target: str) -> None:
    assert not is_sql(target)


REFUSED = [
    (f"{URL}?tabel=prices", {}, "no option 'tabel': did you mean table?"),
    (f"{URL}?sslmode=require", {}, "no option 'sslmode': did you mean"),
    (f"{URL}?init_command=x", {}, "no option 'init_command'"),
    (f"{URL}?charset=gbk", {}, "utf8mb4"),
    (URL, {"tabel": "prices"}, "no option 'tabel': did you mean table?"),
    (f"{URL}?mode=replace", {}, "mode = 'replace': input should be 'upsert' or 'insert'"),
    (f"{URL}?table=", {}, "table = ''"),
    (URL, {"on_new_field": "drop"}, "on_new_field = 'drop'"),
    (f"{URL}?table=%(date)s", {}, "nothing stands for"),
    (f"{URL}?mode=insert&update=price", {}, "update says what changes"),
    (f"{URL}?columns=a,b&key=c", {}, "key names c, which the columns leave out"),
    (f"{URL}?columns=a,b&update=c", {}, "update names c, which the columns leave out"),
    (f"mysql://user:{SECRET}@h", {}, "names no database"),
    (f"mysql://user:{SECRET}@h:port/d", {}, "is no URL of a database"),
    (f"mysql+pymysql://user:{SECRET}@h/d", {}, "names a driver that is not used here: write mysql://"),
    (f"oracle://user:{SECRET}@h/d", {}, "oracle:// is no database that items can go to"),
    ("sqlite:///:memory:", {}, "names no file"),
    ("sqlite:///", {}, "names no file"),
    ("sqlite://items.db", {}, "three slashes"),
    ("postgresql://h/d?tcp_user_timeout=1", {}, "no option"),
]  # fmt: skip


@pytest.mark.parametrize(("url", "options", "said"), REFUSED, ids=range(len(REFUSED)))
def test_what_cannot_serve_is_explained_without_the_password(url: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError) as refused:
        SqlPipeline(url, **options)

    assert said in str(refused.value)
    assert SECRET not in str(refused.value)
    assert "s3cr3t" not in str(refused.value)


def test_a_store_does_not_show_its_password() -> None:
    store = SqlPipeline(f"{URL}?table=prices&connect_timeout=3")

    assert str(store) == "table prices of mysql://db.example.com:3307/shop"
    assert "s3cr3t" not in repr(store)
    assert "s3cr3t" not in str(store.target)


def test_a_table_is_named_after_the_spider_or_the_class() -> None:
    assert table_name("%(name)s", Spider("my-shop.de"), "") == "my_shop_de"
    assert table_name("all_%(item_class)s", Spider("x"), "Book") == "all_Book"


def test_a_pipeline_is_made_from_its_entry_or_its_setting() -> None:
    made = build(SqlPipeline, settings(JOB_="x"), {"url": "sqlite:///a.db", "table": "t", "key": "url"})
    assert (made.options.table, made.options.key) == ("t", ("url",))

    made = build(SqlPipeline, settings(SQLPIPELINE_URL="sqlite:///a.db?table=u"))
    assert made.options.table == "u"
