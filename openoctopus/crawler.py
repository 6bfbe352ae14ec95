"""One crawl: settings become parts, the parts are opened, run and closed."""

from __future__ import annotations

import inspect
import logging
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any

from openoctopus import downloadermiddlewares, spidermiddlewares
from openoctopus.downloadermiddlewares.base import compose
from openoctopus.downloaders import Downloaders
from openoctopus.downloaders.base import named
from openoctopus.dupefilter import RFPDupeFilter
from openoctopus.engine import Engine, Fetcher, Observers, Parts
from openoctopus.exceptions import CloseSpider, OctopusError, ProjectError, SettingsError, is_fault
from openoctopus.failpoints import armed
from openoctopus.http.data import trusted_packages
from openoctopus.pipelines.base import FailedItem, Receipt
from openoctopus.pipelines.chain import Chain, Watch
from openoctopus.pipelines.failed import FailedItems
from openoctopus.pipelines.feeds import Share
from openoctopus.pipelines.outputs import Store, stores_of
from openoctopus.plugins import Entry, Plugin, build, entries, load_class, option_names
from openoctopus.project import explained
from openoctopus.result import Result
from openoctopus.scheduler import MemoryScheduler, Scheduler, SqliteScheduler
from openoctopus.scheduler.trace import trace_of
from openoctopus.settings import Settings, check_names, environment
from openoctopus.spider import Spider
from openoctopus.spider.base import has_parse
from openoctopus.spider.state import SpiderState
from openoctopus.spidermiddlewares.chain import Admission
from openoctopus.state import Stateful, StateKeeper
from openoctopus.stats import Stats, Totals

logger = logging.getLogger(__name__)

#: Reasons for dropped items that are counted apart, and how much of each is kept.
REASONS = 100
REASON_LENGTH = 100
#: Failed items that are kept for the result; more are only counted.
MAX_FAILED_ITEMS = 10_000


def crawl_settings(
    spider: type[Spider], project: Mapping[str, Any] | None = None, overrides: Mapping[str, Any] | None = None
) -> Settings:
    """The options of one crawl: project, spider, environment, and last what was given for this run.

    Raises ``SettingsError`` for unknown names and wrong values, those of failpoints too.
    """
    armed()
    own = {} if spider.custom_settings is None else spider.custom_settings
    if not isinstance(own, Mapping):
        raise SettingsError(f"{spider.__name__}.custom_settings is a mapping, not {spider.custom_settings!r}")
    layers = {
        "project": dict(project or {}),
        "spider": dict(own),
        "environment": environment(),
        "command line": dict(overrides or {}),
    }
    settings = Settings.load(layers)
    try:
        plugins = _all_entries(settings)
    except OctopusError:
        raise
    except Exception as error:  # in a module of the project
        raise ProjectError(explained(error)) from error
    known = {*Settings.model_fields, *option_names(entry.kind for entry in plugins)}
    for origin in ("project", "spider"):
        check_names(layers[origin], known, origin, own_allowed=True)
        known |= set(layers[origin])
    for origin in ("environment", "command line"):
        check_names(layers[origin], known, origin, own_allowed=False)
    return settings


def _all_entries(settings: Settings) -> list[Entry]:
    """Every plug-in that the settings name."""
    single = [Entry(kind, 0, {}) for kind in (scheduler_class(settings), dupefilter_class(settings), *named(settings))]
    families = [
        *entries("DOWNLOADER_MIDDLEWARES", downloadermiddlewares.built_in(settings), settings.DOWNLOADER_MIDDLEWARES),
        *entries("SPIDER_MIDDLEWARES", spidermiddlewares.built_in(settings), settings.SPIDER_MIDDLEWARES),
        *entries("EXTENSIONS", settings.EXTENSIONS),
        *entries("ITEM_PIPELINES", settings.ITEM_PIPELINES),
    ]
    return single + families


def scheduler_class(settings: Settings) -> type[Scheduler]:
    """Where requests wait. Raises ``SettingsError`` for one that cannot keep the job that there should be."""
    kind: type[Scheduler] = load_class("SCHEDULER", settings.SCHEDULER, Scheduler)
    if not settings.JOB or kind is not MemoryScheduler:
        return kind
    if settings.origin("SCHEDULER") != "default":
        raise SettingsError(f"SCHEDULER = {settings.SCHEDULER!r} keeps no JOB: leave one of them out")
    return SqliteScheduler


def dupefilter_class(settings: Settings) -> type[RFPDupeFilter]:
    """What counts as the same request."""
    kind: type[RFPDupeFilter] = load_class("DUPEFILTER_CLASS", settings.DUPEFILTER_CLASS, RFPDupeFilter)
    return kind


class Crawler:
    """A spider and all it needs. The only place where parts are put together.

    ``outputs`` are targets of ``-o`` and ``-O``: (target, overwrite). ``scheduler`` takes the place of the one that the
    settings name, and ``worker`` is the number of this process among those of the crawl: 0 if it is alone.
    ``share`` is its share in files that all of them write to.
    """

    def __init__(
        self,
        spider: Spider,
        settings: Settings,
        *,
        outputs: Sequence[tuple[str, bool]] = (),
        keep_items: bool = False,
        scheduler: Scheduler | None = None,
        worker: int = 0,
        share: Share | None = None,
    ) -> None:
        self._check(spider)
        self.spider = spider
        self.settings = settings
        self.stats = Stats()
        self.keep_items = keep_items
        self._items: list[Any] = []
        self._reasons: set[str] = set()
        self._failed_items: deque[FailedItem] = deque(maxlen=MAX_FAILED_ITEMS)
        self._put_together(scheduler, stores_of(settings, outputs, share), worker)
        spider.settings, spider.stats, spider._fetch = settings, self.stats, self.fetcher.fetch
        # Items and enums of the spider's own package may come out of a queue, though nothing has imported them yet.
        trusted_packages.add(type(spider).__module__.partition(".")[0])

    @staticmethod
    def _check(spider: Spider) -> None:
        """Raises ``ProjectError`` for a spider that could read none of its pages."""
        kind = type(spider)
        asks_itself = kind.start is not Spider.start or hasattr(spider, "start_requests")
        if spider.start_urls and not asks_itself and not has_parse(spider):
            raise ProjectError(f"{kind.__name__} has no parse method to read its start_urls")

    def _put_together(self, scheduler: Scheduler | None, stores: Sequence[Store], worker: int) -> None:
        settings, spider, stats = self.settings, self.spider, self.stats
        self.dupefilter = self._build(dupefilter_class(settings))
        self.scheduler = scheduler or self._build(
            scheduler_class(settings), dupefilter=self.dupefilter, spider_name=spider.name
        )
        self.trace = trace_of(settings, self.dupefilter)
        self.downloaders = Downloaders(settings, {"stats": stats, "start_hosts": self.scheduler.start_hosts})
        self.fetcher = Fetcher(
            self.scheduler,
            stats,
            self.trace.fetching(self.downloaders.fetch),
            settings.SELECTOR_TREE,
            lambda: self.engine.wake(),
        )
        self.downloader_middlewares = self._family(
            "DOWNLOADER_MIDDLEWARES", downloadermiddlewares.built_in(settings), settings.DOWNLOADER_MIDDLEWARES
        )
        self.spider_middlewares = self._family(
            "SPIDER_MIDDLEWARES", spidermiddlewares.built_in(settings), settings.SPIDER_MIDDLEWARES
        )
        self.extensions = self._family("EXTENSIONS", settings.EXTENSIONS)
        self.pipelines = [*self._family("ITEM_PIPELINES", settings.ITEM_PIPELINES), *stores]
        self.observers = Observers(self.extensions, spider, stats)
        watch = Watch(self._stored, self._dropped, self._item_failed)
        self.chain = Chain(self.pipelines, spider, stats, watch, retry_times=settings.PIPELINE_RETRY_TIMES)
        self.fetcher.chain = compose(self.downloader_middlewares, self.fetcher.download, spider)
        self.totals = Totals(stats)
        self.failed_items = FailedItems(retries=worker <= 1)
        self.state = StateKeeper(self._stateful(worker) if settings.JOB else ())
        admission = Admission(self.spider_middlewares, spider, stats, self.trace.refused)
        parts = Parts(
            spider,
            settings,
            stats,
            self.scheduler,
            self.dupefilter,
            admission,
            self.chain,
            self.observers,
            self.fetcher.chain,
            self.state,
            self.trace,
        )
        self.engine = Engine(parts)

    def _build(self, kind: type[Any], keywords: Mapping[str, Any] | None = None, **more: Any) -> Any:
        given: dict[str, Any] = {"settings": self.settings, "stats": self.stats, "spider": self.spider, **more}
        if hasattr(self, "fetcher"):
            given |= {"fetch": self.fetcher.fetch, "hosts": self.scheduler, "stop": self.stop}
        return build(kind, self.settings, keywords, **given)

    def _family(self, option: str, *tables: Mapping[Any, Any]) -> list[Any]:
        return [self._build(entry.kind, entry.keywords) for entry in entries(option, *tables)]

    # What becomes of items

    def _stored(self, item: Any) -> None:
        self.stats.inc("item_scraped_count")
        if self.keep_items:
            self._items.append(item)
        self.observers.item_stored(item)
        self.engine.check_limits()

    def _dropped(self, item: Any, reason: str) -> None:
        self.stats.inc("item_dropped_count")
        self.stats.inc(f"item_dropped_reasons_count/{self._kind_of(reason)}")
        logger.info("item dropped: %s", reason)
        self.observers.item_dropped(item, reason)

    def _kind_of(self, reason: str) -> str:
        """The reason as it is counted: a reason that names its item would be a kind for each item."""
        kind = reason[:REASON_LENGTH]
        if kind not in self._reasons and len(self._reasons) >= REASONS:
            return "other"
        self._reasons.add(kind)
        return kind

    def _item_failed(self, failed: FailedItem) -> None:
        error = failed.error
        if isinstance(error, CloseSpider):
            self.stop(error.reason)
            return
        self.stats.inc("item_failed_count")
        self.stats.inc("error_count")
        self.stats.inc(f"item_failed_reasons_count/{type(error).__name__}")
        logger.error("item failed: %r", failed.item, exc_info=error)
        self._failed_items.append(failed)
        self.failed_items.put(failed)

    async def _retry_items(self) -> None:
        """Take items of an earlier run through again that somebody wants to have retried."""
        try:
            for key, failed in self.failed_items.take_retries():
                receipt = Receipt(lambda receipt, key=key: self.failed_items.ended(key))  # type: ignore[misc]
                receipt.rid, receipt.fetched_at = failed.of.rid, time.time()
                await self.chain.retry(failed, receipt)
                receipt.close()
        except CloseSpider as closing:
            self.stop(closing.reason)

    # The crawl

    @property
    def name(self) -> str:
        return self.spider.name

    @property
    def reason(self) -> str:
        """Why the crawl ends; empty while it goes on."""
        return self.engine.reason

    @property
    def prints_items(self) -> bool:
        """Whether items go to standard output."""
        return any(str(pipeline) == "output -" for pipeline in self.pipelines)

    def stop(self, reason: str = "shutdown") -> None:
        """End the crawl once the requests under way are completed."""
        self.engine.stop(reason)

    def hurry(self) -> None:
        """End it now; what is under way goes back to the queue."""
        self.engine.hurry()

    async def crawl(self) -> Result:
        """Open everything, crawl, close everything. Raises what a part raised while it was opened."""
        began, cpu = time.monotonic(), time.thread_time()
        async with AsyncExitStack() as stack:
            for part in self._parts():
                await stack.enter_async_context(part)
            await self.state.restore(self.scheduler.kept, self.engine.settler.flush)
            await self.chain.open()
            await self.observers.opened()
            await self.engine.settler.flush()  # a job knows every file before something is in it
            logger.info("%s begins", self.spider.name)
            if armed():
                logger.warning("failpoints are armed, faults will happen: %s", ", ".join(armed()))
            try:
                await self._retry_items()
                reason = await self.engine.run()
            finally:
                await self._close()
            left, slowest = self.scheduler.counts.pending, await self.scheduler.slowest()
            failed = list(await self.scheduler.failed())
        elapsed = time.monotonic() - began
        self.stats.set("finish_reason", reason)
        self.stats.set("elapsed_time_seconds", round(elapsed, 3))
        logger.info("%s ended: %s", self.spider.name, reason)
        return Result(
            reason,
            self.stats,
            elapsed,
            self.engine.carrier.stages,
            time.thread_time() - cpu,
            left,
            1,
            slowest,
            failed,
            list(self._failed_items),
            self._items,
        )

    def _parts(self) -> list[Plugin]:
        parts = [
            self.dupefilter, self.scheduler, self.trace, self.downloaders, *self.downloader_middlewares,
            *self.spider_middlewares, *self.extensions, *self.pipelines,
        ]  # fmt: skip
        return [part for part in parts if isinstance(part, Plugin)]

    def _stateful(self, worker: int) -> list[Stateful]:
        """The parts whose state is kept; the counts of workers are kept by their supervisor."""
        own = [SpiderState(self.spider, worker), self.failed_items, *([] if worker else [self.totals])]
        return own + [part for part in self._parts() if isinstance(part, Stateful)]

    async def _close(self) -> None:
        reason = self.engine.reason or "failed"
        await self.chain.close(hurried=self.engine.hurried)
        await self.engine.finish()
        if self.is_finished:
            await self.state.finished()
        for name in ("close", "closed"):
            await self._close_spider(name, reason)
        await self.observers.closed(reason)
        await self.observers.drain()
        self.spider._fetch = None

    @property
    def is_finished(self) -> bool:
        """Whether all first requests were drawn, and every request is at its end."""
        scheduler = self.scheduler
        return not scheduler.starting and not scheduler.counts.pending and not self.stats.get("start_error")

    async def _close_spider(self, name: str, reason: str) -> None:
        method = getattr(self.spider, name, None)
        if method is None:
            return
        try:
            answer = method(reason)
            if inspect.isawaitable(answer):
                await answer
        except BaseException as error:
            if not is_fault(error):
                raise
            self.stats.inc("close_errors")
            logger.exception("%s.%s failed", type(self.spider).__name__, name)
