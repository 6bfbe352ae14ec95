"""Whose turn it is: hosts that can be asked now, living ones before dead ones, then best priority, then the longest waiting;
and those that rest.
"""

from __future__ import annotations

import math
from heapq import heapify, heappop, heappush
from typing import Any

from openoctopus.scheduler.hosts import Host


class Turns:
    """Every host with work and room stands in one of three heaps: runnable, snoozed until a time, or resting.

    What becomes possible is put right at once (``freed``); what becomes impossible is found when the turn comes.
    """

    def __init__(self) -> None:
        # Items are (turn or time, number, host); one that is no longer its host's place is stale.
        self._runnable: list[tuple[Any, ...]] = []
        self._snoozed: list[tuple[Any, ...]] = []
        #: Hosts without hope: snoozed too, unless only such are left.
        self._resting: list[tuple[Any, ...]] = []
        #: Hosts that have a place.
        self._placed = 0
        self._number = 0

    def place(self, host: Host, now: float) -> None:
        """Put a host where it belongs: behind those that wait already, or nowhere without work or room."""
        self._placed -= host.place is not None
        if not host.queued or not host.has_room():
            host.place = None
            return
        self._placed += 1
        self._number += 1
        ready_at = host.ready_at()
        host.snoozed = ready_at > now
        if host.snoozed:
            host.place = (ready_at, self._number, host)
            self._push(self._resting if host.hopeless and host.resting > now else self._snoozed, host.place)
        else:
            host.place = (host.turn(), self._number, host)
            self._push(self._runnable, host.place)

    def _push(self, heap: list[tuple[Any, ...]], item: tuple[Any, ...]) -> None:
        heappush(heap, item)
        if len(heap) > 2 * self._placed + 64:
            heap[:] = [other for other in heap if other[2].place is other]
            heapify(heap)

    def freed(self, host: Host, now: float) -> None:
        """A slot is free, or the time has become earlier."""
        if host.place is None or (host.snoozed and host.ready_at() < host.place[0]):
            self.place(host, now)

    def pushed(self, host: Host, now: float) -> None:
        """An entry joined those that wait: a more urgent one lifts its host."""
        if host.place is None or (not host.snoozed and host.turn() < host.place[0]):
            self.place(host, now)

    def first(self, now: float) -> Host | None:
        """The host whose turn it is."""
        while self._runnable:
            item = self._runnable[0]
            host: Host = item[2]
            if host.place is item and host.ready_at() <= now and host.has_room():
                return host
            self._replace(heappop(self._runnable), now)
        return None

    def wake(self, now: float) -> bool:
        """Let one host in whose time has come; ``False`` if there is none."""
        for heap in (self._snoozed, self._resting):
            if heap and heap[0][0] <= now:
                self._replace(heappop(heap), now)
                return True
        return False

    def rouse(self, limit: int, now: float) -> None:
        """Let hosts without hope be tried before their pauses are over, so many at most."""
        for _ in range(min(limit, len(self._resting))):
            item = heappop(self._resting)
            if item[2].place is item:
                item[2].resting = 0.0
                self.place(item[2], now)

    def _replace(self, item: tuple[Any, ...], now: float) -> None:
        if item[2].place is item:
            self.place(item[2], now)

    def next_time(self) -> float:
        """When the next host may be let in."""
        return min((heap[0][0] for heap in (self._snoozed, self._resting) if heap), default=math.inf)
