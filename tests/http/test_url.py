"""URLs: read, joined and made canonical as browsers do."""

from __future__ import annotations

import re

import ada_url
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from openoctopus.exceptions import InvalidRequest
from openoctopus.http.url import (
    BAD_PORTS,
    canonical,
    join,
    origin,
    output_encoding,
    parse,
    port_of,
    without_credentials,
)

BASE = "https://www.example.com/news/list/?page=2#top"

#: Links of real pages that crawlers have stumbled over, and where a browser goes.
TROUBLE = {
    "a.html": "https://www.example.com/news/list/a.html",
    "": "https://www.example.com/news/list/?page=2",
    "?page=3&sort=a": "https://www.example.com/news/list/?page=3&sort=a",
    "#part": "https://www.example.com/news/list/?page=2#part",
    "/a/./b/../c/%2e%2e/d/./e.html": "https://www.example.com/a/d/e.html",
    "../../../../x": "https://www.example.com/x",
    "music/AC%252FDC/+images?u=http%3A%2F%2Fa%3Fb%3D1&q=%27x%27": (
        "https://www.example.com/news/list/music/AC%252FDC/+images?u=http%3A%2F%2Fa%3Fb%3D1&q=%27x%27"
    ),
    "Dia%25": "https://www.example.com/news/list/Dia%25",
    "R%26D": "https://www.example.com/news/list/R%26D",
    "item%231": "https://www.example.com/news/list/item%231",
    "%zz%": "https://www.example.com/news/list/%zz%",
    "s?b=2&a=1&a=&flag&q=x+y&p=1/2": "https://www.example.com/news/list/s?b=2&a=1&a=&flag&q=x+y&p=1/2",
    "\n\t  /page1 \n": "https://www.example.com/page1",
    "/lo\nng/pa\tth": "https://www.example.com/long/path",
    "\x00\x1f/x": "https://www.example.com/x",
    "a\x00b": "https://www.example.com/news/list/a%00b",
    "a b": "https://www.example.com/news/list/a%20b",
    "sub\\dir\\page.html": "https://www.example.com/news/list/sub/dir/page.html",
    "..\\up.html": "https://www.example.com/news/up.html",
    "\\\\other.test\\x": "https://other.test/x",
    "//other.test/x": "https://other.test/x",
    "///other.test/x": "https://other.test/x",
    "http:relative": "http://relative/",
    "https:relative": "https://www.example.com/news/list/relative",
    "HTTP://OTHER.test:80/A": "http://other.test/A",
    "https://other.test:443": "https://other.test/",
    "https://other.test:8443": "https://other.test:8443/",
    "http://bücher.test/ü?ü#ü": "http://xn--bcher-kva.test/%C3%BC?%C3%BC#%C3%BC",
    "http://EXA%4DPLE.test/": "http://example.test/",
    "http://2130706433/": "http://127.0.0.1/",
    "http://0x7f.1/": "http://127.0.0.1/",
    "http://user:pass@other.test/": "http://user:pass@other.test/",
    "mailto:a@example.test": "mailto:a@example.test",
    "javascript:void(0)": "javascript:void(0)",
    "/中文?q=中文": "https://www.example.com/%E4%B8%AD%E6%96%87?q=%E4%B8%AD%E6%96%87",
    "\u00a0x": "https://www.example.com/news/list/%C2%A0x",
    "x'\"<>`{}|?'\"<>`{}|^": "https://www.example.com/news/list/x'%22%3C%3E%60%7B%7D|?%27%22%3C%3E`{}|^",
}
NO_LINKS = ["http://[::1", "http://a b/", "//h:80x/", "http://exa<mple/", "https://", "http://1.2.3.4.5/", "http://h:99999/"]


@pytest.mark.parametrize(("link", "url"), TROUBLE.items())
def test_a_link_leads_where_a_browser_goes(link: str, url: str) -> None:
    assert join(parse(BASE), link) == url
    assert ada_url.join_url(BASE, link) == url


@pytest.mark.parametrize("link", NO_LINKS)
def test_what_is_no_link_is_refused(link: str) -> None:
    with pytest.raises(InvalidRequest, match="not a link"):
        join(parse(BASE), link)


@pytest.mark.parametrize("link", [None, b"/x", 3])
def test_a_link_that_is_no_text_is_named(link: object) -> None:
    with pytest.raises(InvalidRequest, match="a link is a str, not"):
        join(parse(BASE), link)  # type: ignore[arg-type]


#: Versions of ada differ: the standard encodes ^ in a path since 2024; IDNA follows Unicode, so only Latin letters are tried.
CARET = str.maketrans({"^": "%5E"})
CONTROL = re.compile("[\x00-\x1f\x7f]")
URLISH = st.text(st.sampled_from("aé中 :/?#@[]\\.%2e&=+'\"<>\t\n\x00\x7f-~_0:8"), max_size=40) | st.text(
    st.characters(max_codepoint=0x17F), max_size=30
)


@given(URLISH)
@example("http://a/\u00ad")
@example("%2e%2E/..%2e/x")
def test_joining_agrees_with_ada(link: str) -> None:
    try:
        expected = ada_url.join_url(BASE, link)
    except ValueError:
        with pytest.raises(InvalidRequest):
            join(parse(BASE), link)
    else:
        assert join(parse(BASE), link).translate(CARET) == expected.translate(CARET)


@given(URLISH.map(lambda rest: "http://" + CONTROL.sub("", rest)))
def test_parsing_agrees_with_ada(url: str) -> None:
    try:
        expected = ada_url.normalize_url(url)
    except ValueError:
        with pytest.raises(InvalidRequest):
            parse(url)
    else:
        assert parse(url).href.translate(CARET) == expected.translate(CARET)


@given(st.text(max_size=50))
def test_any_text_is_a_url_or_refused(text: str) -> None:
    for make in (parse, lambda link: join(parse(BASE), link), lambda link: join(parse(BASE), link, "gb18030")):
        try:
            make(text)
        except InvalidRequest:
            pass


@pytest.mark.parametrize("character", ["\r", "\n", "\t", "\0", "\x1f", "\x7f"])
def test_a_control_character_inside_a_url_is_refused(character: str) -> None:
    with pytest.raises(InvalidRequest, match="control character"):
        parse(f"http://example.com/a{character}b")
    with pytest.raises(InvalidRequest, match="control character"):
        parse(f"http://example.com/中?a{character}b", "gbk")


def test_blanks_around_a_url_are_dropped() -> None:
    assert parse(" \t\r\nhttp://example.com/a \n").href == "http://example.com/a"


@pytest.mark.parametrize(
    "url", ["", "example.com", "/path", "//example.com/", "http://", "http://a b/", "http://[1::2", "?a=1"]
)
def test_what_is_no_absolute_url_is_refused(url: str) -> None:
    with pytest.raises(InvalidRequest, match="not an absolute URL"):
        parse(url)


@pytest.mark.parametrize("url", [None, b"http://example.com/", 5])
def test_a_url_that_is_no_text_is_named(url: object) -> None:
    with pytest.raises(InvalidRequest, match="a URL is a str, not"):
        parse(url)  # type: ignore[arg-type]


def test_a_very_long_url_is_read() -> None:
    assert len(parse("http://example.com/" + "a" * 100_000).href) == 100_019
    assert len(join(parse(BASE), "中" * 100_000)) == len("https://www.example.com/news/list/") + 900_000


def test_half_of_a_surrogate_pair_becomes_the_replacement_character() -> None:
    assert parse("http://example.com/\ud800").href == "http://example.com/%EF%BF%BD"
    assert join(parse(BASE), "/x?\udc00") == "https://www.example.com/x?%EF%BF%BD"
    assert join(parse(BASE), "/\ud83d\ude00") == "https://www.example.com/%F0%9F%98%80"


@pytest.mark.parametrize(
    ("link", "encoding", "rest"),
    [
        ("中/p?q=中", "gb18030", "%E4%B8%AD/p?q=%D6%D0"),
        ("?q=é&x=%20y", "cp1252", "?q=%E9&x=%20y"),
        ("?q=あ", "cp932", "?q=%82%A0"),
        ("?q=中", "utf-8", "?q=%E4%B8%AD"),
        ("?q=中", "utf-16-le", "?q=%E4%B8%AD"),
        ("?q=中#中", "gb18030", "?q=%D6%D0#%E4%B8%AD"),
        ("x#a?中", "gb18030", "x#a?%E4%B8%AD"),
        (" ?q=中\t&x \n", "gb18030", "?q=%D6%D0&x"),
        ("?q=中 '<>\"", "gb18030", "?q=%D6%D0%20%27%3C%3E%22"),
        ("?q=€1", "iso8859-1", "?q=%26%238364%3B1"),
        ("?q=😀", "cp932", "?q=%26%23128512%3B"),
    ],
)
def test_the_query_is_written_in_the_encoding_of_the_page(link: str, encoding: str, rest: str) -> None:
    assert join(parse("http://example.com/"), link, encoding) == f"http://example.com/{rest}"


def test_an_encoding_nobody_knows_is_refused() -> None:
    for name in ("klingon", "hex", "whatwg-gbk", "", None):
        with pytest.raises(InvalidRequest, match="no such encoding"):
            output_encoding(name)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("url", "same"),
    [
        ("http://EXAMPLE.com:80", "http://example.com/"),
        ("https://example.com:443/a", "https://example.com/a"),
        ("http://example.com/a#x", "http://example.com/a"),
        ("http://example.com/?b=2&a=1", "http://example.com/?a=1&b=2"),
        ("http://example.com/?a=&flag&a=1", "http://example.com/?a=&a=1&flag"),
        ("http://example.com/?", "http://example.com/"),
        ("http://example.com/?b&&a&", "http://example.com/?a&b"),
        ("http://example.com/%7euser/%41", "http://example.com/~user/A"),
        ("http://example.com/%e4%b8%ad", "http://example.com/%E4%B8%AD"),
        ("http://example.com/%2f%3F", "http://example.com/%2F%3F"),
        ("http://example.com/?%62=1&a", "http://example.com/?a&b=1"),
        ("http://example.com/%zz%4", "http://example.com/%zz%4"),
        ("http://example.com/a/../b", "http://example.com/b"),
    ],
)
def test_spellings_of_one_page_have_one_canonical_url(url: str, same: str) -> None:
    assert canonical(parse(url)) == same
    assert canonical(parse(same)) == same


@pytest.mark.parametrize(
    "urls",
    [
        ("http://example.com/a", "http://example.com/a/"),
        ("http://example.com/a", "https://example.com/a"),
        ("http://example.com/?a", "http://example.com/?a="),
        ("http://example.com/?a=1", "http://example.com/?a=1&a=1"),
        ("http://example.com/a%2Fb", "http://example.com/a/b"),
        ("http://example.com/?a=1%262", "http://example.com/?a=1&2"),
        ("http://example.com/A", "http://example.com/a"),
    ],
)
def test_different_pages_stay_apart(urls: tuple[str, str]) -> None:
    one, other = map(parse, urls)
    assert canonical(one) != canonical(other)


def test_the_fragment_can_be_kept() -> None:
    assert canonical(parse("http://example.com/?b&a#!/x?b&a"), keep_fragment=True) == "http://example.com/?a&b#!/x?b&a"
    assert canonical(parse("http://example.com/#"), keep_fragment=True) == "http://example.com/"


@given(URLISH)
def test_a_canonical_url_is_its_own(rest: str) -> None:
    try:
        url = parse(join(parse(BASE), rest))
    except InvalidRequest:
        return
    assert canonical(parse(canonical(url))) == canonical(url)


def test_the_port_is_the_schemes_own_unless_written() -> None:
    ports = {"http://h/": 80, "https://h/": 443, "wss://h/": 443, "ws://h/": 80, "http://h:81/": 81, "https://h:80/": 80}
    assert {url: port_of(parse(url)) for url in ports} == ports


def test_the_origin_is_scheme_host_and_port() -> None:
    assert origin(parse("https://u:p@Example.com:443/x")) == "https://example.com"
    assert origin(parse("http://example.com:8080/x")) == "http://example.com:8080"


def test_services_that_are_no_web_servers_are_bad_ports() -> None:
    assert {22, 25, 6379, 11211, 6000} <= BAD_PORTS
    assert not {80, 443, 8080, 8443, 3000, 5000} & BAD_PORTS


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://user:pw@h/x", "http://***@h/x"),
        ("http://user@h/x", "http://***@h/x"),
        ("http://user:p@ss@h/x", "http://***@h/x"),
        ("http://h/x@y", "http://h/x@y"),
        ("http://h?x=a@b", "http://h?x=a@b"),
    ],
)
def test_credentials_are_masked_for_logs(url: str, shown: str) -> None:
    assert without_credentials(url) == shown
