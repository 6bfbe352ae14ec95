"""Messages between two processes over a socket.

A frame is four bytes of length and a list of messages in msgpack. A message is ``[name, ...]`` (told: no answer comes),
``[number, name, ...]`` (asked), or ``[-number, value, error]`` (the answer).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Awaitable, Callable, Collection, Mapping
from itertools import count
from typing import Any

import msgspec

from openoctopus.exceptions import OctopusError

logger = logging.getLogger(__name__)

#: Bytes that are read from the socket at once.
AT_ONCE = 1 << 20

_encoder = msgspec.msgpack.Encoder()
_decode = msgspec.msgpack.Decoder().decode


def _encode(messages: list[Any]) -> bytes:
    try:
        return _encoder.encode(messages)
    except (TypeError, ValueError, OverflowError):  # a user's own objects in the stats, half characters in a text
        return _encoder.encode(_plain(messages))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {_plain(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if value is None or isinstance(value, bool | float | bytes):
        return value
    if isinstance(value, int) and abs(value) < 1 << 63:
        return int(value)
    return str(value).encode("utf-8", "replace").decode()


class Lost(OctopusError):
    """The other process is gone."""


class Channel:
    """One end of a connection. What is sent in one turn of the loop travels together, in order.

    ``told`` has what is called for messages that need no answer, ``asked`` the coroutines for those that do. Messages are
    taken in the order in which they were sent; those named in ``apart`` are answered whenever they are ready, and hold up
    nobody. ``preface`` may give a message to put before the others.
    """

    def __init__(
        self,
        told: Mapping[str, Callable[..., None]],
        asked: Mapping[str, Callable[..., Awaitable[Any]]] | None = None,
        *,
        apart: Collection[str] = (),
        preface: Callable[[], list[Any] | None] = lambda: None,
    ) -> None:
        self._told = told
        self._asked = asked or {}
        self._apart = apart
        self._preface = preface
        self._numbers = count(1)
        self._outbox: list[Any] = []
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._answering: set[asyncio.Task[None]] = set()
        self.closed = False

    async def open(self, end: socket.socket) -> None:
        """Talk over this socket from now on; what was told before goes first."""
        self._loop = asyncio.get_running_loop()
        self._reader, self._writer = await asyncio.open_connection(sock=end, limit=AT_ONCE)
        self._flush()

    async def run(self) -> None:
        """Take what comes, until the other side is gone."""
        try:
            while True:
                length = int.from_bytes(await self._reader.readexactly(4), "big")
                for message in _decode(await self._reader.readexactly(length)):
                    await self._take(message)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.close()

    def close(self) -> None:
        """Nothing is sent any more; who waits for an answer gets ``Lost``."""
        self._flush()
        self.closed = True
        self._writer.close()
        waiting, self._waiting = self._waiting, {}
        for answer in waiting.values():
            if not answer.done():
                answer.set_exception(Lost())

    def tell(self, name: str, *arguments: Any) -> None:
        """Send what needs no answer."""
        self._send([name, *arguments])

    def ask(self, name: str, *arguments: Any) -> asyncio.Future[Any]:
        """Send what does. The future raises ``OctopusError`` with what the other side raised, or ``Lost``."""
        answer: asyncio.Future[Any] = self._loop.create_future()
        if self.closed:
            answer.set_exception(Lost())
            return answer
        number = next(self._numbers)
        self._waiting[number] = answer
        self._send([number, name, *arguments])
        return answer

    async def drain(self) -> None:
        """Until the system has taken most of what was sent."""
        self._flush()
        with contextlib.suppress(ConnectionError):
            await self._writer.drain()

    def _send(self, message: list[Any]) -> None:
        if self.closed:
            return
        if not self._outbox and hasattr(self, "_loop"):
            self._loop.call_soon(self._flush)
        self._outbox.append(message)

    def _flush(self) -> None:
        if not self._outbox or self.closed:
            return
        messages, self._outbox = self._outbox, []
        if (preface := self._preface()) is not None:
            messages.insert(0, preface)
        frame = _encode(messages)
        self._writer.write(len(frame).to_bytes(4, "big") + frame)

    async def _take(self, message: list[Any]) -> None:
        head = message[0]
        if isinstance(head, str):
            self._told[head](*message[1:])
        elif head < 0:
            self._answered(-head, *message[1:])
        elif message[1] in self._apart:
            task = self._loop.create_task(self._answer(*message))
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)
        else:
            await self._answer(*message)

    async def _answer(self, number: int, name: str, *arguments: Any) -> None:
        try:
            self._send([-number, await self._asked[name](*arguments), None])
        except Exception as error:
            logger.exception("%s failed", name)
            self._send([-number, None, f"{type(error).__name__}: {error}"])

    def _answered(self, number: int, value: Any, error: str | None) -> None:
        answer = self._waiting.pop(number, None)
        if answer is None or answer.done():
            return
        if error is None:
            answer.set_result(value)
        else:
            answer.set_exception(OctopusError(error))
