from caselib import *

G = "retry"
S = {"timeout": 1.5, "retry_times": 2}
ARR = {"status": 200, "css": {"h1::text": "arrived"}}
END = ok("arrived")


async def hang(ctx):
    await ctx.sleep(30)


async def drip_forever(ctx):
    await ctx.send(head("HTTP/1.1 200 OK", "Content-Type: text/html", "Content-Length: 5000"))
    for _ in range(200):
        await ctx.send(b".")
        await ctx.sleep(0.2)


async def reset_mid_body(ctx):
    await ctx.send(head("HTTP/1.1 200 OK", "Content-Type: text/html", "Content-Length: 5000") + b"<html><h1>half")
    await ctx.sleep(0.1)
    ctx.reset()


def unavailable(*headers):
    return doc("<h1>busy</h1>", status=503, reason="Service Unavailable", headers=list(headers))


case(
    "271-never-answers",
    group=G,
    source="scrapy/scrapy#2442",
    title="accepts the request and never answers",
    symptom="The crawl hangs.",
    why="The timeout ends it; it is tried again; after that an error reaches the caller.",
    serve=hang,
    task={"settings": S},
    expect={"error": "timeout", "log": {"requests": 3}, "max_seconds": 20},
)

case(
    "273-drips-for-ever",
    group=G,
    source="scrapy/scrapy#3108",
    title="one byte every 0.2 s, for ever",
    symptom="Each byte restarted the timer, so the timeout never came.",
    why="The download timeout is for the whole response.",
    serve=drip_forever,
    task={"settings": S},
    expect={"error": "timeout", "max_seconds": 20},
)

case(
    "275-503-then-200",
    group=G,
    source="mldsveda/PyScrappy#143",
    title="503, then fine: nothing is lost",
    symptom="A passing error lost the page.",
    why="503 is retried by default.",
    serve=[unavailable(), END],
    task={"settings": S},
    expect={**ARR, "log": {"requests": 2}},
)

case(
    "277-429-retry-after-seconds",
    group=G,
    source="scrapy/scrapy#3849",
    title="429 with Retry-After: 2",
    symptom="The retry came at once and was refused again; the page was lost.",
    why="RFC 9110 10.2.3: the client ought to wait. The server answers 429 to anybody who is back in less than 2 s.",
    disputed=True,
    serve={"": lambda ctx: strict(ctx, 2.0)},
    task={"settings": {"timeout": 5.0, "retry_times": 2}},
    expect={**ARR, "log": {"min_gap": [[0, 1, 1.9]]}},
)

TIMES = {}


async def strict(ctx, wait):
    now = asyncio.get_running_loop().time()
    last = TIMES.get(ctx.case.id) if ctx.hit > 1 else None
    TIMES[ctx.case.id] = now
    if last is not None and now - last >= wait * 0.95:
        await ctx.respond(END)
    else:
        await ctx.respond(
            doc("<h1>slow down</h1>", status=429, reason="Too Many Requests", headers=[("Retry-After", str(int(wait)))])
        )


case(
    "279-keepalive-race",
    group=G,
    source="aio-libs/aiohttp#3609",
    title="the kept connection was closed by the server meanwhile",
    symptom="ServerDisconnectedError on the second request over a pooled connection.",
    why="RFC 9112 9.5 (9.3.1): a client retries an idempotent request on a fresh connection when a persistent one was closed.",
    serve={"": lambda ctx: promise_and_close(ctx), "next": END},
    task={"settings": {"timeout": 5.0, "retry_times": 0}, "start": [{}, {"url": "next"}]},
    expect={"results": [{"status": 200}, ARR]},
)


async def promise_and_close(ctx):
    await ctx.send(
        Resp(b"<h1>first</h1>", headers=[("Connection", "keep-alive"), ("Keep-Alive", "timeout=60")]).render(False, ctx.fill)
    )
    await asyncio.sleep(0.02)  # then closes although it promised to keep the connection


case(
    "281-reset-in-body",
    group=G,
    source="scrapy/scrapy#2590",
    title="connection reset in the middle of the body, then fine",
    symptom="Half a page was delivered, or the page was lost without a retry.",
    why="A reset is a transient error; the second attempt succeeds.",
    serve=[reset_mid_body, END],
    task={"settings": S},
    expect={**ARR, "log": {"requests": 2}},
)

case(
    "283-404-once",
    group=G,
    source="scrapy/scrapy#3792",
    title="404 is not retried",
    symptom="Every failure was retried.",
    why="404 is an answer, not a transient error.",
    serve=doc("<h1>gone</h1>", status=404, reason="Not Found"),
    task={"settings": S},
    expect={"status": 404, "log": {"requests": 1}},
)

case(
    "285-500-three-times",
    group=G,
    source="scrapy/scrapy#3108",
    title="500 for ever: the number of attempts is 1 + retries",
    symptom="Off by one, or endless.",
    why="retry_times counts the retries; the last answer reaches the caller.",
    serve=doc("<h1>err</h1>", status=500, reason="Internal Server Error"),
    task={"settings": S},
    expect={"status": 500, "log": {"requests": 3}},
)
