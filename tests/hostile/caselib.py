"""Shared vocabulary of the hostile cases: the registry, and the ways to say "serve these bytes".

A case file (cases/open/*.py or cases/held/*.py) does `from caselib import *` and calls `case(...)`.
Nothing here needs a package: Python 3.11 standard library only.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import importlib.util
import json
import pathlib
import zlib
from dataclasses import dataclass, field

HERE = pathlib.Path(__file__).resolve().parent
REGISTRY: dict[str, "Case"] = {}
_HELD = False
GROUPS = [
    "encoding",
    "header",
    "transfer",
    "redirect",
    "cookie",
    "url",
    "robots",
    "sitemap",
    "retry",
    "html",
    "json",
    "form",
    "feed",
    "queue",
    "cache",
    "ctype",
]


@dataclass
class Resp:
    """One well-formed HTTP/1.1 response, framed at serving time (so @PORT@ and @ID@ may appear in it)."""

    body: bytes = b""
    status: int = 200
    reason: str = "OK"
    ctype: str | None = "text/html; charset=utf-8"
    headers: list = field(default_factory=list)  # extra (name, value) pairs, str (latin-1) or bytes
    length: object = True  # True: right Content-Length; None: none; else: that value
    chunks: list | None = None  # a list of bytes: sent chunked, in these pieces
    close: bool = False  # Connection: close, and close
    version: str = "HTTP/1.1"

    def render(self, head: bool, fill) -> bytes:
        body = fill(self.body)
        lines = [f"{self.version} {self.status} {self.reason}".rstrip().encode("latin-1")]
        pairs = [(_b(k), fill(_b(v))) for k, v in self.headers]
        names = {k.lower() for k, _ in pairs}
        if self.ctype is not None and b"content-type" not in names:
            pairs.insert(0, (b"Content-Type", _b(self.ctype)))
        if self.chunks is not None:
            pairs.append((b"Transfer-Encoding", b"chunked"))
        elif self.length is True:
            if not (self.status in (204, 304) or self.status < 200):
                pairs.append((b"Content-Length", str(len(body)).encode()))
        elif self.length is not None:
            pairs.append((b"Content-Length", str(self.length).encode()))
        if self.close:
            pairs.append((b"Connection", b"close"))
        lines += [k + b": " + v for k, v in pairs]
        out = b"\r\n".join(lines) + b"\r\n\r\n"
        if head or self.status in (204, 304) or self.status < 200:
            return out
        if self.chunks is not None:
            for c in self.chunks:
                c = fill(c)
                out += f"{len(c):x}\r\n".encode() + c + b"\r\n"
            return out + b"0\r\n\r\n"
        return out + body


def _b(x) -> bytes:
    return x if isinstance(x, bytes) else str(x).encode("latin-1")


def page(html, **kw) -> Resp:
    """An HTML page; str is encoded as UTF-8."""
    return Resp(body=html.encode() if isinstance(html, str) else html, **kw)


def doc(inner: str, **kw) -> Resp:
    """A small valid HTML5 page around `inner`."""
    return page(
        '<!DOCTYPE html><html><head><meta charset="utf-8"><title>t</title></head><body>' + inner + "</body></html>", **kw
    )


def ok(text="OK", **kw) -> Resp:
    return doc(f"<h1>{text}</h1>", **kw)


def redirect(location, status=302, headers=(), **kw) -> Resp:
    reason = {
        301: "Moved Permanently",
        302: "Found",
        303: "See Other",
        307: "Temporary Redirect",
        308: "Permanent Redirect",
    }.get(status, "Redirect")
    h = [("Location", location)] if location is not None else []
    return Resp(
        status=status, reason=reason, body=kw.pop("body", b"moved"), ctype="text/plain", headers=h + list(headers), **kw
    )


def text(body, ctype="text/plain; charset=utf-8", **kw) -> Resp:
    return Resp(body=body.encode() if isinstance(body, str) else body, ctype=ctype, **kw)


def xml(body, ctype="application/xml", **kw) -> Resp:
    return Resp(body=body.encode() if isinstance(body, str) else body, ctype=ctype, **kw)


def js(obj, **kw) -> Resp:
    return Resp(
        body=obj if isinstance(obj, bytes) else json.dumps(obj).encode(), ctype=kw.pop("ctype", "application/json"), **kw
    )


def raw(*parts) -> bytes:
    """Bytes sent exactly as they are; the connection is closed afterwards."""
    return b"".join(_b(p) for p in parts)


def head(*lines) -> bytes:
    """Header block from lines (str latin-1 or bytes), each ended with CRLF, plus the empty line."""
    return b"".join(_b(x) + b"\r\n" for x in lines) + b"\r\n"


def gz(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


def zraw(data: bytes) -> bytes:
    c = zlib.compressobj(9, zlib.DEFLATED, -15)
    return c.compress(data) + c.flush()


def zlibw(data: bytes, wbits: int = 15) -> bytes:
    c = zlib.compressobj(9, zlib.DEFLATED, wbits)
    return c.compress(data) + c.flush()


def b64(s: str) -> bytes:
    return base64.b64decode(s)


@dataclass
class Case:
    id: str
    title: str
    source: str
    group: str
    symptom: str
    why: str
    serve: dict
    task: dict
    expect: dict
    disputed: bool = False
    held_out: bool = False
    hosts: list = field(default_factory=list)

    def public(self) -> dict:
        return {
            "id": self.id,
            "title": self.title,
            "source": self.source,
            "group": self.group,
            "symptom": self.symptom,
            "why": self.why,
            "disputed": self.disputed,
            "held_out": self.held_out,
            "hosts": self.hosts,
            "task": self.task,
            "expect": self.expect,
        }


def _selectors(expect, out):
    """What the adapter must extract, gathered from the expectation (the adapter never sees the latter)."""
    for key in ("css", "xpath"):
        for q in expect.get(key, {}):
            if q not in out.setdefault(key, []):
                out[key].append(q)
    for flag, keys in (("json", ("json", "json_error")), ("links", ("links",)), ("text", ("text", "text_has", "text_not"))):
        if any(k in expect for k in keys):
            out[flag] = True
    for sub in expect.get("any", []):
        _selectors(sub, out)
    for sub in expect.get("results", []):
        if sub:
            _selectors(sub, out)


def case(id, *, title, source, group, symptom, why, serve=None, expect, task=None, disputed=False, hosts=()):
    """Register a case. `serve`: one item, or {path-below-the-case: item}. An item is a Resp, raw bytes,
    a list (nth hit gets the nth item, the last one repeats) or an async function of the context."""
    assert id not in REGISTRY, f"duplicate case id {id}"
    assert group in GROUPS, group
    num = id.split("-")[0]
    assert not any(c.split("-")[0] == num for c in REGISTRY), f"duplicate number {num}"
    if not isinstance(serve, dict):
        serve = {} if serve is None else {"": serve}
    task = dict(task or {})
    task.setdefault("kind", "crawl")
    if task["kind"] in ("crawl", "follow", "follow_all", "form", "sitemap"):
        task.setdefault("start", [{}])
        base = f"http://{hosts[0]}:@PORT@/" if hosts else f"/c/{id}/"
        task["start"] = [
            dict(
                s,
                url=s.get("url", base)
                if "://" in s.get("url", base) or s.get("url", base).startswith("/c/")
                else base + s["url"],
            )
            for s in task["start"]
        ]
    settings = dict(timeout=10.0, retry_times=2, obey_robots=False, redirect_max=20)
    settings.update(task.get("settings", {}))
    task["settings"] = settings
    ext = dict(task.get("extract", {}))
    _selectors(expect, ext)
    task["extract"] = ext
    REGISTRY[id] = Case(id, title, source, group, symptom, why, serve, task, expect, disputed, _HELD, list(hosts))


def load(root: pathlib.Path = HERE / "cases", held: bool = True) -> dict[str, Case]:
    """Load cases/open/*.py and, where it is there, cases/held/*.py."""
    global _HELD
    REGISTRY.clear()
    for folder, flag in (("open", False), ("held", True)):
        if flag and not held:
            continue
        for f in sorted((root / folder).glob("*.py")) if (root / folder).is_dir() else []:
            _HELD = flag
            spec = importlib.util.spec_from_file_location(f"cases_{folder}_{f.stem}", f)
            mod = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(mod)
    return dict(sorted(REGISTRY.items()))


__all__ = [
    "Resp",
    "page",
    "doc",
    "ok",
    "redirect",
    "text",
    "xml",
    "js",
    "raw",
    "head",
    "gz",
    "zraw",
    "zlibw",
    "b64",
    "case",
    "asyncio",
    "json",
]
