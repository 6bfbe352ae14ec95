"""One file of items on a disk: whole after every batch, also after one that did not fit."""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from io import FileIO
from typing import Any

from openoctopus.exceptions import SettingsError
from openoctopus.folders import make_folder_of
from openoctopus.pipelines.feeds.existing import Existing, Resume, packed, whole
from openoctopus.pipelines.feeds.format import Format

if sys.platform != "win32":
    import fcntl

logger = logging.getLogger(__name__)

_BLOCK = 1 << 20


class DiskFile:
    """Appends to a file, or writes a new one beside it that takes its place when it is closed."""

    def __init__(self, path: str, form: Format) -> None:
        self.path = path
        self._format = form
        self._replaces = form.options.overwrite
        # Lines may be added to by several crawls: the system puts each batch at the end.
        self._is_shared = form.is_shared and not self._replaces
        self._resume = Resume(0, is_empty=True)
        #: Items that were written to it.
        self.count = 0

    def open(self) -> None:
        """Make the file, or see how it goes on. Raises ``SettingsError`` that says what stands in the way."""
        self._target = os.path.realpath(self.path)
        if os.path.isdir(self._target):
            raise SettingsError(f"cannot write to {self.path}: it is a folder")
        try:
            make_folder_of(self._target)
            self._is_new = not os.path.exists(self._target)
            self._now = self._beside() if self._replaces else self._target
            self._file = self._opened(self._mode())
        except OSError as error:
            raise SettingsError(f"cannot write to {self.path}: {error.strerror}") from error
        try:
            self._begin()
        except (OSError, SettingsError) as error:
            self.close(keep=False)
            raise SettingsError(str(error)) from error

    def _beside(self) -> str:
        """A name beside the target that nobody has."""
        return f"{self._target}.{secrets.token_hex(4)}.tmp"

    def _wider(self) -> str:
        """Where it is written anew with more columns."""
        return self._beside()

    def _mode(self) -> str:
        if self._is_shared:
            return "a"
        return "x" if self._replaces or self._is_new else "r+"

    def _opened(self, mode: str) -> FileIO:
        file = FileIO(self._now, mode)
        if sys.platform != "win32":
            try:
                fcntl.flock(file.fileno(), (fcntl.LOCK_SH if self._is_shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
            except BlockingIOError:
                file.close()
                raise SettingsError(f"cannot append to {self.path}: another crawl is writing to it") from None
        return file

    def _begin(self) -> None:
        if os.fstat(self._file.fileno()).st_size:
            self._resume = self._format.resume(self._existing())
        else:
            self._put(b"", self._tail())

    def _existing(self) -> Existing:
        return Existing(self._now, self._format.charset, self._format.options.compression)

    def _packed(self, data: bytes) -> bytes:
        return packed(data, self._format.options.compression)

    def _tail(self) -> bytes:
        """What stands after the last item now."""
        return self._packed(self._format.empty() if self._resume.is_empty else self._format.closing)

    def write(self, records: Sequence[Any]) -> None:
        """Add items. After an ``OSError`` the file is as it was before."""
        form = self._format
        if new := form.unknown(records):
            self._widen(new)
        data = self._packed(self._resume.lead + form.body(records, first=self._resume.is_empty))
        self._put(data, self._packed(form.closing))
        self._resume = Resume(self._resume.end + len(data))
        self.count += len(records)

    def _put(self, data: bytes, closing: bytes) -> None:
        """Write after the last item, in one step where the system can; undo it if it fails."""
        file, rest, written = self._file, memoryview(data + closing), 0
        if not self._is_shared:
            file.seek(self._resume.end)
        try:
            while written < len(rest):
                written += file.write(rest[written:]) or 0
            self._written()
        except OSError:
            self._undo(written)
            raise
        if not self._is_shared:
            file.truncate()

    def _written(self) -> None:
        """All bytes were handed to the system."""

    def _undo(self, written: int) -> None:
        file = self._file
        if not self._is_shared:
            tail = self._tail()
            file.seek(self._resume.end)
            file.write(tail)  # there was room for it before
            file.truncate()
        elif written and os.fstat(file.fileno()).st_size == file.tell():  # nobody else has written since
            file.truncate(file.tell() - written)

    def _widen(self, names: Sequence[str]) -> None:
        """Have more columns: the lines so far are written anew, in a file that takes the place of this one."""
        logger.warning("%s: new field %s, a new column that is empty in the lines so far", self.path, ", ".join(names))
        if not self._resume.is_empty:
            beside = self._wider()
            try:
                self._write_wider(beside, names)
            except OSError:
                os.unlink(beside)
                raise
            self._file.close()
            try:
                self._swap(beside)
            finally:
                self._file = self._opened("r+")
            self._swapped()
        self._format.add(names)

    def _swap(self, beside: str) -> None:
        """Have the file beside this one take its place."""
        os.replace(beside, self._now)

    def _swapped(self) -> None:
        """It did."""
        self._resume = Resume(os.path.getsize(self._now))

    def _write_wider(self, path: str, names: Sequence[str]) -> None:
        charset = self._format.charset
        with open(path, "xb") as file:
            shutil.copymode(self._now, path)
            file.write(self._packed(charset.mark))
            for text in _blocks(self._format.widened(self._existing().blocks(), names)):
                file.write(self._packed(charset.text(text)))

    def close(self, *, keep: bool = True) -> None:
        """Be done; ``keep=False``: leave what was there before the crawl. Raises ``OSError``."""
        try:
            if keep:
                if not os.fstat(self._file.fileno()).st_size:
                    self._file.write(whole(b"", self._format.options.compression))
                os.fsync(self._file.fileno())
        finally:
            self._file.close()
        if keep:
            self._take_place()
        elif self._replaces or self._is_new:
            os.unlink(self._now)

    def _take_place(self) -> None:
        """Stand in the place of the file that is replaced."""
        if self._now != self._target:
            if os.path.exists(self._target):
                shutil.copymode(self._target, self._now)
            os.replace(self._now, self._target)


def _blocks(texts: Iterable[str]) -> Iterator[str]:
    """Small texts joined to large ones."""
    block: list[str] = []
    size = 0
    for text in texts:
        block.append(text)
        size += len(text)
        if size >= _BLOCK:
            yield "".join(block)
            block, size = [], 0
    if block:
        yield "".join(block)
