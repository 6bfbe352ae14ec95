"""The stores of the chaos runs: how they are named on the command line, and what a reader finds in them."""

from __future__ import annotations

import csv
import json
import secrets
import sqlite3
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import asyncpg

from tests.chaos.victim import Violation
from tests.pipelines.sql import contract
from tests.services import services


class Store(NamedTuple):
    """``target`` is what stands behind ``-o``; ``keys`` counts the rows of each item, twins by their text."""

    target: str
    keys: Callable[[], Awaitable[Counter[str]]]
    drop: Callable[[], Awaitable[object]]


async def _nothing() -> None:
    pass


def sqlite(folder: Path) -> Store:
    path = folder / "items.db"

    async def keys() -> Counter[str]:
        with closing(sqlite3.connect(path)) as connection:
            if connection.execute("PRAGMA integrity_check").fetchone() != ("ok",):
                raise Violation(f"{path} is damaged")
            return Counter(key for (key,) in connection.execute('SELECT "key" FROM items'))

    return Store(f"sqlite:///{path}?table=items", keys, _nothing)


def postgresql(url: str) -> Store:
    """A table that nobody else uses."""
    table = f"chaos_{secrets.token_hex(6)}"

    async def ask(statement: str) -> list[Any]:
        connection = await asyncpg.connect(url)
        try:
            return await connection.fetch(statement)
        finally:
            await connection.close()

    async def keys() -> Counter[str]:
        return Counter(row["key"] for row in await ask(f'SELECT "key" FROM {table}'))

    return Store(f"{url}?table={table}", keys, lambda: ask(f"DROP TABLE IF EXISTS {table}"))


def mysql(url: str) -> Store:
    """A table that nobody else uses, on the server of the tests."""
    table = f"chaos_{secrets.token_hex(6)}"

    async def keys() -> Counter[str]:
        return Counter(row["key"] for row in await contract.mysql(f"SELECT `key` FROM {table}"))

    return Store(f"{url}?table={table}", keys, lambda: contract.mysql(f"DROP TABLE IF EXISTS {table}"))


def jsonl(folder: Path) -> Store:
    path = folder / "items.jsonl"

    async def keys() -> Counter[str]:
        text = path.read_bytes()
        if text and not text.endswith(b"\n"):
            raise Violation(f"{path} ends in a torn line")
        return Counter(json.loads(line)["key"] for line in text.split(b"\n")[:-1])

    return Store(str(path), keys, _nothing)


def table(folder: Path) -> Store:
    path = folder / "items.csv"

    async def keys() -> Counter[str]:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file, strict=True))
        if any(None in row or None in row.values() for row in rows):
            raise Violation(f"{path} has a torn line")
        return Counter(row["key"] for row in rows)

    return Store(str(path), keys, _nothing)


_SERVED: dict[str, Callable[[str], Store]] = {"postgresql": postgresql, "mysql": mysql}


def every(folder: Path) -> dict[str, Store]:
    """All the stores."""
    served = {name: make(services.url(name)) for name, make in _SERVED.items()}
    return {"sqlite": sqlite(folder), **served, "jsonl": jsonl(folder), "csv": table(folder)}
