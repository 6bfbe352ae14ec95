"""Servers of the tests' own: made from installed programs, in a folder and at a port that nobody else uses."""

from __future__ import annotations

import asyncio
import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from glob import glob
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT, Popen
from typing import Any, Self
from urllib.parse import urlsplit

import asyncmy
import asyncpg

#: Seconds in which a server must answer after its start.
PATIENCE = 30.0
#: Given a folder, a process and a signal: when nobody holds the other end of its input any more, because whoever started the
#: process ended it or has ended in whatever way, the process gets the signal, and the folder is removed.
_WATCH = """
cat
kill -s "$2" "$1"
for _ in $(seq 100); do kill -0 "$1" || break; sleep 0.1; done
kill -s KILL "$1"
rm -rf "$0"
"""


class ServerDied(AssertionError):
    """A server that the tests use is gone, or could not be started."""


def program(name: str) -> str:
    """Where a program is, also where PATH does not lead; empty if it is not installed."""
    places = [os.environ["PATH"], *sorted(glob("/usr/lib/postgresql/*/bin"), reverse=True), "/usr/sbin"]
    return shutil.which(name, path=":".join(places)) or ""


def apart(work: Callable[[], Any]) -> Any:
    """Run asynchronous work to its end in a thread, whatever the loop of the test does."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(work())).result()


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _free_port() -> int:
    """A port at which nobody listens, below those that systems give to connections."""
    while True:
        port = random.SystemRandom().randrange(20_000, 30_000)
        if not listens(port):
            return port


def _unprivileged() -> dict[str, Any]:
    """As whom a server runs where we are root: databases refuse to run as root."""
    if os.getuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


class Server(ABC):
    """One server. It ends, and its folder is removed, at the end of the ``with`` block, or when this process ends.

    Nothing waits for the disk: what a program has written outlives its kill -9, and in no test does the machine itself fail.
    """

    #: What people call it, and Debian's package of it.
    title: str
    package: str
    #: The programs that must be installed.
    programs: tuple[str, ...]
    #: Where it usually is, with a user and a database of the tests.
    usual: str
    #: The signal that ends it at once, but leaves nothing behind.
    last_signal = signal.SIGTERM

    _process: Popen[bytes] | None = None
    _watch: Popen[bytes] | None = None

    @classmethod
    def installed(cls) -> bool:
        return all(map(program, cls.programs))

    @classmethod
    def remedy(cls) -> str:
        return f"install {' and '.join(cls.programs)} (apt-get install {cls.package})"

    @classmethod
    def refusal(cls, url: str) -> str:
        """Why the server there does not let the tests in; empty if it does."""
        try:
            apart(lambda: cls.ask(url))
        except Exception as error:
            return str(error) or type(error).__name__
        return ""

    def __enter__(self) -> Self:
        self.folder = Path(tempfile.mkdtemp(prefix=f"{type(self).__name__.lower()}-"))
        self.data, self.log = self.folder / "data", self.folder / "server.log"
        self.port = _free_port()
        try:
            self._make()
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.stop()

    def _make(self) -> None:
        if user := _unprivileged():
            shutil.chown(self.folder, user["user"], user["group"])
        with self.log.open("ab") as log:
            made = subprocess.run(self.making(), cwd=self.folder, stdin=DEVNULL, stdout=log, stderr=STDOUT, **_unprivileged())
        if made.returncode:
            raise ServerDied(f"{self.making()[0]} ended with code {made.returncode}{self._last_words()}")

    def start(self) -> None:
        """Start it, and wait until it answers. Raises ``ServerDied`` if it does not."""
        self._held_by_all, held = os.pipe()
        with self.log.open("ab") as log:
            self._process = Popen(
                self.running(), cwd=self.folder, stdin=DEVNULL, stdout=log, stderr=STDOUT,
                pass_fds=[held], start_new_session=True, **_unprivileged(),
            )  # fmt: skip
        os.close(held)
        watch = ["sh", "-c", _WATCH, str(self.folder), str(self._process.pid), self.last_signal.name.removeprefix("SIG")]
        self._watch = Popen(watch, stdin=PIPE, stderr=DEVNULL, start_new_session=True)
        end = time.monotonic() + PATIENCE
        while refusal := self.refusal(self.url):
            if self.fault():
                raise ServerDied(self.fault())
            if time.monotonic() > end:
                self.kill()
                raise ServerDied(f"{self.title} does not answer {PATIENCE:g} s after its start: {refusal}{self._last_words()}")
            time.sleep(0.02)

    def fault(self) -> str:
        """Why it cannot be used; empty while it runs."""
        if self._process is None:
            return f"{self.title} could not be started for the tests"
        if (code := self._process.poll()) is None:
            return ""
        return f"{self.title}, which was started for the tests, has ended with code {code}{self._last_words()}"

    def _last_words(self) -> str:
        if not self.log.exists():
            return ""
        return "; the end of its log:\n" + "\n".join(self.log.read_text("utf-8", "replace").splitlines()[-20:])

    def kill(self) -> None:
        """Kill -9; it can be started again."""
        if self._process and self._watch:
            self._watch.kill()
            os.killpg(self._process.pid, signal.SIGKILL)
            self._ended(self._process, self._watch)

    def stop(self) -> None:
        """End it, and remove its folder."""
        if self._process and self._watch and self._watch.stdin:
            self._watch.stdin.close()
            self._ended(self._process, self._watch)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _ended(self, process: Popen[bytes], watch: Popen[bytes]) -> None:
        """Wait for the end of all its processes: PostgreSQL does not start beside one that is left of the last time."""
        process.wait()
        os.read(self._held_by_all, 1)
        os.close(self._held_by_all)
        watch.communicate()
        self._watch = None

    @staticmethod
    @abstractmethod
    async def ask(url: str) -> None:
        """Raises an error if the server there does not let the tests in."""

    @abstractmethod
    def making(self) -> Sequence[str]:
        """The command that makes an empty database."""

    @abstractmethod
    def running(self) -> Sequence[str]:
        """The command that is the server."""

    @property
    @abstractmethod
    def url(self) -> str:
        """Where it is."""


class PostgreSql(Server):
    title, package = "PostgreSQL", "postgresql"
    programs = ("initdb", "postgres")
    usual = "postgresql://root@127.0.0.1:5432/test"
    last_signal = signal.SIGQUIT

    @staticmethod
    async def ask(url: str) -> None:
        await (await asyncpg.connect(url, timeout=PATIENCE)).close()

    def making(self) -> Sequence[str]:
        return [program("initdb"), "-D", str(self.data), "-A", "trust", "-U", "root", "-E", "UTF8", "--locale=C", "-N"]

    def running(self) -> Sequence[str]:
        own = {
            "port": self.port,
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "dynamic_shared_memory_type": "mmap",  # in its folder, so that nothing is left of one that was killed
            "shared_buffers": "16MB",
            "fsync": "off",
        }
        return [program("postgres"), "-D", str(self.data), *[f"--{name}={value}" for name, value in own.items()]]

    @property
    def url(self) -> str:
        return f"postgresql://root@127.0.0.1:{self.port}/postgres"


class MariaDb(Server):
    title, package = "MariaDB", "mariadb-server"
    programs = ("mariadb-install-db", "mariadbd")
    usual = "mysql://root@127.0.0.1:3306/test"

    @staticmethod
    async def ask(url: str) -> None:
        await (await asyncmy.connect(**MariaDb.arguments(url), connect_timeout=PATIENCE)).ensure_closed()

    @staticmethod
    def arguments(url: str) -> dict[str, Any]:
        """What its drivers take instead of a URL."""
        parts = urlsplit(url)
        return {
            "host": parts.hostname,
            "port": parts.port,
            "user": parts.username,
            "password": parts.password or "",
            "db": parts.path[1:],
        }

    def making(self) -> Sequence[str]:
        known = ["--auth-root-authentication-method=normal", "--skip-test-db"]
        return [program("mariadb-install-db"), "--no-defaults", f"--datadir={self.data}", f"--tmpdir={self.folder}", *known]

    def running(self) -> Sequence[str]:
        (self.folder / "first.sql").write_text("CREATE DATABASE IF NOT EXISTS test;\n")
        own = {
            "datadir": self.data,
            "tmpdir": self.folder,  # a server that starts removes temporary tables, those of others in /tmp too
            "port": self.port,
            "bind-address": "127.0.0.1",
            "socket": self.folder / "socket",
            "init-file": self.folder / "first.sql",
            "character-set-server": "utf8mb4",  # as in packages of it
            "innodb-buffer-pool-size": "16M",
            "innodb-flush-log-at-trx-commit": 2,
        }
        return [program("mariadbd"), "--no-defaults", *[f"--{name}={value}" for name, value in own.items()]]

    @property
    def url(self) -> str:
        return f"mysql://root@127.0.0.1:{self.port}/test"


#: By the scheme of their URLs.
SERVERS: dict[str, type[Server]] = {"postgresql": PostgreSql, "mysql": MariaDb}
