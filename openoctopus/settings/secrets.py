"""Values as they may be shown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_SECRET = re.compile(
    r"passw|passphrase|(?:^|_)pass(?:_|$)|secret|token|credential|(?:api|access|private)[-_]?key|_key$|authorization"
    r"|^(?:set-)?cookies?$",
    re.IGNORECASE,
)
_CREDENTIALS = re.compile(r"://(?:[^\s/?#]*|[^\s/@]*:\S*)@")
_SECRET_ARGUMENT = re.compile(r"([?&][\w.-]*(?:passw|secret|token|api_?key|signature)[\w.-]*=)[^&#\s]*", re.IGNORECASE)


def masked(name: str, value: Any) -> str:
    """The value as it may be shown: passwords, tokens and the credentials in URLs are hidden, nested ones too."""
    return repr(_hidden(name, value))


def _hidden(name: str, value: Any) -> Any:
    if value and not isinstance(value, bool) and _SECRET.search(name):
        return "***"
    if isinstance(value, str):
        return _SECRET_ARGUMENT.sub(r"\1***", _CREDENTIALS.sub("://***@", value))
    if isinstance(value, Mapping):
        return {_hidden("", key): _hidden(str(key), part) for key, part in value.items()}
    if type(value) in (list, tuple, set, frozenset):
        return type(value)([_hidden(name, part) for part in value])
    return value
