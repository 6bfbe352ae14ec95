"""What an option's value may be, and how text becomes it."""

from __future__ import annotations

import json
import os
import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

_JOB_NAME = re.compile(r"\w[\w.-]{0,59}")


def _listed(value: Any) -> Any:
    """A list written in one string: JSON, or separated by commas."""
    if not isinstance(value, str) or value.lstrip()[:1] in ("[", "{"):
        return _from_json(value, "a list, in JSON or separated by commas")
    return [part.strip() for part in value.split(",") if part.strip()]


def _mapped(value: Any) -> Any:
    """A mapping written as JSON."""
    return {} if value is None or value == "" else _from_json(value, "a mapping, in JSON")


def _one_or_many(value: Any) -> Any:
    """A list written as JSON; commas are part of a User-Agent."""
    return _from_json(value, "a list, in JSON") if isinstance(value, str) and value.lstrip()[:1] == "[" else value


def _from_json(value: Any, allowed: str) -> Any:
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        raise ValueError(allowed) from None


def _upper(value: Any) -> Any:
    return value.upper() if isinstance(value, str) else value


def _path(value: Any) -> Any:
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def _job_name(name: str) -> str:
    """A name that is a file name everywhere: it leads out of no folder, and looks like no option of a command."""
    if name and not _JOB_NAME.fullmatch(name):
        raise ValueError("a name of up to 60 letters, digits, - _ and . that does not begin with - or .")
    return name


Names = Annotated[tuple[str, ...], BeforeValidator(_listed)]
Codes = Annotated[frozenset[int], BeforeValidator(_listed)]
Entries = Annotated[dict[Any, Any], BeforeValidator(_mapped)]
OneOrMany = Annotated[tuple[str, ...] | str, BeforeValidator(_one_or_many)]
FileName = Annotated[str, BeforeValidator(_path)]
JobName = Annotated[str, AfterValidator(_job_name)]
Level = Annotated[Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"], BeforeValidator(_upper)]
#: A class by its dotted path, or itself.
PathOrClass = str | type[Any]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
AboveZero = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
