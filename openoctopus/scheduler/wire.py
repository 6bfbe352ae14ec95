"""What a scheduler keeps, as rows of plain values for a channel."""

from __future__ import annotations

from typing import Any

from openoctopus.scheduler.base import DONE, Again, Answer, Done, Entry, Fail, FailedEntry, HostLoad, Lease, Move, Outcome

Row = list[Any]

#: Larger numbers go as bytes: msgpack has none.
LARGEST = (1 << 64) - 1


def _number_out(number: int) -> int | bytes:
    return number if number <= LARGEST else number.to_bytes(16, "big")


def _number_in(number: int | bytes) -> int:
    return int.from_bytes(number, "big") if isinstance(number, bytes) else number


def entry_out(entry: Entry) -> Row:
    return [
        _number_out(entry.rid),
        entry.host,
        entry.body,
        entry.priority,
        entry.delay,
        entry.attempts,
        entry.lost,
        entry.front,
    ]


def entry_in(row: Row) -> Entry:
    return Entry(_number_in(row[0]), *row[1:])


def lease_out(lease: Lease) -> Row:
    return [entry_out(lease.entry), lease.token, lease.worker, lease.expires]


def lease_in(row: Row) -> Lease:
    return Lease(entry_in(row[0]), *row[1:])


def outcome_out(outcome: Outcome) -> Row:
    match outcome:
        case Done():
            return ["done"]
        case Again(delay, spent):
            return ["again", delay, spent]
        case Fail(reason, detail):
            return ["fail", reason, detail]
        case Move(entry, fingerprint):
            return ["move", entry_out(entry), _number_out(fingerprint)]


def outcome_in(row: Row) -> Outcome:
    match row:
        case ["again", delay, spent]:
            return Again(delay, spent)
        case ["fail", reason, detail]:
            return Fail(reason, detail)
        case ["move", entry, fingerprint]:
            return Move(entry_in(entry), _number_in(fingerprint))
        case _:
            return DONE


def answer_in(row: Row) -> Answer:
    return Answer(*row)


def failed_out(failed: FailedEntry) -> Row:
    return [entry_out(failed.entry), failed.reason, failed.detail, failed.at]


def failed_in(row: Row) -> FailedEntry:
    return FailedEntry(entry_in(row[0]), *row[1:])


def load_out(load: HostLoad) -> Row:
    return [load.host, load.queued, load.in_flight, load.delay, load.latency, load.dead]


def load_in(row: Row) -> HostLoad:
    return HostLoad(*row)
