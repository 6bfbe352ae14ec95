"""Messages between two processes: their order, their answers, and what happens when the other side is gone."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from openoctopus.channel import Channel, Lost
from openoctopus.exceptions import OctopusError


@asynccontextmanager
async def connected(here: Channel, there: Channel) -> AsyncIterator[None]:
    """Both ends of a real socket, in this process."""
    running = []
    for channel, end in zip((here, there), socket.socketpair(), strict=True):
        await channel.open(end)
        running.append(asyncio.create_task(channel.run()))
    try:
        yield
    finally:
        here.close()
        await asyncio.wait(running)


class Listener:
    """Keeps what it is told, and answers."""

    def __init__(self) -> None:
        self.heard: list[Any] = []
        self.let = asyncio.Event()
        self.channel = Channel(
            {"tell": self.heard.append}, {"echo": self.echo, "fail": self.fail, "slow": self.slow}, apart={"slow"}
        )

    async def echo(self, value: Any) -> Any:
        self.heard.append(value)
        return value

    async def fail(self) -> None:
        raise KeyError("no")

    async def slow(self) -> str:
        await self.let.wait()
        return "at last"


async def test_messages_come_in_order_whether_they_are_told_or_asked() -> None:
    here, there = Channel({}), Listener()
    async with connected(here, there.channel):
        here.tell("tell", 1)
        asked = [here.ask("echo", number) for number in (2, 3)]
        here.tell("tell", 4)

        assert await asyncio.gather(*asked) == [2, 3]
        assert await here.ask("echo", 5) == 5
        assert there.heard == [1, 2, 3, 4, 5]


async def test_what_takes_its_time_holds_up_nobody() -> None:
    here, there = Channel({}), Listener()
    async with connected(here, there.channel):
        slow = here.ask("slow")

        assert await here.ask("echo", 1) == 1
        assert not slow.done()
        there.let.set()
        assert await slow == "at last"


async def test_what_was_raised_is_raised_here(caplog: pytest.LogCaptureFixture) -> None:
    here, there = Channel({}), Listener()
    async with connected(here, there.channel):
        with pytest.raises(OctopusError, match="KeyError: 'no'"):
            await here.ask("fail")

        assert await here.ask("echo", 1) == 1
    assert "fail failed" in caplog.text


async def test_who_waits_for_an_answer_is_told_that_the_other_side_is_gone() -> None:
    here, there = Channel({}), Listener()
    async with connected(here, there.channel):
        asked = here.ask("slow")
        await here.ask("echo", 1)

        there.channel.close()

        with pytest.raises(Lost):
            await asked
        with pytest.raises(Lost):
            await here.ask("echo", 2)
        here.tell("tell", 3)


@pytest.mark.parametrize(
    ("value", "arrives"),
    [
        ("half \ud83d", "half ?"),
        ({"a": object}, {"a": str(object)}),
        (1 << 70, str(1 << 70)),
        (b"\xff", b"\xff"),
        ((1, 2), [1, 2]),
    ],
)
async def test_what_has_no_place_in_a_message_becomes_text(value: Any, arrives: Any) -> None:
    here, there = Channel({}), Listener()
    async with connected(here, there.channel):
        assert await here.ask("echo", value) == arrives


async def test_messages_may_be_large_and_many() -> None:
    here, there = Channel({}), Listener()
    async with connected(here, there.channel):
        large = bytes(5_000_000)
        answers = await asyncio.gather(*(here.ask("echo", value) for value in [large] * 4 + list(range(5000))))

        assert answers[:4] == [large] * 4
        assert answers[4:] == list(range(5000))
