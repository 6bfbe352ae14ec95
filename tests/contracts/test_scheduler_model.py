"""Every scheduler against a model of the rules: steps that Hypothesis thinks of, and long walks at random.

``OCTOPUS_TEST_EXAMPLES`` sets how many crawls of each kind are tried.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as examples
from hypothesis.stateful import run_state_machine_as_test

from tests.scheduler.machine import Crawl, walk
from tests.scheduler.virtual import SCHEDULERS

EXAMPLES = int(os.environ.get("OCTOPUS_TEST_EXAMPLES", "40"))


@pytest.mark.parametrize("name", SCHEDULERS)
def test_a_scheduler_does_what_the_model_says(name: str) -> None:
    run_state_machine_as_test(
        lambda: Crawl(SCHEDULERS[name]),  # type: ignore[arg-type]  # a callable is documented to do
        settings=examples(
            max_examples=EXAMPLES, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )


@pytest.mark.timeout(30 + 2 * EXAMPLES)
@pytest.mark.parametrize("name", SCHEDULERS)
def test_a_scheduler_does_what_the_model_says_on_long_walks(name: str) -> None:
    for seed in range(EXAMPLES):
        walk(SCHEDULERS[name], seed)
