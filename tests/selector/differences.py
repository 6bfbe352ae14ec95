"""Where the browser's tree rightly gives another answer than parsel's, and why. Whatever is not listed must be equal."""

from __future__ import annotations

TBODY = "a table's rows stand in a tbody, written or not"
MISNESTED = "a stray end tag, an unclosed element, a block in a p: mended as the standard says, each in its own way"
BOOLEAN = "an attribute without a value has the empty string"
NEWLINE = "the newline after <pre> and <textarea> is not part of them"
SVG_CASE = "SVG names keep their capitals"
TEMPLATE = "what stands in a template is no child of it, but still below it"
QUIRKS = "without a doctype, classes and ids are compared without regard to case"

DIFFERENCES: dict[str, dict[str, list[str]]] = {
    "blog_quirks": {QUIRKS: ["css #main::attr(id)", "css .title a::text"]},
    "broken": {
        TBODY: ["css table > tr > td::text", "xpath //tbody/tr/td/text()", "xpath //table/tr/td/text()"],
        BOOLEAN: ["css option::attr(selected)", 'xpath //option[@selected="selected"]/text()'],
        MISNESTED: [
            "css h1::text",
            "css h1 ::text",
            "css p",
            "css p::text",
            "css p ::text",
            "css p > *",
            "css p:last-child::text",
            "css p:first-of-type::text",
            "css p:nth-child(2)::text",
            "css p:nth-of-type(2)::text",
            "css p:empty",
            "css h1::text, h2::text, h3::text",
            "css title, h1 ::text",
            "css body > *",
            "xpath //h1/text()",
            "xpath //h1//text()",
            "xpath string(//h1)",
            "xpath //p",
            "xpath //p/text()",
            "xpath //p//text()",
            "xpath //p[1]/text()",
            "xpath //p[last()]//text()",
            "xpath //p/*",
            "xpath //p/node()",
            "xpath //body/*[1]",
            "xpath descendant::h1/text()",
            "xpath //*[self::h1 or self::h2]/text()",
            "xpath //text()[normalize-space()]",
            "xpath set:difference(//p, //div/p)",
            'xpath concat(//title, " / ", //h1)',
            "xpath //p[position() mod 2 = 0]/text()",
            "xpath //br/..",
            "css body => xpath ./*[1]",
            "css p => css p::text",
            "css p => css * ::text",
            "css p => css b, i::text",
        ],
    },
    "forms": {
        NEWLINE: ["css textarea::text", "xpath //textarea/text()", "xpath //text()[normalize-space()]"],
        BOOLEAN: [
            "css option::attr(selected)",
            "css input::attr(checked)",
            "xpath //input/@checked",
            'xpath //option[@selected="selected"]/text()',
        ],
    },
    "forum_thread": {
        TBODY: [
            "css table tbody tr td a::attr(href)",
            "css table > tr > td::text",
            "css table.posts > tr > td.author ::text",
            "xpath //tbody/tr/td/text()",
            "xpath //table/tr/td/text()",
        ]
    },
    "shop_product": {BOOLEAN: ["css option::attr(selected)", 'xpath //option[@selected="selected"]/text()']},
    "stats_table": {
        TBODY: [
            "css table tbody tr td a::attr(href)",
            "css tr:first-child td::text",
            "css table > tr > td::text",
            "xpath //tbody/tr/td/text()",
            "xpath //table/tr/td/text()",
            'xpath //table[@id="plain"]/tr[2]/td[1]/text()',
        ]
    },
    "svg_icons": {
        SVG_CASE: [
            "css svg::attr(viewBox)",
            "css svg::attr(viewbox)",
            "xpath //svg/@viewBox",
            "xpath //svg/@viewbox",
            "xpath //linearGradient/@id",
            "xpath //lineargradient/@id",
            "xpath //foreignObject/div/text()",
        ]
    },
    "templates": {
        NEWLINE: ["xpath //text()[normalize-space()]"],
        TEMPLATE: ["css template > div span::text", "xpath //template/div/span/text()"],
    },
}


def listed(page: str) -> set[str]:
    """The queries that are answered differently on a page."""
    return {query for queries in DIFFERENCES.get(page, {}).values() for query in queries}
