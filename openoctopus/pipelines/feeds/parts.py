"""The files of one output, one after the other."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Sequence
from typing import Any

import msgspec

from openoctopus.exceptions import SettingsError
from openoctopus.pipelines.base import Receipt
from openoctopus.pipelines.feeds.csv import Csv
from openoctopus.pipelines.feeds.files import DiskFile
from openoctopus.pipelines.feeds.format import Format
from openoctopus.pipelines.feeds.json import Json
from openoctopus.pipelines.feeds.jsonl import JsonLines
from openoctopus.pipelines.feeds.kept import KeptFile, Standing
from openoctopus.pipelines.feeds.names import Names
from openoctopus.pipelines.feeds.options import STDOUT, FeedOptions
from openoctopus.pipelines.feeds.stream import Stream

logger = logging.getLogger(__name__)

FORMATS: dict[str, type[Format]] = {"jsonl": JsonLines, "json": Json, "csv": Csv}
#: So many files of a job are begun together at most, before the first item is in them.
_AHEAD = 50


class Record:
    """One item on its way into a file; ``data`` is gone once it is written, so that a batch that comes again adds nothing."""

    __slots__ = ("data", "item_class", "ordinal", "receipt")

    #: Which item of which page it is.
    receipt: Receipt
    ordinal: int

    def __init__(self, data: Any, item_class: str) -> None:
        self.data = data
        self.item_class = item_class


class PartsState(msgspec.Struct, array_like=True, frozen=True):
    """How far the files of one output are, as the job keeps it."""

    item_class: str
    batch_id: int
    columns: list[str]
    files: list[Standing]


class Parts:
    """One file, or a new one after every ``batch_item_count`` items."""

    def __init__(self, options: FeedOptions, names: Names, item_class: str) -> None:
        self._options = options
        self._names = names
        self._item_class = item_class
        self._format = FORMATS[options.format](options)
        self._file: DiskFile | Stream | None = None
        self._batch_id = 0

    def open(self) -> None:
        """Begin the next file. Raises ``SettingsError``."""
        path = self._next_path()
        file = Stream(path, self._format) if is_stream(path) else self._on_disk(path)
        file.open()
        self._file = file

    def _on_disk(self, path: str) -> DiskFile:
        return DiskFile(path, self._format)

    def _next_path(self) -> str:
        self._batch_id += 1
        while self._options.batch_item_count and not self._options.overwrite and os.path.exists(self._path()):
            self._batch_id += 1  # of an earlier crawl: it stays as it is
        return self._path()

    def _path(self) -> str:
        return self._names.path(self._batch_id, self._item_class)

    def write(self, records: Sequence[Record]) -> None:
        """Add items, to as many files as they fill. Raises ``OSError``, ``SettingsError``."""
        while records:
            if self._file is None:
                self.open()
            assert self._file is not None
            records = self._fill(self._file, records)
            if self._file.count == self._options.batch_item_count:
                self.close()

    def _fill(self, file: DiskFile | Stream, records: Sequence[Record]) -> Sequence[Record]:
        """Write as many as belong into one file; return the others."""
        limit = self._options.batch_item_count
        part = records[: limit - file.count] if limit else records
        file.write([record.data for record in part])
        for record in part:
            record.data = None
        return records[len(part) :]

    def close(self, *, keep: bool = True) -> None:
        """End the file at hand. Raises ``OSError``."""
        file, self._file = self._file, None
        if file is None:
            return
        file.close(keep=keep and (file.count > 0 or self._options.store_empty))
        self._ended(file)

    def _ended(self, file: DiskFile | Stream) -> None:
        if file.count:
            logger.info("%d items written to %s", file.count, file.path)


class KeptParts(Parts):
    """The same for a job. A file is begun before there is an item for it, so that the job knows of it before the first one."""

    def __init__(self, options: FeedOptions, names: Names, item_class: str, token: str) -> None:
        super().__init__(options, names, item_class)
        self._token = token
        self._files: list[KeptFile] = []

    @property
    def state(self) -> PartsState:
        """How far it is; not while it is written to."""
        standing = [file.standing for file in self._files]
        return PartsState(self._item_class, self._batch_id, self._format.columns, standing)

    @property
    def is_changing(self) -> bool:
        """Whether there is something to ``release`` once the job knows the state."""
        return any(file.is_changing or self._is_full(file) for file in self._files)

    def resume(self, state: PartsState) -> None:
        """Go on with the files of an earlier run. Raises ``SettingsError``."""
        if missing := [title for title in self._options.fields.values() if title not in state.columns]:
            raise SettingsError(
                f"{self._names.template}: the job writes {', '.join(state.columns) or 'all fields'}, and not "
                f"{', '.join(missing)}: leave the fields as they were, or begin anew with --fresh"
            )
        self._batch_id, self._format.columns = state.batch_id, list(state.columns)
        for standing in state.files:
            file = KeptFile(standing.path, self._format, self._token, standing)
            file.open()
            self._files.append(file)

    def open(self) -> None:
        file = KeptFile(self._next_path(), self._format, self._token)
        file.open()
        self._files.append(file)

    def make_room(self, items: int) -> bool:
        """Begin the files that so many items need, up to a limit; whether there are new ones. Raises ``SettingsError``."""
        limit, before = self._options.batch_item_count, len(self._files)
        room = sum(limit - file.count for file in self._files) if limit else items * before
        while room < items and len(self._files) < before + _AHEAD:
            self.open()
            room += limit or items
        return len(self._files) > before

    def write(self, records: Sequence[Record]) -> None:
        """Add as many items as the files that were begun have room for. Raises ``OSError``."""
        for file in self._files:
            if records and not self._is_full(file):
                records = self._fill(file, records)

    def _is_full(self, file: KeptFile) -> bool:
        return 0 < self._options.batch_item_count <= file.count

    def release(self) -> None:
        """The job knows the state: full files are ended, and what other files took the place of goes."""
        for file in self._files:
            file.forget()
            if self._is_full(file):
                file.close()
                file.publish(keep=True)
        self._files = [file for file in self._files if not self._is_full(file)]

    def close(self, *, keep: bool = True) -> None:
        for file in self._files:
            file.close(keep=keep)

    def publish(self) -> None:
        """The job is at its end: every file takes its place. They are closed."""
        for file in self._files:
            file.publish(keep=file.count > 0 or self._options.store_empty)


def is_stream(path: str) -> bool:
    """Whether a path is standard output, a pipe or a device. A folder is refused when it is opened as a file."""
    try:
        return path == STDOUT or not (stat.S_ISREG(mode := os.stat(path).st_mode) or stat.S_ISDIR(mode))
    except OSError:
        return False
