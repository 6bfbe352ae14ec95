"""CSV as RFC 4180 has it: a line of names, then a line for each item; a text that looks like a formula is defused."""

from __future__ import annotations

import csv
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from openoctopus.items import field_names
from openoctopus.pipelines.feeds.existing import Existing, Resume
from openoctopus.pipelines.feeds.format import Format
from openoctopus.pipelines.feeds.options import FeedOptions
from openoctopus.pipelines.values import encode, mended

_NEWLINE = "\r\n"
#: Where a spreadsheet begins to calculate (OWASP, CSV injection), the full-width forms and a quote before it included.
_SUSPECT = frozenset("=+-@\t\r\n＝＋－＠\"'")
_FORMULA = re.compile(r"[\"']*[=+\-@\t\r\n＝＋－＠]")
#: What begins like a formula and is none: a number, or a sign alone.
_NUMBER = re.compile(r"[+-](?:\.?[0-9][0-9.,]*(?:[eE][+-]?[0-9]+)?%?)?")

Cells = dict[str, str]


class Csv(Format):
    """Columns are the ``fields`` asked for, else those that the first item classes declare and the first batch has."""

    def __init__(self, options: FeedOptions) -> None:
        super().__init__(options)
        self._declared: dict[type, Cells] = {}

    def record(self, item: Any) -> tuple[Cells, int]:
        kind = type(item)
        declared = self._declared.get(kind)
        if declared is None:
            declared = self._declared[kind] = {} if self.options.fields else dict.fromkeys(field_names(kind), "")
        raw, cells = self.options.raw, declared.copy()
        for name, value in self.values.of(item).items():
            if type(value) is str:
                cells[name] = value if raw or value[:1] not in _SUSPECT else defused(value)
            else:
                cells[name] = _cell(value)
        return cells, sum(map(len, cells.values()))

    def body(self, records: Sequence[Cells], *, first: bool) -> bytes:
        if first and not self.options.fields:
            self.columns = list(dict.fromkeys([*self.columns, *(name for cells in records for name in cells)]))
        rows = [[cells.get(name, "") for name in self.columns] for cells in records]
        if self.aside:
            for row, cells in zip(rows, records, strict=True):
                if aside := {name: cells[name] for name in cells.keys() & self.aside}:
                    row.append(_json(aside))
        begin = self.empty() if first else b""
        return begin + self._lines(rows)

    def empty(self) -> bytes:
        if not self.columns or not self.options.header:
            return self.charset.mark
        return self.charset.mark + self._lines([self._titles(self.columns)])

    def _lines(self, rows: Iterable[Sequence[str]]) -> bytes:
        # Line by line: a megabyte at once leaves the processor's cache and takes twice as long.
        return b"".join([self.charset.text(self._line(row)) for row in rows])

    def _line(self, row: Sequence[str]) -> str:
        """A row as the standard library's writer has it, in a third of the time for long texts."""
        delimiter = self.options.delimiter
        cells = [quoted(text, delimiter) for text in row]
        return (delimiter.join(cells) or '""') + _NEWLINE

    def _titles(self, names: Sequence[str]) -> Sequence[str]:
        return names if self.options.raw else [defused(name) for name in names]

    def unknown(self, records: Sequence[Cells]) -> list[str]:
        if not self.columns or self.options.fields:
            return []
        known = {*self.columns, *self.aside}
        strange = (cells for cells in records if not cells.keys() <= known)
        return list(dict.fromkeys(name for cells in strange for name in cells if name not in known))

    def widened(self, blocks: Iterable[str], names: Sequence[str]) -> Iterator[str]:
        more = self.options.delimiter + self._line(self._titles(names)).removesuffix(_NEWLINE)
        for row in _rows(blocks):
            yield row.removesuffix("\n").removesuffix("\r") + more + _NEWLINE
            more = self.options.delimiter * len(names)

    def resume(self, existing: Existing) -> Resume:
        rows = _rows(existing.blocks())
        header = next(rows, "")
        if not header:
            return Resume(0, is_empty=True)
        last = next(iter(deque(rows, maxlen=1)), header)
        names = self._read(header, existing)
        if last.count('"') % 2 or (not last.endswith("\n") and len(self._read(last, existing)) != len(names)):
            raise existing.torn(last.encode(self.charset.name))
        if self.options.header:
            self.columns = self._adopted(names, existing)
        elif len(names) != len(self.columns):
            raise existing.unfit(f"its lines have {len(names)} cells, and there are {len(self.columns)} fields")
        return Resume(existing.size, lead=b"" if last.endswith("\n") else _NEWLINE.encode(self.charset.name))

    def _read(self, row: str, existing: Existing) -> list[str]:
        try:
            return next(csv.reader([row], delimiter=self.options.delimiter, strict=True), [])
        except csv.Error as error:
            raise existing.unfit(f"it is no CSV: {error} in {row[:60]!r}") from None

    def _adopted(self, names: list[str], existing: Existing) -> list[str]:
        """The columns of a header that is already there. Raises ``SettingsError`` if our fields do not fit into it."""
        columns = names if self.options.raw else [_undone(name) for name in names]
        missing = [title for title in self.options.fields.values() if title not in columns]
        if missing:
            raise existing.unfit(f"its header has no {', '.join(missing)}; it has {', '.join(columns)}")
        if not columns or not all(columns) or len(set(columns)) < len(columns):
            raise existing.unfit(f"its header has an empty name, or a name twice: {', '.join(map(repr, columns))}")
        if len(columns) == 1 and any(other in columns[0] for other in ",;\t|"):
            raise existing.unfit(f"its header {columns[0]!r} has another delimiter than {self.options.delimiter!r}")
        return columns


def quoted(text: str, delimiter: str) -> str:
    """A cell, between quotes where it needs them (RFC 4180, 2.6 and 2.7)."""
    if '"' in text:
        return '"' + text.replace('"', '""') + '"'
    if delimiter in text or "\n" in text or "\r" in text:
        return f'"{text}"'
    return text


def defused(text: str) -> str:
    """Text that no spreadsheet takes for a formula: an apostrophe before it where needed; plain numbers stay."""
    if text[:1] in _SUSPECT and _FORMULA.match(text) and not _NUMBER.fullmatch(text):
        return "'" + text
    return text


def _undone(text: str) -> str:
    return text[1:] if text[:1] == "'" and defused(text[1:]) == text else text


def _cell(value: Any) -> str:
    """JSON data that is no text, as text."""
    if value is None:
        return ""
    return _json(value) if isinstance(value, dict | list) else str(value)


def _json(value: Any) -> str:
    try:
        return encode(value).decode()
    except UnicodeEncodeError:
        return encode(mended(value)).decode()


def _rows(blocks: Iterable[str]) -> Iterator[str]:
    """Rows with their ends, as they stand: a newline between quotes belongs to its cell."""
    row: list[str] = []
    is_open, rest = False, ""
    for block in blocks:
        *lines, rest = (rest + block).split("\n")
        for line in lines:
            row.append(line + "\n")
            is_open ^= line.count('"') % 2 == 1
            if not is_open:
                yield "".join(row)
                row.clear()
    if row or rest:
        yield "".join(row) + rest
