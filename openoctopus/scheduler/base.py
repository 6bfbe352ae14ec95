"""Where requests wait, and who holds which: the contract that every scheduler keeps.

A crawl is requests that wait, and workers that each carry one from ``claim`` to ``settle``. Politeness and leases are
decided by the scheduler and nowhere else.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from openoctopus.plugins import Plugin
from openoctopus.state import NO_STATE, State

#: The priority of an entry that continues a page (a redirect): the front of its own host; all others are smaller.
FRONT = 1 << 40


class Entry(msgspec.Struct, gc=False):
    """A request in the scheduler: what is needed to decide when it goes; ``body`` is the frozen request."""

    rid: int
    host: str
    body: bytes
    priority: int = 0
    #: Seconds before it may be claimed, counted from ``add``.
    delay: float = 0.0
    #: Tries that failed so far, and workers that died of it.
    attempts: int = 0
    lost: int = 0
    #: Goes before all others of its host: it continues a page.
    front: bool = False
    #: Where a journal keeps it; 0 where there is none.
    row: int = 0


@dataclass(slots=True, eq=False)
class Lease:
    """One entry in the hands of one worker, until it is settled or the time is up."""

    entry: Entry
    token: int
    worker: str
    #: On the scheduler's clock, seconds.
    expires: float
    #: The host's slot is free again.
    fetched: bool = False
    #: The page was read: if its worker dies now, the page is not to blame.
    read: bool = False

    @property
    def rid(self) -> int:
        return self.entry.rid


class Answer(NamedTuple):
    """What a fetch told about its host. Seconds."""

    latency: float = 0.0
    #: ``None`` where nobody was asked, or no answer came.
    status: int | None = None
    #: How long the server asks us to wait.
    retry_after: float | None = None
    #: No connection could be made.
    unreachable: bool = False


#: Nothing was learnt.
NO_ANSWER = Answer()


@dataclass(frozen=True, slots=True)
class Done:
    """The page was read, and everything it yielded is safe."""


@dataclass(frozen=True, slots=True)
class Again:
    """The entry waits again; ``spent`` says whether that was an attempt."""

    delay: float = 0.0
    spent: bool = True


@dataclass(frozen=True, slots=True)
class Fail:
    """The entry becomes a failed entry. ``reason`` is a short name to group by, ``detail`` what happened."""

    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Move:
    """Another entry takes this one's place: a redirect. It is not filtered, keeps the attempts and goes first; its
    ``fingerprint`` joins what was seen.
    """

    entry: Entry
    fingerprint: int


Outcome = Done | Again | Fail | Move
DONE = Done()


@dataclass(frozen=True, slots=True)
class FailedEntry:
    """A request that was given up."""

    entry: Entry
    reason: str
    detail: str
    #: Seconds since the epoch.
    at: float


@dataclass(slots=True)
class Counts:
    """How many entries there are in each state. ``added`` is always the sum of those up to ``failed``."""

    added: int = 0
    queued: int = 0
    delayed: int = 0
    leased: int = 0
    done: int = 0
    failed: int = 0
    duplicates: int = 0

    @property
    def pending(self) -> int:
        """How many are not at their end."""
        return self.queued + self.delayed + self.leased


@dataclass(frozen=True, slots=True)
class HostLoad:
    """How busy a host is, for people to see."""

    host: str
    queued: int
    in_flight: int
    delay: float
    latency: float
    dead: bool = field(default=False)


class Scheduler(Plugin):
    """Entries that wait, entries out on lease, and what is known of hosts.

    Every method may be repeated with the same arguments without a second effect. Times are seconds.
    """

    #: As of the last answer to anything that was awaited; so are ``starting`` and ``start_hosts``.
    counts: Counts
    #: Whether first requests may still come: nobody has drawn the last one.
    starting: bool
    #: The hosts that first requests name: for them private addresses are allowed.
    start_hosts: set[str]

    @abstractmethod
    async def add(self, entries: Sequence[Entry]) -> list[bool]:
        """Let entries wait, each unless it was seen before; which ones were new."""

    def knows(self, rid: int) -> bool:
        """Whether it is certain, without asking anybody, that such an entry was seen; ``False`` where it is not."""
        return False

    @abstractmethod
    async def claim(self, worker: str = "") -> Lease | None:
        """The entry that may go now: best priority first, fair turns between hosts; ``None`` if none may yet.

        An entry whose worker died before is a suspect: it is given only to a worker that holds nothing else, and that one
        gets nothing more until it is settled.
        """

    @abstractmethod
    async def runnable(self) -> bool:
        """Whether a claim would probably succeed now; never ``False`` if it would."""

    @abstractmethod
    async def wait(self, worker: str = "") -> float:
        """Seconds after which time alone may let that worker's ``claim`` succeed; infinite if only news can."""

    @abstractmethod
    def fetched(self, lease: Lease, answer: Answer = NO_ANSWER) -> None:
        """The body has arrived, or the fetch failed: the host's slot is free and its delay starts.

        Only the first call for a lease counts.
        """

    def read(self, lease: Lease) -> None:
        """The page was read: if its worker dies before it is settled, the page is not to blame."""
        lease.read = True

    @abstractmethod
    async def settle(self, settled: Iterable[tuple[Lease, Outcome]], state: State = NO_STATE) -> None:
        """End leases, once all that the pages yielded is safe. A lease that is no longer held changes nothing.

        ``state`` is kept in the same step: after a crash both are there, or neither. An empty value removes its key.
        """

    @abstractmethod
    async def kept(self, prefix: str) -> dict[str, bytes]:
        """The state that is kept under keys that begin so, that of an earlier run of this crawl too."""

    @abstractmethod
    async def extend(self, leases: Iterable[Lease]) -> list[Lease]:
        """Hold leases for another ``LEASE_SECONDS``; returns those that are no longer held."""

    @abstractmethod
    async def release(self, worker: str) -> int:
        """A worker died: its entries wait again at once, those that it had not read as suspects. How many they were."""

    @abstractmethod
    async def claim_start(self, worker: str = "") -> bool:
        """Whether this worker is the one that draws the spider's first requests; one at a time, until they are all drawn."""

    @abstractmethod
    async def end_start(self, *, drawn: bool = True) -> None:
        """No more first requests come. With ``drawn`` all of them were added: nobody draws them again, also not when the
        crawl is resumed.
        """

    @abstractmethod
    def add_start_host(self, host: str) -> None:
        """A first request names this host; every worker knows it before it can claim an entry of it."""

    @abstractmethod
    async def reserve(self, host: str, *, own_slot: bool = False) -> float:
        """Ask for a host's slot outside of any entry; 0.0 if it is yours now, else seconds to wait, infinite for news.

        With ``own_slot`` the slot of the page that asks is used, so that it never waits behind itself. For a second after a
        refusal no entry of that host is claimed: who asks again in time is never starved by those in the queue.
        """

    @abstractmethod
    def unreserve(self, host: str, answer: Answer = NO_ANSWER, *, own_slot: bool = False) -> None:
        """Give the slot back, with what the answer was."""

    @abstractmethod
    def pause(self, paused: bool) -> None:
        """Stop or resume claims; everything else goes on."""

    @abstractmethod
    async def failed(self) -> Collection[FailedEntry]:
        """The entries that were given up, oldest first, as far as they are kept."""

    @abstractmethod
    async def take_given_up(self) -> list[FailedEntry]:
        """Those that the scheduler itself gave up since the last call, each told once: their host is unreachable, their
        worker was lost too often.
        """

    @abstractmethod
    async def busiest(self, limit: int = 10) -> list[HostLoad]:
        """The hosts with the most entries waiting or under way."""

    @abstractmethod
    async def slowest(self, limit: int = 10) -> list[HostLoad]:
        """The hosts that take longest to answer."""

    # What is known of hosts, shared by all workers (see ``downloadermiddlewares.base.HostRecords``).

    @abstractmethod
    async def recall(self, key: str) -> bytes | None:
        """What was remembered under that key, or ``None``."""

    @abstractmethod
    async def remember(self, key: str, value: bytes, seconds: float) -> None:
        """Keep a value for that long."""

    @abstractmethod
    def set_crawl_delay(self, host: str, seconds: float) -> None:
        """From now on at least so many seconds lie between two requests to that host."""

    @abstractmethod
    async def delay_of(self, host: str) -> float:
        """The seconds between two requests to that host as they stand now."""
