"""Whether a database is away, busy, or refuses what it is given: the one place that reads drivers' errors."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from enum import Enum
from typing import Any

from openoctopus.exceptions import OctopusError, RefusedItem


class Trouble(Enum):
    """What is to be done about an error."""

    #: Wait until the database is back, or until a person has mended it.
    AWAY = "away"
    #: The same, and it may take a while.
    FULL = "full"
    #: Another transaction stood in the way: try again at once.
    BUSY = "busy"
    #: The user, the password, the database, the table or a right is not what it should be.
    ACCESS = "access"
    #: It is the item's fault, and will be the next time too.
    DATA = "data"
    #: Not known, so it is taken for the item's fault, but not for good.
    UNKNOWN = "unknown"


class Failed(OctopusError):
    """The database did not take the item."""


class RefusedRow(Failed, RefusedItem):
    """The database does not take the item, however often it is tried."""


class NotNow(OctopusError):
    """The database cannot do it now; ``trouble`` says why, ``advice`` what a person may do about it."""

    def __init__(self, trouble: Trouble, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.trouble = trouble
        self.advice = advice


#: PostgreSQL's SQLSTATE, the first that an error's code begins with.
_SQLSTATES = {
    "08": Trouble.AWAY,  # connection exceptions
    "57P": Trouble.AWAY,  # shut down by an administrator, crashed, not accepting connections yet
    "53100": Trouble.FULL,  # the disk
    "53": Trouble.AWAY,  # too many connections, out of memory
    "58030": Trouble.FULL,  # an I/O error, which a full disk may look like
    "25006": Trouble.AWAY,  # read-only: a standby that has not taken over yet
    "40001": Trouble.BUSY,  # serialization failure
    "40P01": Trouble.BUSY,  # deadlock
    "55P03": Trouble.BUSY,  # lock timeout
    "28": Trouble.ACCESS,  # password, user
    "3D000": Trouble.ACCESS,  # no such database
    "3F000": Trouble.ACCESS,  # no such schema
    "42501": Trouble.ACCESS,  # missing right
    "42P01": Trouble.ACCESS,  # no such table
    "22": Trouble.DATA,  # too long, out of range, of another type
    "23": Trouble.DATA,  # constraints
    "42": Trouble.DATA,  # no such column, a type that does not fit
    "44": Trouble.DATA,  # a view's check
    "54": Trouble.DATA,  # too large for a row or an index
    "P0001": Trouble.DATA,  # a trigger raised it
}
#: Numbers of MySQL and MariaDB.
_NUMBERS = {
    **dict.fromkeys((1040, 1041, 1135, 1203, 1226), Trouble.AWAY),  # too many connections, no memory, no threads
    **dict.fromkeys((1053, 1077, 1079, 1927), Trouble.AWAY),  # shut down, connection killed
    **dict.fromkeys((1158, 1159, 1160, 1161), Trouble.AWAY),  # the network
    **dict.fromkeys((2002, 2003, 2006, 2013, 2014, 2055), Trouble.AWAY),  # lost, or never there
    **dict.fromkeys((1290, 1792, 1836, 1047), Trouble.AWAY),  # read-only, a cluster's node that is not ready
    **dict.fromkeys((1021, 1026, 1114, 3675), Trouble.FULL),
    **dict.fromkeys((1205, 1213, 1020), Trouble.BUSY),  # lock timeout, deadlock, changed since it was read
    **dict.fromkeys((1044, 1045, 1698, 1049, 1142, 1143, 1146, 1227, 1370), Trouble.ACCESS),
    **dict.fromkeys(
        (1264, 1265, 1292, 1300, 1366, 1367, 1406, 1411, 1690), Trouble.DATA
    ),  # too long, out of range, no such value
    **dict.fromkeys((1048, 1364, 1062, 1169, 1242, 1586, 1216, 1452, 3819, 4025), Trouble.DATA),  # constraints
    **dict.fromkeys(
        (1054, 1071, 1117, 1118, 1136, 1153, 1526), Trouble.DATA
    ),  # no such column, too large for a row, no partition
    **dict.fromkeys((3140, 3141, 4037, 4038), Trouble.DATA),  # JSON
    1644: Trouble.DATA,  # a trigger raised it
}
#: SQLite's result codes, without what is said of them in more detail.
_RESULTS = {
    5: Trouble.AWAY,  # BUSY: another program holds the lock
    6: Trouble.AWAY,  # LOCKED
    7: Trouble.AWAY,  # NOMEM
    10: Trouble.FULL,  # IOERR
    13: Trouble.FULL,  # FULL
    14: Trouble.ACCESS,  # CANTOPEN
    8: Trouble.ACCESS,  # READONLY
    11: Trouble.ACCESS,  # CORRUPT
    26: Trouble.ACCESS,  # NOTADB
    18: Trouble.DATA,  # TOOBIG
    19: Trouble.DATA,  # CONSTRAINT, and what a trigger raises
    20: Trouble.DATA,  # MISMATCH
}
#: "Got error 28 from storage engine", as MySQL has it.
_FROM_ENGINE = 1030
#: An item that stands in the way of another unique index, as we ask MySQL to say it.
_TWO_ROWS = 1242


def trouble(error: BaseException) -> Trouble:
    """What an error means."""
    for one in _chain(error):
        if getattr(one, "connection_invalidated", False) or isinstance(one, TimeoutError):
            return Trouble.AWAY
        if (found := _known(one)) is not None:
            return found
        if isinstance(one, OSError):
            return Trouble.FULL if one.errno in (errno.ENOSPC, errno.EDQUOT) else Trouble.AWAY
    return Trouble.UNKNOWN


def _known(error: Any) -> Trouble | None:
    if number := number_of(error):  # first: errors of MySQL have an SQLSTATE too, which says less
        if number == _FROM_ENGINE and f"error {errno.ENOSPC} " in str(error):
            return Trouble.FULL
        return _NUMBERS.get(number, Trouble.UNKNOWN)
    if state := getattr(error, "sqlstate", None):
        return next((found for start, found in _SQLSTATES.items() if state.startswith(start)), Trouble.UNKNOWN)
    if (code := getattr(error, "sqlite_errorcode", None)) is not None:
        missing = Trouble.ACCESS if "no such table" in str(error) else Trouble.UNKNOWN
        return _RESULTS.get(code & 0xFF, missing)
    return None


def number_of(error: BaseException) -> int:
    """The number of a MySQL error; 0 if it has none."""
    first = error.args[0] if len(error.args) == 2 else None
    return first if isinstance(first, int) and not isinstance(error, OSError) else 0


#: What to do, by what an error's code begins with.
_ADVICE = {
    "the user or the password is not right: see the URL, or the driver's own file of passwords": ("28", "1045", "1698"),
    "make the database first: CREATE DATABASE ...": ("3D000", "1049"),
    "the user needs more rights: GRANT SELECT, INSERT, UPDATE, and CREATE, ALTER for tables that are to be made or widened": (
        "42501", "1142", "1143", "1044", "1227", "1370",
    ),
    "is the server running, and are host and port right?": ("08", "2002", "2003", "OSError"),
    "may the file and its folder be written?": ("sqlite 8", "sqlite 14", "sqlite 10"),
    "is it a file of SQLite?": ("sqlite 26", "sqlite 11"),
}  # fmt: skip


def advice(error: BaseException) -> str:
    """What a person may do about an error at the start."""
    codes = [code for one in _chain(error) if (code := _code(one))]
    return next((text for text, starts in _ADVICE.items() if any(code.startswith(starts) for code in codes)), "")


def _code(error: Any) -> str:
    if number := number_of(error):
        return str(number)
    if state := getattr(error, "sqlstate", None):
        return str(state)
    if (code := getattr(error, "sqlite_errorcode", None)) is not None:
        return f"sqlite {code & 0xFF}"
    return "OSError" if isinstance(error, OSError) else ""


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error, what SQLAlchemy wrapped in it, and what that came from."""
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        yield one
        one = getattr(one, "orig", None) or one.__cause__


def said(error: BaseException) -> str:
    """What the database said, on one line, without the statement and its values."""
    innermost = [*_chain(error)][-1]
    if number_of(innermost) == _TWO_ROWS:
        return "another row has one of its values in a unique index"
    if isinstance(error, TimeoutError):
        return "it gives no answer"
    text = str(innermost.args[1]) if number_of(innermost) else str(innermost)
    return " ".join(text.split())[:500] or type(innermost).__name__
