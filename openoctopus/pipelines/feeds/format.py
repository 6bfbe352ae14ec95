"""How items become the contents of a file, and how an existing file goes on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from openoctopus.pipelines.feeds.charset import Charset
from openoctopus.pipelines.feeds.existing import Existing, Resume
from openoctopus.pipelines.feeds.options import FeedOptions
from openoctopus.pipelines.values import Values, encode, mended


class Format(ABC):
    """One file is: ``body(first)``, ``body``, ... and ``closing``; or ``empty`` if no item came."""

    #: Whether a line can be added without a look at the rest, so that several crawls may share a file.
    is_shared = False
    #: What stands after the last item.
    closing = b""

    def __init__(self, options: FeedOptions) -> None:
        self.options = options
        self.charset = Charset(options.encoding)
        self.values = Values(options.fields)
        #: The names of the columns, in order; always none where a format has no columns.
        self.columns: list[str] = list(options.fields.values())
        #: Fields that came too late for a column.
        self.aside: set[str] = set()

    @abstractmethod
    def record(self, item: Any) -> tuple[Any, int]:
        """An item as ``body`` takes it, and its size in bytes. Raises ``TypeError`` that names a field at fault."""

    @abstractmethod
    def body(self, records: Sequence[Any], *, first: bool) -> bytes:
        """What these items add to a file; ``first`` if nothing stands in it yet."""

    @abstractmethod
    def empty(self) -> bytes:
        """A file without items."""

    @abstractmethod
    def resume(self, existing: Existing) -> Resume:
        """How a file goes on. Raises ``SettingsError`` that says what was found if it cannot."""

    def unknown(self, records: Sequence[Any]) -> list[str]:
        """The fields of these items that have no column yet."""
        return []

    def widened(self, blocks: Iterable[str], names: Sequence[str]) -> Iterator[str]:
        """The text of a file as it is with more columns."""
        yield from blocks

    def add(self, names: Sequence[str]) -> None:
        """Write more columns from now on."""
        self.columns = [*self.columns, *names]

    def keep_aside(self, names: Sequence[str]) -> None:
        """Write these fields beside the columns, in a file that cannot be changed any more."""
        self.aside.update(names)


class JsonFormat(Format):
    """What JSON and JSON Lines share: an item as JSON."""

    def record(self, item: Any) -> tuple[bytes, int]:
        data = self.values.of(item)
        try:
            line = self.encoded(data)
        except UnicodeEncodeError:
            line = self.encoded(mended(data))
        return line, len(line)

    def encoded(self, data: dict[str, Any]) -> bytes:
        return self.charset.json(encode(data))
