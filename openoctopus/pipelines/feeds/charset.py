"""The encoding of a file: how its texts become bytes, and nothing of them is lost."""

from __future__ import annotations

import codecs
import logging
import sys
from collections.abc import Callable

from openoctopus.exceptions import SettingsError
from openoctopus.pipelines.values import mended

logger = logging.getLogger(__name__)

_LITTLE = sys.byteorder == "little"
#: Encodings that begin a file with a mark: the mark, and the encoding of what follows.
_MARKED = {
    "utf-8-sig": (codecs.BOM_UTF8, "utf-8"),
    "utf-16": (codecs.BOM_UTF16, "utf-16-le" if _LITTLE else "utf-16-be"),
    "utf-32": (codecs.BOM_UTF32, "utf-32-le" if _LITTLE else "utf-32-be"),
}


class Charset:
    """An encoding by its name. Raises ``SettingsError`` if Python has none of that name."""

    def __init__(self, name: str) -> None:
        try:
            "\n".encode(name)
            known = codecs.lookup(name).name
        except LookupError:
            raise SettingsError(
                f"encoding: no text encoding {name!r}; there are utf-8, utf-8-sig, gb18030 and others"
            ) from None
        #: The bytes that a file begins with.
        self.mark, self.name = _MARKED.get(known, (b"", known))
        #: The name to read such a file by; a mark is passed over.
        self.reading = "utf-8-sig" if self.name == "utf-8" else known
        self.is_utf8 = self.name == "utf-8"
        #: Whether a newline in the bytes is always a newline of the text.
        self.is_plain = '\n"[]'.encode(self.name) == b'\n"[]'
        self._told = False

    def json(self, data: bytes) -> bytes:
        """JSON in UTF-8 as JSON in this encoding; what the encoding has not is written as JSON escapes."""
        return data if self.is_utf8 else data.decode().encode(self.name, "openoctopus.json")

    def text(self, text: str) -> bytes:
        """Text in this encoding; what the encoding has not is written as Python escapes, with one warning."""
        try:
            return text.encode(self.name)
        except UnicodeEncodeError as error:
            whole: str = mended(text)
            if not self.is_utf8 and not self._told:
                self._told = True
                logger.warning("%s has no %r: it is written as an escape, and so are all like it", self.name, text[error.start])
            return whole.encode(self.name, "backslashreplace")


def _escape(error: UnicodeError) -> tuple[str, int]:
    """Write characters as JSON does where they cannot be encoded (RFC 8259, 7): UTF-16 units in hexadecimal."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2)), error.end


_handler: Callable[[UnicodeError], tuple[str | bytes, int]] = _escape
codecs.register_error("openoctopus.json", _handler)
