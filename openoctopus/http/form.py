"""Requests that send a form or JSON."""

from __future__ import annotations

import json
import mimetypes
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlencode

from openoctopus.exceptions import InvalidRequest
from openoctopus.http.request import Request
from openoctopus.http.url import output_encoding

FormData = Mapping[str, Any] | Iterable[tuple[str, Any]]
#: A file to send: its bytes or path, or (file name, bytes or path), or (file name, bytes or path, content type).
FileValue = bytes | Path | tuple[str, bytes | Path] | tuple[str, bytes | Path, str]
Files = Mapping[str, FileValue | list[FileValue]]

_LINE_BREAK = re.compile(r"\r\n?|\n")
_CONTENT_TYPE = re.compile(r"[\t\x20-\x7e]*")


class JsonRequest(Request):
    """A request that sends ``data`` as JSON: POST unless a method is given, with the JSON headers.

    ``dumps_kwargs`` are options of ``json.dumps``, such as ``{"sort_keys": True}``. ``replace(data=...)`` sends other data.
    Raises ``InvalidRequest`` for data that is no JSON.
    """

    __slots__ = ()

    def __init__(
        self, url: str, *args: Any, data: Any = None, dumps_kwargs: Mapping[str, Any] | None = None, **options: Any
    ) -> None:
        if data is not None:
            if options.get("body"):
                raise InvalidRequest("give data= or body=, not both")
            options["body"] = _dumped(data, dumps_kwargs or {})
            if len(args) < 2:
                options.setdefault("method", "POST")
        super().__init__(url, *args, **options)
        self.headers.setdefault("Content-Type", "application/json")
        self.headers.setdefault("Accept", "application/json, text/javascript, */*; q=0.01")

    def replace(self, **changes: Any) -> Self:
        if changes.get("data") is not None:
            changes.setdefault("body", None)
        return super().replace(**changes)


def _dumped(data: Any, options: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(data, **{"ensure_ascii": False, "allow_nan": False, **options}).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequest(f"data cannot be sent as JSON: {error}") from error


class FormRequest(Request):
    """A request that sends a form as browsers do: in the query of a GET, which it replaces, else in the body.

    ``formdata``: names with a value or a list of values; ``None`` is left out. ``files``: names with bytes, a ``Path``,
    ``(file name, content)`` or ``(file name, content, content type)``, or a list of these; they are read when the request is
    made, and the body is multipart then. POST unless a method is given. Line breaks in values are sent as CR LF, and a
    character that ``encoding`` lacks as ``&#...;`` (WHATWG HTML, form submission).
    """

    __slots__ = ()

    def __init__(
        self, url: str, *args: Any, formdata: FormData | None = None, files: Files | None = None, **options: Any
    ) -> None:
        pairs = list(_pairs(formdata))
        if (pairs or files) and len(args) < 2:
            options.setdefault("method", "POST")
        method = str(args[1] if len(args) > 1 else options.get("method", "GET")).upper()
        encoding = output_encoding(options.get("encoding", "utf-8"))
        content_type = ""
        if files:
            options["body"], content_type = _multipart(pairs, files, encoding)
        elif pairs and method in ("GET", "HEAD"):
            url = _with_query(url, _urlencoded(pairs, encoding))
        elif pairs:
            options["body"] = _urlencoded(pairs, encoding).encode("ascii")
            content_type = "application/x-www-form-urlencoded"
        super().__init__(url, *args, **options)
        if files:
            self.headers["Content-Type"] = content_type
        elif content_type:
            self.headers.setdefault("Content-Type", content_type)


def _pairs(formdata: FormData | None) -> Iterator[tuple[str, str | bytes]]:
    if isinstance(formdata, str | bytes):
        raise InvalidRequest(f"formdata is a mapping or (name, value) pairs, not {formdata!r:.200}")
    items = formdata.items() if isinstance(formdata, Mapping) else formdata or ()
    try:
        given = [(name, value) for name, value in items]
    except (TypeError, ValueError):
        raise InvalidRequest(f"formdata is a mapping or (name, value) pairs, not {formdata!r:.200}") from None
    for name, value in given:
        for one in value if isinstance(value, list | tuple) else [value]:
            if one is not None:
                yield _crlf(str(name)), one if isinstance(one, bytes) else _crlf(str(one))


def _crlf(text: str) -> str:
    return _LINE_BREAK.sub("\r\n", text)


def _urlencoded(pairs: list[tuple[str, str | bytes]], encoding: str) -> str:
    """As https://url.spec.whatwg.org/#urlencoded-serializing has it: ``*`` stays, ``~`` does not."""
    return urlencode(pairs, safe="*", encoding=encoding, errors="xmlcharrefreplace").replace("~", "%7E")


def _with_query(url: str, query: str) -> str:
    before, mark, fragment = str(url).partition("#")
    return before.partition("?")[0] + "?" + query + mark + fragment


def _multipart(pairs: list[tuple[str, str | bytes]], files: Files, encoding: str) -> tuple[bytes, str]:
    """Body and content type of multipart/form-data, its names escaped as browsers do (RFC 7578, WHATWG HTML)."""
    boundary = f"----octopus{secrets.token_hex(16)}"
    body = bytearray()
    for name, value in pairs:
        content = value if isinstance(value, bytes) else value.encode(encoding, "xmlcharrefreplace")
        body += _part(boundary, f'name="{_escaped(name)}"', "", content, encoding)
    for name, given in files.items():
        for one in given if isinstance(given, list) else [given]:
            filename, content, content_type = _file(str(name), one)
            disposition = f'name="{_escaped(_crlf(str(name)))}"; filename="{_escaped(filename)}"'
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


def _file(name: str, given: FileValue) -> tuple[str, bytes, str]:
    """File name, content and content type; a file without a name takes that of its field."""
    filename, content, *types = given if isinstance(given, tuple) and len(given) in (2, 3) else (None, given)
    if filename is None:
        filename = content.name if isinstance(content, Path) else name
    content_type = types[0] if types else mimetypes.guess_type(filename)[0] or "application/octet-stream"
    if not _CONTENT_TYPE.fullmatch(content_type):
        raise InvalidRequest(f"not a content type: {content_type!r:.200}")
    if isinstance(content, Path):
        return filename, content.read_bytes(), content_type
    if not isinstance(content, bytes):
        raise InvalidRequest(f"a file to send is bytes or a Path, not {type(content).__name__}")
    return filename, content, content_type
