"""A file of items that a job goes on with: how far it was written is kept with the pages whose items are in it."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import sys

import msgspec

from openoctopus.exceptions import SettingsError
from openoctopus.failpoints import hit
from openoctopus.pipelines.feeds.existing import Resume, whole
from openoctopus.pipelines.feeds.files import DiskFile
from openoctopus.pipelines.feeds.format import Format

logger = logging.getLogger(__name__)

#: So many bytes before the end are compared when a file goes on.
_TAIL = 4096
#: Behind the names of a file with more columns while it is written, and of the one whose place it took, as long as the job
#: does not know of it.
_WIDER, _NARROWER = ".wider", ".narrower"
#: Has the data on the disk, and not the times of the file, where there is such a call.
_sync = getattr(os, "fdatasync", os.fsync)


class Standing(msgspec.Struct, array_like=True, frozen=True):
    """How a file stands, as the job keeps it."""

    #: Where its items belong in the end, and the name that it has in that folder for now.
    path: str
    name: str
    inode: int
    #: Bytes up to the last item, and a hash of the last 4 kB of them.
    end: int
    digest: bytes
    #: As in ``Resume``.
    is_empty: bool
    lead: bytes
    #: Items that the job wrote to it.
    count: int
    #: The job made it.
    is_new: bool
    #: Bytes in all when the crawl was stopped; 0 while it runs.
    size: int = 0


class KeptFile(DiskFile):
    """A file that is cut back to where it stood for the job, whatever was written after that.

    What is written is on the disk when ``write`` returns. What the crawl closes is not at its end: ``publish`` is.
    """

    def __init__(self, path: str, form: Format, token: str, standing: Standing | None = None) -> None:
        super().__init__(path, form)
        #: By this it knows files beside their targets for its own.
        self._token = token
        self._is_shared = False
        self._was = standing
        self._size = 0
        self._last = b""
        #: It took the place of a file of which the job still knows.
        self.is_changing = False
        if standing is not None:
            self.count = standing.count

    @property
    def standing(self) -> Standing:
        """How it stands now; not while it is written to."""
        return Standing(
            self.path, os.path.basename(self._now), self._inode, self._resume.end, _digest(self._last), self._resume.is_empty,
            self._resume.lead, self.count, self._is_new, self._size,
        )  # fmt: skip

    def open(self) -> None:
        if self._was is None:
            super().open()
            _sync_folder(self._now)
            self._last = self._before_end()
        else:
            try:
                self._take_up(self._was)
            except OSError as error:
                raise self._unfit(self._was, f"it cannot be opened: {error.strerror}") from error
        self._inode = os.fstat(self._file.fileno()).st_ino

    # A file goes on

    def _take_up(self, was: Standing) -> None:
        self._target = os.path.realpath(self.path)
        self._now = os.path.join(os.path.dirname(self._target), was.name)
        self._is_new = was.is_new
        places = (self._now, self._now + _NARROWER, self._target)
        found = next((place for place in places if _inode(place) == was.inode), None)
        if found is None:
            here = os.path.exists(self._now) or os.path.exists(self._target)
            raise self._unfit(was, "another file stands in its place" if here else "it is gone")
        if found == places[1]:  # the job was killed before it knew of the wider file
            os.replace(found, self._now)
        else:
            self._now = found
        for left in (self._now + _WIDER, self._now + _NARROWER):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(left)
        self._file = self._opened("r+")
        try:
            self._resume = Resume(was.end, was.is_empty, was.lead)
            self._compare(was)
            self._put(b"", self._tail())
        except BaseException:
            self._file.close()
            raise

    def _compare(self, was: Standing) -> None:
        """Raises ``SettingsError`` if this is not what the job wrote, with something of its own behind it at most."""
        size = os.fstat(self._file.fileno()).st_size
        if size < was.end:
            raise self._unfit(was, f"it has only {size:,} bytes now")
        self._last = self._before_end()
        if _digest(self._last) != was.digest:
            raise self._unfit(was, f"the last {len(self._last):,} of them are others now")
        if was.size and size != was.size:
            raise self._unfit(was, f"somebody else changed it since the crawl was stopped: it has {size:,} bytes now")
        more = size - was.end
        if more > len(self._tail()):
            logger.warning("%s: %d bytes are cut off again: their pages were not settled, and are read again", self.path, more)

    def _before_end(self) -> bytes:
        end = self._resume.end
        with open(self._now, "rb") as file:
            file.seek(max(0, end - _TAIL))
            return file.read(min(end, _TAIL))

    def _unfit(self, was: Standing, found: str) -> SettingsError:
        return SettingsError(
            f"cannot go on with {self.path}: the job wrote it up to byte {was.end:,}, and {found}; "
            "put it back as it was, or begin anew with --fresh and another file"
        )

    def _beside(self) -> str:
        return f"{self._target}.{self._token}.tmp"

    def _mode(self) -> str:
        return "w" if self._replaces else super()._mode()

    # It is written

    def _put(self, data: bytes, closing: bytes) -> None:
        super()._put(data, closing)
        self._last = (self._last + data)[-_TAIL:]

    def _written(self) -> None:
        hit("store.half")
        _sync(self._file.fileno())

    def _wider(self) -> str:
        return self._now + _WIDER

    def _swap(self, beside: str) -> None:
        """Keep the narrower file until the job knows the wider one."""
        with open(beside, "rb") as file:
            os.fsync(file.fileno())
        narrower = self._now + _NARROWER
        os.rename(self._now, narrower)
        try:
            hit("feed.widening")
            os.rename(beside, self._now)
        except BaseException:
            os.rename(narrower, self._now)
            raise
        self.is_changing = True
        _sync_folder(self._now)

    def _swapped(self) -> None:
        super()._swapped()
        self._inode = os.fstat(self._file.fileno()).st_ino
        self._last = self._before_end()

    def forget(self) -> None:
        """The job knows this file: what it took the place of goes."""
        if self.is_changing:
            os.unlink(self._now + _NARROWER)
            self.is_changing = False

    # It ends

    def close(self, *, keep: bool = True) -> None:
        """Be done for this run; ``keep=False``: leave what was there before a new job."""
        if not keep and self._was is None:
            super().close(keep=False)
            return
        with self._file as file:
            if not os.fstat(file.fileno()).st_size:
                file.write(whole(b"", self._format.options.compression))
            os.fsync(file.fileno())
            self._size = os.fstat(file.fileno()).st_size

    def publish(self, *, keep: bool) -> None:
        """The job is at its end: the file takes its place, or goes if it shall not be kept. It is closed."""
        self.forget()
        if keep:
            self._take_place()
            _sync_folder(self._target)
        elif self._is_new or self._now != self._target:
            os.unlink(self._now)


def _inode(path: str) -> int | None:
    try:
        return os.stat(path).st_ino
    except FileNotFoundError:
        return None


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


def _sync_folder(path: str) -> None:
    """Have the name of a file on the disk too."""
    if sys.platform == "win32":
        return
    descriptor = os.open(os.path.dirname(path), os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
