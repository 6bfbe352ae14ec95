from caselib import *

G = "cache"
S = {"settings": {"http_cache": "rfc"}}


def T(*urls, **kw):
    return {"start": [{"url": u} if isinstance(u, str) else u for u in urls], **S, **kw}


case(
    "421-fresh-from-cache",
    group=G,
    source="scrapy/scrapy#212",
    title="max-age=60: the second fetch is answered from the cache",
    symptom="Every request went to the server.",
    why="RFC 9111 4.2: a fresh response may be reused.",
    serve=ok("v1", headers=[("Cache-Control", "max-age=60")]),
    task=T("", ""),
    expect={"results": [{"status": 200}, {"status": 200, "css": {"h1::text": "v1"}}], "log": {"requests": 1}},
)


async def etag(ctx):
    if ctx.req.header("if-none-match") == '"e1"':
        await ctx.respond(Resp(status=304, reason="Not Modified", ctype=None, headers=[("ETag", '"e1"')]))
    else:
        await ctx.respond(ok("v1", headers=[("ETag", '"e1"'), ("Cache-Control", "max-age=0")]))


case(
    "423-revalidate-304",
    group=G,
    source="scrapy/scrapy#3778",
    title="stale with an ETag: ask with If-None-Match, 304 gives the stored page",
    symptom="The caller got an empty 304, or the page was fetched whole again.",
    why="RFC 9111 4.3.",
    serve=etag,
    task=T("", ""),
    expect={
        "results": [{"status": 200}, {"status": 200, "css": {"h1::text": "v1"}}],
        "log": {"requests": 2, "sent": [{"n": 1, "header": {"if-none-match": '"e1"'}}]},
    },
)

case(
    "425-no-store",
    group=G,
    source="scrapy/scrapy#1151",
    title="no-store is not stored",
    symptom="Private pages were kept.",
    why="RFC 9111 5.2.2.5.",
    serve=[ok("v1", headers=[("Cache-Control", "no-store, max-age=60")]), ok("v2")],
    task=T("", ""),
    expect={"results": [{}, {"css": {"h1::text": "v2"}}], "log": {"requests": 2}},
)
