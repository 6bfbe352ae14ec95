"""Items of one worker on their way into a file that it shares with others: each with its identity, batch by batch.

A segment is a file in ``TARGET.parts``. It begins with a ``Head``; each further frame is a batch. A frame is its length and
its CRC-32, four bytes each with the lowest first, then MessagePack. What a kill tears off its end is seen by that.
"""

from __future__ import annotations

import os
import re
import struct
import sys
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from openoctopus.exceptions import SettingsError
from openoctopus.failpoints import hit
from openoctopus.pipelines.feeds.options import FeedOptions, options_of

if sys.platform != "win32":
    import fcntl

SUFFIX = ".segment"
#: A segment of another layout is not read.
LAYOUT = 1

_FRAME = struct.Struct("<II")
_PLACEHOLDER = re.compile(r"%\((\w+)\)0?\d*[sd]")
_sync = getattr(os, "fdatasync", os.fsync)


class Share(NamedTuple):
    """Whose segments they are: the crawl in all its runs, one incarnation of a worker, and the job if there is one."""

    crawl: str
    worker: str
    job: str = ""


class Head(msgspec.Struct, frozen=True):
    """What must be known to make the file."""

    layout: int
    crawl: str
    job: str
    target: str
    options: dict[str, Any]
    #: When the crawl began, and what the spider has for the placeholders in the target.
    started: str
    values: dict[str, Any]

    def feed_options(self) -> FeedOptions:
        return options_of(self.target, self.options)[1]


class Batch(msgspec.Struct, array_like=True, frozen=True):
    """Items as the format of the file has them."""

    items: list[tuple[bytes, int, str, Any]]


def folder_of(target: str) -> Path:
    """Where the segments of an output are; placeholders in its name are left as their names."""
    name = _PLACEHOLDER.sub(r"\1", target).replace("%%", "%")
    return Path(os.path.realpath(name) + ".parts")


def segments_in(folder: Path) -> list[Path]:
    """Oldest first."""
    found = [path for path in folder.glob(f"*{SUFFIX}") if path.is_file()]
    return sorted(found, key=lambda path: (path.stat().st_mtime_ns, path.name))


class SegmentWriter:
    """A new segment. Raises ``OSError``."""

    def __init__(self, path: Path, head: Head) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = open(path, "xb", buffering=0)  # noqa: SIM115  # closed by close()
        if sys.platform != "win32":
            fcntl.flock(self._file.fileno(), fcntl.LOCK_EX)
        self._end = 0
        self._add(msgspec.msgpack.encode(head))

    def write(self, items: Sequence[tuple[bytes, int, str, Any]]) -> None:
        """Add a batch, and return when it is on the disk. After an ``OSError`` the segment is as it was before."""
        self._add(msgspec.msgpack.encode(Batch(list(items))))

    def _add(self, data: bytes) -> None:
        rest = memoryview(_FRAME.pack(len(data), zlib.crc32(data)) + data)
        size, file = len(rest), self._file
        file.seek(self._end)
        try:
            while rest:
                rest = rest[file.write(rest) :]
            if self._end:  # the head is no batch
                hit("store.half")
            _sync(file.fileno())
        except OSError:
            file.truncate(self._end)
            raise
        self._end += size

    def close(self) -> None:
        self._file.close()


class Segment:
    """A segment that nobody writes any more. Raises ``SettingsError`` if somebody does, or if it is none."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = open(path, "rb")  # noqa: SIM115  # closed by close()
        #: Bytes that are whole, as far as it was read.
        self.end = 0
        self.size = os.fstat(self._file.fileno()).st_size
        try:
            self._lock()
            self.head = self._read_head()
        except BaseException:
            self.close()
            raise

    def _lock(self) -> None:
        if sys.platform != "win32":
            try:
                fcntl.flock(self._file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise SettingsError(f"a crawl is writing to {self.path}: wait until it has ended, or stop it") from None

    def _read_head(self) -> Head | None:
        """``None`` if nothing of it was written when it was killed."""
        data = self._frame()
        if data is None:
            return None
        try:
            head = msgspec.msgpack.decode(data, type=Head)
        except msgspec.MsgspecError as error:
            raise SettingsError(f"{self.path} is no segment: {error}") from None
        if head.layout != LAYOUT:
            raise SettingsError(f"{self.path} has layout {head.layout}, this version reads {LAYOUT}: use the one that wrote it")
        return head

    def _frame(self) -> bytes | None:
        """The next one, unless it is torn or the end is reached."""
        begin = self._file.read(_FRAME.size)
        if len(begin) < _FRAME.size:
            return None
        length, check = _FRAME.unpack(begin)
        if length > self.size:
            return None
        data = self._file.read(length)
        if len(data) < length or zlib.crc32(data) != check:
            return None
        self.end = self._file.tell()
        return data

    def batches(self) -> Iterator[list[tuple[bytes, int, str, Any]]]:
        """The items of all whole batches: page, number on it, class, and the item."""
        while (data := self._frame()) is not None:
            yield msgspec.msgpack.decode(data, type=Batch).items

    def close(self) -> None:
        self._file.close()
