"""XML, JSON and plain text."""

from __future__ import annotations

from pathlib import Path

import pytest

from openoctopus.selector import Selector

FEED = """<?xml version="1.0" encoding="ISO-8859-1"?>
<feed xmlns="http://www.w3.org/2005/Atom" xmlns:media="http://search.yahoo.com/mrss/">
<title>Feed \u4e2d</title><entry><title>One</title><link href="/1"/><media:thumb url="1.png" media:w="9"/></entry>
<entry><title>Two</title><link href="/2"/>tail</entry></feed>"""


@pytest.fixture
def feed() -> Selector:
    return Selector(FEED, type="xml")


def test_xml_is_queried_with_prefixes(feed: Selector) -> None:
    names = {"a": "http://www.w3.org/2005/Atom"}

    assert feed.xpath("//title").getall() == []
    assert feed.xpath("//a:title/text()", namespaces=names).getall() == ["Feed \u4e2d", "One", "Two"]
    assert feed.xpath("//a:entry", names).xpath("a:link/@href", namespaces=names).getall() == ["/1", "/2"]
    with pytest.raises(ValueError, match="XPath error"):
        feed.xpath("//a:title")


def test_a_registered_prefix_is_known_to_what_is_found(feed: Selector) -> None:
    feed.register_namespace("a", "http://www.w3.org/2005/Atom")
    feed.register_namespace("m", "http://search.yahoo.com/mrss/")

    assert feed.xpath("//a:entry").xpath(".//m:thumb/@url").getall() == ["1.png"]
    assert feed.css("a|title::text").getall() == ["Feed \u4e2d", "One", "Two"]
    assert feed.namespaces["m"] == "http://search.yahoo.com/mrss/"


def test_a_prefix_registered_on_one_node_is_unknown_to_the_others(feed: Selector) -> None:
    first, second = feed.xpath("/*/*")[:2]

    first.register_namespace("a", "http://www.w3.org/2005/Atom")

    assert first.xpath("self::a:title")
    with pytest.raises(ValueError, match="XPath error"):
        second.xpath("self::a:title")


def test_prefixes_may_be_given_at_the_start() -> None:
    feed = Selector(FEED, type="xml", namespaces={"a": "http://www.w3.org/2005/Atom"})

    assert feed.xpath("//a:entry/a:title/text()").getall() == ["One", "Two"]


def test_prefixes_in_html() -> None:
    page = Selector('<p>x</p><svg><a id="s"></a></svg>')
    page.register_namespace("svg", "http://www.w3.org/2000/svg")

    assert page.xpath("//svg:a/@id").getall() == ["s"]
    assert page.css("svg").xpath("svg:a/@id").get() == "s"
    assert page.xpath("//h:a[@id=$id]", namespaces={"h": "http://www.w3.org/2000/svg"}, id="s")


def test_namespaces_removed(feed: Selector) -> None:
    feed.remove_namespaces()

    assert feed.xpath("//entry/title/text()").getall() == ["One", "Two"]
    assert feed.css("entry > thumb::attr(url)").get() == "1.png"
    assert feed.xpath("//thumb/@w").get() == "9"


def test_xml_keeps_its_case_and_its_empty_elements() -> None:
    shop = Selector("<Shop><Item Id='1'/><item/></Shop>", type="xml")

    assert shop.css("Item::attr(Id)").getall() == ["1"]
    assert shop.xpath("//Item").get() == '<Item Id="1"/>'
    assert shop.css("item").attrib == {}
    assert shop.type == shop.css("Item")[0].type == "xml"


def test_xml_is_mended_and_dropped_from() -> None:
    broken = Selector("<a><b>x</b>tail<c></a>", type="xml")

    broken.css("b").drop()

    assert broken.xpath("string(/a)").get() == "tail"


def test_an_entity_reads_no_file_and_does_not_swell(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("canary")
    external = f'<!DOCTYPE a [<!ENTITY x SYSTEM "{secret.as_uri()}">]><a b="1">&x;</a>'
    layers = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
    bomb = f'<!DOCTYPE a [<!ENTITY e0 "ha">{layers}]><a b="&e9;">&e9;</a>'

    assert "canary" not in Selector(external, type="xml").get()
    assert len(Selector(bomb, type="xml").get()) < 2000


@pytest.mark.parametrize(
    "xml", [f"<a><b>{'x' * 11_000_000}</b><c>after</c></a>", f"<a b='{'y' * 11_000_000}'/>", "<x>" * 300, "<x>" * 100_000]
)
def test_xml_beyond_the_limits_is_said_to_be_read_in_part(xml: str, caplog: pytest.LogCaptureFixture) -> None:
    feed = Selector(xml, type="xml", base_url="http://a.example/feed")

    assert feed.get().startswith("<")
    assert "the XML of http://a.example/feed is read in part" in caplog.text


@pytest.mark.parametrize(
    "xml", ["", " ", "hello", "<", "<a", "\x00", "<a>\ud800</a>", "<a>&nope;</a>", "<?xml version='1.0'?>"]
)
def test_what_is_hardly_xml_is_read_as_far_as_it_goes(xml: str) -> None:
    assert isinstance(Selector(xml, type="xml").xpath("string()").get(), str)
    assert Selector(xml, type="xml").css("nothing").getall() == []


def test_json_is_queried_by_jmespath() -> None:
    data = Selector('{"a": [1, "x", null, {"b": true}], "html": "<p>hi</p>", "s": "{\\"n\\": 5}"}', type="json")

    assert data.jmespath("a").getall() == [1, "x", None, {"b": True}]
    assert [one.type for one in data.jmespath("a")] == ["json", "text", "json", "json"]
    assert [bool(one) for one in data.jmespath("a")] == [True, True, False, True]
    assert data.jmespath("a[3].b").get() is True
    assert data.jmespath("nothing").getall() == []
    assert data.jmespath("html").css("p::text").get() == "hi"
    assert data.jmespath("html").xpath("//p/text()").get() == "hi"
    assert data.jmespath("html").re(r"<(\w)>") == ["p"]
    assert data.jmespath("s").jmespath("n").get() == 5
    assert data.get()["html"] == "<p>hi</p>"
    assert data.attrib == {}
    assert repr(data.jmespath("html")[0]) == "<Selector query='html' data='<p>hi</p>'>"


def test_json_has_no_markup() -> None:
    data = Selector('{"a": 1}', type="json")

    with pytest.raises(ValueError, match="Cannot use css on a Selector of type 'json'"):
        data.css("a")
    with pytest.raises(ValueError, match="Cannot use xpath on a Selector of type 'json'"):
        data.xpath("//a")


@pytest.mark.parametrize("text", ["{", "", "[" * 100_000, "1" * 5000, "{'a': 1}"])
def test_json_that_cannot_be_read_is_nothing(text: str) -> None:
    assert Selector(text, type="json").get() is None
    assert Selector(text, type="json").jmespath("a").getall() == []


def test_text_is_read_as_html_when_asked_for_elements() -> None:
    text = Selector("see <a href='/x'>x</a>", type="text")

    assert text.get() == text.root == "see <a href='/x'>x</a>"
    assert text.re_first(r"see (.)") == "<"
    assert text.css("a::attr(href)").get() == "/x"
    assert text.xpath("//a/text()").get() == "x"
    assert text.css("a")[0].type == "html"
    assert text.attrib == {}
