"""The files of one output, one after the other."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Sequence
from typing import Any

from openoctopus.pipelines.feeds.csv import Csv
from openoctopus.pipelines.feeds.files import DiskFile
from openoctopus.pipelines.feeds.format import Format
from openoctopus.pipelines.feeds.json import Json
from openoctopus.pipelines.feeds.jsonl import JsonLines
from openoctopus.pipelines.feeds.names import Names
from openoctopus.pipelines.feeds.options import STDOUT, FeedOptions
from openoctopus.pipelines.feeds.stream import Stream

logger = logging.getLogger(__name__)

FORMATS: dict[str, type[Format]] = {"jsonl": JsonLines, "json": Json, "csv": Csv}


class Record:
    """One item on its way into a file; ``data`` is gone once it is written, so that a batch that comes again adds nothing."""

    __slots__ = ("data", "item_class")

    def __init__(self, data: Any, item_class: str) -> None:
        self.data = data
        self.item_class = item_class


class Parts:
    """One file, or a new one after every ``batch_item_count`` items."""

    def __init__(self, options: FeedOptions, names: Names, item_class: str = "") -> None:
        self._options = options
        self._names = names
        self._item_class = item_class
        self._format = FORMATS[options.format](options)
        self._file: DiskFile | Stream | None = None
        self._batch_id = 0
        self._count = 0

    def open(self) -> None:
        """Begin the next file. Raises ``SettingsError``."""
        self._batch_id += 1
        path = self._path()
        while self._options.batch_item_count and not self._options.overwrite and os.path.exists(path):
            self._batch_id += 1  # of an earlier crawl: it stays as it is
            path = self._path()
        file = Stream(path, self._format) if _is_stream(path) else DiskFile(path, self._format)
        file.open()
        self._file, self._count = file, 0

    def _path(self) -> str:
        return self._names.path(self._batch_id, self._item_class)

    def write(self, records: Sequence[Record]) -> None:
        """Add items, to as many files as they fill. Raises ``OSError``, ``SettingsError``."""
        limit = self._options.batch_item_count
        while records:
            if self._file is None:
                self.open()
            assert self._file is not None
            part = records[: limit - self._count] if limit else records
            self._file.write([record.data for record in part])
            for record in part:
                record.data = None
            self._count += len(part)
            records = records[len(part) :]
            if self._count == limit:
                self.close()

    def close(self, *, keep: bool = True) -> None:
        """End the file at hand. Raises ``OSError``."""
        file, self._file = self._file, None
        if file is None:
            return
        file.close(keep=keep and (self._count > 0 or self._options.store_empty))
        if self._count:
            logger.info("%d items written to %s", self._count, file.path)


def _is_stream(path: str) -> bool:
    """Whether a path is standard output, a pipe or a device. A folder is refused when it is opened as a file."""
    try:
        return path == STDOUT or not (stat.S_ISREG(mode := os.stat(path).st_mode) or stat.S_ISDIR(mode))
    except OSError:
        return False
