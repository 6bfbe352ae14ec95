"""Whatever the page and whatever the query: an answer, or a ValueError that names the query."""

from __future__ import annotations

from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openoctopus.selector import Selector
from tests.selector.queries import CSS, XPATH

NAMES = "a b p div span ul li table tr td svg math template select option form input script style textarea title br h1"
TAGS = NAMES.split(" ")
#: Pieces of markup in any order, well-formed or not.
PIECES = st.sampled_from(
    [
        *(f"<{tag}>" for tag in TAGS),
        *(f"</{tag}>" for tag in TAGS),
        *(f'<{tag} class="x y" id={tag} href=/{tag}>' for tag in TAGS),
        "text",
        " ",
        "&amp;",
        "&#0;",
        "<!-- c -->",
        "<!",
        "<![CDATA[x]]>",
        "<?pi?>",
        "</",
        "<",
        '"',
        "\x00",
        "\ud800",
        "中",
    ]
)
MARKUP = st.lists(PIECES | st.text(max_size=8), max_size=40).map("".join)
QUERIES = [*CSS[::4], "::text", "div ::text", "p > *", "a ~ a", "svg *::attr(class)"]

#: Trees that both parsers build alike: no a in an a, nothing that is closed or moved by what is in it.
LEAF = st.text("abc \n", max_size=5) | st.builds(
    "<a href='{}'>{}</a>".format, st.text("abc/", max_size=4), st.text("xyz", max_size=3)
)
PLAIN = st.recursive(
    LEAF,
    lambda inner: st.builds(
        "<{0} class='{1}'>{2}</{0}>".format,
        st.sampled_from(["div", "section", "ul", "blockquote", "article"]),
        st.sampled_from(["x", "y", "x y"]),
        st.lists(inner, max_size=4).map("".join),
    ),
    max_leaves=25,
)


@given(MARKUP)
@settings(max_examples=300, deadline=None)
def test_any_page_can_be_asked_anything(markup: str) -> None:
    page = Selector(markup)
    for query in QUERIES:
        found = page.css(query)
        assert all(isinstance(text, str) for text in found.getall())
        for one in found[:2]:
            one.css("a::attr(href)").getall()
            one.xpath(".//text()").getall()
            repr(one)
            dict(one.attrib)
    assert len(page.xpath("//a[@href]/@href")) == len(page.css("a[href]::attr(href)"))


@given(MARKUP, st.integers(0, 5))
@settings(max_examples=100, deadline=None)
def test_any_element_can_be_dropped(markup: str, number: int) -> None:
    page = Selector(markup)
    page.css("body *")[number : number + 2].drop()

    assert isinstance(page.get(), str)
    assert isinstance(page.xpath("string()").get(), str)


@given(PLAIN)
@settings(max_examples=200, deadline=None)
def test_trees_that_agree_give_the_same_answers(markup: str) -> None:
    html5, lxml = Selector(f"<!doctype html><body>{markup}"), Selector(f"<!doctype html><body>{markup}", tree="lxml")

    for query in ("a::attr(href)", "a::text", "div a::text", ".x::attr(class)", "div > div::attr(class)", "a + a::text"):
        assert html5.css(query).getall() == lxml.css(query).getall()
        assert html5.css("div").css(query).getall() == lxml.css("div").css(query).getall()
    for query in ("//a/@href", "//div//text()", "//a[1]/text()", "//*[has-class('x')]/@class", "//a/ancestor::*[1]/@class"):
        assert html5.xpath(query).getall() == lxml.xpath(query).getall()
        assert html5.css("div").xpath(f".{query}").getall() == lxml.css("div").xpath(f".{query}").getall()


COMPOUNDS = st.sampled_from(["div", "ul", "a", "*", "*|*", ".x", "[class]", "section.y", ":not(.x)", "a:first-child"])
COMBINATORS = st.sampled_from([" ", " ", " > ", ">", " + ", "~ "])
ENDS = st.sampled_from(["", "::text", "*::text", "*|*::text", "::attr(class)", "*::attr(href)"])


@st.composite
def selectors(draw: st.DrawFn) -> str:
    """One to four compounds; what is taken of them is written like one, after a combinator or not."""
    query = draw(COMPOUNDS)
    for _ in range(draw(st.integers(0, 3))):
        query += draw(COMBINATORS) + draw(COMPOUNDS)
    return query + draw(st.sampled_from(["", " ", " > ", " + "])) + draw(ENDS)


@given(PLAIN, st.lists(selectors(), min_size=5, max_size=5))
@settings(max_examples=300, deadline=None)
def test_any_selector_finds_what_parsel_finds(markup: str, queries: list[str]) -> None:
    page = f"<!doctype html><html><head></head><body>{markup}</body></html>"
    html5, lxml = Selector(page), Selector(page, tree="lxml")

    for query in queries:
        for where in ("html", "div", ".x"):
            assert answers(html5, where, query) == answers(lxml, where, query), query


def answers(page: Selector, where: str, query: str) -> list[list[str]] | str:
    try:
        return [one.css(query).getall() for one in page.css(where)]
    except ValueError:
        return "refused"


NOISE = st.text("abp.#[]()>+~,:*\"'\\ |=^$1n@/-_ \x00é", max_size=12)


@given(st.data(), NOISE, st.sampled_from([*CSS, *XPATH]))
@settings(max_examples=500, deadline=None)
def test_any_query_is_answered_or_refused(data: st.DataObject, noise: str, query: str) -> None:
    at = data.draw(st.integers(0, len(query)))
    broken = query[:at] + noise + query[at + len(noise) // 2 :]
    for selector in (Selector("<p class=a>x<a href=b>y</a></p>"), Selector("<p>x<b>y</b></p>").css("p")[0]):
        for method in (selector.css, selector.xpath):
            try:
                method(broken).getall()
            except ValueError as error:
                refusal = str(error)
            else:
                continue
            assert refusal.startswith(("CSS error: ", "XPath error: "))


@pytest.mark.parametrize(
    "unit", ["div > ", "a, ", "[a=", "'", "::text", "::a(", ":not(", "/*", "/* ", "\\", " ", ".a", "table.", "table[ "]
)
def test_a_long_query_is_read_in_one_pass(unit: str) -> None:
    page, started = Selector("<p>x</p>"), process_time()
    for query in (unit * 4000, unit * 4000 + "p"):
        try:
            page.css(query)
        except ValueError:
            pass
    assert process_time() - started < 2.0
