"""What may be said of one table of items: where it is, what makes an item the same, and what is written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from os.path import realpath
from typing import Annotated, Any, Literal, NamedTuple
from urllib.parse import SplitResult, parse_qsl, unquote, urlencode, urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from openoctopus.exceptions import SettingsError
from openoctopus.pipelines.classes import ItemClasses
from openoctopus.settings import Names, masked
from openoctopus.spider import Spider


class System(NamedTuple):
    """A database that items can go to."""

    #: The extra that installs its driver, and the module of the driver.
    extra: str
    driver: str
    #: The class that knows the database.
    dialect: str
    #: Options of a URL's query that are the driver's.
    options: frozenset[str]


SYSTEMS = {
    "postgresql": System(
        "postgres",
        "asyncpg",
        "openoctopus.pipelines.sql.postgresql.PostgreSql",
        frozenset({
            "application_name", "dbname", "host", "lock_timeout", "options", "passfile", "password", "port", "search_path",
            "service", "sslcert", "sslcrl", "sslkey", "sslmode", "sslpassword", "sslrootcert", "statement_timeout",
            "target_session_attrs", "user",
        }),
    ),
    "mysql": System(
        "mysql",
        "asyncmy",
        "openoctopus.pipelines.sql.mysql.MySql",
        frozenset({
            "charset", "connect_timeout", "read_default_file", "read_default_group", "ssl", "ssl_ca",
            "ssl_cert", "ssl_check_hostname", "ssl_key", "unix_socket",
        }),
    ),
    "sqlite": System("sqlite", "aiosqlite", "openoctopus.pipelines.sql.sqlite.Sqlite", frozenset({"timeout"})),
}  # fmt: skip
_ALIASES = {"postgres": "postgresql", "mariadb": "mysql"}
_PLACEHOLDER = re.compile(r"%\((\w+)\)s")


def _no_column(value: Any) -> Any:
    return value or ""


class SqlOptions(BaseModel):
    """The options of one table, in the query of its URL or as the mapping of an entry."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    table: Annotated[str, Field(min_length=1)] = "%(name)s"
    """Where the items go; %(name)s is the spider's name, %(item_class)s makes a table for each class."""
    key: Names = ()
    """The fields that make an item the same; empty: its place on its page, in this run."""
    mode: Literal["upsert", "insert"] = "upsert"
    """What an item does with its row of before: "upsert" changes it, "insert" leaves it."""
    columns: Names = ()
    """The fields to write; empty: all."""
    update: Names = ()
    """The fields that are changed in a row of before; empty: all."""
    on_new_field: Literal["add", "ignore", "refuse"] = "add"
    """A field without a column: "add" one, "ignore" the field, or "refuse" the item."""
    item_classes: ItemClasses = ()
    """The item classes to write, by name, dotted path or class, subclasses included; empty: all."""
    created_at: Annotated[str, BeforeValidator(_no_column)] = "created_at"
    """The column with the time when a row was made; empty: none."""


class Target(NamedTuple):
    """Where a table is, without what is said of the table."""

    scheme: str
    url: SplitResult
    #: Options of the URL's query that are the driver's.
    driver: dict[str, str]

    @property
    def system(self) -> System:
        return SYSTEMS[self.scheme]

    @property
    def dsn(self) -> str:
        """The URL as the driver has it, secrets included."""
        return self.url._replace(scheme=self.scheme, query=urlencode(self.driver)).geturl()

    @property
    def path(self) -> str:
        """A database that is a file."""
        return unquote(self.url.path).removeprefix("/")

    @property
    def database(self) -> str:
        return unquote(self.url.path).strip("/")

    @property
    def place(self) -> str:
        """The same for all URLs of one file."""
        return realpath(self.path) if self.scheme == "sqlite" else str(self)

    def __str__(self) -> str:
        """The place as it may be shown: no user, no password, no options."""
        host = self.url.netloc.rpartition("@")[2]
        return f"{self.scheme}://{host}{self.url.path}"


def is_sql(target: object) -> bool:
    """Whether a target of items is a table of a database."""
    scheme = str(target).partition("://")[0].partition("+")[0].lower()
    return "://" in str(target) and _ALIASES.get(scheme, scheme) in SYSTEMS


def parse(url: str, given: Mapping[str, Any]) -> tuple[Target, SqlOptions]:
    """Read ``postgresql://user:password@host/database?table=articles&key=url`` and the options beside it.

    Options beside it win. Raises ``SettingsError`` that lists all that is wrong and shows no password.
    """
    split = _split(url)
    scheme = _scheme(split)
    asked = dict(parse_qsl(split.query, keep_blank_values=True))
    own = {name: value for name, value in asked.items() if name in SqlOptions.model_fields}
    target = Target(scheme, split, {name: value for name, value in asked.items() if name not in own})
    _check_driver(target)
    try:
        options = SqlOptions.model_validate(own | {name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        raise SettingsError("\n".join(f"{target}: {_explained(wrong)}" for wrong in error.errors())) from None
    _check(target, options)
    return target, options


def _split(url: str) -> SplitResult:
    try:
        split = urlsplit(str(url))
        _ = split.port
    except ValueError as error:
        raise SettingsError(f"{masked('', str(url))} is no URL of a database: {error}") from None
    return split


def _scheme(split: SplitResult) -> str:
    name, _, driver = split.scheme.partition("+")
    scheme = _ALIASES.get(name, name)
    if scheme not in SYSTEMS:
        raise SettingsError(f"{name}:// is no database that items can go to; there are {', '.join(SYSTEMS)}")
    if driver and driver != SYSTEMS[scheme].driver:
        raise SettingsError(f"{split.scheme}:// names a driver that is not used here: write {name}://")
    return scheme


def _check_driver(target: Target) -> None:
    known = target.system.options
    for name in target.driver:
        if name not in known:
            raise SettingsError(f"{target}: no option {name!r}{_guess(name, [*SqlOptions.model_fields, *sorted(known)])}")
    if target.scheme == "sqlite":
        if target.url.netloc:
            raise SettingsError(f"{target}: a file is written with three slashes, as in sqlite:///items.db")
        if target.path in ("", ":memory:"):
            raise SettingsError(f"{target} names no file: write sqlite:///items.db, or sqlite:////var/lib/items.db")
    elif target.scheme == "mysql" and not target.database:
        raise SettingsError(f"{target} names no database: write mysql://user:password@host/database")
    if target.driver.get("charset", "utf8mb4").lower() != "utf8mb4":
        raise SettingsError(f"{target}: texts are always written in utf8mb4, which has every character")


def _check(target: Target, options: SqlOptions) -> None:
    for found in _PLACEHOLDER.findall(options.table):
        if found not in ("name", "item_class"):
            raise SettingsError(f"{target}: nothing stands for %({found})s in a table's name; there are name and item_class")
    if options.columns:
        _check_chosen(target, options, "key")
        _check_chosen(target, options, "update")
    if options.mode == "insert" and options.update:
        raise SettingsError(f"{target}: update says what changes in a row of before, and mode=insert leaves such rows alone")


def _check_chosen(target: Target, options: SqlOptions, name: str) -> None:
    missing = [field for field in getattr(options, name) if field not in options.columns]
    if missing:
        raise SettingsError(f"{target}: {name} names {', '.join(missing)}, which the columns leave out")


def table_name(template: str, spider: Spider, item_class: str) -> str:
    """The name of a table. What is no letter, digit or underscore in the spider's name becomes an underscore."""
    values = {"name": re.sub(r"\W", "_", spider.name), "item_class": item_class}
    return _PLACEHOLDER.sub(lambda found: values[found[1]], template)


def is_by_class(template: str) -> bool:
    """Whether each item class has its own table."""
    return "item_class" in _PLACEHOLDER.findall(template)


def _explained(wrong: Any) -> str:
    name = str(wrong["loc"][0])
    if wrong["type"] == "extra_forbidden":
        return f"no option {name!r}{_guess(name, SqlOptions.model_fields)}"
    return f"{name} = {wrong['input']!r}: {wrong['msg'].lower()}"


def _guess(name: str, known: Iterable[str]) -> str:
    likely = get_close_matches(name, list(known), 1)
    return f": did you mean {likely[0]}?" if likely else f"; there are {', '.join(known)}"
