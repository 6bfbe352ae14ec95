from caselib import *

G = "cookie"


def sets(*cookies, **kw):
    return ok("set", headers=[("Set-Cookie", c) for c in cookies], **kw)


def two(second="next"):
    return {"start": [{}, {"url": second}]}


case(
    "141-equals-in-value",
    group=G,
    source="aio-libs/aiohttp#928",
    title="base64 value with = / + comes back as it was",
    symptom="The jar put the value in quotes, since it holds =; the server no longer knew it.",
    why="RFC 6265 5.4: the value is sent exactly as stored.",
    serve={"": sets("check=QUJDRA/Zz+k=; Path=/"), "next": ok()},
    task=two(),
    expect={"log": {"sent": [{"n": 1, "header": {"cookie": "check=QUJDRA/Zz+k="}}]}},
)

case(
    "143-odd-characters-in-value",
    group=G,
    source="aio-libs/aiohttp#11112",
    title="braces, commas and brackets in the value",
    symptom="Strict cookie parsing dropped the cookie and every one after it.",
    why="RFC 6265 5.2 (user agents) accepts any byte but ; and controls in a value.",
    serve={"": sets('j={"a":[1,2],"b":"x"}; Path=/', "k=(v); Path=/"), "next": ok()},
    task=two(),
    expect={"log": {"sent": [{"n": 1, "cookies": {"j": '{"a":[1,2],"b":"x"}', "k": "(v)"}}]}},
)

case(
    "145-two-digit-year",
    group=G,
    source="salesforce/tough-cookie#19",
    title="Expires with a two-digit year and dashes",
    symptom="26-Jun-68 was read as the year 68: the cookie counted as expired.",
    why="RFC 6265 5.1.1: years 0..69 are 2000..2069, 70..99 are 1970..1999.",
    serve={
        "": sets("keep=1; Expires=Tue, 05-Aug-68 18:59:59 GMT; Path=/", "gone=1; Expires=Thu, 01-Dec-94 16:00:00 GMT; Path=/"),
        "next": ok(),
    },
    task=two(),
    expect={"log": {"sent": [{"n": 1, "cookies": {"keep": "1"}}]}},
)

case(
    "147-domain-with-port-and-dot",
    group=G,
    source="scrapy/scrapy#351",
    title="a host with a port still gets its cookies; sub-hosts share Domain cookies",
    symptom="Cookies were stored for host and looked up for host:port.",
    why="RFC 6265 8.5: cookies are not isolated by port; the leading dot of Domain is ignored.",
    hosts=["www.c147.test", "shop.c147.test", "c147.test"],
    serve={"www.c147.test|": sets("a=1; Domain=.c147.test; Path=/", "b=2"), "*": ok()},
    task={"start": [{}, {"url": "http://www.c147.test:@PORT@/one"}, {"url": "http://shop.c147.test:@PORT@/two"}]},
    expect={"log": {"sent": [{"n": 1, "cookies": {"a": "1", "b": "2"}}, {"n": 2, "cookies": {"a": "1"}}]}},
)

case(
    "149-foreign-domain-refused",
    group=G,
    source="searchmysite/searchmysite.net#48",
    title="a host may not set cookies for another domain",
    symptom="Cookies for foreign domains and public suffixes were stored and sent to everybody.",
    why="RFC 6265 5.3 step 6: Domain must cover the request host.",
    hosts=["a.c149.test", "other-c149.test"],
    serve={"a.c149.test|": sets("x=1; Domain=other-c149.test; Path=/", "ok=1; Path=/"), "*": ok()},
    task={"start": [{}, {"url": "http://a.c149.test:@PORT@/one"}, {"url": "http://other-c149.test:@PORT@/two"}]},
    expect={"log": {"sent": [{"n": 1, "cookies": {"ok": "1"}}, {"n": 2, "no_header": ["cookie"]}]}},
)

case(
    "151-localhost-cookie",
    group=G,
    source="scrapy/scrapy#6410",
    title="a cookie with Domain=localhost on localhost",
    symptom="Host names without a dot never got their cookies back.",
    why="Domain equals the host, so it is a valid host cookie (browsers accept it).",
    serve={"": sets("c1=test; Domain=localhost; Path=/"), "next": ok()},
    task={
        "start": [
            {"url": "http://localhost:@PORT@/c/151-localhost-cookie/"},
            {"url": "http://localhost:@PORT@/c/151-localhost-cookie/next"},
        ]
    },
    expect={"log": {"sent": [{"n": 1, "cookies": {"c1": "test"}}]}},
)

case(
    "153-path-prefix",
    group=G,
    source="h4ckf0r0day/obscura#382",
    title="Path=/x matches /x and /x/y but not /xy",
    symptom="A plain prefix test sends the cookie to the neighbour path.",
    why="RFC 6265 5.1.4 path-match.",
    serve={"": sets("p=1; Path=/c/@ID@/x"), "*": ok()},
    task={"start": [{}, {"url": "x"}, {"url": "x/y"}, {"url": "xy"}]},
    expect={
        "log": {"sent": [{"n": 1, "cookies": {"p": "1"}}, {"n": 2, "cookies": {"p": "1"}}, {"n": 3, "no_header": ["cookie"]}]}
    },
)

case(
    "155-cookie-set-on-redirect",
    group=G,
    source="apify/crawlee#1267",
    title="a cookie set by a 302 is sent to its target",
    symptom="Set-Cookie of intermediate answers was ignored: endless login redirects.",
    why="RFC 6265: every response of the chain is processed.",
    serve={"": redirect("next", headers=[("Set-Cookie", "gate=open; Path=/")]), "next": ok()},
    expect={"status": 200, "log": {"sent": [{"n": 1, "cookies": {"gate": "open"}}]}},
)

case(
    "157-sessions-apart",
    group=G,
    source="apify/crawlee-python#2179",
    title="two sessions do not share cookies",
    symptom="Sessions using the same client saw each other's cookies.",
    why="A session (Scrapy: cookiejar) is its own jar.",
    serve={"": sets("who=first; Path=/"), "next": ok()},
    task={"start": [{"session": "A"}, {"url": "next", "session": "B"}, {"url": "next", "session": "A"}]},
    expect={"log": {"sent": [{"n": 1, "no_header": ["cookie"]}, {"n": 2, "cookies": {"who": "first"}}]}},
)
