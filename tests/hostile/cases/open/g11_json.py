from caselib import *

G = "json"

case(
    "346-json-bom",
    group=G,
    source="psf/requests#4976",
    title="JSON with a UTF-8 BOM",
    symptom="Unexpected UTF-8 BOM: many Microsoft-made services are unreadable.",
    why="RFC 8259 8.1: parsers MAY ignore a BOM rather than fail; browsers strip it (UTF-8 decode).",
    serve=js(b"\xef\xbb\xbf" + '{"a": "\u00e9"}'.encode()),
    expect={"json": {"a": "\u00e9"}},
)

case(
    "348-json-as-html",
    group=G,
    source="aio-libs/aiohttp#3005",
    title="JSON served as text/html",
    symptom="The JSON method refused because of the content type.",
    why="The caller asked for JSON; try. (aiohttp calls its refusal intended.)",
    serve=js({"a": [1, 2]}, ctype="text/html; charset=utf-8"),
    expect={"json": {"a": [1, 2]}},
)

case(
    "350-big-integers",
    group=G,
    source="postmanlabs/postman-app-support#9065",
    title="integers beyond 2**53",
    symptom="Identifiers of 19 digits lose their last digits.",
    why="RFC 8259 lets parsers choose; Python keeps them exactly.",
    serve=js(b'{"id": 9223372036854775809, "n": 123456789012345678901234567890}'),
    expect={"json": {"id": 9223372036854775809, "n": 123456789012345678901234567890}},
)

case(
    "352-jsonp",
    group=G,
    source="aio-libs/aiohttp#1766",
    title="JSONP and the text of it",
    symptom="Script content types were treated as binary.",
    why="application/javascript is text; the caller cuts the callback off.",
    serve=text('/**/cb_1({"a": "\u00fc"});', ctype="application/javascript; charset=utf-8"),
    expect={"text": '/**/cb_1({"a": "\u00fc"});'},
)

case(
    "354-empty-json",
    group=G,
    source="twisted/treq#229",
    title="200 application/json with an empty body",
    symptom="A crash instead of an error of the caller's own.",
    why="There is no JSON; json() raises, the response itself is fine.",
    serve=js(b""),
    expect={"status": 200, "body_len": 0, "json_error": True},
)
