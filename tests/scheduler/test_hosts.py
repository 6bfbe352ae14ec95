"""How one host is treated, by itself."""

from __future__ import annotations

import math

import pytest

from openoctopus.scheduler.base import Answer
from openoctopus.scheduler.hosts import KEEP, SHORT, Host, Politeness
from tests.scheduler.virtual import GOOD, UNREACHABLE, entries, entry, settings


def host(**rules: object) -> Host:
    return Host("a.example", Politeness(spread=(1.0, 1.0), **rules))  # type: ignore[arg-type]


# Rules


def test_the_settings_become_rules() -> None:
    rules = Politeness.of(
        settings(
            CONCURRENT_REQUESTS_PER_DOMAIN=3,
            DOWNLOAD_DELAY=1.5,
            RANDOMIZE_DOWNLOAD_DELAY=True,
            DOWNLOAD_SLOTS={"b.example": {"concurrency": 1}},
            RETRY_AFTER_MAX=30,
        )
    )

    assert (rules.concurrency, rules.delay, rules.spread, rules.retry_after_max) == (3, 1.5, (1.0, 1.5), 30)
    assert (rules.concurrency_of("b.example"), rules.delay_of("b.example")) == (1, 1.5)
    assert rules.concurrency_of("a.example") == 3


@pytest.mark.parametrize(("randomize", "spread"), [(True, (1.0, 1.5)), (False, (1.0, 1.0)), ("wide", (0.5, 1.5))])
def test_the_delay_may_be_random(randomize: bool | str, spread: tuple[float, float]) -> None:
    assert Politeness.of(settings(RANDOMIZE_DOWNLOAD_DELAY=randomize)).spread == spread


# What waits


def test_many_of_one_priority_and_few_of_many_wait_in_order() -> None:
    waiting = host()
    for each in entries(3 * SHORT):
        waiting.push(each)
    for number in range(100):
        waiting.push(entry(1000 + number, priority=number * 37 % 100))

    order = [waiting.pop() for _ in range(waiting.queued)]

    assert [each.priority for each in order[:100]] == sorted((each.priority for each in order[:100]), reverse=True)
    zeros = [each.rid for each in order if each.priority == 0]
    assert zeros == [*range(1, 3 * SHORT + 1), 1000]
    assert (waiting.queued, waiting.keys, waiting.queues) == (0, [], {})


def test_the_rank_is_that_of_the_next_or_of_a_better_one_held_back_by_it() -> None:
    waiting = host()
    waiting.push(entry(1, priority=3))
    assert waiting.rank() == 3
    waiting.push(entry(2, priority=-5, front=True))
    assert waiting.rank() == 3
    waiting.push(entry(3, priority=7, front=True))
    assert waiting.rank() == 3

    assert [waiting.pop().rid, waiting.rank()] == [2, 7]
    assert [waiting.pop().rid, waiting.rank()] == [3, 3]


def test_a_host_is_emptied_best_first() -> None:
    waiting = host()
    for each in (entry(1), entry(2, priority=4), entry(3, front=True), entry(4, priority=4)):
        waiting.push(each)
    waiting.later = {9: entry(5)}

    assert [each.rid for each in waiting.clear()] == [3, 2, 4, 1, 5]
    assert waiting.queued == 0
    assert waiting.later is None


# What answers change


def test_latency_is_smoothed() -> None:
    asked = host()
    for latency in (1.0, 2.0, 2.0):
        asked.learn(Answer(latency, 200), 0.0)

    assert asked.latency == pytest.approx(1.4375)


def test_what_is_not_known_changes_nothing() -> None:
    asked = host()
    asked.learn(UNREACHABLE, 0.0)

    asked.learn(Answer(9.0), 0.0)

    assert (asked.failures, asked.latency) == (1, 0.0)


def test_throttling_stays_between_the_delay_asked_for_and_the_longest() -> None:
    asked = host(adaptive=True, delay=0.5, max_delay=10.0)
    assert asked.delay == 1.0

    for _ in range(30):
        asked.learn(Answer(0.01, 200), 0.0)
    assert asked.delay == 0.5
    for _ in range(30):
        asked.learn(Answer(99.0, 200), 0.0)
    assert asked.delay == 10.0


def test_overload_never_slows_down_beyond_the_longest_delay() -> None:
    asked = host(max_delay=5.0)
    for number in range(20):
        asked.learn(Answer(0.1, 429), 1000.0 * number)

    assert asked.delay == 5.0


def test_a_delay_longer_than_the_longest_is_kept_as_asked_for() -> None:
    asked = host(delay=120.0)
    asked.learn(Answer(0.1, 503), 0.0)

    assert asked.delay == 120.0


def test_retry_after_in_the_past_is_no_pause() -> None:
    asked = host()
    asked.learn(Answer(0.1, 429, -5.0), 100.0)

    assert asked.ready_at() <= 100.0


# What may be forgotten


def test_a_host_of_which_nothing_is_known_is_forgotten_at_once() -> None:
    asked = host()
    asked.start(10.0)
    assert not asked.forgettable(10.0)
    asked.finish(11.0)
    asked.learn(GOOD, 11.0)

    assert asked.forgettable(11.0)


def test_a_host_is_remembered_while_its_delay_runs() -> None:
    asked = host(delay=5.0)
    asked.start(10.0)
    asked.finish(10.0)

    assert not asked.forgettable(14.9)
    assert asked.forgettable(15.0)


@pytest.mark.parametrize("answer", [Answer(0.1, 503), UNREACHABLE], ids=["overloaded", "unreachable"])
def test_what_answers_taught_is_remembered_for_a_while(answer: Answer) -> None:
    asked = host()
    asked.start(10.0)
    asked.finish(10.0)
    asked.learn(answer, 10.0)

    assert not asked.forgettable(10.0 + KEEP)
    assert asked.forgettable(11.0 + KEEP)


def test_a_crawl_delay_and_entries_are_never_forgotten() -> None:
    slow, busy = host(), host()
    slow.set_crawl_delay(2.0, 0.0)
    busy.pending = 1

    assert not slow.forgettable(math.inf)
    assert not busy.forgettable(math.inf)
