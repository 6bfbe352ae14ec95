"""What has been seen, in little memory."""

from __future__ import annotations

import logging
import math
from array import array
from typing import Protocol

from openoctopus.dupefilter import BloomDupeFilter, RFPDupeFilter

logger = logging.getLogger(__name__)

#: Many small tables, so that growing one never stops the crawl; a prime number of them, so that fingerprints which are no
#: good hashes spread over them too.
TABLES = 1021
#: Places of a new table; three quarters are used before it is doubled.
PLACES = 64
#: Stands for 0, which marks a free place; an odd number whose bits look random (the golden ratio).
ZERO = 0x9E3779B97F4A7C15


class Seen(Protocol):
    """A set of fingerprints that only grows."""

    def add(self, fingerprint: int) -> bool:
        """Remember it; whether it is new."""

    def __contains__(self, fingerprint: object) -> bool: ...

    def __len__(self) -> int: ...


def seen_for(dupefilter: RFPDupeFilter) -> Seen:
    """The set that a dupefilter asks for."""
    if isinstance(dupefilter, BloomDupeFilter):
        return BloomSeen(dupefilter.capacity, dupefilter.error_rate)
    return Exact128Seen() if dupefilter.memory == "exact128" else Exact64Seen()


class Exact64Seen:
    """64-bit fingerprints in open hash tables of machine words: 11 to 22 bytes each, where a ``set`` takes 92."""

    def __init__(self) -> None:
        self._tables = [array("Q", bytes(8 * PLACES)) for _ in range(TABLES)]
        self._room = [PLACES * 3 // 4] * TABLES

    def add(self, fingerprint: int) -> bool:
        fingerprint = fingerprint or ZERO
        number = fingerprint % TABLES
        table = self._tables[number]
        mask = len(table) - 1
        place = fingerprint // TABLES & mask
        while found := table[place]:
            if found == fingerprint:
                return False
            place = place + 1 & mask
        table[place] = fingerprint
        room = self._room[number] = self._room[number] - 1
        if not room:
            self._grow(number)
        return True

    def _grow(self, number: int) -> None:
        old = self._tables[number]
        table = array("Q", bytes(16 * len(old)))
        mask = len(table) - 1
        for fingerprint in filter(None, old):
            place = fingerprint // TABLES & mask
            while table[place]:
                place = place + 1 & mask
            table[place] = fingerprint
        self._tables[number] = table
        self._room[number] = len(table) * 3 // 4 - len(old) * 3 // 4

    def __contains__(self, fingerprint: object) -> bool:
        if not isinstance(fingerprint, int):
            return False
        fingerprint = fingerprint or ZERO
        table = self._tables[fingerprint % TABLES]
        mask = len(table) - 1
        place = fingerprint // TABLES & mask
        while found := table[place]:
            if found == fingerprint:
                return True
            place = place + 1 & mask
        return False

    def __len__(self) -> int:
        return sum(len(table) * 3 // 4 for table in self._tables) - sum(self._room)


class Exact128Seen:
    """128-bit fingerprints in a set: about 110 bytes each, and no accidental pair in any crawl."""

    def __init__(self) -> None:
        self._set: set[int] = set()

    def add(self, fingerprint: int) -> bool:
        before = len(self._set)
        self._set.add(fingerprint)
        return len(self._set) > before

    def __contains__(self, fingerprint: object) -> bool:
        return fingerprint in self._set

    def __len__(self) -> int:
        return len(self._set)


class BloomSeen:
    """A Bloom filter: a fixed number of bits, a stated share of mistakes (Bloom 1970; double hashing, Kirsch 2006).

    It asks half as many bits of each fingerprint as the smallest filter would: a fifth larger, twice as fast.
    """

    def __init__(self, capacity: int, error_rate: float) -> None:
        self.capacity = capacity
        hashes = math.ceil(-math.log2(error_rate) / 2)
        self._hashes = range(hashes)
        self._size = max(64, math.ceil(-hashes * capacity / math.log1p(-(error_rate ** (1 / hashes)))))
        self._bits = bytearray(self._size // 8 + 1)
        self._count = 0

    def add(self, fingerprint: int) -> bool:
        bits, size = self._bits, self._size
        place, step = fingerprint % size, (fingerprint * ZERO >> 32) % size | 1
        new = False
        for _ in self._hashes:
            byte, bit = place >> 3, 1 << (place & 7)
            if not bits[byte] & bit:
                bits[byte] |= bit
                new = True
            place = (place + step) % size
        if new:
            self._count += 1
            if self._count == self.capacity + 1:
                logger.warning("the Bloom filter is over its %d URLs: more new pages will be taken for seen", self.capacity)
        return new

    def __contains__(self, fingerprint: object) -> bool:
        if not isinstance(fingerprint, int):
            return False
        size = self._size
        place, step = fingerprint % size, (fingerprint * ZERO >> 32) % size | 1
        places = ((place + number * step) % size for number in self._hashes)
        return all(self._bits[place >> 3] >> (place & 7) & 1 for place in places)

    def __len__(self) -> int:
        return self._count
