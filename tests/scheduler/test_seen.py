"""What was seen is never forgotten, in little memory and little time."""

from __future__ import annotations

import logging
import random
import time
import tracemalloc
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openoctopus.dupefilter import BloomDupeFilter, RFPDupeFilter
from openoctopus.scheduler.seen import PLACES, TABLES, BloomSeen, Exact64Seen, Exact128Seen, Seen, seen_for

#: Fingerprints that a hash would give, and such as none would: small ones, equal low or high bits, one table, one place.
STRANGE = {
    "hashes": lambda n: random.Random(1).getrandbits(64),
    "one after the other": lambda n: n,
    "equal low bits": lambda n: n << 40 | 0xABCDE,
    "equal high bits": lambda n: (1 << 64) - 1 - n,
    "one table": lambda n: 7 + n * TABLES,
    "multiples": lambda n: n * PLACES * 1024,
}


def seconds(work: Callable[[], object]) -> float:
    """Of this thread alone, the best of three."""
    times = []
    for _ in range(3):
        began = time.thread_time()
        work()
        times.append(time.thread_time() - began)
    return min(times)


def add_all(seen: Seen, fingerprints: Iterable[int]) -> None:
    for fingerprint in fingerprints:
        seen.add(fingerprint)


@pytest.mark.parametrize("kind", [Exact64Seen, Exact128Seen])
@given(st.lists(st.one_of(st.integers(0, 300), st.integers(0, 2**64 - 1))))
def test_an_exact_set_is_a_set(kind: type[Exact64Seen], fingerprints: list[int]) -> None:
    seen, expected = kind(), set()

    for fingerprint in fingerprints:
        assert seen.add(fingerprint) == (fingerprint not in expected)
        expected.add(fingerprint)

    assert len(seen) == len(expected)
    assert all(fingerprint in seen for fingerprint in expected)
    assert [f in seen for f in range(300)] == [f in expected for f in range(300)]
    assert "http://a.example/" not in seen


def test_nothing_is_lost_while_the_tables_grow() -> None:
    seen, source = Exact64Seen(), random.Random(3)
    fingerprints = [source.getrandbits(64) for _ in range(150_000)]

    assert all(seen.add(fingerprint) for fingerprint in fingerprints)

    assert not any(seen.add(fingerprint) for fingerprint in fingerprints)
    assert len(seen) == 150_000
    assert not any(source.getrandbits(64) in seen for _ in range(1000))


@pytest.mark.parametrize("pattern", STRANGE.values(), ids=STRANGE.keys())
def test_fingerprints_that_are_no_good_hashes_make_it_no_slower(pattern: Callable[[int], int]) -> None:
    few = [pattern(number) for number in range(1, 5_000)]
    many = [pattern(number) for number in range(1, 20_000)]

    times = [seconds(lambda some=some: add_all(Exact64Seen(), some)) for some in (few, many)]  # type: ignore[misc]

    assert times[1] < 12 * times[0]
    assert times[1] / len(many) < 10e-6


def test_64_bits_take_no_more_than_24_bytes_each_and_a_microsecond_or_so() -> None:
    source = random.Random(5)
    fingerprints = [source.getrandbits(64) for _ in range(100_000)]

    taken = []
    for count in (60_000, 80_000, 100_000):
        tracemalloc.start()
        seen = Exact64Seen()
        add_all(seen, fingerprints[:count])
        taken.append(tracemalloc.get_traced_memory()[0] / count)
        tracemalloc.stop()

    assert max(taken) <= 24
    assert seconds(lambda: add_all(Exact64Seen(), fingerprints)) < 100_000 * 4e-6


def test_no_growth_holds_the_crawl_up() -> None:
    seen, source = Exact64Seen(), random.Random(7)
    worst = 0.0

    for _ in range(200_000):
        fingerprint = source.getrandbits(64)
        began = time.thread_time()
        seen.add(fingerprint)
        worst = max(worst, time.thread_time() - began)

    assert worst < 0.02


def test_128_bits_are_kept_whole() -> None:
    seen = Exact128Seen()
    seen.add(1 << 100 | 5)

    assert 5 not in seen
    assert (1 << 100 | 5) in seen
    assert seen.add(5)
    assert len(seen) == 2


@pytest.mark.parametrize(("capacity", "rate"), [(1_000, 1e-2), (20_000, 1e-2), (20_000, 1e-3)])
def test_a_bloom_filter_keeps_its_word_and_forgets_nothing(capacity: int, rate: float) -> None:
    seen, source = BloomSeen(capacity, rate), random.Random(9)
    fingerprints = [source.getrandbits(64) for _ in range(capacity)]
    add_all(seen, fingerprints)

    asked = round(100 / rate)
    mistakes = sum(source.getrandbits(64) in seen for _ in range(asked))

    assert all(fingerprint in seen for fingerprint in fingerprints)
    assert not any(seen.add(fingerprint) for fingerprint in fingerprints)
    assert rate / 3 < mistakes / asked < rate * 3
    assert capacity * (1 - 3 * rate) <= len(seen) <= capacity
    assert "no number" not in seen


def test_a_bloom_filter_says_when_it_is_over_its_capacity(caplog: pytest.LogCaptureFixture) -> None:
    seen = BloomSeen(100, 1e-3)

    with caplog.at_level(logging.WARNING):
        add_all(seen, (number * 0x9E3779B97F4A7C15 % 2**64 for number in range(1, 300)))

    assert [record.getMessage() for record in caplog.records] == [
        "the Bloom filter is over its 100 URLs: more new pages will be taken for seen"
    ]


def test_a_bloom_filter_has_its_whole_size_from_the_start() -> None:
    tracemalloc.start()
    seen = BloomSeen(100_000, 1e-6)
    before = tracemalloc.get_traced_memory()[0]
    add_all(seen, range(1, 50_000))
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()

    assert after - before < 1000
    assert before < 100_000 * 5


def test_a_dupefilter_says_how_it_is_remembered() -> None:
    assert isinstance(seen_for(RFPDupeFilter()), Exact64Seen)
    assert isinstance(seen_for(RFPDupeFilter(fingerprint_bits=128)), Exact128Seen)
    bloom = seen_for(BloomDupeFilter(bloom_capacity=123, bloom_error_rate=0.1))
    assert isinstance(bloom, BloomSeen)
    assert bloom.capacity == 123
