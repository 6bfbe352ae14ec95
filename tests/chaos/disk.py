"""B14: the disk is full for the job and for every file of items; the crawl pauses, and goes on when there is room."""

from __future__ import annotations

import asyncio
import os
import shutil
from asyncio.subprocess import PIPE, Process
from pathlib import Path
from typing import Any, Self

from tests.chaos import ledger, stores
from tests.chaos.site import ChaosSite, Graph
from tests.chaos.victim import Victim, Violation, crawl
from tests.services import missing

#: The whole disk, in bytes.
SIZE = 96 << 20


class SmallDisk:
    """A file system of ``SIZE`` bytes over a folder, in name spaces of its own, so that it needs no rights of root's.

    ``path`` is where those inside find it, ``seen`` where we do.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "small"
        self._holder: Process | None = None

    async def __aenter__(self) -> Self:
        self.path.mkdir()
        script = f'mount -t tmpfs -o size={SIZE} tmpfs "$0" && echo ready && exec cat'
        self._holder = await asyncio.create_subprocess_exec(
            "unshare", "-Urm", "sh", "-c", script, str(self.path), stdin=PIPE, stdout=PIPE
        )
        assert self._holder.stdout is not None
        if await self._holder.stdout.readline() != b"ready\n":
            missing("needs a file system of its own, which this system does not allow (unshare -Urm)")
        self.seen = Path(f"/proc/{self._holder.pid}/root{self.path}")
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        if self._holder is not None and self._holder.stdin is not None:
            self._holder.stdin.close()
            await self._holder.wait()

    def inside(self, command: list[str]) -> list[str]:
        """The command line that runs another one there."""
        assert self._holder is not None
        enter = ["nsenter", "-t", str(self._holder.pid), "-U", "-m", "--preserve-credentials"]
        return [*enter, "env", "-C", str(self.path), *command]

    def leave(self, room: int) -> None:
        """Fill it but for ``room`` bytes."""
        with (self.seen / "ballast").open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, SIZE - room)

    def free(self) -> None:
        """Take out what filled it."""
        (self.seen / "ballast").unlink()


async def run(
    folder: Path, *, seed: int = 1, pages: int = 5000, room: int = 2_000_000, seconds: float = 10.0, job: str = ""
) -> dict[str, Any]:
    """Have a crawl meet the end of its disk after ``room`` bytes, and give it room ``seconds`` later."""
    async with SmallDisk(folder) as disk, ChaosSite(Graph(pages, seed=seed)) as site:
        disk.leave(room)
        makers = {"sqlite": stores.sqlite, "jsonl": stores.jsonl, "csv": stores.table}
        victim = Victim(folder, disk.inside(crawl(site.url, [make(disk.path).target for make in makers.values()], job=job)))
        await victim.start()
        asked = await _until_silent(site, victim, seconds / 2)
        await asyncio.sleep(seconds)
        if site.requests > asked:
            raise Violation(f"{site.requests - asked} pages were asked for while the disk was full")
        if "the crawl waits for it" not in victim.last_words():
            raise Violation(f"nothing was said about the disk: {victim.last_words()}")
        disk.free()
        if code := await victim.end():
            raise Violation(f"ended with {code}: {victim.last_words()}")
        # A copy: SQLite would take the link in /proc for what it is outside.
        copy = Path(shutil.copytree(disk.seen, folder / "copy"))
        kept = {name: make(copy) for name, make in makers.items()}
        return {"paused at page": asked, "seconds": seconds, **await ledger.check(site, kept)}


async def _until_silent(site: ChaosSite, victim: Victim, seconds: float) -> int:
    """Wait until nothing was asked for so long; how much was until then."""
    asked = -1
    while asked != (asked := site.requests) or not asked:
        if victim.code is not None:
            raise Violation(f"ended with {victim.code} on a full disk, after {asked} pages: {victim.last_words()}")
        await asyncio.sleep(seconds)
    return asked
