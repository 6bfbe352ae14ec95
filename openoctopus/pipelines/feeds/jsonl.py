"""JSON Lines: an object on each line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from openoctopus.pipelines.feeds.existing import Existing, Resume
from openoctopus.pipelines.feeds.format import JsonFormat
from openoctopus.pipelines.feeds.options import FeedOptions


class JsonLines(JsonFormat):
    is_shared = True

    def __init__(self, options: FeedOptions) -> None:
        super().__init__(options)
        self._newline = "\n".encode(self.charset.name)

    def encoded(self, data: dict[str, Any]) -> bytes:
        return super().encoded(data) + self._newline

    def body(self, records: Sequence[bytes], *, first: bool) -> bytes:
        return (self.charset.mark if first else b"") + b"".join(records)

    def empty(self) -> bytes:
        return b""

    def resume(self, existing: Existing) -> Resume:
        last = existing.last_line()
        if not last:
            return Resume(existing.size, is_empty=existing.is_blank())
        try:
            msgspec.json.decode(last.decode(self.charset.reading))
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise existing.torn(last) from None
        return Resume(existing.size, lead=self._newline)
