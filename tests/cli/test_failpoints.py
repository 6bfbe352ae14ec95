"""Failpoints: what a word in ``OCTOPUS_FAILPOINTS`` does to a real crawl, and that nothing is done without."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest

import openoctopus
from openoctopus import failpoints
from openoctopus.exceptions import SettingsError

SOURCE = Path(openoctopus.__file__).parent


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("claim.gone=kill", "there is no 'claim.gone', only claim.sent, claim.got,"),
        ("claim.got=explode", "'claim.got=explode' should do one of kill, term, raise"),
        ("claim.got", "'claim.got' is not name=action"),
        ("claim.got=kill#0", "'claim.got=kill#0' is not name=action"),
        ("claim.got=kill@2", "a number that is not one from 0 to 1"),
        ("claim.got=sleep", "sleep(SECONDS)"),
        ("claim.got=kill(3)", "'claim.got=kill(3)' should do one of"),
    ],
)
async def test_what_is_not_known_is_told_at_the_start(octopus, links, site, text, complaint):
    ran = await octopus(*links(), OCTOPUS_FAILPOINTS=text)

    assert ran.code == 2
    assert complaint in ran.err
    assert "Traceback" not in ran.err
    assert not site.log


async def test_kill_ends_the_process_at_the_place(octopus, links, site):
    ran = await octopus(*links(), OCTOPUS_FAILPOINTS="claim.got=kill#4")

    assert ran.code == -signal.SIGKILL
    assert len([visit for visit in site.log if visit.path != "/robots.txt"]) <= 3
    assert "failpoints are armed, faults will happen: claim.got" in ran.err


async def test_term_drains(octopus, links):
    ran = await octopus(*links("-O", "items.jsonl"), OCTOPUS_FAILPOINTS="callback.in=term#3")

    assert ran.code == 3
    assert "SIGTERM: completing what is under way" in ran.err


async def test_raise_is_a_mistake_of_that_place_alone(octopus, links):
    ran = await octopus(*links("-O", "items.jsonl"), OCTOPUS_FAILPOINTS="callback.in=raise#3")

    assert ran.code == 0
    assert len((octopus.folder / "items.jsonl").read_text().splitlines()) == 8
    assert "Injected: failpoint callback.in" in ran.err


async def test_a_store_whose_connection_drops_is_waited_for(octopus, links):
    ran = await octopus(*links("-O", "items.jsonl"), OCTOPUS_FAILPOINTS="store.write=drop#1")

    assert ran.code == 0
    assert len((octopus.folder / "items.jsonl").read_text().splitlines()) == 9
    assert "is away, the crawl waits for it" in ran.err


async def test_nothing_is_done_where_nothing_is_armed(octopus, links):
    ran = await octopus(*links("-O", "items.jsonl"))

    assert ran.code == 0
    assert "failpoint" not in ran.err
    assert failpoints.hit is failpoints._nothing


def test_each_place_is_in_the_code_and_each_in_the_code_is_known():
    found = {
        name
        for path in SOURCE.rglob("*.py")
        if path.stem != "failpoints"
        for name in re.findall(r'hit\("([\w.]+)"\)', path.read_text())
    }
    assert found == set(failpoints.NAMES)


def test_each_place_is_documented():
    page = (SOURCE.parent / "docs" / "reliability.md").read_text("utf-8")
    table = page.partition("| name | when it is passed |")[2]
    rows = re.findall(r"^\| `([\w.]+)` \| (.+) \|$", table, re.MULTILINE)
    assert rows == [*failpoints.NAMES.items()]


def passes(text: str, name: str, times: int) -> list[int]:
    """At which passes of a place something is raised."""
    point, raised = failpoints.parse(text)[name], []
    for turn in range(1, times + 1):
        try:
            point.passed(name)
        except (failpoints.Injected, MemoryError, OSError):
            raised.append(turn)
    return raised


@pytest.mark.parametrize("action", ["raise", "oom", "drop", "full"])
def test_a_turn_is_one_time_and_no_turn_is_every_time(action):
    assert passes(f"headers={action}#3", "headers", 5) == [3]
    assert passes(f"dns=kill#99, headers={action}", "headers", 3) == [1, 2, 3]


def test_chances_are_the_same_for_the_same_seed():
    once = passes("seed=7,headers=raise@0.1", "headers", 1000)

    assert 60 < len(once) < 140
    assert passes("seed=7,headers=raise@0.1", "headers", 1000) == once
    assert passes("seed=8,headers=raise@0.1", "headers", 1000) != once


def test_a_pause_takes_its_time():
    failpoints.parse("headers=sleep(0.01)")["headers"].passed("headers")
    with pytest.raises(SettingsError):
        failpoints.parse("headers=sleep(1.2.3)")
