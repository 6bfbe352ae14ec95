"""What has been seen, in little memory."""

from __future__ import annotations

import logging
import math
from array import array
from typing import Protocol

from openoctopus.dupefilter import BloomDupeFilter, RFPDupeFilter

logger = logging.getLogger(__name__)


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
    """64-bit fingerprints in open hash tables of machine words: 11 to 22 bytes each, where a ``set`` takes 92.

    Many small tables, so that growing one of them never stops the crawl.
    """

    TABLES = 1024

    def __init__(self) -> None:
        self._tables = [array("Q", bytes(8 * 16)) for _ in range(self.TABLES)]
        self._used = [0] * self.TABLES

    def add(self, fingerprint: int) -> bool:
        number = fingerprint & (self.TABLES - 1)
        table = self._tables[number]
        mask = len(table) - 1
        place = (fingerprint >> 10) & mask
        while found := table[place]:
            if found == fingerprint:
                return False
            place = (place + 1) & mask
        table[place] = fingerprint
        self._used[number] += 1
        if self._used[number] * 4 > mask * 3:
            self._grow(number)
        return True

    def _grow(self, number: int) -> None:
        old = self._tables[number]
        table = array("Q", bytes(16 * len(old)))
        mask = len(table) - 1
        for fingerprint in old:
            if fingerprint:
                place = (fingerprint >> 10) & mask
                while table[place]:
                    place = (place + 1) & mask
                table[place] = fingerprint
        self._tables[number] = table

    def __contains__(self, fingerprint: object) -> bool:
        if not isinstance(fingerprint, int):
            return False
        table = self._tables[fingerprint & (self.TABLES - 1)]
        mask = len(table) - 1
        place = (fingerprint >> 10) & mask
        while found := table[place]:
            if found == fingerprint:
                return True
            place = (place + 1) & mask
        return False

    def __len__(self) -> int:
        return sum(self._used)


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
    """A Bloom filter: a fixed number of bits, a stated share of mistakes (Bloom 1970; double hashing, Kirsch 2006)."""

    def __init__(self, capacity: int, error_rate: float) -> None:
        self.capacity = capacity
        bits = math.ceil(-capacity * math.log(error_rate) / math.log(2) ** 2)
        self._size = max(bits, 64)
        self._hashes = max(1, round(self._size / capacity * math.log(2)))
        self._bits = bytearray(self._size // 8 + 1)
        self._count = 0

    def _places(self, fingerprint: int) -> range:
        step = (fingerprint * 0x9E3779B97F4A7C15 >> 32) % self._size | 1
        start = fingerprint % self._size
        return range(start, start + step * self._hashes, step)

    def add(self, fingerprint: int) -> bool:
        new = False
        for place in self._places(fingerprint):
            byte, bit = divmod(place % self._size, 8)
            if not self._bits[byte] >> bit & 1:
                self._bits[byte] |= 1 << bit
                new = True
        if new:
            self._count += 1
            if self._count == self.capacity + 1:
                logger.warning("the Bloom filter is over its %d URLs: more new pages will be taken for seen", self.capacity)
        return new

    def __contains__(self, fingerprint: object) -> bool:
        if not isinstance(fingerprint, int):
            return False
        places = (divmod(place % self._size, 8) for place in self._places(fingerprint))
        return all(self._bits[byte] >> bit & 1 for byte, bit in places)

    def __len__(self) -> int:
        return self._count
