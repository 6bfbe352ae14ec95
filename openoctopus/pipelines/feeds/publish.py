"""A file is made of what several workers wrote: each item once, and nothing that was torn off."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import msgspec

from openoctopus.exceptions import OctopusError, SettingsError
from openoctopus.folders import make_folder_of
from openoctopus.pipelines.feeds.files import DiskFile
from openoctopus.pipelines.feeds.names import Names
from openoctopus.pipelines.feeds.options import FeedOptions
from openoctopus.pipelines.feeds.parts import Parts, Record
from openoctopus.pipelines.feeds.segments import Head, Segment, folder_of, segments_in
from openoctopus.pipelines.feeds.stream import Stream

logger = logging.getLogger(__name__)

#: What was decided and may be half done: it is carried out first.
_DECISION = "decision.json"
#: Behind the crawl's name: how far its segments are in the file already, while its job may go on.
_DONE = ".done"
_NEW = ".new"


class Published(NamedTuple):
    """What became of one crawl's segments."""

    target: str
    segments: int
    items: int
    doubles: int
    #: Bytes at the ends of segments that were not whole.
    torn: int
    #: The job may go on, and its segments are kept for it.
    is_open: bool

    def __str__(self) -> str:
        text = f"{self.target}: {self.items:,} items of {self.segments} segments"
        text += f", {self.doubles:,} that came twice left out" if self.doubles else ""
        text += f", {self.torn:,} torn bytes cut off" if self.torn else ""
        return text + ("; its job may go on, so the segments stay" if self.is_open else "")


class Decision(msgspec.Struct, frozen=True):
    """The files that take their places, and the segments that are in them, up to which byte."""

    files: list[tuple[str, str]]
    crawl: str
    segments: dict[str, int]
    is_open: bool


def publish(target: str, *, crawl: str = "", is_finished: bool = False) -> list[Published]:
    """Add what is in the segments of an output to its file; ``target`` is the output or the folder of its segments.

    Only those of ``crawl`` if that is given. The segments are removed, unless their job may go on: it is not ``is_finished``.
    Killed in whatever moment, the file is as it was or whole, and the next call does the rest. Raises ``SettingsError`` if
    there is nothing, if a crawl still writes, or if the file cannot go on; ``OctopusError`` if it cannot be written.
    """
    folder = Path(target) if target.rstrip("/").endswith(".parts") else folder_of(target)
    if not folder.is_dir():
        raise SettingsError(f"there are no segments for {target}: no folder {folder}")
    try:
        _carry_out(folder)
        with contextlib.ExitStack() as stack:
            segments = [stack.enter_context(contextlib.closing(Segment(path))) for path in segments_in(folder)]
            whole = sorted((one for one in segments if one.head and crawl in ("", one.head.crawl)), key=_crawl_of)
            done = [_publish(folder, list(own), is_finished) for _, own in groupby(whole, key=_crawl_of)]
            for one in segments:
                if one.head is None and not crawl:
                    one.path.unlink()
        with contextlib.suppress(OSError):  # others are in it
            folder.rmdir()
    except OSError as error:
        raise OctopusError(
            f"cannot write the items in {folder} to their file: {error}; then it is `octopus publish {target}`"
        ) from error
    return done


def _crawl_of(segment: Segment) -> str:
    return segment.head.crawl if segment.head else ""


def _publish(folder: Path, segments: Sequence[Segment], is_finished: bool) -> Published:
    """One crawl's."""
    for left in folder.glob(f"*{_NEW}*"):
        left.unlink()
    head = segments[0].head
    assert head is not None
    options, is_open = head.feed_options(), bool(head.job) and not is_finished
    before = {} if options.overwrite else _done(folder, head.crawl)
    joined = _Joined(segments, before)
    files = _write(folder, head, options, joined)
    places = {segment.path.name: segment.end for segment in segments}
    torn = sum(segment.size - segment.end for segment in segments)
    _decide(folder, Decision(files, head.crawl, places, is_open))
    _carry_out(folder)
    return Published(head.target, len(segments), joined.items, joined.doubles, torn, is_open)


class _Joined:
    """All items of the segments, each once: a page that is read again gives the same numbers to its items."""

    def __init__(self, segments: Sequence[Segment], before: dict[str, int]) -> None:
        self._segments = segments
        self._before = before
        self._last: dict[bytes, int] = {}
        self.items = 0
        self.doubles = 0

    def __iter__(self) -> Iterator[list[Record]]:
        for segment in self._segments:
            until = self._before.get(segment.path.name, 0)
            for batch in segment.batches():
                is_new = segment.end > until
                records = [Record(data, name) for page, number, name, data in batch if self._take(page, number, is_new)]
                if is_new and records:
                    yield records

    def _take(self, page: bytes, number: int, is_new: bool) -> bool:
        if number <= self._last.get(page, 0):
            self.doubles += is_new
            return False
        self._last[page] = number
        self.items += is_new
        return True


class _Beside(Parts):
    """Writes files into a folder beside their places; what stands there is copied first if it goes on."""

    def __init__(self, folder: Path, files: list[tuple[str, str]], options: FeedOptions, names: Names, name: str) -> None:
        super().__init__(options, names, name)
        self._folder = folder
        self._places = files

    def _on_disk(self, path: str) -> DiskFile:
        place = os.path.realpath(path)
        make_folder_of(place)
        new = str(self._folder / f"{len(self._places)}{_NEW}")
        if os.path.exists(place):
            shutil.copyfile(os.devnull if self._options.overwrite else place, new)
            shutil.copymode(place, new)
        self._places.append((new, place))
        return DiskFile(new, self._format)

    def _ended(self, file: DiskFile | Stream) -> None:
        """It is told by ``Published``."""


def _write(folder: Path, head: Head, options: FeedOptions, joined: _Joined) -> list[tuple[str, str]]:
    names = Names(head.target)
    names.start(SimpleNamespace(**head.values))
    names.started = head.started
    files: list[tuple[str, str]] = []
    try:
        _fill(folder, options, names, joined, files)
    except SettingsError as error:
        text = str(error)
        for new, place in files:
            text = text.replace(new, place)
        raise SettingsError(text) from error
    return files


def _fill(folder: Path, options: FeedOptions, names: Names, joined: _Joined, files: list[tuple[str, str]]) -> None:
    parts: dict[str, Parts] = {}
    with contextlib.ExitStack() as stack:
        if "item_class" not in names.used:
            parts[""] = _Beside(folder, files, options, names, "")
            stack.callback(parts[""].close)
            parts[""].open()
        for records in joined:
            for item_class in dict.fromkeys(record.item_class for record in records):
                if item_class not in parts:
                    parts[item_class] = _Beside(folder, files, options, names, item_class)
                    stack.callback(parts[item_class].close)
                parts[item_class].write([record for record in records if record.item_class == item_class])


def _done(folder: Path, crawl: str) -> dict[str, int]:
    try:
        return msgspec.json.decode((folder / (crawl + _DONE)).read_bytes(), type=dict[str, int])
    except FileNotFoundError:
        return {}


def _decide(folder: Path, decision: Decision) -> None:
    """From here on it is done, if not now then by the next call."""
    _put(folder / _DECISION, msgspec.json.encode(decision))


def _put(path: Path, data: bytes) -> None:
    beside = path.with_name(path.name + _NEW)
    with beside.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def _carry_out(folder: Path) -> None:
    try:
        decision = msgspec.json.decode((folder / _DECISION).read_bytes(), type=Decision)
    except FileNotFoundError:
        return
    for new, place in decision.files:
        if os.path.exists(new):
            os.replace(new, place)
    done = folder / (decision.crawl + _DONE)
    if decision.is_open:
        _put(done, msgspec.json.encode(decision.segments))
    else:
        for name in decision.segments:
            (folder / name).unlink(missing_ok=True)
        done.unlink(missing_ok=True)
    (folder / _DECISION).unlink()
