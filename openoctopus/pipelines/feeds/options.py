"""What may be said of one output: its target, its format, and what goes into it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Annotated, Any, Literal, NamedTuple, get_args
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from openoctopus.exceptions import SettingsError
from openoctopus.pipelines.classes import ItemClasses
from openoctopus.settings import masked

FormatName = Literal["jsonl", "json", "csv"]
#: Other names of the formats, which serve as extensions too.
_ALIASES = {"jl": "jsonl", "jsonlines": "jsonl", "ndjson": "jsonl"}
_FORMATS = (*get_args(FormatName), *_ALIASES)
#: What only one format knows.
_ONLY = {"indent": "json", "delimiter": "csv", "raw": "csv", "header": "csv"}
#: The target that is standard output.
STDOUT = "-"
#: A target where items are encoded and go nowhere.
DISCARD = f"{os.devnull}:jsonl"


def _titles(value: Any) -> Any:
    """Fields and the names they are written under."""
    return dict(value) if isinstance(value, Mapping) else {name: name for name in value or ()}


def _format(value: Any) -> Any:
    return _ALIASES.get(value, value) if isinstance(value, str) else value


class FeedOptions(BaseModel):
    """The options of one entry of ``FEEDS``."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    format: Annotated[FormatName, BeforeValidator(_format)]
    """"jsonl", "json" or "csv"; left out: by the extension."""
    fields: Annotated[dict[str, str], BeforeValidator(_titles)] = {}
    """The fields to write, in this order: a list, or a mapping to other names; empty: all."""
    item_classes: ItemClasses = ()
    """The item classes to write, by name, dotted path or class, subclasses included; empty: all."""
    batch_item_count: Annotated[int, Field(ge=0)] = 0
    """A new file after this many items; the target then has %(batch_id)d. 0: one file."""
    encoding: str = "utf-8"
    """Any text encoding of Python, such as "utf-8-sig" or "gb18030"."""
    overwrite: bool = False
    """Replace the file at the end of the crawl; False: append to it."""
    compression: Literal["gzip", "none"] = "none"
    """"gzip" or "none"; left out: by the extension."""
    store_empty: bool = True
    """Write a file also if no item came."""
    indent: Annotated[int, Field(ge=0, le=16)] = 0
    """JSON: spaces for each level; 0: an item on each line."""
    delimiter: Annotated[str, Field(min_length=1, max_length=1, pattern=r'^[^"\r\n]$')] = ","
    """CSV: what stands between two cells."""
    raw: bool = False
    """CSV: write texts that a spreadsheet takes for a formula as they are."""
    header: bool = True
    """CSV: begin with a line of names."""


class Target(NamedTuple):
    """Where items go, and what its name says of the format."""

    path: str
    format: str
    compression: str


def parse(target: str | os.PathLike[str]) -> Target:
    """Read ``items.csv``, ``items.jsonl.gz``, ``items.txt:csv``, ``-``, ``-:csv`` or ``file:///tmp/items.json``."""
    path = os.fspath(target)
    head, _, tail = path.rpartition(":")
    if head and tail.lower() in _FORMATS:
        return parse(head)._replace(format=tail.lower())
    if path in (STDOUT, "stdout:"):
        return Target(STDOUT, "jsonl", "none")
    if path.lower().startswith("file:"):
        path = unquote(urlsplit(path).path)
    elif "://" in path:
        raise SettingsError(f"items can be written to files, to - (stdout) and to databases, not to {masked('', path)}")
    plain = path.removesuffix(".gz")
    extension = plain.rpartition(".")[2].lower()
    return Target(path, extension if extension in _FORMATS else "", "none" if plain == path else "gzip")


def options_of(target: str | os.PathLike[str], given: Mapping[str, Any]) -> tuple[str, FeedOptions]:
    """The path and the checked options of one output. Raises ``SettingsError`` that lists all that is wrong."""
    path, format_name, compression = parse(target)
    values = {"format": format_name, "compression": compression} | {k: v for k, v in given.items() if v is not None}
    if not path:
        raise SettingsError("an output needs a file, or - for stdout")
    if values["format"] == "":
        raise SettingsError(f"{path}: the name does not tell the format; write {path}:jsonl (or :json, :csv), or give a format")
    try:
        options = FeedOptions.model_validate(values)
    except ValidationError as error:
        raise SettingsError("\n".join(f"output {path}: {_explained(wrong)}" for wrong in error.errors())) from None
    _check(path, options)
    return path, options


def _check(path: str, options: FeedOptions) -> None:
    for name, only in _ONLY.items():
        if name in options.model_fields_set and options.format != only:
            raise SettingsError(f"output {path}: {name} is an option of {only}, and this is {options.format}")
    if options.batch_item_count and "%(batch_id)" not in path:
        raise SettingsError(f"output {path}: batch_item_count needs %(batch_id)d in the name, as in items-%(batch_id)d.jsonl")
    if options.format == "csv" and not options.header and not options.fields:
        raise SettingsError(f"output {path}: a CSV without a header needs fields, or nobody knows what its columns are")
    if len(set(options.fields.values())) < len(options.fields):
        raise SettingsError(f"output {path}: two fields are written under the same name: {dict(options.fields)}")


def _explained(wrong: Any) -> str:
    name = str(wrong["loc"][0])
    if wrong["type"] == "extra_forbidden":
        return f"no option {name!r}{_guess(name, FeedOptions.model_fields)}"
    if name == "format":
        return f"no format {wrong['input']!r}{_guess(str(wrong['input']), _FORMATS)}"
    return f"{name} = {wrong['input']!r}: {wrong['msg'].lower()}"


def _guess(name: str, known: Any) -> str:
    likely = get_close_matches(name, known, 1)
    return f": did you mean {likely[0]}?" if likely else f"; there are {', '.join(known)}"
