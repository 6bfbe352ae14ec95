"""Standard output, or a pipe or device by its name: what is written cannot be changed any more."""

from __future__ import annotations

import logging
import os
import select
import sys
from collections.abc import Sequence
from io import UnsupportedOperation
from typing import Any

from openoctopus.exceptions import SettingsError
from openoctopus.pipelines.feeds.existing import packed, whole
from openoctopus.pipelines.feeds.format import Format
from openoctopus.pipelines.feeds.options import STDOUT

logger = logging.getLogger(__name__)


class Stream:
    """Writes items as they come. A CSV keeps new fields in one more cell at the end of their lines, as JSON."""

    def __init__(self, path: str, form: Format) -> None:
        self.path = path
        self._format = form
        self._compression = form.options.compression
        self._is_empty = True
        self._is_broken = False
        #: Items that were written to it.
        self.count = 0

    def open(self) -> None:
        """Raises ``SettingsError`` if there is nothing to write to."""
        try:
            self._descriptor = _stdout() if self.path == STDOUT else os.open(self.path, os.O_WRONLY | os.O_APPEND)
        except OSError as error:
            raise SettingsError(f"cannot write to {self.path}: {error.strerror or error}") from error

    def write(self, records: Sequence[Any]) -> None:
        """Add items. Raises ``BrokenPipeError`` if nobody reads any more."""
        if new := self._format.unknown(records):
            logger.warning("%s: new field %s, kept as JSON in one more cell at the end", self.path, ", ".join(new))
            self._format.keep_aside(new)
        self._put(packed(self._format.body(records, first=self._is_empty), self._compression))
        self._is_empty = False
        self.count += len(records)

    def close(self, *, keep: bool = True) -> None:
        """Write what belongs at the end."""
        if keep and not self._is_broken:
            form, compression = self._format, self._compression
            self._put(whole(form.empty(), compression) if self._is_empty else packed(form.closing, compression))
        if self.path != STDOUT:
            os.close(self._descriptor)

    def _put(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[os.write(self._descriptor, rest) :]
            except BlockingIOError:
                select.select([], [self._descriptor], [])
            except BrokenPipeError:
                self._is_broken = True
                raise


def _stdout() -> int:
    """The descriptor behind ``sys.stdout``. It is written to directly, so that nothing is left to fail at the exit."""
    try:
        if sys.__stdout__ is None:  # it is closed, and nothing stands in its place
            raise ValueError
        sys.stdout.flush()
        return sys.stdout.fileno()
    except (AttributeError, ValueError, UnsupportedOperation):
        raise SettingsError("there is no standard output to write items to; write to a file") from None
