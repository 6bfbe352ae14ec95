"""The rules of a scheduler once more, as plainly as they can be written: lists and scans, nothing fast and nothing shared."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from openoctopus.scheduler.base import Again, Answer, Done, Fail, Move, Outcome


@dataclass
class Site:
    """One host."""

    name: str
    concurrency: int
    base: float
    delay: float = 0.0
    next: float = 0.0
    slowed: float = -math.inf
    resting: float = 0.0
    promised: float = 0.0
    #: Slots that were reserved outside of entries.
    reserved: int = 0
    clean: int = 0
    failures: int = 0
    pauses: int = 0
    given_up: bool = False
    #: When a request last went out or came back.
    used: float = 0.0

    @property
    def dead(self) -> bool:
        return self.failures >= 5


@dataclass
class Page:
    """One entry, wherever it is."""

    rid: int
    host: str
    priority: int
    state: str = "new"
    attempts: int = 0
    lost: int = 0
    front: bool = False
    #: Since when it waits, its place among those that wait, and when its delay is over.
    since: float = 0.0
    order: int = 0
    due: float = 0.0
    #: Who has it, and how many had been given out before.
    worker: str = ""
    granted: int = 0
    fetched: bool = False
    read: bool = False
    expires: float = math.inf
    reason: str = ""


@dataclass
class Model:
    """What a scheduler must do, at any time."""

    concurrency: int
    delay: float
    slow_host: str
    lease_seconds: float
    max_lost: int
    now: float = 1000.0
    paused: bool = False
    pages: list[Page] = field(default_factory=list)
    #: The hosts that are known, by their turns to be looked at.
    sites: dict[str, Site] = field(default_factory=dict)
    seen: set[int] = field(default_factory=set)
    failed: list[tuple[int, str]] = field(default_factory=list)
    duplicates: int = 0
    clock: int = 0

    def site(self, name: str) -> Site:
        own = (1, 2.0) if name == self.slow_host else (self.concurrency, self.delay)
        return self.sites.get(name) or Site(name, *own, delay=own[1])

    def known(self, name: str) -> Site:
        """A host, which is known from now on; for each new one two others are looked at, and forgotten if they can be."""
        if name not in self.sites:
            for other in list(self.sites)[:2]:
                site = self.sites.pop(other)
                if not self.forgettable(site):
                    self.sites[other] = site
            self.sites[name] = self.site(name)
        return self.sites[name]

    def forgettable(self, site: Site) -> bool:
        if self.those("queued", "delayed", "leased", host=site.name) or site.reserved:
            return False
        if max(site.next, site.resting, site.promised) > self.now or site.base > (
            2.0 if site.name == self.slow_host else self.delay
        ):
            return False
        return self.now - site.used > 600 or not (site.failures or site.delay > site.base)

    def those(self, *states: str, host: str = "", worker: str | None = None) -> list[Page]:
        return [
            page for page in self.pages if page.state in states and host in ("", page.host) and worker in (None, page.worker)
        ]

    def flying(self, site: Site) -> int:
        return sum(not page.fetched for page in self.those("leased", host=site.name)) + site.reserved

    def only_dead_left(self) -> bool:
        return all(self.site(page.host).dead for page in self.those("queued", "delayed", "leased"))

    # Who may go

    def can_go(self, site: Site) -> bool:
        room = self.flying(site) < (1 if site.dead else site.concurrency)
        return room and max(site.next, site.resting, site.promised) <= self.now

    def line(self, host: str) -> list[Page]:
        """Those that wait for a host, in their order; without suspects."""
        waiting = [page for page in self.those("queued", host=host) if not page.lost]
        return sorted(waiting, key=lambda p: (not p.front, 0 if p.front else -p.priority, p.order))

    def rank(self, host: str) -> int:
        line = self.line(host)
        return max([line[0].priority, *(page.priority for page in line if not page.front)])

    def suspect(self) -> Page | None:
        waiting = sorted((page for page in self.those("queued") if page.lost), key=lambda p: p.order)
        return next((page for page in waiting if self.can_go(self.site(page.host))), None)

    def runnable_hosts(self) -> dict[str, tuple[bool, int]]:
        """Which hosts could be asked, and what goes first: whether they live, then their priority."""
        names = {page.host for page in self.those("queued") if not page.lost}
        sites = [self.site(name) for name in sorted(names)]
        return {site.name: (not site.dead, self.rank(site.name)) for site in sites if self.can_go(site)}

    def may_go(self, worker: str) -> set[int]:
        """Which entries that worker may be given now."""
        held = self.those("leased", worker=worker)
        if self.paused or any(page.lost for page in held):
            return set()
        suspect = self.suspect()
        if suspect and not held:
            return {suspect.rid}
        if suspect and suspect.since + 10 <= self.now:
            return set()
        ranks = self.runnable_hosts()
        return {self.line(host)[0].rid for host, rank in ranks.items() if rank == max(ranks.values())}

    # What happens

    def tick(self) -> None:
        """What time alone does."""
        if self.paused:
            return
        for page in sorted(self.those("leased"), key=lambda p: (p.expires, p.order)):
            if page.expires <= self.now:
                self.lose(page)
        for page in sorted(self.those("delayed"), key=lambda p: (p.due, p.order)):
            if page.due <= self.now:
                self.wait(page, 0.0)
        if self.only_dead_left():
            for site in self.sites.values():
                waiting = self.those("queued", host=site.name)
                lonely = any(page.lost for page in waiting)
                if site.pauses > 1 and (lonely or (waiting and self.flying(site) == 0)):
                    site.resting = 0.0

    def wait(self, page: Page, delay: float) -> None:
        self.clock += 1
        page.order = self.clock
        page.state = "delayed" if delay else "queued"
        page.due, page.since = self.now + delay, self.now

    def add(self, page: Page, delay: float) -> bool:
        if page.rid in self.seen:
            self.duplicates += 1
            return False
        self.seen.add(page.rid)
        self.known(page.host)
        self.pages.append(page)
        self.wait(page, delay)
        return True

    def claim(self, page: Page, worker: str) -> None:
        self.clock += 1
        page.state, page.worker, page.fetched, page.read = "leased", worker, False, False
        page.order = page.granted = self.clock
        page.expires = self.now + self.lease_seconds
        self.start(self.site(page.host))

    def start(self, site: Site) -> None:
        site.used = self.now
        site.next = max(site.next, self.now + site.delay) if site.delay else site.next

    def extend(self, page: Page) -> None:
        self.clock += 1
        page.expires, page.order = self.now + self.lease_seconds, self.clock

    def fetched(self, page: Page, answer: Answer) -> None:
        if not page.fetched:
            page.fetched = True
            self.end_fetch(self.site(page.host), answer, own_slot=False)

    def end_fetch(self, site: Site, answer: Answer, own_slot: bool) -> None:
        site.used = self.now
        if site.concurrency == 1 or own_slot:
            self.start(site)
        if answer.unreachable:
            self.unreachable(site)
        elif answer.status is not None:
            self.answered(site, answer)

    def unreachable(self, site: Site) -> None:
        site.failures += 1
        if site.dead and self.now >= site.resting:
            site.resting = self.now + min(15 * 2**site.pauses, 300)
            site.pauses += 1
        if site.pauses > 1 and self.only_dead_left():
            site.given_up = True
            for page in self.those("queued", "delayed", host=site.name):
                self.fail(page, "host_unreachable")

    def answered(self, site: Site, answer: Answer) -> None:
        if site.failures:
            site.failures = site.pauses = 0
            site.resting, site.given_up = 0.0, False
        if answer.status in (429, 503):
            site.clean = 0
            if self.now - answer.latency > site.slowed:
                site.delay = min(max(0.2, 2 * site.delay), max(60.0, site.base))
                site.slowed = self.now
            pause = site.delay if answer.retry_after is None else min(answer.retry_after, 300)
            site.next = max(site.next, self.now + pause)
            return
        site.clean += 1
        if site.clean % 10 == 0 and site.delay > site.base:
            surplus = (site.delay - site.base) / 2
            site.delay = site.base + (surplus if surplus >= 0.05 else 0.0)

    def settle(self, page: Page, outcome: Outcome) -> None:
        self.fetched(page, Answer())
        if isinstance(outcome, Done):
            page.state = "done"
        elif isinstance(outcome, Fail):
            self.fail(page, outcome.reason)
        elif isinstance(outcome, Move):
            self.move(page, outcome)
        else:
            self.again(page, outcome)

    def again(self, page: Page, outcome: Again) -> None:
        page.attempts += outcome.spent
        if outcome.spent and self.site(page.host).given_up and self.only_dead_left():
            self.fail(page, "host_unreachable")
        else:
            page.front = page.front or not outcome.spent
            self.wait(page, outcome.delay)

    def move(self, page: Page, outcome: Move) -> None:
        new = outcome.entry
        if new.rid not in self.seen:
            moved = Page(new.rid, new.host, new.priority, attempts=page.attempts, front=True)
            self.add(moved, new.delay)
        self.seen.add(outcome.fingerprint)
        page.state = "done"

    def fail(self, page: Page, reason: str) -> None:
        page.state = "failed"
        self.failed.append((page.rid, reason))

    def lose(self, page: Page) -> None:
        self.fetched(page, Answer())
        page.lost += not page.read
        if page.lost >= self.max_lost:
            self.fail(page, "worker_lost")
        else:
            self.wait(page, 0.0)

    def release(self, worker: str) -> int:
        held = sorted(self.those("leased", worker=worker), key=lambda p: p.granted)
        for page in held:
            self.lose(page)
        return len(held)

    def reserve(self, host: str, own_slot: bool) -> float:
        site = self.known(host)
        wait = max(site.next, site.resting) - self.now
        room = own_slot or self.flying(site) < (1 if site.dead else site.concurrency)
        if wait > 0 or not room:
            site.promised = self.now + 1
            return wait if wait > 0 else math.inf
        site.promised = 0.0
        site.reserved += not own_slot
        self.start(site)
        return 0.0

    def unreserve(self, host: str, answer: Answer, own_slot: bool) -> None:
        site = self.known(host)
        site.reserved -= not own_slot
        self.end_fetch(site, answer, own_slot)

    def set_crawl_delay(self, host: str, seconds: float) -> None:
        site = self.known(host)
        if seconds > site.base:
            site.base, site.delay = seconds, max(site.delay, seconds)
            site.next = max(site.next, self.now + seconds)
