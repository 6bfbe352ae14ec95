"""The folder of a job, and the one process that works on it."""

from __future__ import annotations

import logging
import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from openoctopus.exceptions import SettingsError

if sys.platform != "win32":
    import fcntl

logger = logging.getLogger(__name__)


class Message(msgspec.Struct):
    """What is asked of the owner: ``retry`` or ``purge`` what failed for a reason, all if that is empty."""

    do: str
    reason: str


class Job:
    """What a crawl keeps under its name, in a folder of ``JOBS_DIR``."""

    def __init__(self, name: str, jobs_dir: str) -> None:
        self.name = name
        self.folder = Path(jobs_dir, name)
        self.file = self.folder / "job.sqlite"
        self._lock: int | None = None

    def lock(self) -> None:
        """Make the folder, and keep other processes out of it. Raises ``SettingsError`` if one works on the job now."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise SettingsError(f"cannot keep job {self.name} in {self.folder}: {error.strerror}") from error
        if sys.platform == "win32":
            logger.warning("on Windows nothing keeps two processes from one job: see to it that %s has only one", self.name)
        else:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                other = os.read(lock, 20).decode("ascii", "replace").strip() or "unknown"
                os.close(lock)
                raise SettingsError(
                    f"process {other} is crawling job {self.name}: wait for it, stop it, or give this crawl another name"
                ) from None
        os.ftruncate(lock, 0)
        os.pwrite(lock, b"%d\n" % os.getpid(), 0)
        self._lock = lock

    def owner(self) -> int | None:
        """The process that works on it now, if one does."""
        if sys.platform == "win32":
            return None
        try:
            lock = os.open(self.folder / "lock", os.O_RDONLY)
        except FileNotFoundError:
            return None
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return int(os.read(lock, 20) or 0)
        finally:
            os.close(lock)
        return None

    def tell(self, do: str, reason: str) -> None:
        """Ask the owner for something; it looks every second."""
        inbox = self.folder / "inbox"
        inbox.mkdir(exist_ok=True)
        name = f"{time.time_ns()}-{os.getpid()}"
        (inbox / f"{name}.tmp").write_bytes(msgspec.json.encode(Message(do, reason)))
        (inbox / f"{name}.tmp").rename(inbox / f"{name}.json")

    def messages(self) -> Iterator[Message]:
        """What the owner was asked for, each once."""
        inbox = self.folder / "inbox"
        for path in sorted(inbox.glob("*.json")):
            try:
                yield msgspec.json.decode(path.read_bytes(), type=Message)
            except msgspec.MsgspecError as error:
                logger.error("%s is no message: %s", path, error)
            path.unlink()

    def clear(self) -> None:
        """Forget everything but the lock."""
        for one in self.folder.iterdir():
            if one.is_dir() and not one.is_symlink():
                shutil.rmtree(one)
            elif one.name != "lock":
                one.unlink()

    def unlock(self) -> None:
        """Let other processes in."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
