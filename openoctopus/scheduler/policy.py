"""Who may go now: what waits, who holds which, dead hosts and suspects, decided in one place.

Plain data and a clock that the caller brings, so that it can be tested in virtual time. ``MemoryScheduler`` is this and a
clock; a scheduler with a journal writes down what this decides.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from itertools import islice

from openoctopus.scheduler.base import (
    NO_ANSWER,
    Again,
    Answer,
    Counts,
    Done,
    Entry,
    Fail,
    FailedEntry,
    Lease,
    Move,
    Outcome,
)
from openoctopus.scheduler.hosts import PROMISE, Host, Politeness
from openoctopus.scheduler.journal import Journal
from openoctopus.scheduler.seen import Seen
from openoctopus.scheduler.turns import Turns

#: So many things that time alone has changed are taken in by one claim, so that a hundred thousand never hold it up.
AT_ONCE = 32
#: Workers give way to a suspect that has waited so long, in seconds, until one of them holds nothing else.
SUSPECT_PATIENCE = 10.0


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
        #: What was failed here, not by a worker, and was not told yet.
        self.given_up: list[FailedEntry] = []
        #: Is told what is decided here.
        self.journal = Journal()
        self.paused = False
        self._hosts: dict[str, Host] = {}
        #: The same hosts in turn, to be looked at whether they can be forgotten.
        self._ring: deque[Host] = deque()
        self._turns = Turns()
        #: (due, number, host) of what the hosts keep for later; stale if it is no longer there.
        self._delayed: list[tuple[float, int, Host]] = []
        #: Entries whose worker died, with the time since when they wait. They are few.
        self._suspects: list[tuple[float, Entry]] = []
        #: The one that runs out first comes first.
        self._leases: OrderedDict[int, Lease] = OrderedDict()
        self._held: dict[str, set[int]] = {}
        #: The workers that hold a suspect.
        self._alone: set[str] = set()
        #: How many pending entries are of hosts that are not dead.
        self._reachable = 0
        self._number = 0

    # Adding

    def add(self, entries: Iterable[Entry], now: float) -> list[bool]:
        """Let each entry wait unless its rid was seen; which ones were new."""
        return [self._add(entry, now) for entry in entries]

    def _add(self, entry: Entry, now: float) -> bool:
        if not self.seen.add(entry.rid):
            self.counts.duplicates += 1
            return False
        self.journal.saw(entry.rid)
        self._admit(entry, now)
        return True

    def _admit(self, entry: Entry, now: float) -> None:
        self.journal.waits(entry, entry.delay)
        self._enqueue(self._pending(entry, now), entry, entry.delay, now)

    def _pending(self, entry: Entry, now: float) -> Host:
        """Count an entry among those that are not at their end; its host."""
        host = self._host(entry.host, now)
        entry.host = host.name  # one text for all its entries
        host.pending += 1
        self._reachable += not host.dead
        self.counts.added += 1
        return host

    def restore(self, entry: Entry, now: float, *, lost: bool = False) -> None:
        """Take back an entry of an earlier run, which ended while its page was being read if it is ``lost``."""
        host = self._pending(entry, now)
        if lost:
            self._orphaned(entry, now, is_suspect=True)
        else:
            self._enqueue(host, entry, entry.delay, now)

    def _enqueue(self, host: Host, entry: Entry, delay: float, now: float) -> None:
        if delay > 0:
            self._number += 1
            if host.later is None:
                host.later = {}
            host.later[self._number] = entry
            heappush(self._delayed, (now + delay, self._number, host))
            self.counts.delayed += 1
            return
        self.counts.queued += 1
        if entry.lost:
            self._suspects.append((now, entry))
            return
        host.push(entry)
        self._turns.pushed(host, now)

    def _host(self, name: str, now: float) -> Host:
        host = self._hosts.get(name)
        if host is None:
            self._forget(now)
            host = self._hosts[name] = Host(name, self.politeness)
            self._ring.append(host)
        return host

    def _forget(self, now: float) -> None:
        """Look at two of the hosts for each new one: those that can be forgotten never outnumber the others for long."""
        for _ in range(min(2, len(self._ring))):
            host = self._ring.popleft()
            if host.forgettable(now):
                del self._hosts[host.name]
            else:
                self._ring.append(host)

    # Claiming

    def claim(self, worker: str, now: float) -> Lease | None:
        """The entry that may go now, leased to ``worker``."""
        if self.paused:
            return None
        more, lease = True, None
        while more and lease is None:
            more = self._advance(now)
            lease = self._next(worker, now)
        return lease

    def _advance(self, now: float) -> bool:
        """Take in what time alone has changed; whether there may be more of it."""
        more = True
        for _ in range(AT_ONCE):
            if self._leases and (lease := next(iter(self._leases.values()))).expires <= now:
                self._lose(lease, now)
            elif self._delayed and self._delayed[0][0] <= now:
                self._due(*heappop(self._delayed)[1:], now)
            elif not self._turns.wake(now):
                more = False
                break
        if not self._reachable:
            self._probe(now)
        return more

    def _due(self, number: int, host: Host, now: float) -> None:
        entry = host.later.pop(number, None) if host.later else None
        if entry is not None:
            self.counts.delayed -= 1
            self._enqueue(host, entry, 0.0, now)

    def _next(self, worker: str, now: float) -> Lease | None:
        if self._suspects and worker not in self._held:
            found = self._suspect(now)
            if found is not None:
                self._alone.add(worker)
                return self._grant(self._suspects.pop(found)[1], worker, now)
        if self._barred(worker, now):
            return None
        host = self._turns.first(now)
        return None if host is None else self._grant(host.pop(), worker, now)

    def _barred(self, worker: str, now: float) -> bool:
        """Whether it gets nothing: it holds a suspect, or has to give way to one."""
        if worker in self._alone:
            return True
        if not self._suspects or worker not in self._held:
            return False
        found = self._suspect(now)
        return found is not None and self._suspects[found][0] + SUSPECT_PATIENCE <= now

    def _suspect(self, now: float) -> int | None:
        """Which of the suspects may go now."""
        for number, (_, entry) in enumerate(islice(self._suspects, AT_ONCE)):
            host = self._hosts[entry.host]
            if host.has_room() and host.ready_at() <= now:
                return number
        return None

    def _grant(self, entry: Entry, worker: str, now: float) -> Lease:
        self.counts.queued -= 1
        self.counts.leased += 1
        self._number += 1
        lease = self._leases[entry.rid] = Lease(entry, self._number, worker, now + self.lease_seconds)
        self._held.setdefault(worker, set()).add(entry.rid)
        host = self._hosts[entry.host]
        host.start(now)
        self._turns.place(host, now)
        return lease

    def wait(self, worker: str, now: float) -> float:
        """Seconds until time alone may let that worker claim something."""
        if self.paused:
            return math.inf
        if self._advance(now):
            return 0.0
        times = [next(iter(self._leases.values())).expires] if self._leases else []
        if not self._barred(worker, now):
            if self._turns.first(now) is not None:
                return 0.0
            times.append(self._turns.next_time())
            times += [item[0] for item in self._delayed[:1]]
            if worker not in self._held:
                hosts = (self._hosts[entry.host] for _, entry in islice(self._suspects, AT_ONCE))
                times += [host.ready_at() for host in hosts if host.has_room()]
        return max(0.0, min(times, default=math.inf) - now)

    def runnable(self, now: float) -> bool:
        """Whether a claim would probably succeed."""
        return not self.paused and (self._advance(now) or self._turns.first(now) is not None or self._suspect(now) is not None)

    # Dead hosts: they delay the crawl, they do not excuse it

    def _probe(self, now: float) -> None:
        """Only dead hosts are left: those without hope are tried once more, before their pauses are over."""
        self._turns.rouse(AT_ONCE, now)
        for _, entry in self._suspects:
            if self._hosts[entry.host].hopeless:
                self._hosts[entry.host].resting = 0.0

    def _give_up(self, host: Host) -> None:
        """The last try failed too: what still waits for this host fails with it."""
        host.given_up = True
        self.counts.queued -= host.queued
        self.counts.delayed -= len(host.later or ())
        entries = host.clear()
        suspects = [entry for _, entry in self._suspects if entry.host == host.name]
        if suspects:
            self._suspects = [item for item in self._suspects if item[1].host != host.name]
            self.counts.queued -= len(suspects)
        for entry in entries + suspects:
            self._fail_unreachable(entry, host)

    def _fail_unreachable(self, entry: Entry, host: Host) -> None:
        detail = f"{host.name} could not be reached {host.failures} times in a row"
        self.given_up.append(self._fail(entry, "host_unreachable", detail))

    # Ending

    def fetched(self, lease: Lease, answer: Answer, now: float) -> None:
        """The host's slot is free; see ``Scheduler.fetched``."""
        if lease.fetched or self._leases.get(lease.rid) is not lease:
            return
        lease.fetched = True
        host = self._hosts[lease.entry.host]
        host.finish(now)
        self._learn(host, answer, now)

    def _learn(self, host: Host, answer: Answer, now: float) -> None:
        was_dead = host.dead
        host.learn(answer, now)
        if host.dead != was_dead:
            self._reachable += -host.pending if host.dead else host.pending
        if answer.unreachable and host.hopeless and not self._reachable:
            self._give_up(host)
        if answer.unreachable or host.dead != was_dead:
            self._turns.place(host, now)
        else:
            self._turns.freed(host, now)

    def settle(self, lease: Lease, outcome: Outcome, now: float) -> bool:
        """End a lease; ``False``, and no effect at all, if it is no longer held."""
        if self._leases.get(lease.rid) is not lease:
            return False
        self._drop(lease, now)
        match outcome:
            case Done():
                self.counts.done += 1
                self._end(lease.entry)
            case Again(delay, spent):
                self._again(lease.entry, delay, spent, now)
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
            self._alone.discard(lease.worker)

    def _end(self, entry: Entry) -> None:
        self.journal.ended(entry)
        host = self._hosts[entry.host]
        host.pending -= 1
        self._reachable -= not host.dead

    def _again(self, entry: Entry, delay: float, spent: bool, now: float) -> None:
        host = self._hosts[entry.host]
        entry.attempts += spent
        if spent and host.given_up and not self._reachable:
            self._fail_unreachable(entry, host)
            return
        entry.front = entry.front or not spent
        self.journal.waits(entry, delay)
        self._enqueue(host, entry, delay, now)

    def _move(self, old: Entry, new: Entry, fingerprint: int, now: float) -> None:
        if self.seen.add(new.rid):
            self.journal.saw(new.rid)
            new.attempts, new.front = old.attempts, True
            self._admit(new, now)
        if self.seen.add(fingerprint):
            self.journal.saw(fingerprint)
        self.counts.done += 1
        self._end(old)

    def _fail(self, entry: Entry, reason: str, detail: str) -> FailedEntry:
        failed = FailedEntry(entry, reason, detail, time.time())
        self.counts.failed += 1
        self.failed.append(failed)
        self.journal.failed(failed)
        self._end(entry)
        return failed

    def extend(self, lease: Lease, now: float) -> bool:
        """Hold a lease for longer; ``False`` if it is no longer held."""
        if self._leases.get(lease.rid) is not lease:
            return False
        lease.expires = now + self.lease_seconds
        self._leases.move_to_end(lease.rid)
        return True

    def release(self, worker: str, now: float) -> int:
        """A worker died: its entries wait again, as suspects."""
        leases = sorted((self._leases[rid] for rid in self._held.get(worker, ())), key=lambda lease: lease.token)
        for lease in leases:
            self._lose(lease, now)
        return len(leases)

    def _lose(self, lease: Lease, now: float) -> None:
        self._drop(lease, now)
        self._orphaned(lease.entry, now, is_suspect=not lease.read)

    def _orphaned(self, entry: Entry, now: float, *, is_suspect: bool) -> None:
        """Its worker died, and perhaps of it: it waits again."""
        entry.lost += is_suspect
        if entry.lost >= self.max_lost:
            self.given_up.append(self._fail(entry, "worker_lost", f"its worker died {entry.lost} times"))
        else:
            self.journal.waits(entry, 0.0)
            self._enqueue(self._hosts[entry.host], entry, 0.0, now)

    # Slots outside of entries

    def reserve(self, name: str, now: float, own_slot: bool) -> float:
        """A slot of a host for a fetch from inside; see ``Scheduler.reserve``."""
        host = self._host(name, now)
        wait = max(host.next, host.resting) - now
        if wait > 0 or not (own_slot or host.has_room()):
            host.promised = now + PROMISE
            return wait if wait > 0 else math.inf
        host.promised = 0.0
        host.start(now, own_slot=own_slot)
        self._turns.freed(host, now)
        return 0.0

    def unreserve(self, name: str, answer: Answer, now: float, own_slot: bool) -> None:
        """Give such a slot back."""
        host = self._host(name, now)
        host.finish(now, own_slot=own_slot)
        self._learn(host, answer, now)

    def set_crawl_delay(self, name: str, seconds: float, now: float) -> None:
        self._host(name, now).set_crawl_delay(seconds, now)

    def delay_of(self, name: str) -> float:
        return (self._hosts.get(name) or Host(name, self.politeness)).delay

    # For people

    def leases(self) -> Iterable[Lease]:
        return self._leases.values()

    def hosts(self) -> Iterator[Host]:
        return iter(self._hosts.values())
