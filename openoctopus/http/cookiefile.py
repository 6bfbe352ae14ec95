"""Cookies from a file: Netscape's cookies.txt, or what a browser exported as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from openoctopus.exceptions import InvalidRequest
from openoctopus.http.cookies import Cookie

_HTTP_ONLY = "#HttpOnly_"


def read_cookies(data: bytes) -> tuple[list[Cookie], list[int]]:
    """The cookies of a file, and the numbers (from 1) of its lines or objects that are none.

    JSON is a list of objects with ``name``, ``value``, ``domain``... or an object with such a list as ``cookies``.
    """
    data = data.removeprefix(b"\xef\xbb\xbf")
    read = _from_json if data.lstrip()[:1] in (b"[", b"{") else _from_lines
    cookies, bad = [], []
    for number, values in read(data):
        try:
            if values is None:
                raise InvalidRequest("not a cookie")
            cookies.append(Cookie.given(values))
        except InvalidRequest:
            bad.append(number)
    return cookies, bad


def _from_json(data: bytes) -> Iterator[tuple[int, Mapping[str, Any] | None]]:
    try:
        found = json.loads(data)
    except ValueError:
        yield 1, None
        return
    if isinstance(found, dict):
        found = found.get("cookies")
    for number, values in enumerate(found if isinstance(found, list) else [None], 1):
        yield number, values if isinstance(values, dict) and values.get("domain") else None


def _from_lines(data: bytes) -> Iterator[tuple[int, Mapping[str, Any] | None]]:
    for number, line in enumerate(data.decode("latin-1").split("\n"), 1):
        text = line.rstrip("\r")
        http_only = text.startswith(_HTTP_ONLY)
        if http_only:
            text = text.removeprefix(_HTTP_ONLY)
        elif text.startswith("#") or not text.strip():
            continue
        yield number, _from_fields(text.split("\t"), http_only)


def _from_fields(fields: list[str], http_only: bool) -> Mapping[str, Any] | None:
    """domain, whether it covers sub-domains, path, whether Secure, expiry (0: end of the session), name, value."""
    if len(fields) == 6:
        fields = [*fields, ""]
    if len(fields) != 7 or not fields[0] or fields[1] not in _FLAGS or fields[3] not in _FLAGS or not fields[4].isdecimal():
        return None
    domain, covers, path, secure, expires, name, value = fields
    return {
        "name": name, "value": value, "domain": domain, "path": path, "hostOnly": not _FLAGS[covers],
        "secure": _FLAGS[secure], "httpOnly": http_only, "expires": expires,
    }  # fmt: skip


_FLAGS = {"TRUE": True, "FALSE": False, "true": True, "false": False}
