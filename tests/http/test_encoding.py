"""The encoding of a page is found, and its bytes are read, as browsers do it."""

from __future__ import annotations

import codecs
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from openoctopus.http.encoding import codec_of, declared_encoding, decode, find_encoding, header_encoding

#: The table of https://encoding.spec.whatwg.org/#names-and-labels.
LABELS = {
    label: name
    for line in (Path(__file__).parent / "labels.txt").read_text("ascii").splitlines()
    for name, _, labels in [line.partition(": ")]
    for label in labels.split()
}
#: The Python codec for each name of the standard, where it is not the name in lower case; ``None``: not for pages.
CODECS = {
    "ISO-8859-8-I": "iso8859-8", "Big5": "big5hkscs", "EUC-KR": "cp949", "GBK": "gb18030", "Shift_JIS": "cp932",
    "windows-874": "cp874", "macintosh": "mac-roman", "x-mac-cyrillic": "mac-cyrillic", "UTF-16LE": "utf-16-le",
    "UTF-16BE": "utf-16-be", "replacement": None, "x-user-defined": None,
}  # fmt: skip


def page(text: str, codec: str, head: str = "") -> bytes:
    return f"<!DOCTYPE html><html><head>{head}<title>{text}</title></head><body><h1>{text}</h1></body></html>".encode(codec)


def test_the_standard_has_228_labels() -> None:
    assert len(LABELS) == 228


@pytest.mark.parametrize(("label", "name"), LABELS.items())
def test_every_label_of_the_standard_is_known(label: str, name: str) -> None:
    expected = CODECS[name] if name in CODECS else codecs.lookup(name).name

    assert codec_of(label) == expected
    assert codec_of(f" \t{label.upper()}\n") == expected
    if expected:
        assert codecs.lookup(expected)


@pytest.mark.parametrize(
    "label",
    [None, "", " ", "utf-7", "utf-32", "rot13", "hex", "utf8mb4", "none", "klingon", "idna", "\0", "\ud800", "x" * 100_000],
)
def test_what_is_no_encoding_of_the_web_is_ignored(label: str | None) -> None:
    assert codec_of(label) is None


@pytest.mark.parametrize(
    ("label", "data", "text"),
    [
        ("latin1", b"\x80\x93x\x94 \x81\x8d\x8f\x90\x9d", "€“x” \x81\x8d\x8f\x90\x9d"),
        ("windows-1251", b"\xcf\x98", "П\x98"),
        ("iso-8859-9", b"\xfe\xf0\x80", "şğ€"),
        ("tis-620", b"\xa1\x80\xdb", "ก€\ufffd"),
        ("koi8-u", b"\xd0\xae\xbe", "пўЎ"),
        ("gb2312", b"\xe9F\x80\x81\x30\x81\x30\xff<", "镕€\x80\ufffd<"),
        ("shift_jis", b"\x87\x40\xfb\xfc\xa0\xb1", "①髙\ufffdｱ"),
        ("sjis", b"\x81<p>", "\ufffd<p>"),
        ("big5", b"\x88\x62\xa4\xa4\xa1<p>", "\xca\u0304中\ufffd<p>"),
        ("euc-kr", b"\x8c\xac\xb0\xa1\xff", "뙩가\ufffd"),
        ("euc-jp", b"\xc6\xfc\x8f\xb0\xa1", "日丂"),
        ("iso-2022-jp", b"\x1b$B$F\x1b(Bx", "てx"),
        ("utf-8", b"caf\xc3\xa9 \xff\xe4\xb8 x", "café \ufffd\ufffd x"),
        ("utf-16le", b"a\0\x00\xd8b\0", "a\ufffdb"),
        ("x-mac-ukrainian", b"\xa2\xb6\xff", "Ґґ€"),
        ("visual", b"\xf9\xec", "\u05e9\u05dc"),
    ],
)
def test_bytes_are_read_as_the_standard_reads_them(label: str, data: bytes, text: str) -> None:
    assert decode(data, codec_of(label) or "") == text


def test_any_codec_of_python_may_be_asked_for() -> None:
    assert decode("né".encode("utf-7"), "utf-7") == "né"
    assert decode("né".encode("cp037"), "cp037") == "né"
    with pytest.raises(LookupError):
        decode(b"x", "klingon")


@pytest.mark.parametrize("mark", [b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"])
def test_a_byte_order_mark_is_swallowed_once(mark: bytes) -> None:
    codec = find_encoding(mark)
    assert decode(mark + "né".encode(codec), codec) == "né"
    assert decode(mark + mark, codec) == "\ufeff"


# The order: BOM, header, document, letters

CYRILLIC = page("Привет, мир", "cp1251")


@pytest.mark.parametrize(
    ("body", "content_type", "codec"),
    [
        (b"\xef\xbb\xbf" + page("Привет", "utf-8", '<meta charset="koi8-r">'), "text/html; charset=windows-1251", "utf-8"),
        (b"\xff\xfe" + page("Привет", "utf-16-le"), "text/html; charset=utf-8", "utf-16-le"),
        (b"\xfe\xff" + page("Привет", "utf-16-be"), None, "utf-16-be"),
        (page("é", "utf-8", "<meta charset=windows-1252>"), "text/html; charset=utf-8", "utf-8"),
        (page("é", "utf-8", "<meta charset=utf-8>"), "text/html; charset=utf8mb4", "utf-8"),
        (page("é", "utf-8", "<meta charset=iso-8859-2>"), "text/html; charset=x-user-defined", "iso8859-2"),
        (CYRILLIC, "text/html; charset=utf-7", "cp1251"),
        (CYRILLIC, "text/html; charset=", "cp1251"),
        (CYRILLIC, "text/html", "cp1251"),
        (CYRILLIC, None, "cp1251"),
        (CYRILLIC, "", "cp1251"),
        (b"", None, "utf-8"),
        (b"plain", "text/html", "utf-8"),
    ],
)
def test_the_order_is_that_of_browsers(body: bytes, content_type: str | None, codec: str) -> None:
    assert find_encoding(body, content_type) == codec


@pytest.mark.parametrize(
    ("content_type", "codec"),
    [
        ("text/html; charset=utf-8", "utf-8"),
        ("text/html;charset=UTF-8", "utf-8"),
        ('text/html; charset="windows-1250"', "cp1250"),
        ("text/html; charset='gbk'", "gb18030"),
        ("text/html; Charset = koi8-r ", "koi8-r"),
        ("text/html; charset=utf-8; charset=koi8-r", "utf-8"),
        ('text/html; title="a; charset=koi8-r"; charset=utf-8', "utf-8"),
        (r'text/html; title="\"; charset=koi8-r"; charset=utf-8', "utf-8"),
        ("text/html, text/html; charset=gbk", "gb18030"),
        ("text/html; charset=gbk, text/html", "gb18030"),
        ("text/html charset=gbk", "gb18030"),
        ("charset=gbk", "gb18030"),
        ("text/html;   charset=utf-8", "utf-8"),
        ("text/html; xcharset=gbk", None),
        ("text/html; charset", None),
        ("text/html; charset:gbk", None),
        ('text/html; charset="gbk', "gb18030"),
        ("text/html; charset=\xff", None),
        ("text/html", None),
        ("", None),
        (None, None),
    ],
)
def test_the_header_is_read_leniently(content_type: str | None, codec: str | None) -> None:
    assert header_encoding(content_type) == codec


@pytest.mark.parametrize(
    ("head", "codec"),
    [
        ("<meta charset=koi8-r>", "koi8-r"),
        ("<META CHARSET='koi8-r' />", "koi8-r"),
        ('<meta charset = "koi8-r">', "koi8-r"),
        ("<meta/charset=koi8-r/>", None),  # the slash belongs to a value without quotes
        ('<meta name=x\n\tcharset="KOI8-R"\n>', "koi8-r"),
        ('<meta content="a>b" charset=koi8-r>', "koi8-r"),
        ('<meta http-equiv="Content-Type" content="text/html; charset=koi8-r">', "koi8-r"),
        ('<meta content="text/html;charset=koi8-r" http-equiv=content-type>', "koi8-r"),
        ("<meta http-equiv=content-type content=\"text/html; charset='koi8-r'\">", "koi8-r"),
        ("<meta http-equiv=content-type content='charset; charset = koi8-r ; x'>", "koi8-r"),
        ('<meta name="description" content="charset=koi8-r">', None),
        ('<meta http-equiv="refresh" content="5; charset=koi8-r">', None),
        ("<meta charset=klingon><meta charset=koi8-r>", "koi8-r"),
        ("<meta charset=koi8-r charset=utf-8>", "koi8-r"),
        ("<meta charset=koi8-r><meta charset=utf-8>", "koi8-r"),
        ("<meta charset=utf-16>", "utf-8"),
        ("<meta charset=x-user-defined>", None),
        ("<meta charset=utf-7>", None),
        ("<metadata charset=koi8-r>", None),
        ("<meta charset=koi8-r", None),
        ("<!-- <meta charset=utf-8> --><meta charset=koi8-r>", "koi8-r"),
        ("<!-- <meta charset=koi8-r> -->", None),
        ("<!--><meta charset=koi8-r>", "koi8-r"),
        ("<!-- x <meta charset=koi8-r>", None),
        ("<script>'<meta charset=utf-8>'</script><meta charset=koi8-r>", "koi8-r"),
        ("<SCRIPT>'<meta charset=koi8-r>'</SCRIPT>", None),
        ("<script>'<meta charset=koi8-r>'", None),
        ("<style>/*<meta charset=koi8-r>*/</style>", None),
        ("<title><meta charset=koi8-r></title>", None),
        ("<textarea><meta charset=koi8-r></textarea>", None),
        ("<noscript><meta charset=koi8-r></noscript>", "koi8-r"),
        ("<scripted><meta charset=koi8-r>", "koi8-r"),
        (f"<!--{'x' * 5000}--><meta charset=koi8-r>", "koi8-r"),
        (f"{'<p>text</p>' * 2000}<meta charset=koi8-r>", "koi8-r"),
    ],
)
def test_a_page_declares_its_encoding(head: str, codec: str | None) -> None:
    assert declared_encoding(f"<!DOCTYPE html><html><head>{head}".encode()) == codec


XML = '<?xml version="1.0" encoding="windows-1251"?>'


@pytest.mark.parametrize(
    ("document", "content_type", "codec"),
    [
        (f"{XML}<rss/>", "application/rss+xml", "cp1251"),
        (f"\n {XML}<html>", "text/html", "cp1251"),
        (f"{XML}<html><meta charset=koi8-r>", "text/html", "koi8-r"),
        (f"{XML}<html><meta charset=koi8-r>", "application/xhtml+xml", "cp1251"),
        (f"{XML}<html><meta charset=koi8-r>", "", "cp1251"),
        ("<html><meta charset=koi8-r>", "application/xhtml+xml", "koi8-r"),
        ("<html><meta charset=koi8-r>", "", "koi8-r"),
        ("<html><meta charset=koi8-r>", "text/plain", "koi8-r"),
        ("<rss><![CDATA[<meta charset=koi8-r>]]></rss>", "text/xml", "utf-8"),
        ('{"html": "<meta charset=koi8-r>"}', "application/json", "utf-8"),
        ('{"html": "<meta charset=koi8-r>"}', "", "utf-8"),
        ("text with <meta charset=koi8-r>", "text/plain", "utf-8"),
        ("text with <meta charset=koi8-r>", "text/html", "koi8-r"),
        ("<?xml version='1.0' encoding='utf-16'?><a/>", "text/xml", "utf-8"),
        ("<?xml version='1.0'?><a/>", "text/xml", "utf-8"),
        ("<?xml version='1.0' encoding='klingon'?><a/>", "text/xml", "utf-8"),
    ],
)
def test_a_declaration_counts_where_it_is_one(document: str, content_type: str, codec: str) -> None:
    assert find_encoding(document.encode(), content_type) == codec


# Detection

TEXTS = {
    "utf-8": ["Привет", "中文", "naïve – “quoted”", "日本語", "😀", "עברית"],
    "gb18030": ["中国新闻", "今天天气很好，我们去公园散步。", "镕化 喆玥 测试", "首页", "联系我们 | 关于"],
    "big5hkscs": ["台灣新聞", "今天天氣很好，我們去公園散步。", "繁體中文測試頁", "首頁"],
    "cp932": ["日本語テスト", "今日は天気がいいです", "お知らせ", "ニュース一覧"],
    "euc_jp": ["日本語テスト", "今日は天気がいいです", "お知らせ", "ニュース一覧"],
    "iso2022_jp": ["日本語テスト", "お知らせ"],
    "cp949": ["한국어 테스트", "오늘 날씨가 좋습니다", "공지사항", "뉴스"],
    "cp1250": ["Łódź i Kraków", "Příliš žluťoučký kůň", "Główna strona"],
    "cp1251": ["Привет, мир", "Новости дня", "Главная"],
    "cp1252": ["café à la crème", "Größe und Straße", "“quoted” – 10€", "señor niño"],
    "cp1253": ["Καλημέρα κόσμε", "Αρχική σελίδα"],
    "cp1254": ["Türkçe sayfa şöyle", "İstanbul ığdır"],
    "cp1255": ["שלום עולם", "דף הבית"],
    "cp1256": ["مرحبا بالعالم", "الصفحة الرئيسية"],
    "cp1257": ["Rīga ir Latvijas galvaspilsēta"],
    "cp874": ["สวัสดีชาวโลก", "หน้าแรก"],
    "koi8-r": ["Привет, мир", "Главная", "Москва сегодня"],
    "cp866": ["Привет, мир"],
    "iso8859-2": ["Łódź i Kraków"],
    "iso8859-5": ["Привет, мир"],
    "utf-16-le": ["hello", "naïve"],
    "utf-16-be": ["hello", "naïve"],
}


@pytest.mark.parametrize(("codec", "text"), [(codec, text) for codec, texts in TEXTS.items() for text in texts])
def test_what_nobody_declared_is_detected(codec: str, text: str) -> None:
    for head in ("", f"<!--{'x' * 70_000}-->"):
        body = page(text, codec, head)
        assert decode(body, find_encoding(body, "text/html")) == body.decode(codec)


def test_a_declaration_that_is_none_does_not_mislead_detection() -> None:
    body = page("Привет, мир", "cp1251", "<script>'<meta charset=koi8-r>'</script><meta charset=utf-7>")
    assert find_encoding(body, "text/html") == "cp1251"


def test_utf_8_with_a_few_wrong_bytes_is_still_utf_8() -> None:
    body = page("Привет, мир, привет", "utf-8").replace(b"<h1>", b"<h1>\xff")
    assert find_encoding(body) == "utf-8"
    assert find_encoding(page("日本語テスト" * 5000, "utf-8")[:-40]) == "utf-8"


@given(st.binary(max_size=300), st.sampled_from([None, "text/html", "text/xml", "text/html; charset=gbk", "x"]))
@example(b"\xff\xfe\0", None)
@example(b"\0\0\0\0", None)
@example(b"<?xml encoding='", "text/xml")
def test_any_bytes_become_text(body: bytes, content_type: str | None) -> None:
    codec = find_encoding(body, content_type)
    assert codecs.lookup(codec)
    assert isinstance(decode(body, codec), str)


HOSTILE: dict[str, Callable[[int], bytes]] = {
    "comments": lambda n: b"<!--" * n,
    "closed comments": lambda n: b"<!---->" * n,
    "metas without end": lambda n: b"<meta " * n,
    "quotes without end": lambda n: b'<meta charset="x' * n,
    "other quotes": lambda n: b'<meta a=\'">"' * n,
    "scripts": lambda n: b"<script>" * n,
    "half closed scripts": lambda n: b"<script></scrip" * n,
    "titles": lambda n: b"<title></title " * n,
    "blanks": lambda n: b"<meta" + b" " * n,
    "slashes": lambda n: b"<meta " + b"a/" * n,
    "equals signs": lambda n: b"<meta " + b"= " * n,
    "charsets": lambda n: b"<meta http-equiv=content-type content='" + b"charset " * n + b"'>",
    "charsets with quotes": lambda n: b"<meta http-equiv=content-type content='" + b'charset="' * n + b"'>",
    "declarations": lambda n: b"<?xml " + b"encoding" * n,
    "brackets": lambda n: b"<" * n,
    "escapes": lambda n: b"\x1b" * n,
    "leads": lambda n: b"\x81\xfe" * n,
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_page_costs_no_more_than_its_length(body: Callable[[int], bytes]) -> None:
    hostile = body(50_000)
    began = time.process_time()
    decode(hostile, find_encoding(hostile, "text/html"))
    assert time.process_time() - began < 0.5


@pytest.mark.parametrize("value", ["a" * 50_000, "; " * 50_000, '; x="' + "\\" * 50_000, "; a =" * 20_000, " " * 50_000 + "x"])
def test_a_hostile_header_costs_no_more_than_its_length(value: str) -> None:
    began = time.process_time()
    assert header_encoding(f"text/html{value}; charset") is None
    assert time.process_time() - began < 0.5
