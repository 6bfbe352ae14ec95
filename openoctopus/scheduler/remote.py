"""The scheduler of another process, asked over a channel."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from openoctopus.channel import Channel
from openoctopus.scheduler.base import (
    NO_ANSWER,
    Again,
    Answer,
    Counts,
    Entry,
    FailedEntry,
    HostLoad,
    Lease,
    Outcome,
    Scheduler,
)
from openoctopus.scheduler.wire import Row, entry_out, failed_in, lease_in, load_in, outcome_out
from openoctopus.state import NO_STATE, State

#: So many of the entries that were added last are known to be seen, twice over.
KNOWN = 50_000


class RemoteScheduler(Scheduler):
    """What a worker sees of its owner's scheduler (see ``owner``).

    ``channel`` leads there; ``told`` has what the owner tells, to be called by it. Without the name of a worker the one
    that the owner knows is meant.
    """

    def __init__(self) -> None:
        self.channel: Channel
        #: Called when so many entries more may be claimed, and not by the doing of this worker.
        self.news: Callable[[int], None] = lambda count: None
        #: Called before pages are settled: what is told then arrives with them, or not at all.
        self.settling: Callable[[], None] = lambda: None
        self.counts = Counts()
        self.starting = True
        self.start_hosts = set()
        self._known: tuple[set[int], set[int]] = set(), set()

    @property
    def told(self) -> Mapping[str, Callable[..., None]]:
        return {"standing": self._stands, "news": lambda count: self.news(count)}

    def _stands(self, start_hosts: list[str], starting: bool, *counts: int) -> None:
        self.start_hosts.update(start_hosts)
        self.starting = starting
        self.counts = Counts(*counts)

    async def add(self, entries: Sequence[Entry]) -> list[bool]:
        new: list[bool] = await self.channel.ask("add", [entry_out(entry) for entry in entries])
        recent, before = self._known
        recent.update(entry.rid for entry in entries)
        if len(recent) > KNOWN:
            before.clear()
            self._known = before, recent
        return new

    def knows(self, rid: int) -> bool:
        recent, before = self._known
        return rid in recent or rid in before

    async def claim(self, worker: str = "") -> Lease | None:
        asked = self.channel.ask("claim", worker)
        try:
            row = await asyncio.shield(asked)
        except asyncio.CancelledError:
            asked.add_done_callback(self._give_back)
            raise
        return None if row is None else lease_in(row)

    def _give_back(self, asked: asyncio.Future[Row | None]) -> None:
        """Nobody waits any more for what was claimed."""
        if asked.exception() is None and (row := asked.result()) is not None:
            self.channel.ask("settle", [(lease_in(row).token, outcome_out(Again(spent=False)))], {})

    async def runnable(self) -> bool:
        return bool(await self.channel.ask("runnable"))

    async def wait(self, worker: str = "") -> float:
        return float(await self.channel.ask("wait", worker))

    def fetched(self, lease: Lease, answer: Answer = NO_ANSWER) -> None:
        if not lease.fetched:
            lease.fetched = True
            self.channel.tell("fetched", lease.token, answer)

    def read(self, lease: Lease) -> None:
        lease.read = True
        self.channel.tell("read", lease.token)

    async def settle(self, settled: Iterable[tuple[Lease, Outcome]], state: State = NO_STATE) -> None:
        self.settling()
        rows = [(lease.token, outcome_out(outcome)) for lease, outcome in settled]
        await self.channel.ask("settle", rows, state)

    async def kept(self, prefix: str) -> dict[str, bytes]:
        return dict(await self.channel.ask("kept", prefix))

    async def extend(self, leases: Iterable[Lease]) -> list[Lease]:
        held = {lease.token: lease for lease in leases}
        return [held[token] for token in await self.channel.ask("extend", list(held))]

    async def release(self, worker: str) -> int:
        return int(await self.channel.ask("release", worker))

    async def claim_start(self, worker: str = "") -> bool:
        return bool(await self.channel.ask("claim_start", worker))

    async def end_start(self, *, drawn: bool = True) -> None:
        await self.channel.ask("end_start", drawn)

    def add_start_host(self, host: str) -> None:
        self.start_hosts.add(host)
        self.channel.tell("add_start_host", host)

    async def reserve(self, host: str, *, own_slot: bool = False) -> float:
        return float(await self.channel.ask("reserve", host, own_slot))

    def unreserve(self, host: str, answer: Answer = NO_ANSWER, *, own_slot: bool = False) -> None:
        self.channel.tell("unreserve", host, answer, own_slot)

    def pause(self, paused: bool) -> None:
        self.channel.tell("pause", paused)

    async def failed(self) -> Collection[FailedEntry]:
        return [failed_in(row) for row in await self.channel.ask("failed")]

    async def take_given_up(self) -> list[FailedEntry]:
        return [failed_in(row) for row in await self.channel.ask("take_given_up")]

    async def busiest(self, limit: int = 10) -> list[HostLoad]:
        return [load_in(row) for row in await self.channel.ask("busiest", limit)]

    async def slowest(self, limit: int = 10) -> list[HostLoad]:
        return [load_in(row) for row in await self.channel.ask("slowest", limit)]

    async def recall(self, key: str) -> bytes | None:
        value: bytes | None = await self.channel.ask("recall", key)
        return value

    async def remember(self, key: str, value: bytes, seconds: float) -> None:
        await self.channel.ask("remember", key, value, seconds)

    def set_crawl_delay(self, host: str, seconds: float) -> None:
        self.channel.tell("set_crawl_delay", host, seconds)

    async def delay_of(self, host: str) -> float:
        return float(await self.channel.ask("delay_of", host))
