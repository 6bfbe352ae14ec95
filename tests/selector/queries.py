"""Queries as spiders write them; each is asked of every page, of parsel and of us."""

from __future__ import annotations

from pathlib import Path


def _lines(name: str) -> list[str]:
    return Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines()


CSS = _lines("css.txt")
XPATH = _lines("xpath.txt")

#: Steps one after the other; a step is "css QUERY", "xpath QUERY" or "re REGEX".
CHAINS = [
    ("css .teaser", "css h2 a::text"),
    ("css .teaser", "xpath ./h2/a/@href"),
    ("css .teaser", "xpath .//a[@class='tag']/text()"),
    ("css .teaser", "css .tags > li > a::text"),
    ("css article", "css article h2 ::text"),
    ("css article", "css main h2 ::text"),
    ("css li", "css li::text"),
    ("css li", "css ul li::text"),
    ("css li", "css li + li::text"),
    ("css li", "css a:first-child::attr(href)"),
    ("css li", "css ::text"),
    ("css li", "css ::attr(href)"),
    ("css li", "xpath string()"),
    ("css li", "xpath normalize-space(.)"),
    ("css li", "xpath a/text()"),
    ("css li", "xpath ../@class"),
    ("css li", "xpath //title/text()"),
    ("css li", "xpath following-sibling::li[1]//text()"),
    ("css li", "xpath ."),
    ("css li", "xpath ./text()[1]"),
    ("css .product", "css .price ins::text, .price::text"),
    ("css .product", "css [data-sku]::attr(data-sku)"),
    ("css .product", "css h3, .stock"),
    ("css .product", "css div > del::text"),
    ("css .product", "css :scope > span::text"),
    ("css .product", "css div:not(.rating)::text"),
    ("css .job_listing", "css .skills", "css li::text"),
    ("css .job_listing", "xpath .//li[position()=1]/text()"),
    ("css .job_listing", "re Posted: (\\w+)"),
    ("css tr", "css td:nth-child(2) ::text"),
    ("css tr", "xpath ./td[1]//text()"),
    ("css tr", "css td + td::text"),
    ("css tr", "css tr + tr td::text"),
    ("css tr", "css td, th"),
    ("css table", "css tr", "xpath ./td/text()"),
    ("css table", "css table td::text"),
    ("css td", "xpath ./ancestor::table[1]/@id"),
    ("xpath //div", "css div::attr(id)"),
    ("xpath //div", "css div div::attr(class)"),
    ("xpath //ul", "css li a::text"),
    ("xpath //form", "css input::attr(name)"),
    ("xpath //form", "xpath .//input[@type='hidden']/@value"),
    ("xpath //a", "xpath @href"),
    ("xpath //a", "xpath ./@href | ./text()"),
    ("xpath //a/@href", "xpath ."),
    ("xpath //a/@href", "xpath .."),
    ("xpath //a/@href", "css a"),
    ("xpath //a/@href", "re page=(\\d+)"),
    ("xpath //text()", "re (\\d+)-(\\d+)"),
    ("xpath //script/text()", 're "(\\w+)":'),
    ("css body", "xpath ./*[1]"),
    ("css body", "css body > div::attr(id)"),
    ("css body", "css html body::attr(class)"),
    ("css h2", "css h2 + p::text"),
    ("css h2", "css h2 ~ p ::text"),
    ("css h2", "xpath following-sibling::*[1]"),
    ("css p", "css p::text"),
    ("css p", "css * ::text"),
    ("css p", "css p > b::text"),
    ("css p", "css b, i::text"),
    ("css p", "css a:contains('link')::attr(href)"),
    ("css svg", "css title::text"),
    ("css svg", "xpath ./path/@d"),
]

QUERIES: list[tuple[str, ...]] = [*((f"css {query}",) for query in CSS), *((f"xpath {query}",) for query in XPATH), *CHAINS]
