"""What a page says as a whole."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from openoctopus.selector import Selector, document
from openoctopus.selector.document import Article, Form, Link

PAGES = Path(__file__).with_name("pages")
URL = "http://shop.example/a/b.html"


def page(markup: str, tree: Literal["html5", "lxml"] = "html5") -> Selector:
    return Selector(markup, base_url=URL, tree=tree)


@pytest.mark.parametrize("tree", ["html5", "lxml"])
def test_links_are_absolute_and_know_their_rel(tree: Literal["html5", "lxml"]) -> None:
    found = document.links(
        page(
            "<a href='x.html' rel='NoFollow next'>x\n <b>y</b></a><a name=n>no</a><area href=/q><a href=''>same</a>"
            "<a href='javascript:1'>j</a><a href='mailto:a@b'>m</a><a href='http://[bad'>bad</a><link href=css rel=stylesheet>",
            tree,
        )
    )

    assert found == [
        Link("http://shop.example/a/x.html", "x y", ("nofollow", "next")),
        Link("http://shop.example/q", ""),
        Link(URL, "same"),
    ]
    assert [link.nofollow for link in found] == [True, False, False]


def test_links_of_a_part_of_the_page() -> None:
    news = page((PAGES / "news_list.html").read_text(encoding="utf-8"))

    assert [link.text for link in document.links(news.css("article")[0])] == ["Flood in the north", "flood", "weather"]
    assert len(document.links(news.css("h2 a")[0])) == 1
    assert document.links(news.css("time")[0]) == []


def test_links_may_be_joined_by_the_caller() -> None:
    def join(reference: str) -> str:
        if reference == "bad":
            raise ValueError(reference)
        return f"https://other.example/{reference}"

    assert [link.url for link in document.links(page("<a href=1>1</a><a href=bad>2</a>"), join)] == ["https://other.example/1"]


def test_without_an_url_only_absolute_links_are_known() -> None:
    assert document.links(Selector("<a href='http://a.example'>1</a><a href=x>2</a>")) == [Link("http://a.example/", "1")]


def test_the_base_of_links() -> None:
    assert document.base_url(page("<p>")) == URL
    assert document.base_url(page("<base target=x><base href=/c/><base href=/d/>")) == "http://shop.example/c/"
    assert document.base_url(page("<base href=c/>"), "https://other.example/x/y") == "https://other.example/x/c/"
    assert document.base_url(page("<base href='javascript:1'>")) == URL
    assert document.base_url(page("<p><a href=x>x</a><base href=/c/>").css("a")[0]) == "http://shop.example/c/"
    assert document.links(page("<base href=/c/><a href=x>x</a>"))[0].url == "http://shop.example/c/x"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("5; url=next.html", (5.0, "http://shop.example/a/next.html")),
        ("0;URL='//other.example/x'", (0.0, "http://other.example/x")),
        ("3", (3.0, URL)),
        ("0; url=http://[bad", None),
        ("soon; url=x", None),
    ],
)
def test_a_meta_refresh(content: str, expected: tuple[float, str] | None) -> None:
    assert document.meta_refresh(page(f'<meta http-equiv="Refresh" content="{content}">')) == expected


def test_a_meta_refresh_that_does_not_count() -> None:
    refresh = "<meta http-equiv=refresh content='1; url=x'>"

    assert document.meta_refresh(page("<p>")) is None
    assert document.meta_refresh(page(f"<noscript>{refresh}</noscript>")) is None
    assert document.meta_refresh(page(f"<!-- {refresh} -->")) is None
    assert document.meta_refresh(page(f"<base href=/c/>{refresh}")) == (1.0, "http://shop.example/c/x")


def test_forms_with_the_fields_that_would_be_sent() -> None:
    login, search, postback = document.forms(page((PAGES / "forms.html").read_text(encoding="utf-8")))

    assert login == Form(
        id="login",
        name="login",
        action="http://shop.example/session?x=1",
        method="POST",
        enctype="multipart/form-data",
        fields=[
            ("user", "ann"),
            ("password", ""),
            ("csrf_token", 't0k"en'),
            ("remember", "on"),
            ("plan", "pro"),
            ("lang", "zh"),
            ("topics", "a"),
            ("topics", "c"),
            ("note", " hi\nthere"),
            ("outside", "o"),
        ],
    )
    assert (search.action, search.method, search.fields) == ("http://shop.example/s", "GET", [("q", "")])
    assert search.enctype == "application/x-www-form-urlencoded"
    assert (postback.action, postback.method, postback.fields) == (URL, "POST", [("__VIEWSTATE", "/wEPDw==")])


def fields(form: str) -> list[tuple[str, str]]:
    return document.forms(page(form))[0].fields


@pytest.mark.parametrize(
    ("controls", "sent"),
    [
        ("<input name=a disabled><fieldset disabled><input name=b></fieldset><input value=nameless>", []),
        ("<select name=s><option value=1>a<option value=2>b</select>", [("s", "1")]),
        ("<select name=s><option value=1 disabled>a<option>b</select>", [("s", "b")]),
        ("<select name=s></select><select name=m multiple><option>a</select>", []),
        ("<select name=m multiple><option selected>a<option selected disabled>b</select>", [("m", "a")]),
        ("<input type=checkbox name=c checked value=''><input type=radio name=r>", [("c", "")]),
        ("<button name=b value=1>x</button><input type=SUBMIT name=s value=1><input type=file name=f>", []),
        ("<input name=k value=1><input name=k value=2>", [("k", "1"), ("k", "2")]),
    ],
)
def test_what_a_control_sends(controls: str, sent: list[tuple[str, str]]) -> None:
    assert fields(f"<form>{controls}</form>") == sent


def test_controls_belong_to_the_form_they_name() -> None:
    first, second = document.forms(
        page(
            "<form id=f><input name=a></form><form id=g><input name=b form=f><input name=c form=no></form><input name=d form=g>"
        )
    )

    assert [name for name, _ in first.fields] == ["a", "b"]
    assert [name for name, _ in second.fields] == ["d"]


def test_a_form_between_the_rows_of_a_table_owns_what_follows_in_the_table() -> None:
    first, second = document.forms(
        page(
            "<table><form id=f><tr><td><input name=a></tr><tr><td><input name=b></tr></form>"
            "<form id=g><tr><td><input name=c></td></tr></form></table><input name=outside>"
        )
    )

    assert [name for name, _ in first.fields] == ["a", "b"]
    assert [name for name, _ in second.fields] == ["c"]


def test_one_form_of_the_page() -> None:
    forms = page("<form id=f><input name=a></form><form id=g><input name=b></form><input name=c form=g>")

    assert document.forms(forms.css("#g")[0])[0].fields == [("b", ""), ("c", "")]


def test_tables_as_rows() -> None:
    markup = "<table><tr><th>A<th>B<tr><td>1<td rowspan=2>2<tr><td>3</table><table><tr><td colspan=2>x</table>"

    assert document.tables(page(markup)) == [[["A", "B"], ["1", "2"], ["3", "2"]], [["x", "x"]]]
    assert document.tables(page(markup).css("table")[1]) == [[["x", "x"]]]


def test_a_table_that_claims_too_much_is_given_as_written() -> None:
    rows = "<tr><td rowspan=65534 colspan=1000>x" * 500

    table = document.tables(page(f"<table>{rows}</table>"))[0]

    assert table == [["x"]] * 500


def test_structured_data_is_plain() -> None:
    data = document.structured_data(
        page(
            '<script type="application/ld+json">{"@type": "Product", "name": "P"}</script>'
            '<script type="application/ld+json">{broken</script>'
            '<meta property="og:title" content="OG"><meta name="dc.title" content="DC">'
            '<div itemscope itemtype="http://schema.org/P"><b itemprop=name>N</b>'
            "<div itemprop=offer itemscope><i itemprop=price>1</i></div></div>"
            '<div vocab="http://schema.org/" typeof=Person><span property=name>R</span></div>'
        )
    )

    assert data["json_ld"] == [{"@type": "Product", "name": "P"}]
    assert data["opengraph"] == {"og:title": "OG"}
    assert data["dublin_core"] == {"dc.title": "DC"}
    offer = {"type": None, "id": None, "properties": {"price": ["1"]}}
    assert data["microdata"] == [{"type": "http://schema.org/P", "id": None, "properties": {"name": ["N"], "offer": [offer]}}]
    assert data["rdfa"][0]["properties"] == {"http://schema.org/name": ["R"]}


@pytest.mark.parametrize("script", ["[" * 100_000, "1" * 5000, "NaN", '"\ud800"', "{}" * 10])
def test_structured_data_that_cannot_be_read_is_left_out(script: str) -> None:
    data = document.structured_data(page(f'<script type="application/ld+json">{script}</script>'))

    assert isinstance(data["json_ld"], list)


def test_the_article_of_a_page() -> None:
    text = "A long sentence about the octopus and its eight arms, which nobody has counted twice. " * 20
    found = document.article(
        page(
            '<html lang=en><head><meta name=author content="Ann Lee"><meta name=description content=Arms>'
            '<meta name=keywords content="sea, arms"><meta property="og:site_name" content=News>'
            '<meta property="og:image" content="/i.jpg"><link rel=canonical href="http://a.example/1">'
            '<script type="application/ld+json">{"@type": "NewsArticle", "datePublished": "2024-01-02T03:04Z"}</script></head>'
            f"<body><nav><a href=/>home</a></nav><article><h1>Eight arms</h1><p>{text}</p></article></body></html>"
        )
    )

    assert isinstance(found, Article)
    assert "eight arms, which" in found.text
    assert "home" not in found.text
    assert (found.author, found.date, found.language) == ("Ann Lee", "2024-01-02", "en")
    assert (found.description, found.site_name, found.tags) == ("Arms", "News", ["sea", "arms"])
    assert (found.url, found.image) == ("http://a.example/1", "/i.jpg")


def test_a_page_without_an_article() -> None:
    found = document.article(page("<nav><a href=/>home</a></nav>"))

    assert (found.text, found.author, found.date) == ("", None, None)


@pytest.mark.parametrize("tree", ["html5", "lxml"])
def test_markdown(tree: Literal["html5", "lxml"]) -> None:
    selector = page("<h1>T</h1><p>a <b>b</b> <a href=/x>c</a></p>", tree)

    assert document.markdown(selector).strip() == "# T\n\na **b** [c](/x)"
    assert document.markdown(selector.css("p")[0]).strip() == "a **b** [c](/x)"


@pytest.mark.parametrize("path", sorted(PAGES.glob("*.html")), ids=lambda path: path.stem)
def test_every_page_can_be_described(path: Path) -> None:
    selector = page(path.read_text(encoding="utf-8"))

    assert all(link.url.startswith("http") for link in document.links(selector))
    assert all(form.action for form in document.forms(selector))
    assert document.markdown(selector)
    assert document.article(selector).title
    assert set(document.structured_data(selector)) == {"json_ld", "microdata", "opengraph", "rdfa", "dublin_core"}
    assert all(isinstance(cell, str) for table in document.tables(selector) for row in table for cell in row)
