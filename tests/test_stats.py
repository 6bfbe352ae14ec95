"""The numbers of several processes become those of one crawl."""

from __future__ import annotations

from openoctopus.stats import Stats


def test_counts_are_added_of_the_largest_the_largest_counts_and_of_values_the_last() -> None:
    crawl, workers = Stats(), [Stats(), Stats()]
    for number, worker in enumerate(workers, 1):
        worker.inc("pages", number)
        worker.inc("bytes", 0.5)
        worker.max("depth", 10 * number)
        worker.set("version", f"v{number}")
        worker.trouble("errors/X", f"http://x/{number}")
    for worker in reversed(workers):
        crawl.merge(worker.changes())

    workers[0].inc("pages", 10)
    workers[0].max("depth", 3)
    for worker in workers:
        crawl.merge(worker.changes())

    assert crawl.snapshot() == {"bytes": 1.0, "depth": 20, "errors/X": 2, "pages": 13, "version": "v1"}
    assert crawl.examples == {"errors/X": "http://x/2"}


def test_what_did_not_change_is_not_told_again() -> None:
    stats = Stats()
    stats.trouble("errors/X", "http://x/1")
    stats.changes()

    assert stats.changes() == ({}, {}, {}, {})
