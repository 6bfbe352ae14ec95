"""Requests that send a form or JSON."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from openoctopus.exceptions import InvalidRequest
from openoctopus.http.request import Request

FormData = Mapping[str, Any] | Iterable[tuple[str, Any]]
#: A file to send: its bytes or path, or (file name, bytes or path), or (file name, bytes or path, content type).
FileValue = bytes | Path | tuple[str, bytes | Path] | tuple[str, bytes | Path, str]


class JsonRequest(Request):
    """A request that sends ``data`` as JSON: POST unless a method is given, with the JSON headers."""

    __slots__ = ()

    def __init__(self, url: str, *args: Any, data: Any = None, **options: Any) -> None:
        if data is not None:
            if options.get("body"):
                raise InvalidRequest("give data= or body=, not both")
            options["body"] = json.dumps(data, ensure_ascii=False).encode()
            if len(args) < 2:
                options.setdefault("method", "POST")
        super().__init__(url, *args, **options)
        self.headers.setdefault("Content-Type", "application/json")
        self.headers.setdefault("Accept", "application/json, text/javascript, */*; q=0.01")


class FormRequest(Request):
    """A request that sends a form: in the query of a GET, else url-encoded in the body, or multipart with ``files``.

    ``formdata``: names with a value or a list of values. ``files``: names with bytes, a ``Path``, ``(file name, content)``
    or ``(file name, content, content type)``; they are read when the request is made.
    """

    __slots__ = ()

    def __init__(
        self,
        url: str,
        *args: Any,
        formdata: FormData | None = None,
        files: Mapping[str, FileValue] | None = None,
        **options: Any,
    ) -> None:
        pairs = _pairs(formdata)
        if (pairs or files) and len(args) < 2:
            options.setdefault("method", "POST")
        method = str(args[1] if len(args) > 1 else options.get("method", "GET")).upper()
        encoding = options.get("encoding", "utf-8")
        content_type = ""
        if files:
            options["body"], content_type = _multipart(pairs, files, encoding)
        elif pairs and method in ("GET", "HEAD"):
            url = _with_query(url, urlencode(pairs, encoding=encoding))
        elif pairs:
            options["body"] = urlencode(pairs, encoding=encoding).encode("ascii")
            content_type = "application/x-www-form-urlencoded"
        super().__init__(url, *args, **options)
        if content_type:
            self.headers.setdefault("Content-Type", content_type)


def _pairs(formdata: FormData | None) -> list[tuple[str, str]]:
    items = formdata.items() if isinstance(formdata, Mapping) else formdata or ()
    pairs = []
    for name, value in items:
        values = value if isinstance(value, list | tuple) else [value]
        pairs += [(str(name), _text(one)) for one in values if one is not None]
    return pairs


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _with_query(url: str, query: str) -> str:
    before, mark, fragment = url.partition("#")
    return before.partition("?")[0] + "?" + query + mark + fragment


def _multipart(pairs: list[tuple[str, str]], files: Mapping[str, FileValue], encoding: str) -> tuple[bytes, str]:
    """Body and content type of multipart/form-data, its names escaped as browsers do (RFC 7578, WHATWG HTML)."""
    boundary = f"----octopus{secrets.token_hex(16)}"
    body = bytearray()
    for name, value in pairs:
        body += _part(boundary, f'name="{_escaped(name)}"', "", value.encode(encoding, "xmlcharrefreplace"), encoding)
    for name, given in files.items():
        filename, content, content_type = _file(given)
        disposition = f'name="{_escaped(name)}"; filename="{_escaped(filename)}"'
        body += _part(boundary, disposition, content_type, content, encoding)
    body += f"--{boundary}--\r\n".encode("ascii")
    return bytes(body), f"multipart/form-data; boundary={boundary}"


def _part(boundary: str, disposition: str, content_type: str, content: bytes, encoding: str) -> bytes:
    lines = f"--{boundary}\r\nContent-Disposition: form-data; {disposition}\r\n"
    if content_type:
        lines += f"Content-Type: {content_type}\r\n"
    return lines.encode(encoding, "xmlcharrefreplace") + b"\r\n" + content + b"\r\n"


def _escaped(name: str) -> str:
    return name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")


def _file(given: FileValue) -> tuple[str, bytes, str]:
    filename, content, content_type = "", given, "application/octet-stream"
    if isinstance(given, tuple):
        filename, content = given[0], given[1]
        content_type = given[2] if len(given) == 3 else content_type
    if isinstance(content, Path):
        return filename or content.name, content.read_bytes(), content_type
    if not isinstance(content, bytes):
        raise InvalidRequest(f"a file to send is bytes or a Path, not {type(content).__name__}")
    return filename or "file", content, content_type
