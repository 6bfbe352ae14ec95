"""Small helpers that adapters share. Standard library only."""

import datetime
import hashlib
import math


def fail(kind, detail=""):
    """One result that is an error. Kinds: timeout, connection, incomplete, bad_response, decode, too_large,
    redirect_limit, bad_scheme, blocked, robots, ignored, lost (neither answer nor error), other."""
    return {"error": kind, "detail": str(detail)[:300]}


def item_value(v):
    """Items travel as JSON; {"$date": ...}, {"$float": "nan"}, {"$bytes": ...} and {"$object": true} (something
    no exporter knows) stand for what JSON lacks."""
    if isinstance(v, dict):
        if set(v) == {"$date"}:
            return datetime.datetime.fromisoformat(v["$date"])
        if set(v) == {"$float"}:
            return float(v["$float"])
        if set(v) == {"$object"}:
            return object()
        if set(v) == {"$bytes"}:
            return bytes.fromhex(v["$bytes"])
        return {k: item_value(x) for k, x in v.items()}
    if isinstance(v, list):
        return [item_value(x) for x in v]
    return v


def jsonable(v):
    if isinstance(v, float) and not math.isfinite(v):
        return {"$float": repr(v)}
    if isinstance(v, dict):
        return {str(k): jsonable(x) for k, x in v.items()}
    if isinstance(v, (list, tuple)):
        return [jsonable(x) for x in v]
    return v


def describe(extract, *, status, url, headers, body, text=None, encoding=None, css=None, xpath=None, json=None):
    """Build one result. text, css, xpath and json are zero- or one-argument callables of the framework:
    css(query) and xpath(query) give lists of strings; each may raise, which is recorded and not fatal."""
    out = {"status": status, "url": url, "headers": headers, "body_len": len(body), "body_sha1": hashlib.sha1(body).hexdigest()}
    if encoding is not None:
        try:
            out["encoding"] = encoding() if callable(encoding) else encoding
        except Exception as e:
            out["encoding_error"] = repr(e)[:200]
    if extract.get("text") and text is not None:
        try:
            out["text"] = text()
        except Exception as e:
            out["text_error"] = repr(e)[:200]
    for name, fn in (("css", css), ("xpath", xpath)):
        for q in extract.get(name, []):
            try:
                out.setdefault(name, {})[q] = fn(q)
            except Exception as e:
                out.setdefault(name + "_error", {})[q] = repr(e)[:200]
    if extract.get("json"):
        try:
            out["json"] = jsonable(json())
        except Exception as e:
            out["json_error"] = repr(e)[:200]
    return out
