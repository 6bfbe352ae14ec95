"""How a request is frozen into bytes, so that it can wait in any queue and be carried by any worker.

Every scheduler uses it, the one in memory too, so that nothing changes its type only because a crawl grew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import field

from openoctopus.exceptions import InvalidRequest
from openoctopus.http.data import FORGED, packed, unpacked
from openoctopus.http.request import Request

#: Raised when the layout of ``Frozen`` changes; an entry of another version becomes a failed entry.
VERSION = 1

#: Turns a callback, as it was given to a request, into the name of the spider's method.
NameOf = Callable[[Any], str]


class Frozen(msgspec.Struct, omit_defaults=True):
    """A request as it waits: MessagePack, names of one letter, defaults left out."""

    url: str = field(name="u")
    callback: str = field(default="", name="c")
    method: str = field(default="GET", name="m")
    headers: list[tuple[str, str]] | None = field(default=None, name="h")
    body: bytes = field(default=b"", name="b")
    cookies: Any = field(default=None, name="k")
    meta: Any = field(default=None, name="t")
    cb_kwargs: dict[str, Any] | None = field(default=None, name="a")
    errback: str = field(default="", name="e")
    priority: int = field(default=0, name="p")
    dont_filter: bool = field(default=False, name="f")
    #: Empty for UTF-8: a default is left out only where it is the same object.
    encoding: str = field(default="", name="n")
    session: str = field(default="", name="s")
    downloader: str = field(default="", name="d")
    depth: int = field(default=0, name="l")
    #: Entries of the first layout do not carry it, so this default stays as it is.
    version: int = field(default=1, name="v")


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Frozen, ext_hook=unpacked)


def freeze(request: Request, name_of: NameOf) -> bytes:
    """The request as bytes. Raises ``InvalidRequest`` that names the part which cannot be kept."""
    try:
        return _encoder.encode(
            Frozen(
                request._parsed.href,
                name_of(request.callback) if request.callback is not None else "",
                request.method,
                request._headers.raw if request._headers else None,
                request.body,
                packed(request.cookies, "cookies") if request.cookies else None,
                packed(request._meta, "meta") if request._meta else None,
                packed(request._cb_kwargs, "cb_kwargs") if request._cb_kwargs else None,
                name_of(request.errback) if request.errback is not None else "",
                request.priority,
                request.dont_filter,
                request.encoding if request.encoding != "utf-8" else "",
                request.session,
                request.downloader,
                request.depth,
                VERSION,
            )
        )
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidRequest(f"{request} cannot be kept: {error}") from error


def url_in_frozen(url: str) -> bytes:
    """How requests with that URL are found among frozen ones: this is the first field."""
    return _encoder.encode("u") + _encoder.encode(url)


def thaw(data: bytes) -> Request:
    """The request that was frozen. Raises ``InvalidRequest`` for what is no frozen request of this version."""
    try:
        frozen = _decoder.decode(data)
    except FORGED as error:
        raise InvalidRequest(f"not a frozen request: {error}") from error
    if frozen.version != VERSION:
        raise InvalidRequest(f"a request frozen by layout {frozen.version}, this is layout {VERSION}")
    request = Request(
        frozen.url, frozen.callback or None, frozen.method, frozen.headers, frozen.body or None, frozen.cookies, frozen.meta,
        frozen.cb_kwargs, frozen.errback or None, frozen.priority, frozen.dont_filter,
        frozen.encoding or "utf-8", 0.0, frozen.session, frozen.downloader,
    )  # fmt: skip
    request.depth = frozen.depth
    return request
