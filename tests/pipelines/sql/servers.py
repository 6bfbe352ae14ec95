"""A database server of the tests' own, which they may stop, kill and start again."""

from __future__ import annotations

import asyncio
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Sequence
from glob import glob
from pathlib import Path


def program(*names: str) -> str:
    """Where a program of a database is; empty if it is not installed."""
    places = [*sorted(glob("/usr/lib/postgresql/*/bin"), reverse=True), "/usr/sbin", *os.environ["PATH"].split(":")]
    return next((found for name in names if (found := shutil.which(name, path=":".join(places)))), "")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Server(ABC):
    """PostgreSQL or MariaDB in a folder, run by the system's user for it where we are root."""

    #: The user, the program that makes an empty database, and the server itself.
    user: str
    port: int
    data: Path

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def _as_user(self) -> str | None:
        try:
            return self.user if os.getuid() == 0 and pwd.getpwnam(self.user) else None
        except KeyError:
            return None

    def make(self) -> None:
        """Make an empty database."""
        for folder in [self.folder, *self.folder.parents]:  # the user must be able to reach it
            if folder == Path(tempfile.gettempdir()):
                break
            folder.chmod(0o755)
        self.data.mkdir()
        if self._as_user:
            shutil.chown(self.data, self._as_user)
        self._call(self.making())

    def _call(self, command: Sequence[str]) -> None:
        done = subprocess.run(command, user=self._as_user, cwd="/", capture_output=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr.decode()

    async def start(self) -> None:
        with (self.folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                self.running(), user=self._as_user, cwd="/", stdout=log, stderr=log, start_new_session=True
            )
        async with asyncio.timeout(30):
            while not self._listens():
                assert self._process.poll() is None, (self.folder / "server.log").read_text()
                await asyncio.sleep(0.02)

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def kill(self) -> None:
        """As a power cut does."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None
        (self.data / "postmaster.pid").unlink(missing_ok=True)

    @abstractmethod
    def making(self) -> list[str]:
        """The command that makes an empty database."""

    @abstractmethod
    def running(self) -> list[str]:
        """The command that is the server."""

    @property
    @abstractmethod
    def url(self) -> str:
        """Where a store finds it."""


class PostgreSql(Server):
    user = "postgres"
    programs = ("initdb", "postgres")

    def making(self) -> list[str]:
        return [program("initdb"), "-D", str(self.data), "-A", "trust", "-U", "root", "-E", "UTF8", "--locale=C", "-N"]

    def running(self) -> list[str]:
        own = {"port": self.port, "listen_addresses": "127.0.0.1", "unix_socket_directories": "", "shared_buffers": "8MB"}
        return [program("postgres"), "-D", str(self.data), *[f"--{name}={value}" for name, value in own.items()]]

    @property
    def url(self) -> str:
        return f"postgresql://root@127.0.0.1:{self.port}/postgres"


class MariaDb(Server):
    user = "mysql"
    programs = ("mariadb-install-db", "mariadbd")

    def making(self) -> list[str]:
        known = ["--auth-root-authentication-method=normal", "--skip-test-db", f"--tmpdir={self.data}"]
        return [program("mariadb-install-db"), "--no-defaults", f"--datadir={self.data}", *known]

    def running(self) -> list[str]:
        own = {
            "datadir": self.data,
            "tmpdir": self.data,  # a server that starts removes temporary tables, those of others in /tmp too
            "port": self.port,
            "bind-address": "127.0.0.1",
            "socket": self.data / "s",
            "innodb-buffer-pool-size": "16M",
        }
        return [program("mariadbd"), "--no-defaults", *[f"--{name}={value}" for name, value in own.items()]]

    @property
    def url(self) -> str:
        return f"mysql://root@127.0.0.1:{self.port}/mysql"


SERVERS: dict[str, type[Server]] = {"postgresql": PostgreSql, "mysql": MariaDb}
