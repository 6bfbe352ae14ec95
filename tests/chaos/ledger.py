"""The account after a run: what the site has, what it was asked for, and what the stores hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

from tests.chaos.site import ChaosSite
from tests.chaos.stores import Store
from tests.chaos.victim import Violation


async def check(site: ChaosSite, stores: Mapping[str, Store], failed: Collection[int] = ()) -> dict[str, int]:
    """Every page was fetched, and every item is in every store exactly once. Returns what there was to count.

    What is only on pages that ``failed``, or behind them, may be missing. Raises ``Violation`` that says what is lost or
    doubled, and where.
    """
    never = site.graph.found(failed) - set(site.asked) - {*failed}
    if never:
        raise Violation(f"{len(never)} pages were never asked for: {some(never)}")
    expected = site.graph.expected(failed)
    for name, store in stores.items():
        compare(name, expected, await store.keys(), site.graph.expected())
    return {"pages": site.graph.pages, "items": len(expected), "fetched again": site.requests - site.graph.pages}


def compare(name: str, expected: set[str], found: Counter[str], allowed: set[str] | None = None) -> None:
    """Each of the expected keys is there once, and no other but those that are ``allowed``. Raises ``Violation``."""
    lost = expected - set(found)
    doubled = {key for key, times in found.items() if times > 1}
    strange = set(found) - expected - (allowed or set())
    if lost or doubled or strange:
        raise Violation(
            f"{name}: {len(lost)} items lost ({some(lost)}), {len(doubled)} doubled ({some(doubled)}), "
            f"{len(strange)} that nobody yielded ({some(strange)})"
        )


def some(many: set[object] | set[str] | set[int]) -> str:
    """A few of them, to look for."""
    return ", ".join(str(one) for one in sorted(many, key=str)[:5]) or "none"
