"""Who may go now: priorities, turns between hosts, politeness, leases and dead hosts, decided in one place.

Plain data and a clock that the caller brings, so that it can be tested in virtual time. ``MemoryScheduler`` is this and a
clock; a scheduler with a journal writes down what this decides.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heappush
from typing import Any

from openoctopus.scheduler.base import NO_ANSWER, Again, Answer, Counts, Done, Entry, Fail, FailedEntry, HostLoad, Lease, Move, Outcome
from openoctopus.scheduler.hosts import Host, Politeness
from openoctopus.scheduler.seen import Seen

#: How many forgotten hosts are looked for at once.
SWEEP_HOSTS = 10_000


class Policy:
    """The queue of one crawl. ``now`` is seconds on any clock that does not run backwards."""

    def __init__(
        self,
        seen: Seen,
        politeness: Politeness,
        *,
        lease_seconds: float = math.inf,
        max_lost: int = 3,
        max_failed: int = 10_000,
    ) -> None:
        self.seen = seen
        self.politeness = politeness
        self.lease_seconds = lease_seconds
        self.max_lost = max_lost
        self.counts = Counts()
        self.failed: deque[FailedEntry] = deque(maxlen=max_failed)
        self.paused = False
        self._hosts: dict[str, Host] = {}
        # Heaps of (key, turn, host) and (due, number, entry); an item that is no longer its host's place is stale.
        self._runnable: list[tuple[Any, ...]] = []
        self._snoozed: list[tuple[Any, ...]] = []
        self._delayed: list[tuple[float, int, Entry]] = []
        self._leases: dict[int, Lease] = {}
        self._expiries: list[tuple[float, int, Lease]] = []
        self._held: dict[str, set[int]] = {}
        self._suspects: set[str] = set()
        self._number = 0

    # Adding

    def add(self, entries: Iterable[Entry], now: float) -> list[bool]:
        """Let each entry wait unless its rid was seen; which ones were new."""
        new = [self.seen.add(entry.rid) for entry in entries]
        for entry, is_new in zip(entries, new, strict=True):
            if is_new:
                self.counts.added += 1
                self._enqueue(entry, now, entry.delay)
            else:
                self.counts.duplicates += 1
        return new

    def _enqueue(self, entry: Entry, now: float, delay: float) -> None:
        if delay > 0:
            self._number += 1
            heappush(self._delayed, (now + delay, self._number, entry))
            self.counts.delayed += 1
            return
        self.counts.queued += 1
        host = self._host(entry.host, now)
        host.push(entry)
        if host.place is None or (not host.snoozed and entry.priority > -host.place[0]):
            self._place(host, now)

    def _host(self, name: str, now: float) -> Host:
        host = self._hosts.get(name)
        if host is None:
            if len(self._hosts) % SWEEP_HOSTS == SWEEP_HOSTS - 1:
                self._hosts = {key: kept for key, kept in self._hosts.items() if not kept.idle or kept.next > now}
            host = self._hosts[name] = Host(name, self.politeness)
        return host

    def _place(self, host: Host, now: float) -> None:
        """Put a host where it belongs: runnable, snoozed until its time, or nowhere without work or room."""
        if not host.queued or not host.has_room():
            host.place = None
            return
        self._number += 1
        ready_at = host.ready_at()
        host.snoozed = ready_at > now
        if host.snoozed:
            host.place = (ready_at, self._number, host)
            heappush(self._snoozed, host.place)
        else:
            host.place = (-host.head().priority, self._number, host)
            heappush(self._runnable, host.place)

    # Claiming

    def claim(self, worker: str, now: float) -> Lease | None:
        """The entry that may go now, leased to ``worker``."""
        if self.paused or worker in self._suspects:
            return None
        self._advance(now)
        lease = self._next(worker, now)
        if lease is None and self._snoozed and self._only_dead_hosts_left():
            self._probe(now)
            lease = self._next(worker, now)
        return lease

    def _advance(self, now: float) -> None:
        """What time alone has changed: leases that ran out, delays that are over, hosts whose turn has come."""
        while self._expiries and self._expiries[0][0] <= now:
            expires, _, lease = heappop(self._expiries)
            if lease.expires == expires and self._leases.get(lease.rid) is lease:
                self._lose(lease, now)
        while self._delayed and self._delayed[0][0] <= now:
            self.counts.delayed -= 1
            self._enqueue(heappop(self._delayed)[2], now, 0.0)
        while self._snoozed and self._snoozed[0][0] <= now:
            item = heappop(self._snoozed)
            if item[2].place is item:
                self._place(item[2], now)

    def _next(self, worker: str, now: float) -> Lease | None:
        alone = not self._held.get(worker)
        lease, aside = None, []
        while self._runnable and lease is None:
            item = heappop(self._runnable)
            host: Host = item[2]
            if host.place is not item:
                continue
            if host.ready_at() > now or not host.has_room():
                self._place(host, now)
            elif host.head().lost and not alone:
                aside.append(item)
            else:
                lease = self._grant(host, worker, now)
        for item in aside:
            heappush(self._runnable, item)
        return lease

    def _grant(self, host: Host, worker: str, now: float) -> Lease:
        entry = host.pop()
        host.start(now)
        self.counts.queued -= 1
        self.counts.leased += 1
        self._number += 1
        lease = Lease(entry, self._number, worker, now + self.lease_seconds)
        self._leases[entry.rid] = lease
        self._held.setdefault(worker, set()).add(entry.rid)
        if entry.lost:
            self._suspects.add(worker)
        self._expire_at(lease)
        self._place(host, now)
        return lease

    def _expire_at(self, lease: Lease) -> None:
        if lease.expires != math.inf:
            self._number += 1
            heappush(self._expiries, (lease.expires, self._number, lease))

    def wait(self, now: float) -> float:
        """Seconds until time alone may let a claim succeed."""
        if self.paused:
            return math.inf
        times = [heap[0][0] for heap in (self._snoozed, self._delayed, self._expiries) if heap]
        return max(0.0, min(times) - now) if times else math.inf

    @property
    def runnable(self) -> bool:
        """Whether a claim would probably succeed."""
        return bool(self._runnable) and not self.paused

    # Dead hosts: they delay the crawl, they do not excuse it

    def _only_dead_hosts_left(self) -> bool:
        if any(not lease.fetched for lease in self._leases.values()):
            return False
        waiting = (item[2] for item in self._snoozed if item[2].place is item)
        later = (self._host(entry.host, 0.0) for _, _, entry in self._delayed)
        return all(host.dead for host in waiting) and all(host.dead for host in later)

    def _probe(self, now: float) -> None:
        for _, _, host in self._snoozed[:]:
            if host.place and host.dead and not host.probing:
                host.probing = True
                self._place(host, now)

    def _give_up(self, host: Host) -> None:
        """The probe failed too: what still waits for this host fails with it."""
        host.probing, host.place = False, None
        later = [item for item in self._delayed if item[2].host == host.name]
        if later:
            self._delayed = [item for item in self._delayed if item[2].host != host.name]
            heapify(self._delayed)
            self.counts.delayed -= len(later)
        entries = [*host.entries(), *(entry for _, _, entry in later)]
        self.counts.queued -= host.queued
        host.queues, host.keys, host.queued = {}, [], 0
        for entry in entries:
            self._fail(entry, "host_unreachable", f"{host.name} could not be reached {host.failures} times in a row")

    # Ending

    def fetched(self, lease: Lease, answer: Answer, now: float) -> None:
        """The host's slot is free; see ``Scheduler.fetched``."""
        if lease.fetched or self._leases.get(lease.rid) is not lease:
            return
        lease.fetched = True
        host = self._host(lease.entry.host, now)
        host.finish(now)
        self._learn(host, answer, now)

    def _learn(self, host: Host, answer: Answer, now: float) -> None:
        host.learn(answer, now)
        if answer.unreachable and host.probing:
            self._give_up(host)
        elif host.place is None or host.snoozed or host.ready_at() > now:
            self._place(host, now)

    def settle(self, lease: Lease, outcome: Outcome, now: float) -> bool:
        """End a lease; ``False``, and no effect at all, if it is no longer held."""
        if self._leases.get(lease.rid) is not lease:
            return False
        self._drop(lease, now)
        match outcome:
            case Done():
                self.counts.done += 1
            case Again(delay, spent):
                lease.entry.attempts += spent
                lease.entry.front = lease.entry.front or not spent
                self._enqueue(lease.entry, now, delay)
            case Fail(reason, detail):
                self._fail(lease.entry, reason, detail)
            case Move(entry, fingerprint):
                self._move(lease.entry, entry, fingerprint, now)
        return True

    def _drop(self, lease: Lease, now: float) -> None:
        if not lease.fetched:
            self.fetched(lease, NO_ANSWER, now)
        del self._leases[lease.rid]
        self.counts.leased -= 1
        held = self._held[lease.worker]
        held.discard(lease.rid)
        if not held:
            del self._held[lease.worker]
            self._suspects.discard(lease.worker)

    def _move(self, old: Entry, new: Entry, fingerprint: int, now: float) -> None:
        self.counts.done += 1
        self.seen.add(fingerprint)
        if self.seen.add(new.rid):
            new.attempts, new.front = old.attempts, True
            self.counts.added += 1
            self._enqueue(new, now, new.delay)

    def _fail(self, entry: Entry, reason: str, detail: str) -> None:
        self.counts.failed += 1
        self.failed.append(FailedEntry(entry, reason, detail, time.time()))

    def extend(self, lease: Lease, now: float) -> bool:
        """Hold a lease for longer; ``False`` if it is no longer held."""
        if self._leases.get(lease.rid) is not lease:
            return False
        lease.expires = now + self.lease_seconds
        self._expire_at(lease)
        return True

    def release(self, worker: str, now: float) -> int:
        """A worker died: its entries wait again, as suspects."""
        leases = [self._leases[rid] for rid in self._held.get(worker, ())]
        for lease in leases:
            self._lose(lease, now)
        return len(leases)

    def _lose(self, lease: Lease, now: float) -> None:
        self._drop(lease, now)
        lease.entry.lost += 1
        if lease.entry.lost >= self.max_lost:
            self._fail(lease.entry, "worker_lost", f"its worker died {lease.entry.lost} times")
        else:
            self._enqueue(lease.entry, now, 0.0)

    # Slots outside of entries

    def reserve(self, name: str, now: float, own_slot: bool) -> float:
        """A slot of a host for a fetch from inside; see ``Scheduler.reserve``."""
        host = self._host(name, now)
        if host.ready_at() > now:
            return host.ready_at() - now
        if not own_slot and not host.has_room():
            return math.inf
        host.start(now, own_slot=own_slot)
        if host.place is not None:
            self._place(host, now)
        return 0.0

    def unreserve(self, name: str, answer: Answer, now: float, own_slot: bool) -> None:
        """Give such a slot back."""
        host = self._host(name, now)
        host.finish(now, own_slot=own_slot)
        self._learn(host, answer, now)

    # For people

    def hosts(self) -> Iterator[Host]:
        return iter(self._hosts.values())

    def load(self, host: Host) -> HostLoad:
        return HostLoad(host.name, host.queued, host.in_flight, host.delay, host.latency, host.dead)

    def set_crawl_delay(self, name: str, seconds: float, now: float) -> None:
        host = self._host(name, now)
        host.set_crawl_delay(seconds)

    def delay_of(self, name: str) -> float:
        host = self._hosts.get(name)
        return host.delay if host else float(self.politeness.slots.get(name, {}).get("delay", self.politeness.delay))
