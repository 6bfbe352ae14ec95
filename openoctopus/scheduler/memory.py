"""Requests in the memory of this process: gone when it ends."""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable, Collection, Iterable, Sequence

from openoctopus.dupefilter import RFPDupeFilter
from openoctopus.scheduler.base import (
    NO_ANSWER,
    Answer,
    Entry,
    FailedEntry,
    HostLoad,
    Lease,
    Outcome,
    Scheduler,
)
from openoctopus.scheduler.hosts import Host, Politeness
from openoctopus.scheduler.policy import Policy
from openoctopus.scheduler.seen import seen_for
from openoctopus.settings import Settings
from openoctopus.state import NO_STATE, State


class MemoryScheduler(Scheduler):
    """The default: a fresh start each time. Its leases do not run out, since they die with the process."""

    def __init__(
        self,
        dupefilter: RFPDupeFilter,
        settings: Settings,
        *,
        clock: Callable[[], float] = time.monotonic,
        lease: float = math.inf,
    ) -> None:
        self._clock = clock
        self._policy = Policy(
            seen_for(dupefilter),
            Politeness.of(settings),
            lease_seconds=lease,
            max_lost=settings.MAX_LOST,
            max_failed=settings.MAX_FAILED,
        )
        self.counts = self._policy.counts
        self._state: dict[str, bytes] = {}
        self._start = Start()
        self.start_hosts = set()
        self._remembered: dict[str, tuple[float, bytes]] = {}
        self._tidy_at = 1000

    @property
    def starting(self) -> bool:  # type: ignore[override]  # here it is not told but known
        return not self._start.ended

    async def runnable(self) -> bool:
        return self._policy.runnable(self._clock())

    async def add(self, entries: Sequence[Entry]) -> list[bool]:
        return self._policy.add(entries, self._clock())

    def knows(self, rid: int) -> bool:
        return rid in self._policy.seen

    async def claim(self, worker: str = "") -> Lease | None:
        return self._policy.claim(worker, self._clock())

    async def wait(self, worker: str = "") -> float:
        return self._policy.wait(worker, self._clock())

    def fetched(self, lease: Lease, answer: Answer = NO_ANSWER) -> None:
        self._policy.fetched(lease, answer, self._clock())

    async def settle(self, settled: Iterable[tuple[Lease, Outcome]], state: State = NO_STATE) -> None:
        now = self._clock()
        for lease, outcome in settled:
            self._policy.settle(lease, outcome, now)
        for key, value in state.items():
            if value:
                self._state[key] = value
            else:
                self._state.pop(key, None)

    async def kept(self, prefix: str) -> dict[str, bytes]:
        return {key: value for key, value in self._state.items() if key.startswith(prefix)}

    async def extend(self, leases: Iterable[Lease]) -> list[Lease]:
        now = self._clock()
        return [lease for lease in leases if not self._policy.extend(lease, now)]

    async def release(self, worker: str) -> int:
        self._start.release(worker)
        return self._policy.release(worker, self._clock())

    async def claim_start(self, worker: str = "") -> bool:
        return self._start.claim(worker)

    async def end_start(self, *, drawn: bool = True) -> None:
        self._start.ended = True

    def add_start_host(self, host: str) -> None:
        self.start_hosts.add(host)

    async def reserve(self, host: str, *, own_slot: bool = False) -> float:
        return self._policy.reserve(host, self._clock(), own_slot)

    def unreserve(self, host: str, answer: Answer = NO_ANSWER, *, own_slot: bool = False) -> None:
        self._policy.unreserve(host, answer, self._clock(), own_slot)

    def pause(self, paused: bool) -> None:
        self._policy.paused = paused

    async def failed(self) -> Collection[FailedEntry]:
        return self._policy.failed

    async def take_given_up(self) -> list[FailedEntry]:
        given_up, self._policy.given_up = self._policy.given_up, []
        return given_up

    async def busiest(self, limit: int = 10) -> list[HostLoad]:
        hosts = heapq.nlargest(limit, self._policy.hosts(), key=lambda host: (host.in_flight, host.queued))
        return [_load(host) for host in hosts if host.in_flight or host.queued]

    async def slowest(self, limit: int = 10) -> list[HostLoad]:
        hosts = heapq.nlargest(limit, self._policy.hosts(), key=lambda host: host.latency)
        return [_load(host) for host in hosts if host.latency]

    async def recall(self, key: str) -> bytes | None:
        until, value = self._remembered.get(key, (0.0, b""))
        return value if until > self._clock() else None

    async def remember(self, key: str, value: bytes, seconds: float) -> None:
        now = self._clock()
        self._remembered[key] = (now + seconds, value)
        if len(self._remembered) >= self._tidy_at:
            self._remembered = {key: kept for key, kept in self._remembered.items() if kept[0] > now}
            self._tidy_at = 2 * len(self._remembered) + 1000

    def set_crawl_delay(self, host: str, seconds: float) -> None:
        self._policy.set_crawl_delay(host, seconds, self._clock())

    async def delay_of(self, host: str) -> float:
        return self._policy.delay_of(host)


class Start:
    """Who draws the spider's first requests."""

    def __init__(self) -> None:
        self.ended = False
        self._worker: str | None = None

    def claim(self, worker: str) -> bool:
        if self.ended or self._worker not in (None, worker):
            return False
        self._worker = worker
        return True

    def release(self, worker: str) -> None:
        if self._worker == worker:
            self._worker = None


def _load(host: Host) -> HostLoad:
    return HostLoad(host.name, host.queued, host.in_flight, host.delay, host.latency, host.dead)
