"""The command where standard streams are closed, as they are under some supervisors."""

from __future__ import annotations

import asyncio
import shlex
from asyncio.subprocess import PIPE
from collections.abc import Callable

import pytest

from tests.cli.conftest import PATIENCE, Octopus, Ran

Links = Callable[..., list[str]]


async def run_with(redirections: str, octopus: Octopus, *arguments: str) -> Ran:
    """The command as a shell starts it with these redirections."""
    line = f"exec {shlex.join(octopus.line(*arguments))} {redirections}"
    process = await asyncio.create_subprocess_shell(line, stdout=PIPE, stderr=PIPE, cwd=octopus.folder, env=octopus.variables())
    async with asyncio.timeout(PATIENCE):
        out, err = await process.communicate()
    return Ran(process.returncode or 0, out.decode(), err.decode())


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&-", "<&- 2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
async def test_a_crawl_is_done_without_them(closed: str, octopus: Octopus, links: Links) -> None:
    ran = await run_with(closed, octopus, *links("-o", "pages.jsonl"))

    assert ran.code == 0, ran.err
    assert len((octopus.folder / "pages.jsonl").read_text().splitlines()) == 9
    assert "Traceback" not in ran.err


async def test_items_for_a_closed_standard_output_are_refused(octopus: Octopus, links: Links) -> None:
    ran = await run_with(">&-", octopus, *links("-o", "-"))

    assert (ran.code, ran.err) == (2, "octopus: there is no standard output to write items to; write to a file\n")


@pytest.mark.parametrize("command", ["list", "settings", "version -v", "jobs"])
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
async def test_other_commands_end_as_ever(closed: str, command: str, octopus: Octopus, links: Links) -> None:
    links()
    ran = await run_with(closed, octopus, *command.split())

    assert ran.code == (await octopus(*command.split())).code
    assert "Traceback" not in ran.err
