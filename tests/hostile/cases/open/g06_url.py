from caselib import *

G = "url"
F = {"kind": "follow"}
FA = {"kind": "follow_all"}
END = ok("target")


def links(*hrefs, **kw):
    return doc("".join(f'<p><a href="{h}">x</a></p>' for h in hrefs), **kw)


def to(rest, n=1, **kw):
    return {"status": 200, "log": {"sent": [{"n": n, "rest": rest, **kw}]}}


case(
    "171-percent-kept",
    group=G,
    source="scrapy/scrapy#24",
    title="percent-encoding in a link is requested as written",
    symptom="AC%252FDC became AC%2FDC; %27 and %3A of other links were decoded.",
    why="WHATWG URL: percent-encoded bytes of a path or query are left alone.",
    serve={"": links("music/AC%252FDC/+images?u=http%3A%2F%2Fa%3Fb%3D1&amp;q=%27x%27"), "*": END},
    task=F,
    expect=to("music/AC%252FDC/+images?u=http%3A%2F%2Fa%3Fb%3D1&q=%27x%27"),
)

case(
    "173-path-utf8-query-page-encoding",
    group=G,
    source="scrapy/scrapy#1913",
    title="non-ASCII link in a GBK page",
    symptom="Path or query was encoded in the wrong charset and the server answered 404.",
    why="WHATWG URL: the path is UTF-8 always, the query is in the encoding of the document.",
    serve={
        "": Resp(
            '<html><head><meta charset="gbk"></head><body><a href="中/p?q=中">x</a></body></html>'.encode("gbk"),
            ctype="text/html; charset=gbk",
        ),
        "*": END,
    },
    task=F,
    expect=to("%E4%B8%AD/p?q=%D6%D0"),
)

case(
    "175-href-whitespace",
    group=G,
    source="scrapy/scrapy#838",
    title="blanks and newlines around an href",
    symptom="A leading blank made an endless loop of ever longer URLs.",
    why="HTML: strip leading and trailing ASCII whitespace of a URL attribute.",
    serve={"": links("\n\t  /c/@ID@/page1 \n"), "*": END},
    task=F,
    expect=to("page1"),
)

case(
    "177-backslashes",
    group=G,
    source="ArchiveTeam/wpull#377",
    title="backslashes in a link",
    symptom="A site made on Windows links ..\\dir\\page.html; the crawler got 404s.",
    why="WHATWG URL: for special schemes a backslash is a slash.",
    serve={"": links("sub\\dir\\page.html"), "*": END},
    task=F,
    expect=to("sub/dir/page.html"),
)

case(
    "179-base-href",
    group=G,
    source="scrapy/scrapy#1564",
    title="links are relative to the base element",
    symptom="The base element was ignored.",
    why="HTML: the document base URL is the first base element with href.",
    serve={
        "": page(
            '<html><head><base href="/c/@ID@/dir/"><base href="/c/@ID@/wrong/"></head><body><a href="p.html">x</a></body></html>'
        ),
        "*": END,
    },
    task=F,
    expect=to("dir/p.html"),
)

case(
    "181-fragments-are-one-page",
    group=G,
    source="scrapy/w3lib#91",
    title="links that differ in the fragment only are one request; %23 is not a fragment",
    symptom="An encoded hash was decoded and cut the URL; pages were fetched once per fragment.",
    why="The fragment is not sent (RFC 3986 3.5); %23 is data. 3 requests: the page, item, item%231.",
    serve={"": links("item#a", "item#b", "item", "item%231"), "*": END},
    task=FA,
    expect={"log": {"requests": 3, "rest_set": ["", "item", "item%231"]}},
)

case(
    "183-not-http-links",
    group=G,
    source="apify/crawlee#2389",
    title="mailto:, javascript:, tel: and data: links are left alone",
    symptom="The crawler raised on, or requested, links that are no pages.",
    why="Only http and https URLs can be crawled.",
    serve={
        "": links("mailto:a@example.test", "javascript:void(0)", "JavaScript:go()", "tel:+1234", "data:text/html,x", "page"),
        "*": END,
    },
    task=FA,
    expect={"log": {"requests": 2, "rest_set": ["", "page"]}},
)

case(
    "185-entity-in-href",
    group=G,
    source="scrapinghub/portia#679",
    title="&copy= and &lang= in an href are parameters",
    symptom="?a=1&copy=2 became a copyright sign.",
    why="HTML tokenizer: in an attribute a named reference without ; followed by = is left as text.",
    serve={"": doc('<a href="p?a=1&copy=2&reg=3&lang=en&amp;x=4">x</a>'), "*": END},
    task=F,
    expect=to("p?a=1&copy=2&reg=3&lang=en&x=4"),
)

case(
    "187-idn-host",
    group=G,
    source="scrapy/scrapy#855",
    title="a link to an internationalised host name",
    symptom="The host was percent-encoded or sent raw.",
    why="WHATWG URL: domain to ASCII (punycode) in the URL, in DNS and in Host.",
    hosts=["c187.test", "xn--bcher-kva.c187.test"],
    serve={"c187.test|": doc("<a href='http://b\u00fccher.c187.test:@PORT@/p'>x</a>"), "p": END},
    task=F,
    expect=to("p", host="xn--bcher-kva.c187.test"),
)

case(
    "189-query-only-reference",
    group=G,
    source="GoogleCloudPlatform/knowledge-catalog#170",
    title='href="?page=2&amp;sort=a"',
    symptom="Query-only references replaced the last path segment; entities in them were not decoded.",
    why="RFC 3986 5.3: an empty path keeps the base path, the query is replaced.",
    serve={"": ok(), "list/all": links("?page=2&amp;sort=a"), "*": END},
    task={"kind": "follow", "start": [{"url": "list/all?page=1"}]},
    expect=to("list/all?page=2&sort=a"),
)

case(
    "191-dot-segments",
    group=G,
    source="Norconex/crawler#230",
    title="dot segments are removed, encoded ones too",
    symptom="The same page under endless ./././ URLs.",
    why="WHATWG URL: . and .. are resolved, %2e counts as a dot.",
    serve={"": links("a/./b/../c/%2e%2e/d/./e.html"), "*": END},
    task=F,
    expect=to("a/d/e.html"),
)

case(
    "193-percent25-kept",
    group=G,
    source="scrapy/w3lib#131",
    title="%25 at the end of a path stays",
    symptom="A path such as Dia%25 became a URL ending in a bare percent sign.",
    why="%25 is an encoded percent sign; decoding it changes the URL.",
    serve={"": links("cmp/Dia%25", "cmp/R%26D"), "*": END},
    task=FA,
    expect={"log": {"rest_set": ["", "cmp/Dia%25", "cmp/R%26D"]}},
)

case(
    "195-query-bytes-kept",
    group=G,
    source="aio-libs/aiohttp#7222",
    title="order, duplicates and empty values of the query stay",
    symptom="The query was parsed and built anew: order, + and blank values changed.",
    why="The query is opaque to the client.",
    serve={"": links("s?b=2&amp;a=1&amp;a=&amp;flag&amp;q=x+y&amp;p=1/2"), "*": END},
    task=F,
    expect=to("s?b=2&a=1&a=&flag&q=x+y&p=1/2"),
)
