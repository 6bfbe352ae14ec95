"""How one host is treated: how many requests at once, how far apart, and what its answers change about that."""

from __future__ import annotations

import random
from bisect import insort
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from openoctopus.scheduler.base import FRONT, Answer, Entry
from openoctopus.settings import Settings

#: After so many failed connections in a row a host counts as dead and is only tried after pauses.
DEAD_AFTER = 5
#: The first and the longest pause of a dead host, in seconds; each one doubles.
DEAD_PAUSE = 5.0
DEAD_PAUSE_MAX = 300.0
#: The delay that the first 429 or 503 puts on a host without one, in seconds; each further one doubles it.
SLOW_DOWN = 0.2
#: So many good answers in a row halve what was put on.
FORGIVE_AFTER = 10
#: The statuses by which a server says that it is asked too much.
OVERLOADED = frozenset({429, 503})


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
        """The rules that the settings ask for."""
        randomize = settings.RANDOMIZE_DOWNLOAD_DELAY
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


class Host:
    """One host: its waiting entries and its politeness."""

    __slots__ = (
        "base", "blocked", "clean", "concurrency", "delay", "failures", "in_flight", "keys", "latency", "name", "next",
        "place", "probing", "queued", "queues", "rules", "snoozed",
    )  # fmt: skip

    def __init__(self, name: str, rules: Politeness) -> None:
        own = rules.slots.get(name, {})
        self.name = name
        self.rules = rules
        self.concurrency: int = int(own.get("concurrency", rules.concurrency))
        #: The delay that was asked for; answers only add to it.
        self.base: float = float(own.get("delay", rules.delay))
        self.delay = max(self.base, rules.start_delay) if rules.adaptive else self.base
        #: When the next request may go, and until when none may at all.
        self.next = 0.0
        self.blocked = 0.0
        self.in_flight = 0
        #: Seconds that the host takes to answer, smoothed; 0 until the first answer.
        self.latency = 0.0
        self.failures = 0
        self.clean = 0
        self.probing = False
        #: Where it stands: an item of the heap of runnable or (``snoozed``) of waiting hosts, or ``None``.
        self.place: tuple[Any, ...] | None = None
        self.snoozed = False
        self.queued = 0
        #: Entries by priority; the keys are kept sorted, the best one last.
        self.queues: dict[int, deque[Entry]] = {}
        self.keys: list[int] = []

    def push(self, entry: Entry) -> None:
        """Let an entry wait; behind those of its priority, or before all if it continues a page."""
        key = FRONT if entry.front else entry.priority
        queue = self.queues.get(key)
        if queue is None:
            queue = self.queues[key] = deque()
            insort(self.keys, key)
        queue.append(entry)
        self.queued += 1

    def head(self) -> Entry:
        return self.queues[self.keys[-1]][0]

    def pop(self) -> Entry:
        queue = self.queues[self.keys[-1]]
        entry = queue.popleft()
        if not queue:
            del self.queues[self.keys.pop()]
        self.queued -= 1
        return entry

    def entries(self) -> Iterator[Entry]:
        for key in reversed(self.keys):
            yield from self.queues[key]

    def ready_at(self) -> float:
        """When the next request may go, were there room for it."""
        return 0.0 if self.probing else max(self.next, self.blocked)

    def has_room(self) -> bool:
        return self.in_flight < (1 if self.probing else self.concurrency)

    @property
    def dead(self) -> bool:
        return self.failures >= DEAD_AFTER

    def start(self, now: float, *, own_slot: bool = False) -> None:
        """A request goes out; one that uses the slot of the page that asked for it (``own_slot``) takes no other."""
        if not own_slot:
            self.in_flight += 1
        self._delay_from(now)

    def finish(self, now: float, *, own_slot: bool = False) -> None:
        """Its answer is here, or it failed. With one request at a time the delay counts from the end."""
        if not own_slot:
            self.in_flight -= 1
        if self.concurrency == 1 or own_slot:
            self._delay_from(now)

    def _delay_from(self, now: float) -> None:
        if self.delay:
            self.next = max(self.next, now + self.delay * random.uniform(*self.rules.spread))

    def learn(self, answer: Answer, now: float) -> None:
        """Take an answer into account."""
        if answer.unreachable:
            self._unreachable(now)
            return
        if answer.status is None:
            return
        self.failures, self.probing = 0, False
        self.latency = 0.75 * self.latency + 0.25 * answer.latency if self.latency else answer.latency
        if answer.status in OVERLOADED:
            self._slow_down(now, answer.retry_after)
            return
        self.clean += 1
        if self.rules.adaptive:
            self._adapt(200 <= answer.status < 300)
        elif self.clean % FORGIVE_AFTER == 0 and self.delay > self.base:
            surplus = (self.delay - self.base) / 2
            self.delay = self.base + (surplus if surplus >= SLOW_DOWN / 4 else 0.0)

    def _unreachable(self, now: float) -> None:
        self.failures += 1
        if self.dead:
            pause = min(DEAD_PAUSE * 2 ** min(self.failures - DEAD_AFTER, 10), DEAD_PAUSE_MAX)
            self.blocked = max(self.blocked, now + pause)

    def _slow_down(self, now: float, retry_after: float | None) -> None:
        self.clean = 0
        self.delay = min(max(SLOW_DOWN, self.delay * 2), max(self.rules.max_delay, self.base))
        pause = self.delay if retry_after is None else min(retry_after, self.rules.retry_after_max)
        self.blocked = max(self.blocked, now + pause)

    def _adapt(self, good: bool) -> None:
        """Half-way to the delay at which ``target_concurrency`` requests are under way; bad answers never speed it up."""
        wanted = (self.delay + self.latency / self.rules.target_concurrency) / 2
        if good or wanted > self.delay:
            self.delay = min(max(wanted, self.base), max(self.rules.max_delay, self.base))

    def set_crawl_delay(self, seconds: float) -> None:
        self.base = max(self.base, seconds)
        self.delay = max(self.delay, self.base)

    @property
    def idle(self) -> bool:
        """Nothing waits, nothing is under way and nothing was learnt: it may be forgotten."""
        return not (self.queued or self.in_flight or self.failures or self.delay > self.base)
