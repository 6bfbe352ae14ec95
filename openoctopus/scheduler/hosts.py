"""How one host is treated: how many requests at once, how far apart, and what its answers change about that."""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any, Self

from openoctopus.exceptions import SettingsError
from openoctopus.scheduler.base import FRONT, Answer, Entry
from openoctopus.settings import Settings

#: After so many failed connections in a row a host counts as dead: it is tried one request at a time, after pauses.
DEAD_AFTER = 5
#: The first and the longest pause of a dead host, in seconds; each one doubles.
DEAD_PAUSE = 15.0
DEAD_PAUSE_MAX = 300.0
#: The delay that the first 429 or 503 puts on a host without one, in seconds; each further one doubles it.
SLOW_DOWN = 0.2
#: So many good answers in a row halve what was put on.
FORGIVE_AFTER = 10
#: The statuses by which a server says that it is asked too much.
OVERLOADED = frozenset({429, 503})
#: How long the next turn is kept for a fetch from inside that was refused one, in seconds.
PROMISE = 1.0
#: How long what answers taught is remembered of a host that is no longer asked anything, in seconds.
KEEP = 600.0
#: So many entries of one priority wait in a list; more in a deque, of which an empty one takes 760 bytes.
SHORT = 64


@dataclass(frozen=True, slots=True)
class Politeness:
    """The rules that hold for every host unless its own say otherwise. Times in seconds."""

    concurrency: int = 8
    delay: float = 0.0
    #: The delay is multiplied by a random number between these.
    spread: tuple[float, float] = (1.0, 1.5)
    adaptive: bool = False
    start_delay: float = 1.0
    max_delay: float = 60.0
    target_concurrency: float = 1.0
    retry_after_max: float = 300.0
    #: ``{host: {"concurrency": n, "delay": seconds}}``
    slots: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """The rules that the settings ask for. Raises ``SettingsError`` for a slot that makes no sense."""
        randomize = settings.RANDOMIZE_DOWNLOAD_DELAY
        for host, slot in settings.DOWNLOAD_SLOTS.items():
            _check_slot(host, slot)
        return cls(
            concurrency=settings.CONCURRENT_REQUESTS_PER_DOMAIN,
            delay=settings.DOWNLOAD_DELAY,
            spread=(0.5, 1.5) if randomize == "wide" else (1.0, 1.5) if randomize else (1.0, 1.0),
            adaptive=settings.AUTOTHROTTLE_ENABLED,
            start_delay=settings.AUTOTHROTTLE_START_DELAY,
            max_delay=settings.AUTOTHROTTLE_MAX_DELAY,
            target_concurrency=settings.AUTOTHROTTLE_TARGET_CONCURRENCY,
            retry_after_max=settings.RETRY_AFTER_MAX,
            slots=settings.DOWNLOAD_SLOTS,
        )

    def concurrency_of(self, host: str) -> int:
        return int(self.slots.get(host, {}).get("concurrency", self.concurrency))

    def delay_of(self, host: str) -> float:
        return float(self.slots.get(host, {}).get("delay", self.delay))


def _check_slot(host: Any, slot: Any) -> None:
    least = {"concurrency": 1, "delay": 0}
    right = isinstance(slot, Mapping) and all(
        name in least and isinstance(value, int | float) and least[name] <= value < math.inf for name, value in slot.items()
    )
    if not right:
        raise SettingsError(f'DOWNLOAD_SLOTS[{host!r}] = {slot!r}: write it as {{"concurrency": 1, "delay": 2.0}}')


class Host:
    """One host: its waiting entries and its politeness."""

    __slots__ = (
        "base", "clean", "concurrency", "dead", "delay", "failures", "given_up", "in_flight", "keys", "latency", "later",
        "name", "next", "pauses", "pending", "place", "promised", "queued", "queues", "resting", "rules", "slowed",
        "snoozed", "used",
    )  # fmt: skip

    def __init__(self, name: str, rules: Politeness) -> None:
        self.name = name
        self.rules = rules
        self.concurrency = rules.concurrency_of(name)
        #: The delay that was asked for; answers only add to it.
        self.base = rules.delay_of(name)
        self.delay = max(self.base, rules.start_delay) if rules.adaptive else self.base
        #: When the next request may go; when it was last slowed down; until when the turn is kept for a fetch from inside.
        self.next = 0.0
        self.slowed = -math.inf
        self.promised = 0.0
        self.in_flight = 0
        #: When a request last began or ended.
        self.used = 0.0
        #: Seconds that the host takes to answer, smoothed; 0 until the first answer.
        self.latency = 0.0
        #: Good answers, and failed connections, in a row.
        self.clean = 0
        self.failures = 0
        self.dead = False
        #: How often a dead host was left alone, and until when it is; whether its entries were given up.
        self.pauses = 0
        self.resting = 0.0
        self.given_up = False
        #: Where it stands: an item of one of the heaps of hosts, or ``None``; ``snoozed`` until its time has come.
        self.place: tuple[Any, ...] | None = None
        self.snoozed = False
        #: Entries that wait, are delayed or leased.
        self.pending = 0
        self.queued = 0
        #: Entries by priority, and a heap of these with the sign changed: the best one first.
        self.queues: dict[int, list[Entry] | deque[Entry]] = {}
        self.keys: list[int] = []
        #: Entries whose delay is not over, by their number.
        self.later: dict[int, Entry] | None = None

    # What waits

    def push(self, entry: Entry) -> None:
        """Let an entry wait; behind those of its priority, or before all if it continues a page."""
        key = FRONT if entry.front else entry.priority
        queue = self.queues.get(key)
        if queue is None:
            self.queues[key] = [entry]
            heappush(self.keys, -key)
        else:
            queue.append(entry)
            if len(queue) == SHORT and isinstance(queue, list):
                self.queues[key] = deque(queue)
        self.queued += 1

    def pop(self) -> Entry:
        queue = self.queues[-self.keys[0]]
        entry = queue.pop(0) if isinstance(queue, list) else queue.popleft()
        if not queue:
            del self.queues[-heappop(self.keys)]
        self.queued -= 1
        return entry

    def rank(self) -> int:
        """The priority of the next entry; one in front does not hold back a better one behind it."""
        best = -self.keys[0]
        if best != FRONT:
            return best
        return max(self.queues[FRONT][0].priority, -min(self.keys[1:3], default=FRONT))

    def turn(self) -> int:
        """Which of the hosts comes first: the smallest. A dead one comes after all the living, whatever its priority."""
        return -self.rank() + (2 * FRONT if self.dead else 0)

    def clear(self) -> list[Entry]:
        """Take out all that waits or is delayed, best first."""
        entries = [entry for key in sorted(self.keys) for entry in self.queues[-key]]
        entries += self.later.values() if self.later else ()
        self.queues, self.keys, self.queued, self.later = {}, [], 0, None
        return entries

    # Whether a request may go

    def ready_at(self) -> float:
        """When the next entry may go, were there room for it."""
        return max(self.next, self.resting, self.promised)

    def has_room(self) -> bool:
        return self.in_flight < (1 if self.dead else self.concurrency)

    def start(self, now: float, *, own_slot: bool = False) -> None:
        """A request goes out; one that uses the slot of the page that asked for it (``own_slot``) takes no other."""
        self.used = now
        if not own_slot:
            self.in_flight += 1
        if self.delay:
            self._delay_from(now)

    def finish(self, now: float, *, own_slot: bool = False) -> None:
        """Its answer is here, or it failed. With one request at a time the delay counts from the end."""
        self.used = now
        if not own_slot:
            self.in_flight -= 1
        if self.delay and (self.concurrency == 1 or own_slot):
            self._delay_from(now)

    def _delay_from(self, now: float) -> None:
        self.next = max(self.next, now + self.delay * random.uniform(*self.rules.spread))

    def set_crawl_delay(self, seconds: float, now: float) -> None:
        if seconds > self.base:
            self.base = seconds
            self.delay = max(self.delay, seconds)
            self.next = max(self.next, now + seconds)

    # What answers change

    def learn(self, answer: Answer, now: float) -> None:
        """Take an answer into account."""
        if answer.unreachable:
            self._unreachable(now)
        elif answer.status is not None:
            if self.failures:
                self._alive()
            self.latency = 0.75 * self.latency + 0.25 * answer.latency if self.latency else answer.latency
            if answer.status in OVERLOADED:
                self._slow_down(now, answer)
            else:
                self.clean += 1
                if self.rules.adaptive:
                    self._adapt(200 <= answer.status < 300)
                elif self.delay > self.base and self.clean % FORGIVE_AFTER == 0:
                    surplus = (self.delay - self.base) / 2
                    self.delay = self.base + (surplus if surplus >= SLOW_DOWN / 4 else 0.0)

    def _unreachable(self, now: float) -> None:
        self.failures += 1
        self.dead = self.failures >= DEAD_AFTER
        if self.dead and now >= self.resting:  # those that were under way together fail together, and count once
            self.resting = now + min(DEAD_PAUSE * 2 ** min(self.pauses, 10), DEAD_PAUSE_MAX)
            self.pauses += 1

    def _alive(self) -> None:
        self.failures = self.pauses = 0
        self.dead = self.given_up = False
        self.resting = 0.0

    def _slow_down(self, now: float, answer: Answer) -> None:
        self.clean = 0
        if now - answer.latency > self.slowed:  # the same: those that were under way at the last step are of its burst
            self.delay = min(max(SLOW_DOWN, self.delay * 2), max(self.rules.max_delay, self.base))
            self.slowed = now
        pause = self.delay if answer.retry_after is None else min(answer.retry_after, self.rules.retry_after_max)
        self.next = max(self.next, now + pause)

    def _adapt(self, good: bool) -> None:
        """Half-way to the delay at which ``target_concurrency`` requests are under way; bad answers never speed it up."""
        wanted = (self.delay + self.latency / self.rules.target_concurrency) / 2
        if good or wanted > self.delay:
            self.delay = min(max(wanted, self.base), max(self.rules.max_delay, self.base))

    @property
    def hopeless(self) -> bool:
        """It failed, was left alone, and failed again."""
        return self.pauses > 1

    def forgettable(self, now: float) -> bool:
        """Nothing waits, nothing is under way, and nothing is known that would change how it is treated."""
        if self.pending or self.in_flight or self.ready_at() > now or self.base > self.rules.delay_of(self.name):
            return False
        return now - self.used > KEEP or not (self.failures or self.delay > self.base)
