from caselib import *

G = "sitemap"
NS = ' xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
U = "http://127.0.0.1:@PORT@/c/@ID@/"


def urlset(*locs, ns=NS, decl='<?xml version="1.0" encoding="UTF-8"?>\n'):
    return (decl + f"<urlset{ns}>" + "".join(f"<url><loc>{x}</loc></url>" for x in locs) + "</urlset>").encode()


def index(*locs):
    return (
        '<?xml version="1.0" encoding="UTF-8"?>'
        + f"<sitemapindex{NS}>"
        + "".join(f"<sitemap><loc>{x}</loc></sitemap>" for x in locs)
        + "</sitemapindex>"
    ).encode()


def T(start="sitemap.xml", **kw):
    return {"kind": "sitemap", "start": [{"url": start}], **kw}


case(
    "241-index-and-gz",
    group=G,
    source="scrapy/scrapy#951",
    title="index with a plain and a .gz sitemap, octet-stream",
    symptom="Gzipped sitemaps served as application/octet-stream were ignored.",
    why="sitemaps.org: sitemaps may be gzipped; the bytes tell (1F 8B).",
    serve={
        "sitemap.xml": xml(index(U + "a.xml", U + "b.xml.gz")),
        "a.xml": xml(urlset(U + "p1")),
        "b.xml.gz": Resp(gz(urlset("http://s.test/p2")), ctype="application/octet-stream"),
    },
    task=T(),
    expect={"sitemap_urls": ["p1", "http://s.test/p2"]},
)

case(
    "243-gz-decoded-already",
    group=G,
    source="scrapy/scrapy#193",
    title=".xml.gz served with Content-Encoding: gzip",
    symptom="The body was decompressed twice: Not a gzipped file.",
    why="After Content-Encoding is undone the body is plain XML; look at the bytes, not at the name.",
    serve={
        "sitemap.xml.gz": Resp(
            gz(urlset("http://s.test/p1")), ctype="application/x-gzip", headers=[("Content-Encoding", "gzip")]
        )
    },
    task=T("sitemap.xml.gz"),
    expect={"sitemap_urls": ["http://s.test/p1"]},
)

case(
    "245-blank-line-first",
    group=G,
    source="scrapy/scrapy#347",
    title="blank line before the XML declaration",
    symptom="XML or text declaration not at start of entity: all URLs lost.",
    why="Strictly not well-formed, but a recovering parser reads it; big sites do this.",
    serve={"sitemap.xml": xml(b"\n  \n" + urlset(U + "p1", U + "p2"))},
    task=T(),
    expect={"sitemap_urls": ["p1", "p2"]},
)

case(
    "247-served-as-html",
    group=G,
    source="scrapy/scrapy#2900",
    title="sitemap served as text/html, from a URL with a query",
    symptom="The content type, or a URL not ending in .xml (scrapy#6293), made it 'not a sitemap'.",
    why="The root element tells what it is.",
    serve={"sm": Resp(urlset(U + "p1"))},
    task=T("sm?from=1&to=2"),
    expect={"sitemap_urls": ["p1"]},
)

case(
    "249-xxe",
    group=G,
    source="scrapy/scrapy#676",
    title="an external entity in a sitemap is not resolved",
    symptom="A sitemap could read local files and send them to the site as part of a URL.",
    why="Never resolve external entities of remote XML.",
    serve={
        "sitemap.xml": xml(
            b'<?xml version="1.0"?><!DOCTYPE urlset [<!ENTITY x SYSTEM "http://127.0.0.1:@PORT@/c/@ID@/xxe">]><urlset'
            + NS.encode()
            + b"><url><loc>"
            + U.encode()
            + b"p&x;</loc></url><url><loc>"
            + U.encode()
            + b"ok</loc></url></urlset>"
        ),
        "xxe": text("STOLEN"),
    },
    task=T(),
    expect={"log": {"never": ["xxe", "pSTOLEN"]}, "max_seconds": 20},
)

case(
    "251-no-namespace",
    group=G,
    source="scrapy/scrapy#2842",
    title="urlset without a namespace, or with the wrong one",
    symptom="No URL was found, since the namespace was part of the tag name.",
    why="Compare local names; search engines do.",
    serve={
        "sitemap.xml": xml(urlset(U + "p1", ns="")),
        "s2.xml": xml(urlset(U + "p2", ns=' xmlns="http://www.google.com/schemas/sitemap/0.84"')),
    },
    task={"kind": "sitemap", "start": [{"url": "sitemap.xml"}, {"url": "s2.xml"}]},
    expect={"sitemap_urls": ["p1", "p2"]},
)

case(
    "253-cdata-and-blanks",
    group=G,
    source="webrecorder/browsertrix-crawler#578",
    title="loc in CDATA, loc with blanks and newlines",
    symptom="CDATA content was missed; blanks ended up in the URL.",
    why="CDATA is text; the protocol's examples are indented, so strip.",
    serve={"sitemap.xml": xml(urlset("<![CDATA[" + U + "p1?a=1&b=2]]>", "\n    " + U + "p2\n  "))},
    task=T(),
    expect={"sitemap_urls": ["p1?a=1&b=2", "p2"]},
)

case(
    "255-empty-sitemap",
    group=G,
    source="scrapy/scrapy#4211",
    title="an empty body in place of a sitemap",
    symptom="XMLSyntaxError; the other sitemaps were lost as well.",
    why="An empty sitemap has no URLs; go on with the next.",
    serve={"sitemap.xml": xml(index(U + "empty.xml", U + "b.xml")), "empty.xml": xml(b""), "b.xml": xml(urlset(U + "p2"))},
    task=T(),
    expect={"sitemap_urls": ["p2"]},
)

case(
    "257-from-robots-relative",
    group=G,
    source="scrapy/scrapy#2390",
    title="relative Sitemap: line in robots.txt, outside any group",
    symptom="Missing scheme in request url: the spider stopped.",
    why="The specification wants full URLs, sites write relative ones; resolve against robots.txt. Sitemap lines belong to no group.",
    hosts=["c257.test"],
    serve={
        "robots.txt": text("User-agent: a\nDisallow: /x\n\nSitemap: /sm1.xml\nsitemap: http://c257.test:@PORT@/sm2.xml\n"),
        "sm1.xml": xml(urlset("http://c257.test:@PORT@/p1")),
        "sm2.xml": xml(urlset("http://c257.test:@PORT@/p2")),
    },
    task=T("robots.txt"),
    expect={"sitemap_urls": ["http://c257.test:@PORT@/p1", "http://c257.test:@PORT@/p2"]},
)
