from caselib import *

G = "ctype"
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\x00\x05\x00\x01\xff\x89\x99=\x1d\x00\x00\x00\x00IEND\xaeB`\x82"

case(
    "436-image-as-html",
    group=G,
    source="scrapy/scrapy#1204",
    title="a PNG served as text/html",
    symptom="The parser raised; the spider died at that link.",
    why="The bytes arrive unchanged, selectors find nothing, nothing crashes.",
    serve=Resp(PNG),
    expect={"status": 200, "body_len": len(PNG)},
)

case(
    "438-no-content-type",
    group=G,
    source="scrapy/slybot#61",
    title="HTML without any Content-Type",
    symptom="KeyError, or treated as binary.",
    why="WHATWG MIME sniffing: <!DOCTYPE HTML is HTML.",
    serve=Resp(b"<!DOCTYPE html><html><body><h1>sniffed</h1></body></html>", ctype=None),
    expect={"status": 200, "css": {"h1::text": "sniffed"}},
)

case(
    "440-rss-link-element",
    group=G,
    source="scrapy/scrapy#8045",
    title="RSS: link is no void element",
    symptom="An HTML parser empties link elements of feeds.",
    why="application/rss+xml is XML.",
    serve=xml(
        '<?xml version="1.0"?><rss version="2.0"><channel><title>f</title><link>http://s.test/</link><item><title>i1</title><link>http://s.test/1</link></item></channel></rss>',
        ctype="application/rss+xml",
    ),
    expect={"xpath": {"//item/link/text()": ["http://s.test/1"], "//channel/link/text()": ["http://s.test/"]}},
)

case(
    "442-too-large-announced",
    group=G,
    source="scrapy/scrapy#946",
    title="Content-Length of 50 MB, limit 1 MB",
    symptom="The whole file was downloaded before the limit was looked at.",
    why="Stop at the header; the server sees the connection close early.",
    serve={"": lambda ctx: big(ctx)},
    task={"settings": {"max_size": 1_000_000, "retry_times": 0}},
    expect={"error": ["too_large", "ignored", "connection", "incomplete"], "max_seconds": 15},
)


async def big(ctx):
    await ctx.send(head("HTTP/1.1 200 OK", "Content-Type: text/html", "Content-Length: 50000000"))
    for _ in range(500):
        await ctx.send(b"x" * 100_000)
        await ctx.sleep(0.01)


async def head_with_body(ctx):
    body = b"<html>body that must not be here</html>"
    await ctx.send(head("HTTP/1.1 200 OK", "Content-Type: text/html", "Content-Length: %d" % len(body)) + body)
    ctx.keep = True


case(
    "444-head-with-body",
    group=G,
    source="yhirose/cpp-httplib#2028",
    title="a HEAD answer that carries a body",
    symptom="The body is read as the next response.",
    why="RFC 9110 9.3.2: HEAD has no content; stray bytes must not poison the connection.",
    serve={"": head_with_body, "next": ok("second")},
    task={"start": [{"method": "HEAD"}, {"url": "next"}]},
    expect={"results": [{"status": 200, "body_len": 0}, {"status": 200, "css": {"h1::text": "second"}}]},
)
