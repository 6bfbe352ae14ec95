"""Which requests are the same."""

from __future__ import annotations

import time
from typing import Any

import pytest

from openoctopus.dupefilter import BloomDupeFilter, RFPDupeFilter
from openoctopus.exceptions import InvalidRequest, SettingsError
from openoctopus.http import Request
from openoctopus.http.codec import freeze, thaw
from openoctopus.plugins import build
from openoctopus.settings import Settings

PAGE = "http://a.example/page"


def same(one: Request | str, other: Request | str, **options: Any) -> bool:
    dupefilter = RFPDupeFilter(**options)
    first, second = (Request(r) if isinstance(r, str) else r for r in (one, other))
    return dupefilter.fingerprint(first) == dupefilter.fingerprint(second)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://a.example", "http://a.example/"),
        ("http://A.Example/", "http://a.example/"),
        ("http://a.example:80/", "http://a.example/"),
        ("https://a.example:443/x", "https://a.example/x"),
        ("http://a.example/b/../c/./d", "http://a.example/c/d"),
        ("http://a.example/?b=2&a=1", "http://a.example/?a=1&b=2"),
        ("http://a.example/?a=1&&b=2&", "http://a.example/?a=1&b=2"),
        ("http://a.example/?", "http://a.example/"),
        ("http://a.example/#top", "http://a.example/"),
        ("http://a.example/?a=1#top", "http://a.example/?a=1"),
        ("http://a.example/%7euser", "http://a.example/~user"),
        ("http://a.example/%c3%a9", "http://a.example/é"),
        ("http://bücher.example/", "http://xn--bcher-kva.example/"),
    ],
)
def test_spellings_of_one_url_are_the_same_request(one: str, other: str) -> None:
    assert same(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://a.example/", "https://a.example/"),
        ("http://a.example/", "http://b.example/"),
        ("http://a.example/", "http://a.example:8080/"),
        ("http://a.example/x", "http://a.example/x/"),
        ("http://a.example/x", "http://a.example/X"),
        ("http://a.example/?a=1", "http://a.example/?a=2"),
        ("http://a.example/?a=1", "http://a.example/?a=1&a=1"),
        ("http://a.example/?a", "http://a.example/?a="),
        ("http://a.example/?a=1&b=2", "http://a.example/?a=2&b=1"),
        ("http://a.example/a%2Fb", "http://a.example/a/b"),
        ("http://a.example/?q=a%26b", "http://a.example/?q=a&b"),
        ("http://a.example/?q=a%2Bb", "http://a.example/?q=a+b"),
    ],
)
def test_what_a_server_may_tell_apart_is_not_the_same_request(one: str, other: str) -> None:
    assert not same(one, other)


def test_the_method_counts() -> None:
    requests = [Request(PAGE, method=method) for method in ("GET", "POST", "HEAD", "PUT")]
    dupefilter = RFPDupeFilter()

    assert len({dupefilter.fingerprint(request) for request in requests}) == 4
    assert same(Request(PAGE, method="post"), Request(PAGE, method="POST"))


def test_the_body_counts() -> None:
    bodies = [b"", b"a", b"b", b"\0", b"\0\0", b"a\0b"]
    requests = [Request(PAGE, method=method, body=body) for method in ("GET", "POST") for body in bodies]
    dupefilter = RFPDupeFilter()

    assert len({dupefilter.fingerprint(request) for request in requests}) == len(requests)


def test_the_session_counts_since_two_accounts_see_two_pages() -> None:
    requests = [Request(PAGE, session=session, method=method) for session in ("", "ann", "bob") for method in ("GET", "POST")]
    dupefilter = RFPDupeFilter()

    assert len({dupefilter.fingerprint(request) for request in requests}) == 6
    assert same(requests[2], Request(f"{PAGE}#top", session="ann"))
    assert not same(Request("http://b.example/", session=PAGE), Request(PAGE, body="http://b.example/"))


def test_nothing_else_counts() -> None:
    plain = Request(PAGE)
    other = Request(
        PAGE, "parse", headers={"X": "1"}, cookies={"a": "b"}, meta={"m": 1}, cb_kwargs={"k": 2}, priority=5,
        delay=3, dont_filter=True, errback="failed",
    )  # fmt: skip

    assert same(plain, other)


def test_chosen_headers_count_whatever_their_case() -> None:
    english, german = (Request(PAGE, headers={"Accept-Language": language}) for language in ("en", "de"))

    assert same(english, german)
    assert not same(english, german, fingerprint_include_headers=("accept-language",))
    assert same(english, Request(PAGE, headers={"accept-language": "en"}), fingerprint_include_headers=("ACCEPT-LANGUAGE",))
    assert same(Request(PAGE), Request(PAGE, headers={"X": "1"}), fingerprint_include_headers=("accept-language",))


def test_a_query_can_be_ignored() -> None:
    assert same(f"{PAGE}?a=1&b=2", PAGE, fingerprint_ignore_query=True)
    assert same(f"{PAGE}?a=1#x", f"{PAGE}#x", fingerprint_ignore_query=True)
    assert not same(f"{PAGE}?a=1#x", f"{PAGE}#y", fingerprint_ignore_query=True, fingerprint_keep_fragment=True)


def test_chosen_parameters_of_the_query_can_be_kept() -> None:
    options: dict[str, Any] = {"fingerprint_keep_parameters": ("id", "page no")}

    assert same(f"{PAGE}?id=1&utm_source=x", f"{PAGE}?session=9&id=1", **options)
    assert not same(f"{PAGE}?id=1", f"{PAGE}?id=2", **options)
    assert not same(f"{PAGE}?page%20no=1", f"{PAGE}?page%20no=2", **options)
    assert not same(f"{PAGE}?page+no=1", f"{PAGE}?page+no=2", **options)
    assert same(f"{PAGE}?other=1", PAGE, **options)
    assert same(f"{PAGE}?=1", PAGE, **options)


def test_a_fragment_can_be_kept() -> None:
    assert not same(f"{PAGE}#/one", f"{PAGE}#/two", fingerprint_keep_fragment=True)
    assert same(f"{PAGE}?b=1&a=2#/one", f"{PAGE}?a=2&b=1#/one", fingerprint_keep_fragment=True)
    assert same(f"{PAGE}#", PAGE, fingerprint_keep_fragment=True)


# One request's own say


def own(url: str, fingerprint: Any, **more: Any) -> Request:
    return Request(url, meta={"fingerprint": fingerprint}, **more)


def test_a_text_stands_for_the_whole_identity() -> None:
    assert same(own(PAGE, "product 5"), own("http://b.example/?x", "product 5", method="POST", body=b"z"))
    assert not same(own(PAGE, "product 5"), own(PAGE, "product 6"))
    assert not same(own(PAGE, PAGE), PAGE)
    assert same(own(PAGE, "\ud800 half a character"), own("http://b.example", "\ud800 half a character"))


def test_options_can_be_changed_for_one_request() -> None:
    assert same(own(f"{PAGE}?a=1", {"ignore_query": True}), own(f"{PAGE}?a=2", {"ignore_query": True}))
    assert same(own(f"{PAGE}?id=1&x=2", {"keep_parameters": "id"}), own(f"{PAGE}?id=1", {"keep_parameters": ["id"]}))
    assert not same(own(f"{PAGE}#1", {"keep_fragment": True}), own(f"{PAGE}#2", {"keep_fragment": True}))
    headers = {"include_headers": ["X-Shop"]}
    assert not same(own(PAGE, headers, headers={"X-Shop": "1"}), own(PAGE, headers, headers={"X-Shop": "2"}))
    assert not same(own(f"{PAGE}?a=1", {"ignore_query": False}), f"{PAGE}?a=2", fingerprint_ignore_query=True)


def test_options_that_change_nothing_for_a_request_leave_its_identity() -> None:
    assert same(own(PAGE, {}), PAGE)
    assert same(own(f"{PAGE}?a=1", {"ignore_query": True}), PAGE)
    assert same(own(PAGE, {"include_headers": ["X-Shop"]}), PAGE)
    assert same(own(PAGE, {"ignore_query": True}, method="POST", body=b"x"), Request(PAGE, method="POST", body=b"x"))


@pytest.mark.parametrize("wrong", [5, ["ignore_query"], {"ignore_qeury": True}, True])
def test_a_wrong_say_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidRequest, match="ignore_query"):
        RFPDupeFilter().fingerprint(own(PAGE, wrong))


# As numbers


def test_a_fingerprint_is_a_number_of_its_size_and_never_0() -> None:
    requests = [Request(f"{PAGE}?{number}") for number in range(200)]

    for bits in (64, 128):
        numbers = [RFPDupeFilter(fingerprint_bits=bits).fingerprint(request) for request in requests]
        assert 0 < min(numbers) < max(numbers) < 1 << bits
        assert max(numbers) > 1 << (bits - 4)


def test_a_fingerprint_outlives_the_queue() -> None:
    dupefilter = RFPDupeFilter(fingerprint_include_headers=("X",))
    request = Request(
        f"{PAGE}?q=ü#x", method="POST", body="body", headers={"X": "ä"}, meta={"fingerprint": {"keep_fragment": True}}
    )

    assert dupefilter.fingerprint(thaw(freeze(request, str))) == dupefilter.fingerprint(request)


def test_no_two_crawls_have_the_same_key_unless_they_are_given_it() -> None:
    one, other = RFPDupeFilter(), RFPDupeFilter()
    assert one.fingerprint(Request(PAGE)) != other.fingerprint(Request(PAGE))

    other.secret = one.secret

    assert one.fingerprint(Request(PAGE)) == other.fingerprint(Request(PAGE))
    assert one.forced(1, 2, 3) == other.forced(1, 2, 3)


def test_a_request_that_is_forced_is_the_same_only_at_the_same_place_of_the_same_page() -> None:
    dupefilter = RFPDupeFilter()
    fingerprint = dupefilter.fingerprint(Request(PAGE))

    places = [(parent, fingerprint, occurrence) for parent in (0, 1, 11) for occurrence in (1, 11)]
    forced = [dupefilter.forced(*place) for place in places]

    assert forced == [dupefilter.forced(*place) for place in places]
    assert len({fingerprint, *forced}) == len(places) + 1
    assert dupefilter.forced(0, fingerprint, 1) != dupefilter.forced(0, fingerprint + 1, 1)


# As settings


def test_options_are_read_from_the_settings_texts_too() -> None:
    settings = Settings.load({
        "test": {"FINGERPRINT_KEEP_PARAMETERS": "id, page", "FINGERPRINT_BITS": "128", "FINGERPRINT_IGNORE_QUERY": "false"}
    })  # fmt: skip

    dupefilter = build(RFPDupeFilter, settings)

    assert dupefilter.keep_parameters == {"id", "page"}
    assert (dupefilter.memory, dupefilter.ignore_query) == ("exact128", False)


def test_a_bloom_filter_takes_the_same_options_and_its_own() -> None:
    settings = Settings.load({
        "test": {"BLOOM_CAPACITY": "1000", "BLOOM_ERROR_RATE": 0.01, "FINGERPRINT_IGNORE_QUERY": True, "FINGERPRINT_BITS": 128}
    })  # fmt: skip

    dupefilter = build(BloomDupeFilter, settings)

    assert (dupefilter.memory, dupefilter.capacity, dupefilter.error_rate) == ("bloom", 1000, 0.01)
    assert dupefilter.fingerprint(Request(f"{PAGE}?1")) == dupefilter.fingerprint(Request(f"{PAGE}?2"))


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (RFPDupeFilter, {"fingerprint_bits": 32}),
        (BloomDupeFilter, {"bloom_capacity": 0}),
        (BloomDupeFilter, {"bloom_error_rate": 0.0}),
        (BloomDupeFilter, {"bloom_error_rate": 1.0}),
    ],
)
def test_options_that_make_no_sense_are_refused(kind: Any, options: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        kind(**options)


def test_a_fingerprint_takes_microseconds() -> None:
    dupefilter = RFPDupeFilter()
    requests = [Request(f"http://host-{number}.example/section/article-{number:06}.html") for number in range(2000)]

    times = []
    for _ in range(5):
        began = time.thread_time()
        for request in requests:
            dupefilter.fingerprint(request)
        times.append(time.thread_time() - began)

    assert min(times) / len(requests) < 8e-6
