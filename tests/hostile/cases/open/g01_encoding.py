from caselib import *

G = "encoding"
HTML = "text/html"


def p(body, charset=None, meta="", **kw):
    """An HTML page of raw body bytes; no charset in the header unless given."""
    return Resp(
        b"<!DOCTYPE html><html><head>"
        + meta.encode("latin-1")
        + b"<title>t</title></head><body><h1>"
        + body
        + b"</h1></body></html>",
        ctype=HTML + (f"; charset={charset}" if charset else ""),
        **kw,
    )


case(
    "001-bom-beats-header",
    group=G,
    source="scrapy/w3lib#189",
    title="UTF-8 BOM wins over a wrong charset in the header",
    symptom="Page starts with a UTF-8 BOM but the server-wide header says windows-1251; text comes out as mojibake.",
    why="WHATWG HTML (determining the character encoding): a BOM has precedence over Content-Type.",
    serve=Resp(
        b"\xef\xbb\xbf" + "<!DOCTYPE html><html><body><h1>Привет, мир</h1></body></html>".encode(),
        ctype="text/html; charset=windows-1251",
    ),
    expect={"status": 200, "css": {"h1::text": "Привет, мир"}, "encoding": "utf-8"},
)

case(
    "003-bom-not-in-text",
    group=G,
    source="scrapy/scrapy#123",
    title="BOM is swallowed, not left in the text",
    symptom="UTF-8 BOM page without a charset anywhere: encoding guessed as ascii and U+FEFF left at the start of the text.",
    why="The BOM is part of the encoding signature, not of the document (WHATWG decode).",
    serve=Resp(b"\xef\xbb\xbf" + "<!DOCTYPE html><html><body><h1>na\u00efve</h1></body></html>".encode(), ctype=HTML),
    expect={"css": {"h1::text": "na\u00efve"}, "text_not": ["\ufeff"], "encoding": "utf-8"},
)

case(
    "005-gb2312-means-gb18030",
    group=G,
    source="scrapy/w3lib#1",
    title="gb2312 label decodes characters outside GB2312",
    symptom="Pages labelled gb2312 contain GBK characters (rare characters of names), lost as replacement characters.",
    why="WHATWG Encoding: the label gb2312 is an alias of GBK, whose decoder is gb18030's.",
    serve=p("镕化 喆玥".encode("gb18030"), "gb2312"),
    expect={"css": {"h1::text": "镕化 喆玥"}, "encoding": ["gb18030", "gbk", "gb2312"]},
)

case(
    "007-header-beats-meta",
    group=G,
    source="scrapy/scrapy#4933",
    title="charset of the header wins over the meta tag",
    symptom="Header and meta disagree; which one counts was argued about.",
    why="WHATWG: transport layer encoding comes before the meta prescan; browsers and the maintainers agree.",
    serve=p("caf\u00e9 \u2713".encode(), "utf-8", '<meta charset="windows-1252">'),
    expect={"css": {"h1::text": "caf\u00e9 \u2713"}, "encoding": "utf-8"},
)

case(
    "009-latin1-means-cp1252",
    group=G,
    source="tox-dev/turbohtml#448",
    title="iso-8859-1 label is windows-1252",
    symptom="Smart quotes, dashes and the euro sign of pages labelled iso-8859-1 become control characters.",
    why="WHATWG Encoding: iso-8859-1 and latin1 are labels of windows-1252.",
    serve=p(b"\x93quoted\x94 \x96 10\x80 caf\xe9", "iso-8859-1"),
    expect={"css": {"h1::text": "\u201cquoted\u201d \u2013 10\u20ac caf\u00e9"}, "encoding": ["cp1252", "windows-1252"]},
)

case(
    "011-unknown-label-falls-to-meta",
    group=G,
    source="unslothai/unsloth#10221",
    title="unknown charset in the header: use the meta tag",
    symptom="charset=utf8mb4 (a MySQL name) in the header: LookupError, the whole page is lost.",
    why="WHATWG: a label that is no encoding is as if there were none; go on with the prescan.",
    serve=p("\u0141\u00f3d\u017a".encode(), "utf8mb4", '<meta charset="utf-8">'),
    expect={"status": 200, "css": {"h1::text": "\u0141\u00f3d\u017a"}, "encoding": "utf-8"},
)

case(
    "013-quoted-charset",
    group=G,
    source="D4Vinci/Scrapling#12",
    title="charset parameter in quotes",
    symptom='Content-Type: text/html; charset="utf-8" raised a LookupError since the quotes were kept.',
    why="RFC 9110 8.3: a parameter value may be a quoted string.",
    serve=p("\u00fcber".encode("cp1250"), '"windows-1250"'),
    expect={"status": 200, "css": {"h1::text": "\u00fcber"}, "encoding": ["cp1250", "windows-1250"]},
)

case(
    "015-nul-byte-keeps-rest",
    group=G,
    source="scrapy/parsel#123",
    title="NUL byte in the page does not cut it",
    symptom="Everything after a NUL byte vanished from the tree.",
    why="WHATWG HTML tokenizer: U+0000 in text is dropped (or becomes U+FFFD); parsing goes on.",
    serve=Resp(b"<!DOCTYPE html><html>\x00<body><p>one</p>\x00<h1>after</h1></body></html>"),
    expect={"css": {"h1::text": "after", "p::text": "one"}},
)

case(
    "017-late-meta-charset",
    group=G,
    source="jsdom/html-encoding-sniffer#13",
    title="meta charset after the first 1024 bytes",
    symptom="A page with a long comment before its meta charset is read as windows-1252.",
    why="The prescan stops at 1024 bytes, but the tree builder changes the encoding when it meets a late meta (WHATWG "
    "13.2.3.4), so browsers end with UTF-8.",
    serve=Resp(
        b"<!DOCTYPE html><html><head><!-- "
        + b"x" * 3000
        + "--><meta charset='utf-8'><title>t</title></head><body><h1>\u00e9\u00e8 \u65e5\u672c</h1></body></html>".encode(),
        ctype=HTML,
    ),
    expect={"css": {"h1::text": "\u00e9\u00e8 \u65e5\u672c"}, "encoding": "utf-8"},
)

case(
    "019-shift-jis-is-cp932",
    group=G,
    source="tox-dev/turbohtml#66",
    title="shift_jis label decodes Windows-31J characters",
    symptom="Circled digits and IBM kanji of Japanese pages labelled shift_jis turn into replacement characters.",
    why="WHATWG: Shift_JIS is the windows-31j superset.",
    serve=p("\u2460\u9ad9\u6a4b \u30c6\u30b9\u30c8".encode("cp932"), None, '<meta charset="shift_jis">'),
    expect={"css": {"h1::text": "\u2460\u9ad9\u6a4b \u30c6\u30b9\u30c8"}},
)

case(
    "021-utf7-is-not-honoured",
    group=G,
    source="scrapy/w3lib#307",
    title="charset=utf-7 must not be decoded as UTF-7",
    symptom="A harmless-looking byte string turns into markup, because any codec Python knows was accepted.",
    why="UTF-7 is no encoding of the web (WHATWG Encoding); browsers dropped it for security.",
    serve=Resp(
        b"<!DOCTYPE html><html><body><h1>safe</h1><p>+ADw-h2+AD4-evil+ADw-/h2+AD4-</p></body></html>",
        ctype="text/html; charset=utf-7",
    ),
    expect={"css": {"h1::text": "safe", "h2::text": [], "p::text": "+ADw-h2+AD4-evil+ADw-/h2+AD4-"}},
)

case(
    "023-xml-declaration-encoding",
    group=G,
    source="psf/requests-html#192",
    title="XHTML with an XML declaration naming the encoding",
    symptom="XHTML pages with <?xml encoding=...?> raised, or were decoded by guesswork.",
    why="WHATWG prescan: when no meta is found, the XML declaration's encoding counts (get an XML encoding).",
    serve=Resp(
        '<?xml version="1.0" encoding="windows-1251"?>\n<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" '
        '"http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">\n<html xmlns="http://www.w3.org/1999/xhtml"><head><title>t</title></head>'
        "<body><h1>Москва</h1></body></html>".encode("cp1251"),
        ctype=HTML,
    ),
    expect={"status": 200, "css": {"h1::text": "Москва"}},
)

case(
    "025-one-bad-byte",
    group=G,
    source="psf/requests-html#103",
    title="one invalid byte does not lose the page",
    symptom="A single invalid byte in a UTF-8 page: strict decoding raised, nothing was parsed.",
    why="WHATWG decode uses replacement: U+FFFD for the bad byte, the rest is kept.",
    serve=p(b"caf\xc3\xa9 \xff fin", "utf-8"),
    expect={"css": {"h1::text": "caf\u00e9 \ufffd fin"}, "encoding": "utf-8"},
)
