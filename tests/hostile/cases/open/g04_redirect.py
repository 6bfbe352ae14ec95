from caselib import *

G = "redirect"
END = ok("arrived")
ARR = {"status": 200, "css": {"h1::text": "arrived"}}

case(
    "101-location-raw-utf8",
    group=G,
    source="scrapy/scrapy#2321",
    title="Location with raw UTF-8 bytes",
    symptom="The bytes were read as latin-1 and encoded again: a URL that does not exist.",
    why="Percent-encode the bytes as they are (scrapy#2322; browsers do so for UTF-8 bytes).",
    serve={"": redirect("/c/@ID@/اعزام".encode()), "%D8%A7%D8%B9%D8%B2%D8%A7%D9%85": END},
    expect={**ARR, "log": {"rests": ["", "%D8%A7%D8%B9%D8%B2%D8%A7%D9%85"]}},
)

case(
    "103-location-scheme-relative",
    group=G,
    source="psf/requests#3959",
    title="Location: //host/path",
    symptom="A scheme-relative Location failed or was taken for a path.",
    why="RFC 3986 4.2: network-path reference, the scheme is inherited.",
    hosts=["c103.test", "www.c103.test"],
    serve={"c103.test|": redirect("//www.c103.test:@PORT@/there"), "there": END},
    expect={**ARR, "url": "http://www.c103.test:@PORT@/there", "log": {"sent": [{"n": 1, "host": "www.c103.test"}]}},
)

case(
    "105-percent-encoding-kept",
    group=G,
    source="aio-libs/aiohttp#4307",
    title="the percent-encoding of Location is kept to the letter",
    symptom="%27 and %2F of a signed URL were decoded on the way; the signature no longer matched.",
    why="A client has no business re-encoding what is already valid; signed URLs depend on it.",
    serve={"": redirect("/c/@ID@/foo%27bar%2Fx%28y%29.txt?sig=a%2Fb%3D&e=%7E"), "*": END},
    expect={**ARR, "log": {"rests": ["", "foo%27bar%2Fx%28y%29.txt?sig=a%2Fb%3D&e=%7E"]}},
)

case(
    "107-fragment-inherited",
    group=G,
    source="psf/requests#4443",
    title="the fragment survives a redirect without one",
    symptom="The fragment of the requested URL is lost after the redirect.",
    why="RFC 9110 10.2.2: Location without a fragment inherits the original one. It is never sent to the server. Scrapy and "
    "aiohttp keep the fragment off response.url on purpose (aio-libs/aiohttp#1314).",
    disputed=True,
    serve={"": redirect("next"), "next": END},
    task={"start": [{"url": "/c/107-fragment-inherited/#/section"}]},
    expect={**ARR, "url": "/c/107-fragment-inherited/next#/section", "log": {"rests": ["", "next"]}},
)

case(
    "109-self-redirect-with-cookie",
    group=G,
    source="scrapy/scrapy#1225",
    title="redirect to the same URL that sets a cookie",
    symptom="The cookie check redirects to the URL itself; the duplicate filter dropped it and the page was silently lost.",
    why="A redirect is a continuation, not a new request; it must not be filtered. 2 requests, the second with the cookie.",
    serve={"": lambda ctx: self_redirect(ctx)},
    expect={**ARR, "log": {"requests": 2, "sent": [{"n": 1, "cookies": {"seen": "1"}}]}},
)


async def self_redirect(ctx):
    if "seen=1" in ctx.req.header("cookie", ""):
        await ctx.respond(END)
    else:
        await ctx.respond(redirect("/c/@ID@/", headers=[("Set-Cookie", "seen=1; Path=/")]))


case(
    "111-post-302-becomes-get",
    group=G,
    source="scrapy/scrapy#2527",
    title="POST, 302: go on with GET and no body",
    symptom="Which method follows a 302 was debated.",
    why="Fetch standard and RFC 9110 15.4.3: POST becomes GET on 301/302 in practice; body and its headers are dropped.",
    serve={"": redirect("next", 302), "next": END},
    task={"start": [{"method": "POST", "body": "a=1", "headers": {"Content-Type": "application/x-www-form-urlencoded"}}]},
    expect={
        **ARR,
        "log": {
            "sent": [
                {"n": 0, "method": "POST", "body": "a=1"},
                {"n": 1, "method": "GET", "body": "", "no_header": ["content-type"]},
            ]
        },
    },
)

case(
    "113-post-308-stays-post",
    group=G,
    source="scrapy/scrapy#2844",
    title="POST, 308: same method, same body",
    symptom="308 was not treated as a redirect at all.",
    why="RFC 9110 15.4.9: the method must not change.",
    serve={"": redirect("next", 308), "next": END},
    task={"start": [{"method": "POST", "body": "a=1&b=2", "headers": {"Content-Type": "application/x-www-form-urlencoded"}}]},
    expect={
        **ARR,
        "log": {
            "sent": [
                {"n": 1, "method": "POST", "body": "a=1&b=2", "header": {"content-type": "application/x-www-form-urlencoded"}}
            ]
        },
    },
)

case(
    "115-authorization-leak",
    group=G,
    source="gocolly/colly#916",
    title="Authorization is not carried to another host",
    symptom="Credentials set on a request went along with the redirect to a foreign host.",
    why="Fetch standard: Authorization is removed on a cross-origin redirect.",
    hosts=["c115.test", "evil-c115.test"],
    serve={"c115.test|": redirect("http://evil-c115.test:@PORT@/x"), "x": END},
    task={"start": [{"headers": {"Authorization": "Bearer example-token"}}]},
    expect={
        **ARR,
        "log": {
            "sent": [
                {"n": 0, "header": {"authorization": "Bearer example-token"}},
                {"n": 1, "host": "evil-c115.test", "no_header": ["authorization"]},
            ]
        },
    },
)

case(
    "117-user-cookie-leak",
    group=G,
    source="python/cpython#92076",
    title="cookies given with the request stay with their host",
    symptom="Cookies passed to the request were sent to the host it was redirected to.",
    why="A cookie without a domain is host-only (RFC 6265 5.3); sending it on leaks a session.",
    hosts=["c117.test", "evil-c117.test"],
    serve={"c117.test|": redirect("http://evil-c117.test:@PORT@/x"), "x": END},
    task={"start": [{"cookies": {"session": "s1"}}]},
    expect={**ARR, "log": {"sent": [{"n": 0, "cookies": {"session": "s1"}}, {"n": 1, "no_header": ["cookie"]}]}},
)

case(
    "119-redirect-to-file",
    group=G,
    source="scrapy/scrapy#457",
    title="Location: file:///etc/hostname is not followed",
    symptom="A remote server makes the crawler read a local file and keep it as a page.",
    why="Only http and https may be redirect targets (Fetch: network error for other schemes).",
    serve={"": redirect("file:///etc/hostname")},
    expect={"any": [{"status": 302}, {"error": ["blocked", "bad_scheme", "ignored", "redirect", "connection"]}]},
)

case(
    "121-meta-refresh-in-noscript",
    group=G,
    source="scrapy/scrapy#6342",
    title="meta refresh inside noscript is not followed",
    symptom="Anti-bot pages send clients without scripts to a dead end by a refresh inside noscript.",
    why="Maintainers' decision (METAREFRESH_IGNORE_TAGS = noscript); a browser with scripts ignores it too.",
    disputed=True,
    serve={
        "": doc("<h1>real page</h1><noscript><meta http-equiv='refresh' content='0; URL=trap'></noscript>"),
        "trap": ok("trap"),
    },
    expect={"status": 200, "css": {"h1::text": "real page"}, "log": {"never": ["trap"]}},
)

case(
    "123-meta-refresh-attribute-order",
    group=G,
    source="scrapy/w3lib#162",
    title="meta refresh with content= first",
    symptom="The refresh is only seen when http-equiv comes first.",
    why="Attribute order is free in HTML. A framework that does not follow meta refresh at all passes with the first page.",
    serve={
        "": page('<html><head><meta content="0;url=next" http-equiv="refresh"></head><body><h1>first</h1></body></html>'),
        "next": END,
    },
    expect={"any": [ARR, {"status": 200, "css": {"h1::text": "first"}, "log": {"requests": 1}, "setting": "no_meta_refresh"}]},
)

case(
    "125-302-without-location",
    group=G,
    source="scrapy/scrapy#1488",
    title="302 without a Location header",
    symptom="KeyError on the missing header.",
    why="RFC 9110 15.4: only a Location field allows automatic redirection; deliver the 302.",
    serve={"": redirect(None)},
    expect={"status": 302, "log": {"requests": 1}},
)

case(
    "127-redirect-loop-ends",
    group=G,
    source="scrapy/scrapy#5793",
    title="a and b redirect to each other for ever",
    symptom="Without a limit the crawl never ends.",
    why="RFC 9110 15.4: detect cyclical redirects; 20 hops is the browsers' limit.",
    serve={"": redirect("b"), "b": redirect("/c/@ID@/")},
    task={"settings": {"redirect_max": 5, "retry_times": 0}},
    expect={"any": [{"error": ["redirect_limit", "ignored", "redirect"]}, {"status": 302}], "log": {"max_requests": 8}},
)

case(
    "129-location-three-slashes",
    group=G,
    source="scrapy/scrapy#4032",
    title="Location: ///host/path",
    symptom="Browsers go to the host named after the slashes, the crawler stayed on its own host.",
    why="WHATWG URL: for special schemes any number of slashes before the authority is skipped.",
    hosts=["c129.test", "www.c129.test"],
    serve={"c129.test|": redirect("///www.c129.test:@PORT@/there"), "there": END},
    expect={**ARR, "log": {"sent": [{"n": 1, "host": "www.c129.test"}]}},
)

case(
    "131-cookie-changed-on-redirect",
    group=G,
    source="scrapy/scrapy#5021",
    title="a redirect changes a cookie that the request carried",
    symptom="The redirected request kept the old value of the cookie.",
    why="RFC 6265 5.3: the new value replaces the old one before the next request is built.",
    serve={
        "": ok("set", headers=[("Set-Cookie", "v=old; Path=/")]),
        "r": redirect("end", headers=[("Set-Cookie", "v=new; Path=/")]),
        "end": END,
    },
    task={"start": [{}, {"url": "r"}]},
    expect={
        **ARR,
        "log": {"rests": ["", "r", "end"], "sent": [{"n": 1, "cookies": {"v": "old"}}, {"n": 2, "cookies": {"v": "new"}}]},
    },
)
