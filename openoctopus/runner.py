"""A crawl from Python: in a running loop, or in a script."""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from openoctopus import log
from openoctopus.crawler import Crawler, crawl_settings
from openoctopus.exceptions import OctopusError, SettingsError
from openoctopus.interrupts import Interrupts
from openoctopus.plugins import optional
from openoctopus.result import Result
from openoctopus.spider import Spider

#: How many more objects are made than dropped before cycles are looked for, by generation.
GC_THRESHOLDS = (20_000, 20, 100)
#: Seconds that a thread which has something to do, a store's for example, waits for a busy event loop to let it in.
SWITCH_SECONDS = 0.0001


async def crawl(
    spider: type[Spider],
    *,
    outputs: Sequence[str] = (),
    keep_items: bool = False,
    project: Mapping[str, Any] | None = None,
    **options: Any,
) -> Result:
    """Run a spider in the running loop: in notebooks, tests and services; any number at once.

    Options in capitals are settings, the others arguments of the spider. ``outputs``: files of items, as ``-o`` takes them.
    ``keep_items``: the result holds the items too. ``project``: settings below the spider's own.
    """
    return await _interruptible(_crawler(spider, outputs, keep_items, project, options))


def run(
    spider: type[Spider],
    *,
    outputs: Sequence[str] = (),
    keep_items: bool = False,
    project: Mapping[str, Any] | None = None,
    **options: Any,
) -> Result:
    """Run a spider in a script, and return when it has ended; arguments as for ``crawl``.

    The log is written as the settings say, unless the script has set up its own. Ctrl-C once completes what is under way,
    twice ends at once.
    """
    if asyncio._get_running_loop() is not None:
        raise OctopusError("run() is for scripts; where a loop is running it is `await openoctopus.crawl(...)`")
    crawler = _crawler(spider, outputs, keep_items, project, options)
    is_set_up = logging.getLogger().hasHandlers()
    with nullcontext() if is_set_up else log.writing(crawler.settings), new_runner() as runner:
        return runner.run(_interruptible(crawler))


def _crawler(
    spider: type[Spider],
    outputs: Sequence[str],
    keep_items: bool,
    project: Mapping[str, Any] | None,
    options: Mapping[str, Any],
) -> Crawler:
    if not (isinstance(spider, type) and issubclass(spider, Spider)):
        raise OctopusError(f"what is crawled is a spider class, not {spider!r}")
    overrides = {name: value for name, value in options.items() if name.isupper()}
    arguments = {name: value for name, value in options.items() if not name.isupper()}
    settings = crawl_settings(spider, project, overrides)
    if settings.WORKERS:
        raise SettingsError("crawl() and run() crawl in this process; for WORKERS it is `octopus runspider`")
    return Crawler(spider(**arguments), settings, outputs=[(path, False) for path in outputs], keep_items=keep_items)


async def _interruptible(crawler: Crawler) -> Result:
    with Interrupts(crawler, crawler.settings.DRAIN_SECONDS):
        return await crawler.crawl()


@contextmanager
def new_runner() -> Iterator[asyncio.Runner]:
    """A runner of asyncio, on uvloop where it is installed."""
    uvloop, before, switch = optional("uvloop"), gc.get_threshold(), sys.getswitchinterval()
    # A crawl makes and drops very many objects and few cycles: look for these more rarely than for a script's.
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    # With Python's 5 ms such a thread may not be let in for seconds: uvloop lets go so often, and for moments only, that
    # its time never runs out.
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop if uvloop else None) as runner:
            yield runner
    finally:
        sys.setswitchinterval(switch)
        gc.unfreeze()
        gc.set_threshold(*before)
