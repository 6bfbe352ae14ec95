"""What parsel's documentation promises of a selector and of a list of them, on both trees."""

from __future__ import annotations

import pickle
from typing import Any, Literal

import pytest
from parsel.selector import CannotDropElementWithoutParent, CannotRemoveElementWithoutRoot

from openoctopus.selector import Selector, SelectorList

PAGE = """<!DOCTYPE html><!-- top -->
<html><head><title>Shop</title></head><body>
<div id="images" class="box  main"><a href="image1.html" class="first">Name: My image 1 <br><img src="1.jpg"></a>
<a href="image2.html">Name: My image 2 <br><img src="2.jpg"></a></div>
<ul><li class="a">one</li><li class="b">two</li><li>three</li></ul>
<p>Price: &pound;10 &amp; &lt;up&gt;</p>
<script>{"items": [{"name": "x", "n": 1}, {"name": "y", "n": null}], "page": {"next": true}}</script>
</body></html>"""


@pytest.fixture(params=["html5", "lxml"])
def page(request: pytest.FixtureRequest) -> Selector:
    return Selector(PAGE, tree=request.param)


def test_texts_and_attributes_by_css(page: Selector) -> None:
    assert page.css("title::text").get() == "Shop"
    assert page.css("a::attr(href)").getall() == ["image1.html", "image2.html"]
    assert page.css("li.a::text, li.b::text").getall() == ["one", "two"]
    assert page.css("title::text, img::attr(src)").getall() == ["Shop", "1.jpg", "2.jpg"]
    assert page.css("#images ::attr(src)").getall() == ["1.jpg", "2.jpg"]
    assert page.css("nothing::text").get() is None
    assert page.css("nothing::text").get(default="-") == "-"
    assert page.css("nothing::text").get("-").strip() == "-"


def test_extract_and_get_are_the_same(page: Selector) -> None:
    assert page.css("li::text").extract() == page.css("li::text").getall() == ["one", "two", "three"]
    assert page.css("li::text").extract_first() == page.css("li::text").get() == "one"
    assert page.css("no").extract_first(default="x") == page.css("no").extract_first("x") == "x"
    first = page.css("li")[0]
    assert first.extract() == first.get() == '<li class="a">one</li>'
    assert first.getall() == ['<li class="a">one</li>']


def test_a_slice_is_a_list_with_the_same_methods(page: Selector) -> None:
    found = page.css("li")

    assert isinstance(found, SelectorList)
    assert isinstance(found[1:], SelectorList)
    assert found[1:].css("::text").getall() == ["two", "three"]
    assert isinstance(found[-1], Selector)
    assert len(found) == 3
    assert [one.get() for one in found] == found.getall()


def test_attributes_of_the_first(page: Selector) -> None:
    assert page.css("a").attrib == {"href": "image1.html", "class": "first"}
    assert page.css("#images").attrib["class"] == "box  main"
    assert page.css("a")[1].attrib == {"href": "image2.html"}
    assert page.css("no").attrib == {}
    assert page.css("a::text").attrib == {}
    assert page.xpath("//comment()").attrib == {}


def test_queries_are_relative_to_the_node(page: Selector) -> None:
    box = page.css("#images")

    assert page.xpath("./head/title/text()").get() == "Shop"
    assert page.xpath("head/title/text()").get() == "Shop"
    assert page.xpath("html").getall() == []
    assert box.xpath("a/@href").getall() == ["image1.html", "image2.html"]
    assert box.xpath(".//img/@src").getall() == ["1.jpg", "2.jpg"]
    assert box.xpath("//li/text()").getall() == ["one", "two", "three"]
    assert box.css("body a").getall() == []
    assert box.css("div > a::attr(class)").getall() == ["first"]
    assert box.css("div::attr(id)").getall() == ["images"]
    assert box.css("div + ul > li.a::text").get() == "one"


def test_results_that_are_no_nodes(page: Selector) -> None:
    assert page.xpath("count(//li)").get() == "3.0"
    assert page.xpath("count(//li) > 2").get() == "1"
    assert page.xpath("count(//li) > 3").get() == "0"
    assert page.xpath("string(//title)").get() == "Shop"
    assert page.xpath("count(//li)").re(r"\d") == ["3", "0"]
    assert page.xpath("/").getall() == page.xpath("..").getall() == []


def test_a_text_or_a_value_has_nothing_below_it(page: Selector) -> None:
    for found in (page.css("title::text"), page.xpath("//a/@href")):
        assert found[0].xpath("..").getall() == []
        assert found[0].css("a").getall() == []
        assert found[0].xpath(".").get() == found.get()


def test_variables(page: Selector) -> None:
    assert page.xpath("//li[@class=$name]/text()", name="b").get() == "two"
    assert page.xpath("//li[$n]/text()", n=3).get() == "three"
    assert page.xpath("//div[count(a)=$n]/@id", n=2).get() == "images"
    assert page.xpath("//li[@class=$name]", name='it\'s "b"').get() is None
    assert page.xpath("boolean($none)", none=None).get() == "0"
    with pytest.raises(ValueError, match=r"XPath error: .* in //li\[@class=\$name\]"):
        page.xpath("//li[@class=$name]")


def test_regular_expressions(page: Selector) -> None:
    assert page.css("a::text").re(r"Name:\s*(.*)") == ["My image 1 ", "My image 2 "]
    assert page.css("a::text").re_first(r"(\w+) (\d)") == "image"
    assert page.css("a::text").re(r"(\w+) (\d)") == ["image", "1", "image", "2"]
    assert page.css("a::text").re(r"image (?P<extract>\d)") == ["1", "2"]
    assert page.css("li::text").re(r"^t\w+") == ["two", "three"]
    assert page.css("li::text").re_first("x") is None
    assert page.css("li::text").re_first("x", default="-") == "-"
    assert page.css("li")[0].re_first("o(n)e") == "n"
    assert page.css("li")[0].re_first("x", "-") == "-"


def test_matches_have_their_character_references_replaced(page: Selector) -> None:
    price = Selector("<p>a &amp;amp; b &amp;eacute; c &amp;lt; d</p>", tree=page.tree).css("p::text")

    assert price.get() == "a &amp; b &eacute; c &lt; d"
    assert price.re(".*") == ["a &amp; b é c &lt; d", ""]
    assert price.re(".*", replace_entities=False) == ["a &amp; b &eacute; c &lt; d", ""]
    assert price.re_first("b .*", replace_entities=False) == "b &eacute; c &lt; d"
    assert page.css("p").re_first("Price: (.*?) ") == "£10"


def test_jmespath_reads_json_in_a_page(page: Selector) -> None:
    script = page.css("script::text")

    assert script.jmespath("items[*].name").getall() == ["x", "y"]
    assert script.jmespath("items[0].n").get() == 1
    assert script.jmespath("items[1].n").getall() == []
    assert script.jmespath("items").jmespath("name").getall() == ["x", "y"]
    assert page.css("script").jmespath("page.next").get() is True
    assert page.css("title").jmespath("page").getall() == []
    assert Selector('<p><!--{"a": 1}--></p>', tree=page.tree).xpath("//comment()").jmespath("a").get() == 1


def test_dropping(page: Selector) -> None:
    page.css("li.b").drop()
    page.css("br").drop()

    assert page.css("li::text").getall() == ["one", "three"]
    assert page.css("a img::attr(src)").getall() == ["1.jpg", "2.jpg"]
    with pytest.raises(CannotDropElementWithoutParent):
        page.drop()
    with pytest.raises(CannotRemoveElementWithoutRoot):
        page.css("li::text").drop()
    with pytest.raises(CannotRemoveElementWithoutRoot):
        page.xpath("count(//li)")[0].drop()


def test_the_texts_around_what_was_dropped_become_one(page: Selector) -> None:
    paragraph = Selector("<p>a<b>x</b>c</p>", tree=page.tree)

    paragraph.css("b").drop()

    assert paragraph.css("p::text").getall() == ["ac"]
    assert paragraph.css("p").get() == "<p>ac</p>"


def test_what_a_selector_looks_like(page: Selector) -> None:
    assert repr(page.css("li.a")[0]) == """<Selector query='li.a' data='<li class="a">one</li>'>"""
    assert repr(page.css("title::text")).startswith("[<Selector query=")
    assert str(page.css("li.a")[0]) == '<li class="a">one</li>'
    assert page.css("li.a")[0]
    assert not Selector("", type="text", tree=page.tree)
    assert page.type == page.css("li")[0].type == "html"
    with pytest.raises(TypeError, match="can't pickle"):
        pickle.dumps(page)
    with pytest.raises(TypeError, match="can't pickle"):
        pickle.dumps(page.css("li"))


@pytest.mark.parametrize(
    "query", ["p[", "p::foo", "p::foo(x)", "p:nope", "p::attr(", "p::attr()", "", "p,", "p::text b", "> p"]
)
def test_a_wrong_css_query_is_named(page: Selector, query: str) -> None:
    with pytest.raises(ValueError, match="CSS error") as caught:
        page.css(query)
    assert str(caught.value).endswith(f"in {query}")


@pytest.mark.parametrize("query", ["//p[", "", "//a:b", "nope()", "$x", "//p]", "re:nope(1)", '"'])
def test_a_wrong_xpath_query_is_named(page: Selector, query: str) -> None:
    with pytest.raises(ValueError, match="XPath error") as caught:
        page.xpath(query)
    assert str(caught.value).endswith(f"in {query}")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [({"type": "pdf"}, ValueError), ({"tree": "pdf"}, ValueError), ({"text": b"<p>"}, TypeError), ({"text": None}, TypeError)],
)
def test_a_selector_that_cannot_be_made(arguments: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        Selector(**{"text": "", **arguments})


@pytest.mark.parametrize("tree", ["html5", "lxml"])
def test_an_empty_page_is_a_page(tree: Literal["html5", "lxml"]) -> None:
    assert Selector("", tree=tree).css("p").getall() == []
    assert Selector("  ", tree=tree).xpath("name(/*)").get() == "html"


def test_both_trees_are_selectors_of_one_class() -> None:
    assert type(Selector(PAGE, tree="lxml").css("a")[0]) is type(Selector(PAGE).css("a")[0]) is Selector


def test_a_list_is_a_list(page: Selector) -> None:
    def found() -> SelectorList:
        return page.css("li")

    before = [page.css("title")[0]]
    assert next(iter(found())).get() == found().copy()[0].get() == '<li class="a">one</li>'
    assert next(reversed(found())).get() == found().pop().get() == "<li>three</li>"
    assert [type(one) for one in (found() + found(), before + found(), found() * 2)] == [list, list, list]
    assert {type(one) for one in found() + found() + before} == {type(one) for one in before + found()} == {Selector}
    assert min(found(), key=lambda one: str(one.css("::text").get())).get() == '<li class="a">one</li>'
    assert found() != found()
    assert found() != []
    assert found()[:0] == []
    first, *_ = found()
    assert isinstance(first, Selector)


def test_the_selectors_of_a_list_stay_the_same(page: Selector) -> None:
    found = page.css("li")

    assert found[0] is found[0]
    assert found[0] in found
    assert found.index(found[1]) == 1
    assert found.count(found[2]) == 1
    assert found == [*found]
    assert [*found] == found
    assert found[1:][0] is found[1]


def test_a_list_can_be_changed(page: Selector) -> None:
    found, title = page.css("li"), page.css("title")[0]

    found.append(title)
    found.extend(page.css("p"))
    found.insert(0, title)
    found += [title]
    del found[1]
    found[1] = title
    found.reverse()

    assert [one.xpath("name()").get() for one in found] == ["title", "p", "title", "li", "title", "title"]
    assert len(found.getall()) == len(found.css("*")) == 6
    assert found.xpath("name()").getall() == ["title", "p", "title", "li", "title", "title"]
    assert found.re("o(n)e|(three)") == ["", "three"]
    found.clear()
    assert found.getall() == []
    assert not found


def test_lists_may_hold_nodes_of_several_pages(page: Selector) -> None:
    mixed = SelectorList(
        [page, Selector("<li>x</li>"), Selector("<li>y</li>", type="xml"), Selector("[1]", type="json").jmespath("[0]")[0]]
    )

    assert mixed[:3].css("li::text").getall() == ["one", "two", "three", "x", "y"]
    assert mixed.get().startswith("<html")
    assert mixed.getall()[-1] == 1
    with pytest.raises(ValueError, match="Cannot use css on a Selector of type 'json'"):
        mixed.css("li")
    mixed[1].css("li").drop()
    assert mixed[:3].xpath("//li/text()").getall() == ["one", "two", "three", "y"]


def test_an_empty_list_has_all_methods() -> None:
    for nothing in (SelectorList(), Selector("").css("a")):
        assert nothing.css("a").getall() == nothing.xpath("//a").getall() == nothing.jmespath("a").getall() == []
        assert (nothing.get(), nothing.get(1), nothing.re("a"), nothing.re_first("a", "b"), nothing.attrib) == (
            None,
            1,
            [],
            "b",
            {},
        )
        nothing.drop()
