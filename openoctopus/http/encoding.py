"""Which character encoding a body is in, found in the order browsers use.

BOM, then the header, then what the document declares, then detection
(https://html.spec.whatwg.org/multipage/parsing.html#determining-the-character-encoding).
"""

from __future__ import annotations

import codecs
import re
from email.message import Message

from turbohtml.detect import detect

#: Labels that browsers read as a larger encoding (https://encoding.spec.whatwg.org/#names-and-labels).
_SUPERSETS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "utf-8-sig": "utf-8",
    "utf-16": "utf-16-le",
}
#: The encodings of the web as Python's codecs; others (utf-7, punycode, rot13...) are no encoding of a page.
_OF_THE_WEB = frozenset(
    {"utf-8", "utf-16-le", "utf-16-be", "cp866", "cp874", "koi8-r", "koi8-u", "mac-roman", "mac-cyrillic", "gb18030"}
    | {"big5hkscs", "euc_jp", "iso2022_jp", "cp932", "cp949"}
    | {f"iso8859-{part}" for part in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)}
    | {f"cp125{number}" for number in range(9)}
)
#: Labels of the web that Python knows under another name.
_LABELS = {
    "x-sjis": "shift_jis",
    "windows-31j": "shift_jis",
    "x-gbk": "gbk",
    "gb_2312-80": "gb2312",
    "gb_2312": "gb2312",
    "ks_c_5601-1987": "euc_kr",
    "x-x-big5": "big5",
    "cn-big5": "big5",
    "x-cp1251": "cp1251",
    "x-cp1252": "cp1252",
    "x-cp1250": "cp1250",
    "x-mac-roman": "mac-roman",
    "x-mac-cyrillic": "mac-cyrillic",
    "x-euc-jp": "euc_jp",
    "dos-874": "cp874",
    "iso-8859-8-i": "iso8859-8",
    "unicode-1-1-utf-8": "utf-8",
    "unicodefeff": "utf-16-le",
    "unicodefffe": "utf-16-be",
}
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
#: How much of a document is searched for its declaration: browsers change their mind at a late ``<meta>`` too.
_SEARCHED = 1 << 17
#: How much of a body is looked at to detect its encoding.
_DETECTED = 1 << 16
_XML_DECLARATION = re.compile(rb"""^\s*<\?xml\s[^>]{0,200}?encoding\s*=\s*["']([\w.:-]{1,40})["']""")
#: Regions in which a tag is none; one that is not closed hides the rest.
_HIDDEN = re.compile(rb"<!--.*?(?:-->|\Z)|<(script|style|title|textarea|noscript)\b.*?(?:</\1|\Z)", re.I | re.S)
_META = re.compile(rb"<meta[\s/]([^>]{1,2000})>", re.I)
_META_CHARSET = re.compile(rb"""charset\s*=\s*["']?\s*([^\s"'/>;]{1,40})""", re.I)


def codec_of(label: str | None) -> str | None:
    """The Python codec that browsers use for a label, or ``None`` if it is no encoding of the web."""
    name = (label or "").strip(" \t\r\n\f'\"").lower()
    try:
        found = codecs.lookup(_LABELS.get(name, name)).name
    except (LookupError, ValueError):
        return None
    found = _SUPERSETS.get(found, found)
    return found if found in _OF_THE_WEB else None


def header_encoding(content_type: str | None) -> str | None:
    """The codec that a Content-Type names, or ``None``."""
    if not content_type or "charset" not in content_type.lower():
        return None
    message = Message()
    message["Content-Type"] = content_type.replace("\n", " ").replace("\r", " ")
    charset = message.get_param("charset")
    return codec_of(charset if isinstance(charset, str) else None)


def declared_encoding(body: bytes) -> str | None:
    """The codec that a ``<meta>`` or an XML declaration names, or ``None``. Comments and scripts do not count."""
    head = body[:_SEARCHED]
    for meta in _META.finditer(_HIDDEN.sub(b"", head)):
        charset = _META_CHARSET.search(meta[1])
        codec = codec_of(charset[1].decode("latin-1")) if charset else None
        if codec:
            return "utf-8" if codec.startswith("utf-16") else codec
    declaration = _XML_DECLARATION.match(head)
    return codec_of(declaration[1].decode("latin-1")) if declaration else None


def find_encoding(body: bytes, content_type: str | None = None) -> str:
    """The codec to decode ``body`` with; there is always one."""
    for mark, codec in _BOMS:
        if body.startswith(mark):
            return codec
    return header_encoding(content_type) or declared_encoding(body) or _detected(body)


def _detected(body: bytes) -> str:
    try:
        body.decode("utf-8")
        return "utf-8"
    except UnicodeDecodeError:
        return codec_of(detect(body[:_DETECTED]).encoding) or "cp1252"


def decode(body: bytes, codec: str) -> str:
    """The text of ``body``; a BOM is swallowed and bytes that are wrong become U+FFFD, as in browsers."""
    for mark, _ in _BOMS:
        if body.startswith(mark):
            body = body[len(mark) :]
            break
    return body.decode(codec, "replace")
