"""What a server sets, and what is sent back where: the examples of RFC 6265 and real trouble."""

from __future__ import annotations

import pytest

from openoctopus.exceptions import InvalidRequest
from openoctopus.http.cookies import Cookie, CookieJar, is_public_suffix
from openoctopus.http.url import parse

NOW = 1_750_000_000.0
PAGE = "http://www.example.com/a/b/page"
SECURE = "https://www.example.com/a/b/page"

#: What was set on PAGE, and what a request to the second URL sends.
SENT = {
    # values
    "a plain one": (["SID=31d4d96e407aad42"], PAGE, "SID=31d4d96e407aad42"),
    "two of them": (["SID=31d4; Path=/", "lang=en-US; Path=/"], PAGE, "SID=31d4; lang=en-US"),
    "the second of two with the same name wins": (["a=1", "a=2"], PAGE, "a=2"),
    "equals signs in the value": (["check=QUJDRA/Zz+k=; Path=/"], PAGE, "check=QUJDRA/Zz+k="),
    "an equals sign first": (["=a=b"], PAGE, "a=b"),
    "quotes are part of the value": (['q="a b"; Path=/'], PAGE, 'q="a b"'),
    "quotes do not hide a semicolon": (['q="a;b"; Path=/'], PAGE, 'q="a'),
    "braces, brackets and commas": (['j={"a":[1,2],"b":"x"}; Path=/'], PAGE, 'j={"a":[1,2],"b":"x"}'),
    "round brackets and a space inside": (["k=(v w)"], PAGE, "k=(v w)"),
    "odd characters in the name": (["a:b[c]@{d}=1"], PAGE, "a:b[c]@{d}=1"),
    "bytes that are no ASCII": (["n=\xe4\xbd\xa0"], PAGE, "n=\xe4\xbd\xa0"),
    "percent signs are not decoded": (["p=%7B%22a%22%3A1%7D"], PAGE, "p=%7B%22a%22%3A1%7D"),
    "blanks around name and value go": (["  a \t=\t 1  ; Path=/"], PAGE, "a=1"),
    "an empty value": (["a="], PAGE, "a="),
    "a value without a name": (["token"], PAGE, "token"),
    "neither name nor value": (["=", "; Path=/", ""], PAGE, ""),
    "a control character": (["a=1\x01", "b=\x7f2", "c=3\x00"], PAGE, ""),
    "a tab inside is allowed": (["a=1\t2"], PAGE, "a=1\t2"),
    "names differ by case": (["a=1", "A=2"], PAGE, "a=1; A=2"),
    "4096 bytes are taken": ([f"a={'x' * 4095}"], PAGE, f"a={'x' * 4095}"),
    "4097 bytes are not": ([f"a={'x' * 4096}"], PAGE, ""),
    "unknown attributes are passed over": (["a=1; Priority=High; Partitioned; foo; ;;=x"], PAGE, "a=1"),
    # path
    "the default path is the directory": (["a=1"], "http://www.example.com/a/b/other", "a=1"),
    "the default path covers what is below": (["a=1"], "http://www.example.com/a/b/c/d", "a=1"),
    "the default path does not cover what is above": (["a=1"], "http://www.example.com/a/", ""),
    "a path covers itself": (["a=1; Path=/x"], "http://www.example.com/x", "a=1"),
    "a path covers what is below": (["a=1; Path=/x"], "http://www.example.com/x/y", "a=1"),
    "a path is no mere prefix": (["a=1; Path=/x"], "http://www.example.com/xy", ""),
    "a path with a slash at its end": (["a=1; Path=/x/"], "http://www.example.com/x", ""),
    "a relative path counts as none": (["a=1; Path=x"], PAGE, "a=1"),
    "an empty path counts as none": (["a=1; Path="], "http://www.example.com/a/", ""),
    "the last path counts": (["a=1; Path=/x; Path=/y"], "http://www.example.com/y", "a=1"),
    "the query is no part of the path": (["a=1; Path=/x"], "http://www.example.com/x?y", "a=1"),
    "the longest path is sent first": (["a=1; Path=/", "b=2; Path=/a/b", "c=3; Path=/a"], PAGE, "b=2; c=3; a=1"),
    "of equal paths the oldest is first": (["b=1; Path=/", "a=2; Path=/", "b=3; Path=/"], PAGE, "b=3; a=2"),
    "one name on two paths is two cookies": (["a=1; Path=/", "a=2; Path=/a"], PAGE, "a=2; a=1"),
    # domain
    "without a domain it is for the host alone": (["a=1; Path=/"], "http://sub.www.example.com/", ""),
    "nor for the host above": (["a=1; Path=/"], "http://example.com/", ""),
    "a domain covers its hosts": (["a=1; Domain=example.com; Path=/"], "http://shop.example.com/", "a=1"),
    "a leading dot means nothing": (["a=1; Domain=.example.com; Path=/"], "http://example.com/", "a=1"),
    "upper case means nothing": (["a=1; DOMAIN=EXAMPLE.COM; PATH=/"], "http://example.com/", "a=1"),
    "a foreign domain is refused": (["a=1; Domain=other.com; Path=/"], "http://other.com/", ""),
    "a domain by the letters alone is refused": (["a=1; Domain=ample.com; Path=/"], "http://ample.com/", ""),
    "a host below may not be named": (["a=1; Domain=x.www.example.com; Path=/"], "http://x.www.example.com/", ""),
    "a public suffix is refused": (["a=1; Domain=com; Path=/"], "http://other.com/", ""),
    "an empty domain counts as none": (["a=1; Domain=; Path=/"], "http://www.example.com/", "a=1"),
    "the last domain counts": (["a=1; Domain=x.com; Domain=example.com; Path=/"], "http://example.com/", "a=1"),
    "a domain with a port is none": (["a=1; Domain=example.com:80; Path=/"], "http://www.example.com/", ""),
    "a host of its own and a domain's are two": (["a=1; Path=/", "a=2; Domain=www.example.com; Path=/"], PAGE, "a=1; a=2"),
    "ports share cookies": (["a=1; Path=/"], "http://www.example.com:8080/", "a=1"),
    # age
    "Max-Age in the future": (["a=1; Max-Age=60; Path=/"], PAGE, "a=1"),
    "Max-Age of nothing": (["a=1; Max-Age=0; Path=/"], PAGE, ""),
    "a negative Max-Age": (["a=1; Max-Age=-1; Path=/"], PAGE, ""),
    "Max-Age that is no number": (["a=1; Max-Age=soon; Path=/"], PAGE, "a=1"),
    "a Max-Age beyond all measure": ([f"a=1; Max-Age={'9' * 900}; Path=/"], PAGE, "a=1"),
    "Max-Age stands over Expires": (["a=1; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT"], PAGE, "a=1"),
    "and over a later Expires": (["a=1; Max-Age=0; Expires=Fri, 01 Jan 2100 00:00:00 GMT"], PAGE, ""),
    "Expires in the past": (["a=1; Expires=Wed, 09 Jun 2021 10:18:14 GMT"], PAGE, ""),
    "Expires in the future": (["a=1; Expires=Wed, 09 Jun 2100 10:18:14 GMT"], PAGE, "a=1"),
    "two digits of a year, next century": (["a=1; Expires=Tue, 05-Aug-68 18:59:59 GMT"], PAGE, "a=1"),
    "two digits of a year, last century": (["a=1; Expires=Thu, 01-Dec-94 16:00:00 GMT"], PAGE, ""),
    "a date as asctime writes it": (["a=1; Expires=Sun Nov  6 08:49:37 1994"], PAGE, ""),
    "a date that is none": (["a=1; Expires=tomorrow"], PAGE, "a=1"),
    "removed by an expired one": (["a=1", "a=; Expires=Thu, 01 Jan 1970 00:00:00 GMT"], PAGE, ""),
    "removed on its own path only": (["a=1; Path=/", "a=; Path=/a; Max-Age=0"], PAGE, "a=1"),
    # Secure and prefixes, over http
    "Secure may not be set over http": (["a=1; Secure"], SECURE, ""),
    "a cookie of http goes to https": (["a=1"], SECURE, "a=1"),
    "HttpOnly is sent": (["a=1; HttpOnly"], PAGE, "a=1"),
    "SameSite is sent": (["a=1; SameSite=Strict"], PAGE, "a=1"),
    "__Secure- over http": (["__Secure-a=1"], PAGE, ""),
    "__Host- over http": (["__Host-a=1; Path=/"], PAGE, ""),
}  # fmt: skip

SENT_SECURELY = {
    "Secure over https": (["a=1; Secure; Path=/"], SECURE, "a=1"),
    "Secure does not go to http": (["a=1; Secure; Path=/"], PAGE, ""),
    "__Secure- needs Secure": (["__Secure-a=1; Path=/"], SECURE, ""),
    "__Secure- with Secure": (["__Secure-a=1; Secure; Domain=example.com; Path=/"], SECURE, "__Secure-a=1"),
    "__Host- as it must be": (["__Host-a=1; Secure; Path=/"], SECURE, "__Host-a=1"),
    "__Host- with a domain": (["__Host-a=1; Secure; Path=/; Domain=example.com"], SECURE, ""),
    "__Host- on another path": (["__Host-a=1; Secure; Path=/a"], SECURE, ""),
    "__Host- without a path": (["__Host-a=1; Secure"], SECURE, ""),
    "prefixes ignore case": (["__hOsT-a=1; Path=/", "__SECURE-b=1"], SECURE, ""),
    "a prefix hidden in a nameless cookie": (["__Host-a", "=__Secure-b=1"], SECURE, ""),
}  # fmt: skip


def jar_of(headers: list[str], url: str) -> CookieJar:
    jar = CookieJar()
    for header in headers:
        jar.receive(header, parse(url), NOW)
    return jar


@pytest.mark.parametrize(("headers", "url", "sent"), SENT.values(), ids=SENT)
def test_a_cookie_set_over_http_is_sent_where_it_belongs(headers: list[str], url: str, sent: str) -> None:
    assert jar_of(headers, PAGE).header(parse(url), NOW) == sent


@pytest.mark.parametrize(("headers", "url", "sent"), SENT_SECURELY.values(), ids=SENT_SECURELY)
def test_a_cookie_set_over_https_is_sent_where_it_belongs(headers: list[str], url: str, sent: str) -> None:
    assert jar_of(headers, SECURE).header(parse(url), NOW) == sent


@pytest.mark.parametrize(
    ("host", "domain", "taken"),
    [
        ("localhost", "localhost", True),
        ("127.0.0.1", "127.0.0.1", True),
        ("127.0.0.1", "0.0.1", False),
        ("[::1]", "[::1]", True),
        ("a.co.uk", "co.uk", False),
        ("co.uk", "co.uk", True),
        ("me.github.io", "github.io", False),
        ("a.b.example.test", "example.test", True),
        ("xn--mnchen-3ya.de", "xn--mnchen-3ya.de", True),
        ("intranet", "intranet", True),
    ],
)
def test_a_domain_must_be_the_hosts_and_no_public_suffix(host: str, domain: str, taken: bool) -> None:
    jar = jar_of([f"a=1; Domain={domain}; Path=/"], f"http://{host}/")

    assert jar.header(parse(f"http://{host}/"), NOW) == ("a=1" if taken else "")


def test_a_public_suffix_keeps_its_own_cookie_to_itself() -> None:
    jar = jar_of(["a=1; Domain=github.io; Path=/"], "http://github.io/")

    assert jar.header(parse("http://github.io/"), NOW) == "a=1"
    assert jar.header(parse("http://me.github.io/"), NOW) == ""


def test_an_unknown_top_level_is_a_public_suffix() -> None:
    assert is_public_suffix("test")
    assert not is_public_suffix("example.test")


def test_a_cookie_is_not_sent_after_its_end() -> None:
    jar = jar_of(["a=1; Max-Age=10", "b=2"], PAGE)

    assert jar.header(parse(PAGE), NOW + 9) == "a=1; b=2"
    assert jar.header(parse(PAGE), NOW + 10) == "b=2"
    assert len(jar) == 1


def test_http_cannot_lay_a_cookie_over_a_secure_one() -> None:
    jar = jar_of(["a=secret; Secure; Path=/"], SECURE)

    jar.receive("a=fake; Path=/", parse(PAGE), NOW)
    jar.receive("a=fake; Path=/; Domain=example.com", parse("http://other.example.com/"), NOW)
    jar.receive("b=mine; Path=/", parse(PAGE), NOW)

    assert jar.header(parse(SECURE), NOW) == "a=secret; b=mine"


def test_no_cookie_lives_longer_than_400_days() -> None:
    jar = jar_of(["a=1; Max-Age=999999999", "b=2; Expires=Fri, 01 Jan 2100 00:00:00 GMT"], PAGE)

    assert [cookie["expires"] for cookie in jar.dump()] == [NOW + 400 * 86400] * 2


def test_the_oldest_cookies_of_a_domain_make_room() -> None:
    jar = jar_of([f"c{number}=1; Path=/" for number in range(200)], PAGE)

    assert len(jar) == 180
    assert jar.header(parse(PAGE), NOW).startswith("c20=1; c21=1")


def test_expired_cookies_make_room_before_old_ones() -> None:
    jar = jar_of(["old=1; Path=/", *(f"c{n}=1; Path=/; Max-Age=5" for n in range(179))], PAGE)

    jar.receive("new=1; Path=/", parse(PAGE), NOW + 10)

    assert jar.header(parse(PAGE), NOW + 10) == "old=1; new=1"


def test_a_flood_over_many_domains_stays_bounded() -> None:
    jar = CookieJar()
    for number in range(5000):
        jar.receive("a=1; Path=/", parse(f"http://h{number}.example.com/"), NOW)

    assert len(jar) <= 3000
    assert jar.header(parse("http://h4999.example.com/"), NOW) == "a=1"
    assert jar.header(parse("http://h0.example.com/"), NOW) == ""


def test_a_jar_is_kept_as_plain_data() -> None:
    jar = jar_of(["a=1; Path=/; HttpOnly; Secure; SameSite=Lax; Max-Age=60; Domain=example.com", "b=2"], SECURE)
    jar.receive("a=3; Path=/; HttpOnly; Secure; SameSite=Lax; Max-Age=60; Domain=example.com", parse(SECURE), NOW)
    again = CookieJar()

    again.load(jar.dump(), NOW)

    assert again.dump() == jar.dump()
    assert again.header(parse(SECURE), NOW) == jar.header(parse(SECURE), NOW) == "b=2; a=3"


@pytest.mark.parametrize(
    ("values", "host", "url", "sent"),
    [
        ({"name": "a", "value": "1"}, "example.com", "http://example.com/x", "a=1"),
        ({"name": "a", "value": "1"}, "example.com", "http://www.example.com/", ""),
        ({"name": "a", "value": "1", "domain": "example.com"}, "www.example.com", "http://shop.example.com/", "a=1"),
        ({"name": "a", "value": "1", "path": "/x"}, "example.com", "http://example.com/y", ""),
        ({"name": "a", "value": "1", "secure": True}, "example.com", "http://example.com/", ""),
        ({"name": "a", "value": 7}, "example.com", "http://example.com/", "a=7"),
        ({"name": "a", "value": b"\xe9"}, "example.com", "http://example.com/", "a=\xe9"),
        ({"name": "a", "value": "你"}, "example.com", "http://example.com/", "a=\xe4\xbd\xa0"),
        ({"name": "a", "value": "1", "expires": NOW - 1}, "example.com", "http://example.com/", ""),
        ({"name": "a", "value": "1", "expires": -1}, "example.com", "http://example.com/", "a=1"),
        ({"name": "a", "value": "1", "expiry": NOW + 1}, "example.com", "http://example.com/", "a=1"),
        ({"name": "a", "value": "1", "expires": "Thu, 01 Jan 2015 00:00:00 GMT"}, "example.com", "http://example.com/", ""),
    ],
)
def test_a_given_cookie_is_sent_where_it_says(values: dict[str, object], host: str, url: str, sent: str) -> None:
    jar = CookieJar()

    jar.put(Cookie.given(values, host), NOW)

    assert jar.header(parse(url), NOW) == sent


@pytest.mark.parametrize(
    "values",
    [
        {"name": "a"},
        {"value": "1"},
        {"name": "a", "value": "1\r\nX: y"},
        {"name": "a", "value": "1; b=2"},
        {"name": "a=b", "value": "1"},
        {"name": "a\n", "value": "1"},
    ],
)
def test_a_given_cookie_that_cannot_be_sent_is_refused(values: dict[str, object]) -> None:
    with pytest.raises(InvalidRequest):
        Cookie.given(values, "example.com")


def test_a_given_cookie_needs_a_host() -> None:
    with pytest.raises(InvalidRequest, match="no domain"):
        Cookie.given({"name": "a", "value": "1"})
