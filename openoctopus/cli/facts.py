"""What is known of one request, for people to read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from openoctopus.exceptions import InvalidRequest
from openoctopus.http.codec import thaw
from openoctopus.log import safe
from openoctopus.scheduler.base import Entry

#: Headers that are nobody's business.
_SECRETS, _SECRET = frozenset({"authorization", "proxy-authorization", "cookie"}), "***"


def facts_of(entry: Entry, **more: Any) -> dict[str, Any]:
    """All that is known of a request, ``more`` after its URL; what was left at its default is left out."""
    facts = more | {"attempts": entry.attempts, "lost": entry.lost, "priority": entry.priority}
    try:
        request = thaw(entry.body)
    except InvalidRequest as error:
        return {"url": f"({error})"} | facts
    facts |= {
        "method": request.method, "callback": request.callback or "parse", "errback": request.errback or "",
        "headers": {name: _SECRET if name.lower() in _SECRETS else value for name, value in request.headers.raw},
        "body": request.body.decode("utf-8", "backslashreplace"), "meta": request.meta, "cb_kwargs": request.cb_kwargs,
        "session": request.session, "depth": request.depth,
    }  # fmt: skip
    return {"url": request.url} | {name: value for name, value in facts.items() if value not in ("", {}, 0)}


def show_facts(facts: Mapping[str, Any]) -> None:
    """One on each line."""
    for name, value in facts.items():
        print(f"{name:9} {safe(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))}")
