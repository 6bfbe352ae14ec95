"""``octopus why``: what a job knows of one URL, and what would become of it now."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from openoctopus.cli.facts import facts_of, show_facts
from openoctopus.cli.failed import item_facts
from openoctopus.cli.jobs import JobName, find_job, headline
from openoctopus.cli.runspider import Arguments, Options, pairs
from openoctopus.cli.tables import ago, show_table
from openoctopus.crawler import Crawler, crawl_settings, dupefilter_class
from openoctopus.downloadermiddlewares.robots import RobotsTxtMiddleware, record_key
from openoctopus.dupefilter import RFPDupeFilter
from openoctopus.exceptions import IgnoreRequest, InvalidRequest, OctopusError, ProjectError, SettingsError
from openoctopus.http import Request, Response
from openoctopus.http.codec import url_in_frozen
from openoctopus.log import moment
from openoctopus.pipelines.failed import KeptItem
from openoctopus.plugins import build
from openoctopus.project import Project, explained, find_spider, make
from openoctopus.scheduler import MemoryScheduler
from openoctopus.scheduler.base import FailedEntry
from openoctopus.scheduler.jobview import JobView, Place
from openoctopus.scheduler.trace import Event, history, trace_file
from openoctopus.settings import Settings
from openoctopus.spider import Spider
from openoctopus.spidermiddlewares.chain import Admission
from openoctopus.stats import Stats


def why(
    url: Annotated[str, typer.Argument(metavar="URL", help="The page that is asked about.")],
    arguments: Arguments,
    options: Options,
    job: JobName = "",
    spider: Annotated[
        str, typer.Option("--spider", metavar="SPIDER", help="Its file, where it is not in the project by its name.")
    ] = "",
    method: Annotated[str, typer.Option("--method", metavar="METHOD", help="As the request has it.")] = "GET",
    body: Annotated[str, typer.Option("--body", metavar="TEXT", help="The body of the request.")] = "",
) -> None:
    """Tell what became of a page in a job, running or not: whether it waits, failed, was seen, or would be refused, and why."""
    try:
        request = Request(url, method=method, body=body)
    except InvalidRequest as error:
        raise SettingsError(str(error)) from error
    with JobView(find_job(job)) as view:
        kind, project = _spider_of(view, spider)
        settings = crawl_settings(kind, project.settings, pairs(options, "-s"))
        dupefilter = _dupefilter(view, settings)
        fingerprint = dupefilter.fingerprint(request)
        written = url_in_frozen(request.url)
        places, failed = view.places(fingerprint, written), view.failed_of(fingerprint, written)
        items = [item for item in view.failed_items() if item.url == request.url]
        print(headline(view.status()))
        for facts in [*map(_waits, places), *map(_failed, failed), *map(_item, items)]:
            print()
            show_facts(facts)
        if not places and not failed:
            state = SEEN if view.has_seen(fingerprint, dupefilter.size) else "never seen"
            print()
            show_facts({"url": request.url, "state": state} | _judged(view, request, kind, settings, pairs(arguments, "-a")))

        events = history(trace_file(view.job), fingerprint)
    if events:
        print()
        show_table(("time", "event", ""), [(_instant(event.at), event.what, _told(event)) for event in events])


#: What is known without a trace of what was seen, does not wait, and did not fail.
SEEN = "seen, and at its end: read, redirected, or let go by a middleware; or it failed, and was purged"


def _spider_of(view: JobView, name: str) -> tuple[type[Spider], Project]:
    """The spider of the job. Raises ``ProjectError``."""
    wanted = view.meta()["spider"]
    try:
        kind, project = find_spider(name or wanted)
    except ProjectError as error:
        raise (
            error if name else ProjectError(f"{error}\nsay where the spider of job {view.job.name} is: --spider FILE")
        ) from error
    if kind.name != wanted:
        raise ProjectError(f"job {view.job.name} is one of spider {wanted}, not {kind.name}")
    return kind, project


def _dupefilter(view: JobView, settings: Settings) -> RFPDupeFilter:
    """What the job counts as the same request. Raises ``SettingsError`` if the settings are not those of the job."""
    meta = view.meta()
    dupefilter: RFPDupeFilter = build(dupefilter_class(settings), settings, settings=settings, stats=Stats())
    if dupefilter.memory != meta["memory"]:
        raise SettingsError(f"job {view.job.name} remembers what was seen as {meta['memory']}, not {dupefilter.memory}")
    dupefilter.secret = meta["secret"]
    return dupefilter


def _waits(place: Place) -> dict[str, Any]:
    state = "under way: it is being fetched, read or stored" if place.is_under_way else "waits"
    due = f"{moment(place.due)}, in {place.due - time.time():.0f} s" if place.due > time.time() else ""
    behind = "" if place.is_under_way or due else f"{place.behind} of its host go before it"
    return facts_of(place.entry, state=state, since=f"{moment(place.since)}, {ago(place.since)} ago", due=due, turn=behind)


def _failed(failed: FailedEntry) -> dict[str, Any]:
    return facts_of(failed.entry, state="failed", reason=failed.reason, detail=failed.detail, at=moment(failed.at))


def _item(failed: KeptItem) -> dict[str, Any]:
    return {"url": failed.url, "state": "an item of it failed"} | item_facts(failed)


def _told(event: Event) -> str:
    """What happened, besides its name."""
    match event.what:
        case "found":
            return f"{event.detail or 'link'} on {event.page}" if event.page else "by start()"
        case "refused":
            return f"{event.detail}, on {event.page}" if event.page else event.detail
        case "fetched":
            answer = event.detail if event.status is None else f"status {event.status}, {event.size} bytes"
            return f"{answer}, in {event.seconds:.3f} s"
        case "moved":
            return f"to {event.page}"
        case _:
            return event.detail


def _instant(seconds: float) -> str:
    return f"{moment(seconds)}.{int(seconds % 1 * 1000):03}"


# What would become of it now


def _judged(
    view: JobView, request: Request, kind: type[Spider], settings: Settings, arguments: Mapping[str, Any]
) -> dict[str, str]:
    """What the spider's rules and robots.txt say of a link to that page."""
    try:
        scheduler = MemoryScheduler(RFPDupeFilter(), settings)
        crawler = Crawler(
            make(kind, dict(arguments)), settings.model_copy(update={"JOB": "", "TRACE": False}), scheduler=scheduler
        )
        refusals = _refusals(crawler, request)
        return {"rules": refusals or "none of them refuses it", "robots": asyncio.run(_robots(view, crawler, request))}
    except OctopusError as error:
        return {"rules": f"cannot be asked: {error}"}


def _refusals(crawler: Crawler, request: Request) -> str:
    """Which of the rules refuses that request on a page of the spider; empty: none does."""
    refusals: list[str] = []
    by_name = {type(rule).__name__: _first_line(type(rule)) for rule in crawler.spider_middlewares}

    def told(request: Request, page: str, rule: str, reason: str) -> None:
        refusals.append(f"{rule} refuses it: {reason or by_name[rule]}")

    admission = Admission(crawler.spider_middlewares, crawler.spider, crawler.stats, told)
    page = next(iter(crawler.spider.start_urls), request.url)
    try:
        admission.found(request, Response(page, request=Request(page)))
    except OctopusError:
        raise
    except Exception as error:  # in a middleware of the project, which was not opened
        raise ProjectError(explained(error)) from error
    limit = crawler.settings.DEPTH_LIMIT
    return "".join(refusals) or (f"refused only if it is more than {limit} links from the start (DEPTH_LIMIT)" if limit else "")


def _first_line(rule: type[Any]) -> str:
    return (rule.__doc__ or "").partition("\n")[0].replace("``", "`")


async def _robots(view: JobView, crawler: Crawler, request: Request) -> str:
    """What robots.txt says, as far as it is remembered."""
    robots = next((one for one in crawler.downloader_middlewares if isinstance(one, RobotsTxtMiddleware)), None)
    if robots is None:
        return "not obeyed"
    site = request.parsed.origin
    record = view.recall(record_key(site))
    if record is None:
        return f"that of {site} is not known yet"
    await crawler.scheduler.remember(record_key(site), *record)
    try:
        await robots.process_request(request, crawler.spider)
    except IgnoreRequest as refused:
        return f"refuses it: {refused.reason}"
    return "allows it"
