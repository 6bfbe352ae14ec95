"""Cookie files: Netscape's and those of browsers."""

from __future__ import annotations

import json

import pytest

from openoctopus.http.cookiefile import read_cookies
from openoctopus.http.cookies import CookieJar
from openoctopus.http.url import parse

NETSCAPE = b"""# Netscape HTTP Cookie File
# a comment

.example.com\tTRUE\t/\tFALSE\t0\tlang\tde
#HttpOnly_www.example.com\tFALSE\t/a\tTRUE\t4102444800\tsid\ta=b"c"
www.example.com\tFALSE\t/\tFALSE\t0\tempty
"""


def test_netscape_lines_are_read() -> None:
    cookies, bad = read_cookies(NETSCAPE)

    assert bad == []
    assert [(c.name, c.value, c.domain, c.path, c.host_only, c.secure, c.http_only, c.expires) for c in cookies] == [
        ("lang", "de", "example.com", "/", False, False, False, None),
        ("sid", 'a=b"c"', "www.example.com", "/a", True, True, True, 4102444800.0),
        ("empty", "", "www.example.com", "/", True, False, False, None),
    ]


def test_line_ends_and_a_byte_order_mark_do_not_matter() -> None:
    cookies, bad = read_cookies(b"\xef\xbb\xbf" + NETSCAPE.replace(b"\n", b"\r\n"))

    assert (len(cookies), bad) == (3, [])


@pytest.mark.parametrize(
    "line",
    [
        b"www.example.com FALSE / FALSE 0 a 1",
        b"www.example.com\tFALSE\t/",
        b"www.example.com\tMAYBE\t/\tFALSE\t0\ta\t1",
        b"www.example.com\tFALSE\t/\tFALSE\tsoon\ta\t1",
        b"\tFALSE\t/\tFALSE\t0\ta\t1",
        b"www.example.com\tFALSE\t/\tFALSE\t0\ta\tb;c",
    ],
)
def test_a_bad_line_is_named_by_its_number(line: bytes) -> None:
    cookies, bad = read_cookies(NETSCAPE + line + b"\n.example.com\tTRUE\t/\tFALSE\t0\tlast\t1\n")

    assert [c.name for c in cookies] == ["lang", "sid", "empty", "last"]
    assert bad == [7]


def test_an_export_of_a_browser_extension_is_read() -> None:
    export = [
        {"domain": ".example.com", "hostOnly": False, "name": "a", "value": "1", "path": "/", "session": True},
        {"domain": "www.example.com", "hostOnly": True, "name": "b", "value": "2", "expirationDate": 4102444800.5},
    ]

    cookies, bad = read_cookies(json.dumps(export).encode())

    assert bad == []
    assert [(c.name, c.domain, c.host_only, c.expires) for c in cookies] == [
        ("a", "example.com", False, None),
        ("b", "www.example.com", True, 4102444800.5),
    ]


def test_a_storage_state_is_read() -> None:
    state = {
        "cookies": [
            {"name": "a", "value": "1", "domain": ".example.com", "path": "/", "expires": -1, "httpOnly": True, "secure": True},
            {"name": "b", "value": "2", "domain": "www.example.com", "path": "/", "expires": -1, "sameSite": "Lax"},
        ],
        "origins": [],
    }
    cookies, bad = read_cookies(json.dumps(state).encode())
    jar = CookieJar()
    for cookie in cookies:
        jar.put(cookie, 0.0)

    assert bad == []
    assert jar.header(parse("https://www.example.com/"), 0.0) == "a=1; b=2"
    assert jar.header(parse("https://shop.example.com/"), 0.0) == "a=1"


@pytest.mark.parametrize(
    ("data", "bad"),
    [
        (b'[{"name": "a", "value": "1"}]', [1]),
        (b'[7, {"name": "a", "value": "1", "domain": "x.com"}, {"name": "b", "domain": "x.com"}]', [1, 3]),
        (b'{"other": []}', [1]),
        (b"[{", [1]),
    ],
)
def test_a_bad_object_is_named_by_its_number(data: bytes, bad: list[int]) -> None:
    assert read_cookies(data)[1] == bad
