"""The numbers of one crawl."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping
from typing import Any


class Stats:
    """Values by name. The core and the plug-ins write; the monitor reads snapshots.

    Names are the field's (``item_scraped_count``, ``downloader/response_status_count/200``); ``docs/stats.md`` lists them.
    """

    def __init__(self) -> None:
        #: Seconds since the epoch.
        self.started = time.time()
        self._values: defaultdict[str, Any] = defaultdict(int)
        #: For each kind of trouble, the first URL that had it.
        self.examples: dict[str, str] = {}

    def inc(self, name: str, by: float = 1) -> None:
        """Add ``by`` to a count."""
        self._values[name] += by

    def trouble(self, name: str, url: str) -> None:
        """Count a kind of trouble and keep its first URL as an example."""
        self._values[name] += 1
        self.examples.setdefault(name, url)

    def max(self, name: str, value: float) -> None:
        """Keep the largest value seen."""
        if value > self._values[name]:
            self._values[name] = value

    def set(self, name: str, value: Any) -> None:
        self._values[name] = value

    def get(self, name: str, default: Any = 0) -> Any:
        """The value, or ``default`` if nothing was counted under that name."""
        return self._values.get(name, default)

    def snapshot(self) -> dict[str, Any]:
        """All values now, sorted by name."""
        return dict(sorted(self._values.items()))

    def group(self, prefix: str) -> Mapping[str, Any]:
        """The values below ``prefix/``, by the rest of their name."""
        start = prefix + "/"
        return {name.removeprefix(start): value for name, value in self._values.items() if name.startswith(start)}
