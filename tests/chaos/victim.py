"""A crawl in a process of its own, as a person starts it, that is killed and started again."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Mapping, Sequence
from pathlib import Path

SPIDER = Path(__file__).with_name("spider.py")
#: Seconds that any one run may take.
PATIENCE = 600.0


class Violation(AssertionError):
    """A promise was not kept, or a run did not do what its figure says."""


def _variables(more: Mapping[str, str]) -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith(("OCTOPUS_", "PYTEST_"))}
    return own | {"PYTHONWARNINGS": "error", "PYTHONUTF8": "1"} | more


class Victim:
    """One command in a folder; what it says is added to ``log.txt`` there."""

    def __init__(self, folder: Path, command: Sequence[str], variables: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self.command = [str(part) for part in command]
        self.variables = _variables(variables or {})
        self.log = folder / "log.txt"
        self._process: Process | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def code(self) -> int | None:
        """The exit code; ``None`` while it runs, negative for a signal."""
        return self._process.returncode if self._process is not None else None

    async def start(self) -> None:
        with self.log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *self.command,
                stdin=DEVNULL, stdout=log, stderr=log, cwd=self.folder, env=self.variables, start_new_session=True,
            )  # fmt: skip

    def send(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    async def end(self, seconds: float = PATIENCE) -> int:
        """Wait for its end, and for that of whatever it started. Raises ``Violation`` if that takes too long."""
        assert self._process is not None
        try:
            async with asyncio.timeout(seconds):
                code = await self._process.wait()
        except TimeoutError:
            self.kill()
            await self._process.wait()
            raise Violation(f"no end within {seconds:g} s; the last lines: {self.last_words()}") from None
        await self._no_orphans()
        return code

    def kill(self) -> None:
        """Kill -9; nothing happens to one that has ended already."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()

    async def _no_orphans(self) -> None:
        for _ in range(200):
            try:
                os.killpg(self.pid, 0)
            except ProcessLookupError:
                return
            await asyncio.sleep(0.01)
        raise Violation(f"process group {self.pid} still runs, though its first process has ended")

    def last_words(self, lines: int = 15) -> str:
        return "\n".join(self.log.read_text("utf-8", "replace").splitlines()[-lines:])


def octopus(*arguments: str) -> list[str]:
    """The command line of ``octopus``."""
    return [sys.executable, "-m", "openoctopus", *arguments]


def crawl(
    site: str, outputs: Sequence[str] = (), settings: Mapping[str, object] | None = None, job: str = "chaos"
) -> list[str]:
    """The command line of a crawl of the graph with these outputs, which keeps its state as a job unless ``job`` is empty."""
    line = octopus("runspider", str(SPIDER), *(["--job", job] if job else []), "-a", f"site={site}")
    for output in outputs:
        line += ["-o", output]
    for name, value in (settings or {}).items():
        line += ["-s", f"{name}={value}"]
    return line
