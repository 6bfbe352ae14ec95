"""Which items of unsettled pages are in the files: they are passed over when such a page is read again."""

from __future__ import annotations

import struct

from openoctopus.pipelines.base import Receipt

#: The identity of a page's entry, and the number of its last item that was written.
_MARK = struct.Struct("<16sI")


class Marks:
    """The last item that was written, by page; what ``data`` has is of earlier runs."""

    def __init__(self, data: bytes = b"") -> None:
        self._last: dict[int, int] = {int.from_bytes(rid, "little"): ordinal for rid, ordinal in _MARK.iter_unpack(data)}
        self._receipts: dict[int, Receipt] = {}

    def has(self, receipt: Receipt) -> bool:
        """Whether the item that a page is at was written before it was read again."""
        last = self._last.get(receipt.rid)
        if last is None:
            return False
        self._receipts[receipt.rid] = receipt
        return receipt.ordinal <= last

    def add(self, receipt: Receipt, ordinal: int) -> None:
        """An item was written."""
        self._last[receipt.rid] = max(ordinal, self._last.get(receipt.rid, 0))
        self._receipts[receipt.rid] = receipt

    def dump(self) -> bytes:
        """Those that are needed: a page that is closed and owes nothing was handed over to be settled, and is never read again.

        First items (``rid`` 0) stay: their page is read again if ``start()`` was not drawn to its end.
        """
        for rid in [rid for rid, receipt in self._receipts.items() if rid and receipt.closed and not receipt.owed]:
            del self._receipts[rid], self._last[rid]
        return b"".join(_MARK.pack(rid.to_bytes(16, "little"), ordinal) for rid, ordinal in self._last.items())
