from caselib import *

G = "header"
OK = b"<!DOCTYPE html><html><head><title>t</title></head><body><h1>OK</h1></body></html>"
CL = b"Content-Length: %d" % len(OK)

case(
    "031-same-content-length-twice",
    group=G,
    source="scrapy/scrapy#4774",
    title="two identical Content-Length headers",
    symptom="A buggy server repeats its headers; the HTTP library called the response invalid and the page was lost.",
    why="RFC 9110 8.6: a list of identical values may be replaced by one; browsers do it.",
    serve=raw(head("HTTP/1.1 200 OK", "Content-Type: text/html; charset=utf-8", CL, "Connection: close", "Server: x", CL), OK),
    expect={"status": 200, "css": {"h1::text": "OK"}},
)

case(
    "033-no-reason-phrase",
    group=G,
    source="scrapy/scrapy#345",
    title="status line without a reason phrase",
    symptom="'HTTP/1.1 200' without the phrase (and without the space) was a parse error.",
    why="RFC 9112 4: a client SHOULD ignore the phrase; the space may be missing in the wild, browsers accept it.",
    serve=raw(head("HTTP/1.1 200", "Content-Type: text/html", CL), OK),
    expect={"status": 200, "css": {"h1::text": "OK"}},
)

case(
    "035-header-without-colon",
    group=G,
    source="scrapy/scrapy#1069",
    title="a header line without a colon",
    symptom="A long policy header broken over lines without folding: ValueError, page lost.",
    why="Browsers and curl skip such lines in responses; RFC 9112 leaves it to the recipient.",
    disputed=True,
    serve=raw(
        head(
            "HTTP/1.1 200 OK",
            "Content-Type: text/html; charset=utf-8",
            "Content-Security-Policy: default-src 'self'; font-src 'self';",
            "frame-src 'self' www.example.com;",
            CL,
            "X-After: seen",
        ),
        OK,
    ),
    expect={"status": 200, "css": {"h1::text": "OK"}},
)

case(
    "037-long-header-20k",
    group=G,
    source="scrapy/scrapy#355",
    title="one header line of 20 000 bytes",
    symptom="Responses with a header above 16 KiB fail at random.",
    why="Browsers allow 256 KiB of headers; long policy and cookie headers are common.",
    serve=raw(head("HTTP/1.1 200 OK", "Content-Type: text/html; charset=utf-8", "X-Long: " + "a" * 20000, CL), OK),
    expect={"status": 200, "css": {"h1::text": "OK"}},
)

case(
    "039-no-length-close",
    group=G,
    source="scrapy/scrapy#4120",
    title="neither Content-Length nor chunked: read until close",
    symptom="Responses ended by closing the connection were flagged as possible data loss.",
    why="RFC 9112 6.3 rule 8: the body goes until the connection is closed; this is a complete response.",
    serve=raw(head("HTTP/1.1 200 OK", "Content-Type: text/html; charset=utf-8", "Connection: close"), OK),
    expect={"status": 200, "css": {"h1::text": "OK"}, "log": {"requests": 1}},
)


async def long_by_five(ctx):
    await ctx.respond(Resp(OK + b"EXTRA", length=len(OK)))


case(
    "041-more-bytes-than-announced",
    group=G,
    source="twisted/twisted#3618",
    title="body longer than Content-Length on a kept connection",
    symptom="The excess bytes are taken for the next response and the following page is corrupted.",
    why="RFC 9112 6.3: exactly Content-Length bytes belong to the message; excess bytes must not be a response, the connection is unusable.",
    serve={"": long_by_five, "next": ok("second")},
    task={"start": [{}, {"url": "next"}]},
    expect={
        "results": [
            {"status": 200, "css": {"h1::text": "OK"}, "text_not": ["EXTRA"]},
            {"status": 200, "css": {"h1::text": "second"}},
        ]
    },
)

case(
    "043-early-hints-103",
    group=G,
    source="aio-libs/aiohttp#1353",
    title="103 Early Hints before the real answer",
    symptom="The informational response was taken for the final one; the page was read as its body.",
    why="RFC 9110 15.2: a client MUST be able to parse 1xx responses before the final one.",
    serve=raw(
        head("HTTP/1.1 103 Early Hints", "Link: </style.css>; rel=preload; as=style"),
        head("HTTP/1.1 200 OK", "Content-Type: text/html; charset=utf-8", CL),
        OK,
    ),
    expect={"status": 200, "css": {"h1::text": "OK"}},
)

case(
    "045-folded-header",
    group=G,
    source="seanmonstar/httparse#68",
    title="obsolete line folding in a header",
    symptom="A header continued on the next line: refused, or the value cut.",
    why="RFC 9112 5.2: a user agent MUST replace each obs-fold with spaces.",
    serve=raw(
        head(
            "HTTP/1.1 200 OK",
            "Content-Type: text/html;",
            "  charset=windows-1251",
            CL.replace(str(len(OK)).encode(), b"%d" % (len(OK) - 2 + 6)),
        ),
        OK.replace(b"OK", "Привет".encode("cp1251")),
    ),
    expect={"status": 200, "css": {"h1::text": "Привет"}},
)

case(
    "047-mixed-line-ends",
    group=G,
    source="python-hyper/h11#7",
    title="header block ended with bare LF",
    symptom="Small embedded servers end header lines with LF; strict parsers refuse them.",
    why="RFC 9112 2.2: a recipient MAY recognise a single LF as a line terminator; browsers and curl do.",
    serve=raw(b"HTTP/1.1 200 OK\nContent-Type: text/html; charset=utf-8\n" + CL + b"\n\n", OK),
    expect={"status": 200, "css": {"h1::text": "OK"}},
)

case(
    "049-duplicate-headers-kept",
    group=G,
    source="scrapy/scrapy#4774",
    title="a header that comes twice is kept twice",
    symptom="Only the last of several equal header names survived.",
    why="RFC 9110 5.3: several lines of one name are a list in order; none may be lost.",
    serve=raw(head("HTTP/1.1 200 OK", "Content-Type: text/html; charset=utf-8", "X-Multi: one", "x-multi: two", CL), OK),
    expect={"status": 200, "headers": {"x-multi": ["one", "two"]}},
)

case(
    "051-status-999",
    group=G,
    source="spatie/crawler#231",
    title="a status code nobody registered",
    symptom="A three-digit code out of the registry (used against bots) upset the parser.",
    why="RFC 9110 15: treat an unknown code as x00 of its class; codes above 599 are invalid but must not crash.",
    disputed=True,
    serve=raw(head("HTTP/1.1 999 Request denied", "Content-Type: text/html; charset=utf-8", CL), OK),
    expect={"status": 999},
)
