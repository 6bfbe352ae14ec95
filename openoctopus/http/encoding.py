"""Which character encoding a body is in, found in the order browsers use.

BOM, then the header, then what the document declares, then detection
(https://html.spec.whatwg.org/multipage/parsing.html#determining-the-character-encoding).
"""

from __future__ import annotations

import codecs
import re
from functools import lru_cache

import turbohtml
from turbohtml.detect import detect

#: Encodings of the standard whose Python codec goes by another name, or is the larger one that browsers mean.
_PYTHON_NAMES = {
    "Big5": "big5hkscs",
    "EUC-KR": "cp949",
    "GBK": "gb18030",
    "ISO-2022-JP": "iso2022_jp",
    "ISO-8859-16": "iso8859-16",
    "ISO-8859-8-I": "iso8859-8",
    "Shift_JIS": "cp932",
    "UTF-16BE": "utf-16-be",
    "UTF-16LE": "utf-16-le",
    "macintosh": "mac-roman",
    "windows-874": "cp874",
    "x-mac-cyrillic": "mac-cyrillic",
}
_STANDARD_NAMES = {codec: name for name, codec in _PYTHON_NAMES.items()}
_BOMS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_MARKS = tuple(_BOMS)
#: How much of a document is searched for its declaration: browsers change their mind at a late ``<meta>`` too.
_SEARCHED = 1 << 17
#: How much of a body is looked at to detect its encoding, from its first letter that is not ASCII.
_DETECTED = 1 << 14
_PARAMETER = re.compile(r"""(?:^|[\s;,])([^\s;,="]++)\s*+=\s*+("(?:[^"\\]|\\.)*+"?|[^\s;,]*+)""")
_XML_DECLARATION = re.compile(rb"""\s*<\?xml\s[^>]{0,200}?encoding\s*=\s*["']([\w.:-]{1,40})["']""")
_MARKUP = re.compile(rb"\s*<")
#: A ``<meta>``, a comment, or an element in which a tag is only text; looking at one letter first is five times faster.
_TAG = re.compile(
    rb"<(?=[!mstxin])(!--|(?:meta|script|style|title|textarea|xmp|iframe|noembed|noframes)(?=[\s/>]))", re.IGNORECASE
)
_ENDS = {b"!--": re.compile(b"-->")} | {
    name: re.compile(b"</" + name, re.IGNORECASE)
    for name in (b"script", b"style", b"title", b"textarea", b"xmp", b"iframe", b"noembed", b"noframes")
}
_ATTRIBUTE = re.compile(rb"""[\s/]*+(?:(>)|([^\s/>][^\s/>=]*+)(?:\s*+=\s*+(?:"([^"]*+)"?|'([^']*+)'?|([^\s>]*+)))?)""")
_META_CHARSET = re.compile(rb"""charset\s*+=\s*+(?:"([^"]+)"|'([^']+)'|([^\s"';]+))""", re.IGNORECASE)


@lru_cache(maxsize=1024)
def codec_of(label: str | None) -> str | None:
    """The Python codec for a label of the web, or ``None`` for what is no encoding of the web (utf-7, rot13...).

    Labels mean what https://encoding.spec.whatwg.org/#names-and-labels says: ``gb2312`` is gb18030, ``latin1`` is cp1252.
    """
    try:
        name = turbohtml.parse(b"", encoding=(label or "").strip(" \t\r\n\f'\"")).encoding or ""
        return _PYTHON_NAMES.get(name) or codecs.lookup(name).name
    except (LookupError, ValueError):
        return None


def header_encoding(content_type: str | None) -> str | None:
    """The codec that a Content-Type names, or ``None``."""
    return _described(content_type)[1] if content_type else None


@lru_cache(maxsize=1024)
def _described(content_type: str) -> tuple[str, str | None]:
    """The type in lower case, and the codec that its first charset names (RFC 9110, 8.3.1)."""
    kind = re.split("[;,]", content_type, maxsplit=1)[0].strip().lower()
    charsets = [value for name, value in _PARAMETER.findall(content_type) if name.lower() == "charset"]
    return kind, codec_of(charsets[0]) if charsets else None


def declared_encoding(body: bytes, kind: str = "text/html") -> str | None:
    """The codec that a ``<meta>`` or an XML declaration names, or ``None``. Comments and scripts do not count.

    ``kind`` is the content type: in XML only its declaration counts, and what is no markup declares nothing.
    """
    if kind != "text/html" and not _MARKUP.match(body):
        return None
    declaration = _XML_DECLARATION.match(body)
    in_xml = _in_ascii(declaration[1]) if declaration else None
    if kind.endswith("xml") and "html" not in kind:
        return in_xml
    in_html = _in_meta(body[:_SEARCHED])
    return in_html or in_xml if kind == "text/html" else in_xml or in_html


def _in_meta(head: bytes) -> str | None:
    """What the first ``<meta>`` with a known label says, in linear time."""
    position = 0
    while tag := _TAG.search(head, position):
        name = tag[1].lower()
        if name == b"meta":
            attributes, position = _attributes(head, tag.end())
            codec = _in_ascii(_charset(attributes))
            if codec:
                return codec
        else:
            end = _ENDS[name].search(head, tag.start() + 2)  # <!--> is a whole comment
            if end is None:
                return None
            position = end.end()
    return None


def _attributes(head: bytes, position: int) -> tuple[dict[bytes, bytes], int]:
    """The attributes of a tag and where it ends; none of a tag that does not end."""
    attributes: dict[bytes, bytes] = {}
    while found := _ATTRIBUTE.match(head, position):
        position = found.end()
        if found[1]:
            return attributes, position
        attributes.setdefault(found[2].lower(), found[3] or found[4] or found[5] or b"")
    return {}, len(head)


def _charset(attributes: dict[bytes, bytes]) -> bytes:
    if b"charset" in attributes or attributes.get(b"http-equiv", b"").lower() != b"content-type":
        return attributes.get(b"charset", b"")
    found = _META_CHARSET.search(attributes.get(b"content", b""))
    return found[1] or found[2] or found[3] if found else b""


def _in_ascii(label: bytes) -> str | None:
    """The codec of a label that was read as ASCII, so that it cannot be UTF-16."""
    codec = codec_of(label.decode("latin-1"))
    return "utf-8" if codec and codec.startswith("utf-16") else codec


def find_encoding(body: bytes, content_type: str | None = None) -> str:
    """The codec to decode ``body`` with; there is always one."""
    if body.startswith(_MARKS):
        return next(codec for mark, codec in _BOMS.items() if body.startswith(mark))
    kind, codec = _described(content_type or "")
    return codec or declared_encoding(body, kind) or _detected(body)


def _detected(body: bytes) -> str:
    """UTF-8 if it is that, a few wrong bytes included; else what the letters look like."""
    if body[1:4:2] == b"\0\0" and body[0:1] != b"\0":
        return "utf-16-le"
    if body[0:3:2] == b"\0\0" and body[1:2] != b"\0":
        return "utf-16-be"
    start = body.find(b"\x1b")  # ISO-2022-JP is ASCII by its bytes
    if start < 0:
        try:
            body.decode("utf-8")
            return "utf-8"
        except UnicodeDecodeError as error:
            start = error.start
    sample = body[max(0, start - 1024) :][:_DETECTED]
    text = sample.decode("utf-8", "replace")
    if text.count("\ufffd") * 10 < len(sample) - len(text):
        return "utf-8"
    # The blanks keep it from reading a <meta> that was found to be none.
    return codec_of(detect(b" " * 1024 + sample).encoding) or "utf-8"


def decode(body: bytes, codec: str) -> str:
    """The text of ``body``; a BOM is swallowed and bytes that are wrong become U+FFFD, as in browsers."""
    if body.startswith(_MARKS):
        body = body[3 if body.startswith(codecs.BOM_UTF8) else 2 :]
    return body.decode(codec if codec == "utf-8" else _decoder(codec), "replace")


@lru_cache(maxsize=256)
def _decoder(codec: str) -> str:
    """The decoder of the standard (turbohtml's) where there is one: it is faster, and right about undefined bytes."""
    decoder = "whatwg-" + _STANDARD_NAMES.get(codec, codec)
    try:
        return codecs.lookup(decoder).name
    except LookupError:
        return codec
