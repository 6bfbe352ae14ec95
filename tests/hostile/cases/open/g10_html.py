from caselib import *

G = "html"


def h(html, **kw):
    return page(
        '<!DOCTYPE html><html><head><meta charset="utf-8"><title>head title</title></head><body>' + html + "</body></html>",
        **kw,
    )


case(
    "301-br-and-mixed-text",
    group=G,
    source="scrapy/parsel#128",
    title="::text of mixed content",
    symptom="Text around br and inline tags was joined, lost or reordered.",
    why="::text yields the text nodes that are direct children, in document order.",
    serve=h("<p>one<br>two <b>bold</b> three<br/>four</p>"),
    expect={"css": {"p::text": ["one", "two ", " three", "four"], "p b::text": "bold"}},
)

case(
    "303-unclosed-li-p",
    group=G,
    source="fsprojects/FSharp.Data#856",
    title="li and p without end tags",
    symptom="Items swallowed each other.",
    why="HTML: the end tags of li and p are optional.",
    serve=h("<ul><li>a<li>b<li>c</ul><p>x<p>y"),
    expect={"css": {"ul > li::text": ["a", "b", "c"], "body > p::text": ["x", "y"]}},
)

case(
    "305-numeric-reference-cp1252",
    group=G,
    source="scrapy/parsel#76",
    title="&#133; is an ellipsis",
    symptom="References 128..159 came out as control characters.",
    why="WHATWG: these numeric references are mapped by windows-1252.",
    serve=h("<p>wait&#133; &#147;x&#148; &#x80;5</p>"),
    expect={"css": {"p::text": "wait\u2026 \u201cx\u201d \u20ac5"}},
)

case(
    "307-nbsp-kept",
    group=G,
    source="jhy/jsoup#529",
    title="&nbsp; is U+00A0, not a blank",
    symptom="nbsp was normalised to a blank (or the reverse was expected).",
    why="U+00A0 is no ASCII whitespace; extraction keeps it.",
    serve=h("<p>1&nbsp;000&#160;\u00a0kg</p>"),
    expect={"css": {"p::text": "1\u00a0000\u00a0\u00a0kg"}},
)

case(
    "309-script-with-markup",
    group=G,
    source="binux/pyspider#72",
    title="markup inside a script is text",
    symptom="A tag in a script string closed or opened elements of the page.",
    why="Script content is raw text until </script.",
    serve=h("<script>var a = '<div class=\"x\"><h1>no</h1></div>'; if (1 < 2 && 3 > 2) {}</script><h1>yes</h1>"),
    expect={
        "css": {
            "h1::text": ["yes"],
            "div.x": [],
            "script::text": "var a = '<div class=\"x\"><h1>no</h1></div>'; if (1 < 2 && 3 > 2) {}",
        }
    },
)

case(
    "311-deep-nesting-1000",
    group=G,
    source="dgunning/edgartools#1114",
    title="content 1000 elements deep",
    symptom="Everything below 256 levels was silently dropped.",
    why="Old table layouts nest that deep; browsers cap at 512 by flattening, the content stays.",
    serve=h("<div>" * 1000 + "<h1>deep</h1>" + "</div>" * 1000 + "<h2>after</h2>"),
    expect={"css": {"h1::text": "deep", "h2::text": "after"}},
)

case(
    "313-huge-text-node",
    group=G,
    source="scrapy/parsel#110",
    title="a script of 11 MB does not eclipse the rest",
    symptom="Elements after a text node above 10 MB were missing.",
    why="libxml2's default limit; huge_tree lifts it.",
    serve=h('<h1>before</h1><script>var x = "' + "a" * 11_000_000 + '";</script><h2>after</h2>'),
    task={"hazard": True},
    expect={"css": {"h1::text": "before", "h2::text": "after"}},
)

case(
    "315-xml-declaration-in-html",
    group=G,
    source="scrapinghub/extruct#242",
    title="an XML declaration with an encoding in front of HTML",
    symptom="Unicode strings with encoding declaration are not supported.",
    why="In HTML it is a bogus comment; the text has been decoded already.",
    serve=page(
        '<?xml version="1.0" encoding="ISO-8859-1"?>\n<!DOCTYPE html><html><body><h1>\u00fcber</h1></body></html>',
        ctype="text/html; charset=utf-8",
    ),
    expect={"status": 200, "css": {"h1::text": "\u00fcber"}},
)

case(
    "317-has-child",
    group=G,
    source="scrapy/cssselect#166",
    title=":has(> X) and :not(:has(X))",
    symptom="The condition was attached to the wrong element; :not(:has()) matched everything.",
    why="Selectors Level 4.",
    serve=h("<div id=a><p><img></p></div><div id=b><img></div><div id=c></div>"),
    expect={
        "css": {"div:has(> img)::attr(id)": ["b"], "div:has(img)::attr(id)": ["a", "b"], "div:not(:has(img))::attr(id)": ["c"]}
    },
)

case(
    "319-duplicate-attribute",
    group=G,
    source="ArchiveTeam/wpull#459",
    title="the first of two equal attributes counts",
    symptom="The last one won, or the tag was broken up.",
    why="WHATWG tokenizer: a duplicate attribute is dropped.",
    serve=h("<a href=first href=second>x</a>"),
    expect={"css": {"a::attr(href)": ["first"]}},
)

case(
    "321-tbody-not-in-source",
    group=G,
    source="dgtlmoon/changedetection.io#142",
    title="a selector with tbody copied from the browser",
    symptom="The browser shows tbody, the source has none: the selector finds nothing.",
    why="WHATWG tree construction inserts tbody. lxml-based tools do not, and their users know; both are in use.",
    disputed=True,
    serve=h("<table id=t><tr><td>cell</td></tr></table>"),
    expect={"css": {"#t > tbody > tr > td::text": "cell", "#t tr td::text": "cell"}},
)

case(
    "323-nested-forms",
    group=G,
    source="scrapy/loginform#3",
    title="a form inside a form",
    symptom="Fields of the inner form were lost, or two forms were seen.",
    why="WHATWG: the inner form tag is ignored, its end tag closes the outer form; what follows has no form.",
    serve=h("<form id=outer><input name=a><form id=inner><input name=b></form><input name=c></form>"),
    expect={"css": {"#outer input::attr(name)": ["a", "b"], "#inner": []}},
    disputed=True,
)

case(
    "325-unquoted-attribute-slash",
    group=G,
    source="whatwg/html#2665",
    title="unquoted attribute value with a slash at the end",
    symptom="The slash was taken for a self-closing tag.",
    why="WHATWG: in the unquoted state a slash belongs to the value.",
    serve=h("<a href=/a/b/>x</a><a href=c/>y</a>"),
    expect={"css": {"a::attr(href)": ["/a/b/", "c/"], "a::text": ["x", "y"]}},
)

case(
    "327-title-is-rcdata",
    group=G,
    source="sparklemotion/nokogiri#927",
    title="markup inside title is text",
    symptom="A title with a tag in it was cut.",
    why="title is RCDATA.",
    serve=page("<!DOCTYPE html><html><head><title>a <b>c</b> &amp; d</title></head><body><h1>x</h1></body></html>"),
    expect={"css": {"title::text": "a <b>c</b> & d", "h1::text": "x"}},
)

case(
    "329-nested-links",
    group=G,
    source="html5lib/html5lib-python#326",
    title="a link inside a link",
    symptom="The inner link was nested, or the outer one lost.",
    why="WHATWG: a start tag a closes an open a; there are two siblings.",
    disputed=True,
    serve=h("<p><a href=one>x<a href=two>y</a></a>z</p>"),
    expect={"css": {"a::attr(href)": ["one", "two"], "a a": [], "a::text": ["x", "y"]}},
)
