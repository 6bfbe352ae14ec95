"""How much memory this process occupies. It runs in every peer's environment, so it needs nothing but Python."""

from __future__ import annotations

import gc
import os


def resident_bytes() -> int:
    """Linux only: the second number of ``/proc/self/statm`` counts the pages that are in memory."""
    gc.collect()
    with open("/proc/self/statm", encoding="ascii") as numbers:
        return int(numbers.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
