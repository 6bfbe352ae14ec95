"""Moments as servers write them: in Expires of a cookie, in Retry-After."""

from __future__ import annotations

import calendar
import re
from datetime import datetime

from openoctopus.http.headers import Headers

# The tokens of a cookie date (RFC 6265, 5.1.1).
_DELIMITERS = re.compile(r"[\t\x20-\x2f\x3b-\x40\x5b-\x60\x7b-\x7e]+")
_TIME = re.compile(r"([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:[^0-9]|$)")
_DAY = re.compile(r"([0-9]{1,2})(?:[^0-9]|$)")
_YEAR = re.compile(r"([0-9]{2,4})(?:[^0-9]|$)")
_MONTH_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES, 1)}
_SECONDS = re.compile(r"[0-9]+(?:\.[0-9]*)?")


def parse_date(text: str) -> float | None:
    """Seconds since the epoch, or ``None`` for what is no date.

    Reads every form of an HTTP date and what else servers write, as browsers do (RFC 6265, 5.1.1); always GMT.
    """
    time: tuple[str, ...] | None = None
    day = month = year = None
    for token in _DELIMITERS.split(text):
        if time is None and (match := _TIME.match(token)):
            time = match.groups()
        elif day is None and (match := _DAY.match(token)):
            day = int(match[1])
        elif month is None and token[:3].lower() in _MONTHS:
            month = _MONTHS[token[:3].lower()]
        elif year is None and (match := _YEAR.match(token)):
            year = int(match[1])
    if time is None or day is None or month is None or year is None:
        return None
    return _seconds(_full_year(year), month, day, time)


def _full_year(year: int) -> int:
    """Two digits: 70 to 99 are of the last century."""
    return year + 1900 if 70 <= year <= 99 else year + 2000 if year <= 69 else year


def _seconds(year: int, month: int, day: int, time: tuple[str, ...]) -> float | None:
    if year < 1601:
        return None
    hour, minute, second = map(int, time)
    try:
        return float(calendar.timegm(datetime(year, month, day, hour, minute, second).timetuple()))
    except ValueError:
        return None


def retry_after(headers: Headers, now: float) -> float | None:
    """How many seconds a server asks to stay away (RFC 9110, 10.2.3), or ``None``.

    ``now``: seconds since the epoch. What is negative, past or no number or date says nothing.
    """
    value = headers.get("Retry-After")
    if value is None:
        return None
    text = value.strip()
    if _SECONDS.fullmatch(text):
        return float(text)
    if text.startswith(("-", "+")):
        return None
    moment = parse_date(text)
    return moment - now if moment is not None and moment > now else None
