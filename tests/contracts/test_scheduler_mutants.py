"""Does the model test find mistakes? One line of the policy is made wrong at a time, and each must be found out."""

from __future__ import annotations

from typing import Any

import pytest

from openoctopus.dupefilter import RFPDupeFilter
from tests.scheduler.machine import walk
from tests.scheduler.mutants import Mutant, mutated
from tests.scheduler.virtual import Factory

MODULES = ("hosts", "turns", "policy", "memory")
#: Walks after which a mistake counts as not found.
WALKS = 300


MUTANTS = [
    Mutant("late settlements count", "policy",
           "if self._leases.get(lease.rid) is not lease:\n            return False\n        self._drop",
           "if lease.rid not in self._leases:\n            return False\n        self._drop"),
    Mutant("a slot is freed twice", "policy",
           "if lease.fetched or self", "if self"),
    Mutant("a slot is not freed by settling", "policy",
           "if not lease.fetched:", "if False:"),
    Mutant("a pause stops nobody", "policy",
           "if self.paused:\n            return None", "if False:\n            return None"),
    Mutant("a suspect has company", "policy",
           "if worker in self._alone:\n            return True", "if worker in self._alone:\n            pass"),
    Mutant("a suspect goes to a busy worker", "policy",
           "if self._suspects and worker not in self._held:", "if self._suspects:"),
    Mutant("nobody gives way to a suspect", "policy",
           "SUSPECT_PATIENCE <= now", "SUSPECT_PATIENCE < 0"),
    Mutant("giving back spends an attempt", "policy",
           "entry.attempts += spent", "entry.attempts += 1"),
    Mutant("what is given back goes to the end", "policy",
           "entry.front or not spent", "entry.front"),
    Mutant("where an entry moved to is not seen", "policy",
           "if self.seen.add(fingerprint):", "if False:"),
    Mutant("a moved entry forgets its attempts", "policy",
           "new.attempts, new.front = old.attempts, True", "new.front = True"),
    Mutant("a death is not counted", "policy",
           "entry.lost += is_suspect", "pass"),
    Mutant("a death that is no page's fault is counted", "policy",
           "is_suspect=not lease.read", "is_suspect=True"),
    Mutant("an extended lease runs out", "policy",
           "lease.expires = now + self.lease_seconds", "pass"),
    Mutant("the order of expiries is wrong", "policy",
           "self._leases.move_to_end(lease.rid)", "pass"),
    Mutant("a delay is forgotten", "policy",
           "if delay > 0:", "if delay > 5:"),
    Mutant("hosts are given up while others live", "policy",
           "and host.hopeless and not self._reachable:", "and host.hopeless:"),
    Mutant("hosts are never given up", "policy",
           "            self._give_up(host)\n", "            pass\n"),
    Mutant("what was given up is tried again", "policy",
           "if spent and host.given_up and not self._reachable:", "if False:"),
    Mutant("delayed entries of a dead host stay", "policy",
           "self.counts.delayed -= len(host.later or ())", "pass"),
    Mutant("what a host taught is forgotten at once", "hosts",
           "now - self.used > KEEP or not (self.failures or self.delay > self.base)", "True"),
    Mutant("nobody notices a revival", "policy",
           "if host.dead != was_dead:", "if host.dead > was_dead:"),
    Mutant("no turn is kept for a fetch from inside", "policy",
           "host.promised = now + PROMISE", "pass"),
    Mutant("a fetch from inside goes beyond the limit", "policy",
           "not (own_slot or host.has_room())", "False"),
    Mutant("an urgent entry lifts no host", "turns",
           "host.turn() < host.place[0]", "False"),
    Mutant("the last one goes first", "turns",
           "host.place = (host.turn(), self._number, host)", "host.place = (host.turn(), -self._number, host)"),
    Mutant("a host sleeps although it may go", "turns",
           "host.ready_at() < host.place[0]", "False"),
    Mutant("hopeless hosts are not roused", "turns",
           "item[2].resting = 0.0", "pass"),
    Mutant("what became impossible goes", "turns",
           "if host.place is item and host.ready_at() <= now and host.has_room():", "if host.place is item:"),
    Mutant("no delay is kept", "hosts",
           "        if self.delay:\n            self._delay_from(now)\n", ""),
    Mutant("the delay counts from the beginning", "hosts",
           "self.concurrency == 1 or own_slot", "own_slot"),
    Mutant("dead hosts come before the living", "hosts",
           "(2 * FRONT if self.dead else 0)", "0"),
    Mutant("a host that came back stays behind", "policy",
           "answer.unreachable or host.dead != was_dead", "answer.unreachable"),
    Mutant("a dead host is tried by many", "hosts",
           "1 if self.dead else self.concurrency", "self.concurrency"),
    Mutant("an entry in front holds others back", "hosts",
           "-min(self.keys[1:3], default=FRONT))", "-FRONT)"),
    Mutant("a page that continues waits", "hosts",
           "FRONT if entry.front else entry.priority", "entry.priority"),
    Mutant("one burst makes many pauses", "hosts",
           "self.dead and now >= self.resting", "self.dead"),
    Mutant("one burst makes many steps", "hosts",
           "now - answer.latency > self.slowed", "True"),
    Mutant("Retry-After is not obeyed", "hosts",
           "self.delay if answer.retry_after is None else", "self.delay if True else"),
    Mutant("a crawl delay begins later", "hosts",
           "self.next = max(self.next, now + seconds)", "pass"),
    Mutant("a revived host still rests", "hosts",
           "        self.resting = 0.0\n\n    def _slow", "\n    def _slow"),
]  # fmt: skip


def mutated_memory(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> Factory:
    """The memory scheduler with the mistake."""
    kind: Any = mutated(mutant, MODULES, monkeypatch).MemoryScheduler
    return lambda settings, lease_seconds, clock: kind(RFPDupeFilter(), settings, clock=clock, lease=lease_seconds)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.mistake)
def test_a_mistake_is_found_out(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    factory = mutated_memory(mutant, monkeypatch)

    with pytest.raises(Exception):  # a mistake may break an assertion of the model, or the code itself
        walk_often(factory)


def walk_often(factory: Factory) -> None:
    for seed in range(WALKS):
        walk(factory, seed)
