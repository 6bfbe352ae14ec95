"""Moments as servers write them."""

from __future__ import annotations

import pytest

from openoctopus.http import Headers
from openoctopus.http.dates import parse_date, retry_after

NOW = 784_111_700.0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784111777),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 784111777),
        ("Sun Nov  6 08:49:37 1994", 784111777),
        ("06 Nov 1994 08:49:37", 784111777),
        ("Sun, 6 nov 1994 8:49:37 gmt", 784111777),
        ("November 6, 1994 08:49:37", 784111777),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("Tue, 05-Aug-68 18:59:59 GMT", 3111418799),
        ("Sat, 01 Jan 2000 00:00:00 GMT", 946684800),
        ("Thu, 29 Feb 2024 00:00:00 GMT", 1709164800),
    ],
)
def test_a_date_is_read_in_every_form(text: str, seconds: int) -> None:
    assert parse_date(text) == seconds


@pytest.mark.parametrize(
    "text",
    [
        "", "soon", "0", "-1", "1994", "Sun, 06 Nov 1994", "Sun, 32 Nov 1994 08:49:37 GMT", "Wed, 29 Feb 2023 00:00:00 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:00 GMT", "Sun, 06 Nov 1500 08:49:37 GMT",
        "Sun, 06 Foo 1994 08:49:37 GMT", "9" * 10000,
    ],
)  # fmt: skip
def test_what_is_no_date_is_none(text: str) -> None:
    assert parse_date(text) is None


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("2", 2.0),
        (" 120 ", 120.0),
        ("1.5", 1.5),
        ("0", 0.0),
        ("Sun, 06 Nov 1994 08:49:37 GMT", 77.0),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 77.0),
        ("Sat, 05 Nov 1994 08:49:37 GMT", None),
        ("-5", None),
        ("+5", None),
        ("soon", None),
        ("", None),
        ("5 minutes", None),
        ("٣", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(value: str, seconds: float | None) -> None:
    assert retry_after(Headers({"Retry-After": value}), NOW) == seconds


def test_without_retry_after_there_is_none() -> None:
    assert retry_after(Headers(), NOW) is None


def test_a_number_beyond_all_measure_is_still_a_number() -> None:
    assert retry_after(Headers({"retry-after": "9" * 400}), NOW) == float("inf")
