"""JSON: one array of objects, whole after every batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from openoctopus.pipelines.feeds.existing import Existing, Resume
from openoctopus.pipelines.feeds.format import JsonFormat
from openoctopus.pipelines.feeds.options import FeedOptions
from openoctopus.pipelines.values import encode


class Json(JsonFormat):
    def __init__(self, options: FeedOptions) -> None:
        super().__init__(options)
        self._opening = self.charset.mark + self._text("[\n")
        self._between = self._text(",\n")
        self.closing = self._text("\n]\n")

    def _text(self, text: str) -> bytes:
        return text.encode(self.charset.name)

    def encoded(self, data: dict[str, Any]) -> bytes:
        line = encode(data)
        if self.options.indent:
            line = msgspec.json.format(line, indent=self.options.indent)
        return self.charset.json(line)

    def body(self, records: Sequence[bytes], *, first: bool) -> bytes:
        return (self._opening if first else self._between) + self._between.join(records)

    def empty(self) -> bytes:
        return self.charset.mark + self._text("[]\n")

    def resume(self, existing: Existing) -> Resume:
        """Go on before the closing bracket."""
        if existing.ends_with(self.closing):
            return Resume(existing.size - existing.packed_size(self.closing))
        if existing.is_exactly(self.empty()):
            return Resume(0, True)
        inside = existing.array() if self.charset.is_plain else None
        if inside is None:
            raise existing.unfit("it is no JSON array that ends with a bracket")
        return inside
