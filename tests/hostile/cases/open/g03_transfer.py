from caselib import *

G = "transfer"
P = (
    b'<!DOCTYPE html><html><head><meta charset="utf-8"><title>t</title></head><body><h1>fine</h1>'
    + b"<p>filler</p>" * 40
    + b"</body></html>"
)
T = "Content-Type: text/html; charset=utf-8"


def ce(name, body, **kw):
    return Resp(body, headers=[("Content-Encoding", name)], **kw)


FINE = {"status": 200, "css": {"h1::text": "fine"}}

case(
    "061-chunked-with-trailers",
    group=G,
    source="curl/curl#3490",
    title="chunked body with extensions and trailers",
    symptom="Chunk extensions or trailer fields are taken for data.",
    why="RFC 9112 7.1: extensions are ignored, trailers follow the last chunk.",
    serve=raw(
        head("HTTP/1.1 200 OK", T, "Transfer-Encoding: chunked", "Trailer: X-Sum"),
        b'%X;name="v;1"\r\n' % 100,
        P[:100],
        b"\r\n%x\r\n" % len(P[100:]),
        P[100:],
        b"\r\n0\r\nX-Sum: 1\r\n\r\n",
    ),
    expect=FINE,
)

case(
    "063-chunked-without-last-crlf",
    group=G,
    source="frewsxcv/rust-chunked-transfer#11",
    title="chunked body ends after '0 CRLF', then close",
    symptom="A few real sites leave the last CRLF out; strict decoders lose the page.",
    why="All data and the zero chunk have arrived; curl and browsers accept it.",
    disputed=True,
    serve=raw(head("HTTP/1.1 200 OK", T, "Transfer-Encoding: chunked"), b"%x\r\n" % len(P), P, b"\r\n0\r\n"),
    expect=FINE,
)

case(
    "065-chunked-cut-off",
    group=G,
    source="scrapy/scrapy#2590",
    title="chunked body cut off in the middle",
    symptom="Half a page is handed on as if it were whole.",
    why="RFC 9112 8: a chunked message without the zero chunk is incomplete; treat as an error, retry.",
    serve=raw(head("HTTP/1.1 200 OK", T, "Transfer-Encoding: chunked"), b"%x\r\n" % len(P), P[:150]),
    expect={"error": ["incomplete", "connection"], "log": {"requests": 3}},
)

case(
    "067-deflate-zlib",
    group=G,
    source="encode/httpx#756",
    title="Content-Encoding: deflate with the zlib wrapper",
    symptom="The standard form of deflate failed to decode.",
    why="RFC 9110 8.4.1.2: deflate is zlib-wrapped.",
    serve=ce("deflate", zlibw(P)),
    expect=FINE,
)

case(
    "069-deflate-small-window",
    group=G,
    source="oven-sh/bun#33711",
    title="deflate made with a small window (first byte 0x18)",
    symptom="Detection by the byte 0x78 alone took a valid zlib stream for raw deflate.",
    why="RFC 1950: CINFO may be below 7; the header check is CMF*256+FLG mod 31.",
    serve=ce("deflate", zlibw(P, 9)),
    expect=FINE,
)

case(
    "071-gzip-trailing-garbage",
    group=G,
    source="yt-dlp/yt-dlp#7142",
    title="gzip body followed by junk bytes",
    symptom="Bytes after the gzip stream raised BadGzipFile although the page was complete.",
    why="gunzip ignores trailing garbage; browsers show the page.",
    serve=ce("gzip", gz(P) + b"trailing junk 11111"),
    expect=FINE,
)

case(
    "073-gzip-lie",
    group=G,
    source="xroche/httrack#515",
    title="Content-Encoding: gzip on a plain body",
    symptom="Servers label error pages gzip without compressing; the page is lost.",
    why="HTTrack and curl keep the body as it is, browsers and Scrapy 2.19 refuse. Keeping loses nothing.",
    disputed=True,
    serve=ce("gzip", P),
    expect=FINE,
)

case(
    "075-204-with-gzip",
    group=G,
    source="aio-libs/aiohttp#609",
    title="204 with Content-Encoding: gzip",
    symptom="Decoding the body that is not there raised an error.",
    why="RFC 9110 15.3.5: 204 has no content, nothing is to be decoded.",
    serve=Resp(status=204, reason="No Content", ctype=None, headers=[("Content-Encoding", "gzip")]),
    expect={"status": 204, "body_len": 0},
)

case(
    "077-empty-gzip-200",
    group=G,
    source="request/request#2177",
    title="200 with Content-Encoding: gzip and no body",
    symptom="unexpected end of file on an empty answer.",
    why="An empty body decodes to an empty body for every browser.",
    serve=ce("gzip", b""),
    expect={"status": 200, "body_len": 0},
)

case(
    "079-brotli-or-whatever-offered",
    group=G,
    source="scrapy/scrapy#4697",
    title="the client can read what it offers",
    symptom="Accept-Encoding offers br although the decoder is not installed; binary garbage arrives.",
    why="RFC 9110 12.5.3: offer only what can be decoded. The server picks br if offered, else sends plain text.",
    serve={"": lambda ctx: negotiated(ctx)},
    expect={"status": 200, "css": {"h1::text": "brotli fine"}},
)

BR = b64("G/UBAIzUYc0dF0ZIMgu6sVzGWxAMwsEjxotODhy+y/EUJBRYS4LIsEi8wZZnw9FqtFoEHKRhQD7cNEqrLXX7nj8RBhpEv8buI+jnCA==")


async def negotiated(ctx):
    if "br" in [x.split(";")[0].strip() for x in ctx.req.header("accept-encoding", "").lower().split(",")]:
        await ctx.respond(ce("br", BR))
    else:
        await ctx.respond(ok("brotli fine"))


case(
    "081-x-gzip",
    group=G,
    source="notatallshaw/nab#591",
    title="Content-Encoding: x-gzip",
    symptom="The alias was not known, so the compressed bytes were handed on.",
    why="RFC 9110 8.4.1.3: x-gzip is equivalent to gzip.",
    serve=ce("x-gzip", gz(P)),
    expect=FINE,
)

case(
    "083-gzip-bomb",
    group=G,
    source="scrapy/scrapy#2658",
    title="10 MB of zeros in 10 KB, limit 1 MB",
    symptom="A small compressed answer expands without end; the size limit only looked at the compressed bytes.",
    why="The limit on the response size must hold after decompression (scrapy#7134).",
    serve=ce("gzip", gz(b"<html>" + b"\0" * 10_000_000)),
    task={"settings": {"max_size": 1_000_000}},
    expect={"error": ["too_large", "ignored", "decode"]},
)

case(
    "085-length-of-uncompressed",
    group=G,
    source="scrapy/scrapy#2586",
    title="Content-Length of the uncompressed body, gzip sent, then close",
    symptom="The server announces the size before compression; the client waits for bytes that never come.",
    why="By RFC 9112 it is incomplete. The gzip trailer proves the page is whole, so accepting is defensible (browsers show it).",
    disputed=True,
    serve=Resp(gz(P), headers=[("Content-Encoding", "gzip")], length=len(P), close=True),
    expect={"any": [FINE, {"error": ["incomplete", "connection"]}]},
)

case(
    "087-redirect-with-gzip-lie",
    group=G,
    source="scrapy/scrapy#78",
    title="302 labelled gzip with a plain body is still followed",
    symptom="Decompressing the body of the redirect raised before the redirect was followed.",
    why="The body of a redirect does not matter; follow Location.",
    serve={"": redirect("next", headers=[("Content-Encoding", "gzip")]), "next": ok("arrived")},
    expect={"status": 200, "css": {"h1::text": "arrived"}},
)
