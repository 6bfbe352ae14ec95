"""What stands in a file that is to go on, and whether it is whole."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from typing import NamedTuple, TextIO

from openoctopus.exceptions import SettingsError
from openoctopus.pipelines.feeds.charset import Charset

_BLOCK = 1 << 20
_SPACE = b" \t\r\n"


class Resume(NamedTuple):
    """Where a file goes on: the bytes that stay, whether no item is in them, and what must stand before the next."""

    end: int
    is_empty: bool = False
    lead: bytes = b""


def packed(data: bytes, compression: str) -> bytes:
    """Bytes as they stand in the file: a gzip member of their own, so that what is there is whole at every moment."""
    return whole(data, compression) if data else b""


def whole(data: bytes, compression: str) -> bytes:
    """The same as a file of its own: one without a byte would be no gzip file."""
    return gzip.compress(data, 6, mtime=0) if compression == "gzip" else data


class Existing:
    """A file with something in it, read only as far as needed."""

    def __init__(self, path: str, charset: Charset, compression: str) -> None:
        self.path = path
        self.charset = charset
        self.compression = compression
        self.size = os.path.getsize(path)

    def open(self) -> TextIO:
        """Its text, newlines as they are."""
        if self.compression == "gzip":
            return gzip.open(self.path, "rt", encoding=self.charset.reading, newline="")
        return open(self.path, encoding=self.charset.reading, newline="")

    def blocks(self) -> Iterator[str]:
        """All its text, a megabyte at a time. Raises ``SettingsError`` if it is damaged, or of another encoding."""
        try:
            with self.open() as file:
                while block := file.read(_BLOCK):
                    yield block
        except UnicodeDecodeError as error:
            raise self.unfit(f"it is not in {self.charset.name}: {error.reason} at byte {error.start}") from None
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise self.unfit(f"it is no whole gzip file: {error}") from None

    def last_line(self) -> bytes:
        """What stands after the last newline; nothing if the file is whole."""
        if self.compression == "none" and self.charset.is_plain:
            return self._last_bytes()
        last = ""
        for block in self.blocks():
            _, newline, after = block.rpartition("\n")
            last = after if newline else last + after
        return last.encode(self.charset.name)

    def _last_bytes(self) -> bytes:
        last = b""
        with open(self.path, "rb") as file:
            at = self.size
            while at:
                at, length = max(0, at - _BLOCK), min(_BLOCK, at)
                file.seek(at)
                _, newline, after = file.read(length).rpartition(b"\n")
                last = after + last
                if newline:
                    break
        return last

    def ends_with(self, data: bytes) -> bool:
        data = packed(data, self.compression)
        return self.size >= len(data) and self._end(len(data)) == data

    def is_exactly(self, data: bytes) -> bool:
        return self.size == self.packed_size(data) and self.ends_with(data)

    def is_blank(self) -> bool:
        """Whether it was left by a crawl without items, and only its packing is there."""
        return self.size == len(whole(b"", self.compression))

    def packed_size(self, data: bytes) -> int:
        return len(packed(data, self.compression))

    def array(self) -> Resume | None:
        """Where a JSON array goes on, whatever white space is in it; ``None`` if the file is none."""
        if self.compression != "none":
            return None
        with open(self.path, "rb") as file:
            head = file.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip(_SPACE)
        end = self._end(65536).rstrip(_SPACE)
        if not (head.startswith(b"[") and end.endswith(b"]")):
            return None
        stays = end[:-1].rstrip(_SPACE)
        if stays.endswith(b"[") and head[1:].lstrip(_SPACE).startswith(b"]"):
            return Resume(0, True)
        return Resume(self.size - min(65536, self.size) + len(stays))

    def _end(self, length: int) -> bytes:
        with open(self.path, "rb") as file:
            file.seek(max(0, self.size - length))
            return file.read(length)

    def unfit(self, reason: str) -> SettingsError:
        return SettingsError(f"cannot append to {self.path}: {reason}; write to another file, or replace it with -O")

    def torn(self, last: bytes) -> SettingsError:
        """The error for a last line that is not whole."""
        shown = last[:60].decode(self.charset.name, "replace")
        way = f"cut it off with `truncate -s {self.size - len(last)} {self.path}`, " if self.compression == "none" else ""
        return SettingsError(
            f"cannot append to {self.path}: its last line is torn after {len(last):,} bytes ({shown!r}); "
            f"{way}write to another file, or replace it with -O"
        )
