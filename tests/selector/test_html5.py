"""What the browser's tree adds: its own functions, its hint, and no page that hurts it."""

from __future__ import annotations

import logging
import re

import pytest

from openoctopus.selector import Selector, html5

LINKS = '<a class="x  y" href="/a/1.html">one</a><a class="xy" href="/a/22.html">two</a><a href="#top">three</a>'


def test_has_class() -> None:
    page = Selector(LINKS)

    assert page.xpath('//a[has-class("x")]/text()').getall() == ["one"]
    assert page.xpath("//a[has-class('x', \"y\")]/text()").getall() == ["one"]
    assert page.xpath('//a[has-class("x y")]/text()').getall() == ["one"]
    assert page.xpath('//a[not(has-class("x"))]/text()').getall() == ["two", "three"]
    assert page.xpath("//a[has-class($name)]/text()", name="xy").getall() == ["two"]
    assert page.xpath('//a[has-class("x", $name)]/text()', name="z").getall() == []
    assert page.xpath("string(//a['has-class(\"x\")'])").get() == "one"


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("//a[has-class()]", "at least 1 argument"),
        ("//a[has-class(1)]", "must be strings"),
        ("//a[has-class(@id)]", "must be strings"),
    ],
)
def test_has_class_used_wrongly(query: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Selector(LINKS).xpath(query)


def test_exslt_regular_expressions() -> None:
    page = Selector(LINKS)

    assert page.xpath(r'//a[re:test(@href, "\d{2}\.html$")]/text()').get() == "two"
    assert page.xpath('//a[re:test(text(), "^T", "i")]/text()').getall() == ["two", "three"]
    assert page.xpath(r'//a[re:test(@href, "/\d(?=\.)")]/text()').getall() == ["one"]
    assert page.xpath(r'//a[re:test(@href, "(\d)\1")]/text()').getall() == ["two"]
    assert page.xpath(r"//a[re:test(@href, $rule)]/text()", rule=r"(?<!\d)\d\.").getall() == ["one"]
    assert page.xpath(r're:replace("a1b2", "\d", "g", "-")').get() == "a-b-"
    assert page.xpath(r're:replace("A1", "(?<=a)\d", "i", "-")').get() == "A-"
    assert page.xpath(r'//a[re:match(@href, "\d{2}")]/text()').getall() == ["two"]
    assert page.xpath(r're:match("abc123", "\d+")').get() == "123"


def test_a_wrong_regular_expression_in_xpath_is_named() -> None:
    for rule in ("[", "(?=["):
        with pytest.raises(ValueError, match=re.escape(f'in //a[re:test(@href, "{rule}")]')):
            Selector(LINKS).xpath(f'//a[re:test(@href, "{rule}")]')


def test_exslt_sets() -> None:
    page = Selector("<p>1</p><div><p>2</p></div><p>3</p>")

    assert page.xpath("set:difference(//p, //div/p)/text()").getall() == ["1", "3"]
    assert page.xpath("set:intersection(//p, //div/p)/text()").getall() == ["2"]
    assert page.xpath("set:leading(//p, //div/p)/text()").getall() == ["1"]
    assert page.xpath("set:trailing(//p, //div/p)/text()").getall() == ["3"]
    assert page.xpath("//p[set:has-same-node(., //div/p)]/text()").getall() == ["2"]


def test_selectors_that_only_browsers_know() -> None:
    page = Selector('<div id="a"><p><img></p></div><div id="b"><img></div><div id="c" data-x="Q"></div>')

    assert page.css("div:has(> img)::attr(id)").getall() == ["b"]
    assert page.css("div:not(:has(img))::attr(id)").getall() == ["c"]
    assert page.css('[data-x="q" i]::attr(id)').get() == "c"
    assert page.css("div:where(#a, #b)::attr(id)").getall() == ["a", "b"]
    assert page.css("div:nth-child(1 of [data-x])::attr(id)").get() == "c"
    assert page.css("body").css("div:has(> img)::attr(id)").getall() == ["b"]


def test_selectors_that_only_parsel_knows() -> None:
    page = Selector(LINKS)

    assert page.css("a:contains('t')::text").getall() == ["two", "three"]
    assert page.css("a[class!=xy]::text").getall() == ["one", "three"]
    assert page.css("body").css("a:contains('one')::attr(href)").get() == "/a/1.html"


def test_what_a_pseudo_element_may_be_written_like() -> None:
    page = Selector('<p data-x="1" a:b="2">t<b>u</b></p>')

    assert page.css("p::attr(data-x)").get() == page.css('p::attr( "data-x" )').get() == page.css("p::ATTR('data-x')").get()
    assert page.css('p::attr("a:b")').get() == page.css("p::attr(a:b)").get() == page.css(r"p::attr(a\:b)").get() == "2"
    assert page.css("p::TEXT").getall() == page.css(" p::text ").getall() == ["t"]
    assert page.css("p > ::text").getall() == page.css("p>*::text").getall() == ["u"]
    assert page.css('p[data-x="1,2"]::text, b::text').getall() == ["u"]
    assert page.css(r"p[data-x='\31']::text").getall() == ["t"]


def test_texts_come_in_the_order_of_the_page() -> None:
    page = Selector("<div>1<div>2</div>3<p>4</p>5</div>")

    assert page.css("div::text").getall() == ["1", "2", "3", "5"]
    assert page.css("div::text, p::text").getall() == ["1", "2", "3", "4", "5"]
    assert page.css("div.x::text, div:not(.x)::text").getall() == ["1", "2", "3", "5"]


@pytest.fixture
def hints(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> pytest.LogCaptureFixture:
    monkeypatch.setattr(html5, "_hinted", set())
    caplog.set_level(logging.INFO, "openoctopus.selector.html5")
    return caplog


@pytest.mark.parametrize("query", ["table > tr", "table.big[id='x y']>tr td", "#a table>tr::text"])
def test_a_step_past_tbody_that_finds_nothing_is_explained_once(hints: pytest.LogCaptureFixture, query: str) -> None:
    page = Selector("<table><tr><td>1</td></tr></table>")

    page.css(query)
    page.css(query)
    page.xpath("//table/tr")

    assert len(hints.records) == 1
    assert 'SELECTOR_TREE = "lxml"' in hints.records[0].getMessage()
    assert query in hints.records[0].getMessage()


def test_other_empty_results_are_not_explained(hints: pytest.LogCaptureFixture) -> None:
    page = Selector("<table><tr><td>1</td></tr></table>")

    page.css("table tr p")
    page.xpath("//table//tr/p")
    page.xpath("//stable/tr")
    page.xpath("//table/tbody/tr/td")

    assert hints.records == []


@pytest.mark.parametrize("depth", [100, 508, 509, 600, 1000, 2000])
def test_what_is_nested_deep_keeps_its_place(depth: int) -> None:
    page = Selector("<div>" * depth + "<h1>deep <b>est</b></h1>" + "</div>" * depth + "<h2>after</h2>")

    assert page.css("h1::text").get() == "deep "
    assert page.xpath("//h1/b/text()").get() == "est"
    assert page.css("h1 ::text").getall() == ["deep ", "est"]
    assert page.css("h2::text").get() == "after"
    assert page.css("h1").xpath("count(ancestor::div)").get() == f"{depth}.0"


@pytest.mark.parametrize(
    "tag", ["<div>", "<span>", "<b>", "<table><tr><td>", "<ul><li>", "<blockquote>", "<a>", "<select>", "<svg>"]
)
def test_nothing_nests_too_deep_to_be_read(tag: str) -> None:
    page = Selector(tag * 50_000 + "bottom<p>end</p>")

    assert "bottom" in "".join(page.css("::text").getall())
    assert len(page.get()) > 10
    assert page.css("p").xpath("string()").getall()
    assert repr(page)


def test_a_large_script_hides_nothing() -> None:
    page = Selector(f"<h1>before</h1><script>var x = '{'a' * 11_000_000}';</script><h2>after</h2>")

    assert page.css("h1::text, h2::text").getall() == ["before", "after"]
    assert len(page.css("script::text").get()) > 11_000_000


@pytest.mark.parametrize("tree", ["html5", "lxml"])
def test_characters_that_belong_nowhere(tree: str) -> None:
    page = Selector("<p title='a\ud800b'>x\x00y\ud83dz</p><a hr\x00ef='1' href='2\x003'>q</a>", tree=tree)  # type: ignore[arg-type]

    assert page.css("p::text").get().startswith("x")
    assert page.css("p::text").get().endswith("z")
    assert page.css("a::text").get() == "q"
    assert page.css("a::attr(href)").get()
    assert page.css("p::attr(title)").get()
    assert page.css("p").re_first("x.*z")


def test_a_million_nodes() -> None:
    page = Selector("<p>x</p>" * 500_000)

    found = page.css("p::text")

    assert len(found) == 500_000
    assert page.css("p")[499_999].css("::text").get() == "x"


def test_the_page_is_read_at_the_first_query_and_once() -> None:
    page = Selector(LINKS)

    assert page.root is page.root
    assert page.css("a")[0].root == page.css("a")[0].root


def test_elements_dropped_while_selectors_hold_them() -> None:
    page = Selector(LINKS)
    link = page.css("a")[0]

    link.drop()

    assert link.css("a::text").get() == "one"
    assert link.xpath("string()").get() == "one"
    assert page.css("a::text").getall() == ["two", "three"]
