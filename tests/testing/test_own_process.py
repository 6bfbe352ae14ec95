from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import time
from asyncio.subprocess import PIPE

import aiohttp
import pytest

from openoctopus.exceptions import OctopusError
from openoctopus.testing.process import in_own_process


async def is_up(url: str) -> bool:
    try:
        async with aiohttp.ClientSession() as client, client.get(url) as answer:
            return answer.status == 200
    except aiohttp.ClientError:
        return False


async def refused(module: str, *arguments: str) -> tuple[int | None, str]:
    """The exit code of a site that cannot be served, and what it says."""
    child = await asyncio.create_subprocess_exec(sys.executable, "-m", module, *arguments, stderr=PIPE)
    async with asyncio.timeout(20):
        _, said = await child.communicate()
    return child.returncode, said.decode()


@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        ("openoctopus.testing.bench", ("--pages", "50", "--size", "2000")),
        ("openoctopus.testing.news", ("--articles", "20", "--seed", "5")),
    ],
)
async def test_a_site_runs_in_a_child_and_ends_with_the_block(module, arguments):
    with in_own_process(module, *arguments) as url:
        assert url.startswith("http://127.0.0.1:")
        assert await is_up(url)

    assert not await is_up(url)


async def test_a_child_that_does_not_start_is_an_error(capfd):
    child = in_own_process("openoctopus.testing.bench", "--pages", "many")
    with pytest.raises(OctopusError, match=r"openoctopus\.testing\.bench did not start"):
        child.__enter__()

    assert "invalid int value: 'many'" in capfd.readouterr().err


@pytest.mark.parametrize("module", ["openoctopus.testing.bench", "openoctopus.testing.news"])
async def test_a_port_that_is_taken_is_said_in_a_line(module):
    with socket.create_server(("127.0.0.1", 0)) as other:
        code, said = await refused(module, "--port", str(other.getsockname()[1]))

    assert code == 1
    assert said.startswith("the site cannot be served: ")
    assert said.endswith("--port 0 takes any free port\n")
    assert said.count("\n") == 1


@pytest.mark.parametrize("module", ["openoctopus.testing.bench", "openoctopus.testing.news"])
@pytest.mark.parametrize("port", ["70000", "-1", "http"])
async def test_what_is_no_port_is_refused(module, port):
    code, said = await refused(module, "--port", port)

    assert code == 2
    assert f"argument --port: invalid port value: '{port}'" in said


async def test_a_child_ends_when_its_parent_is_killed():
    code = (
        "import time\n"
        "from openoctopus.testing.process import in_own_process\n"
        "with in_own_process('openoctopus.testing.bench', '--pages', '3') as url:\n"
        "    print(url, flush=True)\n"
        "    time.sleep(60)\n"
    )
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdout=PIPE)
    url = (await parent.stdout.readline()).decode().strip()
    assert await is_up(url)

    parent.kill()
    await parent.wait()

    async with asyncio.timeout(5):
        while await is_up(url):
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("module", ["openoctopus.testing.bench", "openoctopus.testing.news"])
async def test_ctrl_c_ends_a_site_started_by_hand_quietly(module):
    child = await asyncio.create_subprocess_exec(sys.executable, "-m", module, "--port", "0", stdout=PIPE, stderr=PIPE)
    url = (await child.stdout.readline()).decode().strip()
    assert await is_up(url)

    os.kill(child.pid, signal.SIGINT)
    started = time.monotonic()
    _, errors = await child.communicate()

    assert time.monotonic() - started < 5
    assert (child.returncode, errors) == (0, b"")
