"""OpenOctopus over the hostile cases, used as its users do: spiders, settings, outputs. See ../README.md."""

from __future__ import annotations

import asyncio
import logging
import tempfile
import time
from pathlib import Path
from typing import Any

import openoctopus
from openoctopus import Request, Response, Spider, exceptions

from .common import describe, fail, item_value

VERSION = f"OpenOctopus {openoctopus.__version__}"
#: Cases that run at the same time, and the seconds after which one is given up.
AT_ONCE, PATIENCE = 4, 60
KINDS = (
    (exceptions.DownloadTimeout, "timeout"),
    (exceptions.IncompleteResponse, "incomplete"),
    (exceptions.BadResponse, "bad_response"),
    (exceptions.DecodingFailed, "decode"),
    (exceptions.ResponseTooLarge, "too_large"),
    (exceptions.TooManyRedirects, "redirect_limit"),
    (exceptions.BlockedAddress, "blocked"),
    (exceptions.ConnectionFailed, "connection"),
    (exceptions.InvalidRequest, "bad_scheme"),
)


def classify(error: BaseException) -> dict[str, Any]:
    detail = f"{type(error).__name__}: {error}"
    if isinstance(error, exceptions.IgnoreRequest):
        return fail("robots" if "robots" in str(error) else "ignored", detail)
    return fail(next((kind for cls, kind in KINDS if isinstance(error, cls)), "other"), detail)


def result(response: Response, extract: dict[str, Any]) -> dict[str, Any]:
    return describe(
        extract, status=response.status, url=response.url, headers=response.headers.raw, body=response.body,
        text=lambda: response.text, encoding=lambda: response.encoding, json=lambda: response.json(),
        css=lambda query: response.css(query).getall(), xpath=lambda query: response.xpath(query).getall(),
    )  # fmt: skip


class CaseSpider(Spider):
    """Fetches the start items of a case one after the other, or all at once, and does with each page what the case asks."""

    name = "case"

    def __init__(self, case: dict[str, Any]) -> None:
        super().__init__()
        self.task = case["task"]
        self.todo = list(enumerate(self.task["start"]))
        self.results: list[Any] = [None] * len(self.todo)
        self.urls: set[str] = set()

    async def start(self):
        for request in self.more():
            yield request

    def more(self):
        """The next start request; all that are left where they may go together."""
        while self.todo:
            number, item = self.todo.pop(0)
            again = item["url"] in self.urls
            self.urls.add(item["url"])
            try:
                given = {
                    name: item[name] for name in ("url", "method", "headers", "body", "cookies", "session") if name in item
                }
                yield Request(
                    callback=self.parse, errback=self.failed, cb_kwargs={"number": number}, dont_filter=again, **given
                )
            except exceptions.InvalidRequest as error:
                self.results[number] = classify(error)
                continue
            if not self.task["settings"].get("parallel"):
                break

    def parse(self, response: Response, number: int):
        self.results[number] = result(response, self.task["extract"])
        again = {"callback": self.done, "errback": self.failed, "cb_kwargs": {"number": number}}
        try:
            if self.task["kind"] == "follow":
                self.results[number] = None
                yield response.follow(response.css("a[href]")[0], **again)
            elif self.task["kind"] == "follow_all":
                yield from response.follow_all(css="a", **again)
        except exceptions.InvalidRequest as error:
            self.results[number] = classify(error)
        yield from self.more()

    def done(self, response: Response, number: int):
        self.results[number] = result(response, self.task["extract"])

    def failed(self, failure):
        number = failure.cb_kwargs["number"]
        if self.task["kind"] != "follow_all" or self.results[number] is None:
            self.results[number] = classify(failure.value)
        yield from self.more()


class ItemSpider(Spider):
    """Yields the items of an export case."""

    def __init__(self, items: list[Any]) -> None:
        super().__init__()
        self.items = items

    async def start(self):
        for item in self.items:
            yield item_value(item)


async def crawl(case: dict[str, Any]) -> dict[str, Any]:
    wanted = case["task"]["settings"]
    options: dict[str, Any] = {
        "DOWNLOAD_TIMEOUT": wanted["timeout"],
        "RETRY_TIMES": wanted["retry_times"],
        "ROBOTSTXT_OBEY": wanted["obey_robots"],
        "REDIRECT_MAX_TIMES": wanted["redirect_max"],
        "HTTPERROR_ALLOW_ALL": True,
        "HOSTS": dict.fromkeys(case["hosts"], "127.0.0.1"),
    }
    if wanted.get("user_agent"):
        options["USER_AGENT"] = wanted["user_agent"]
    if wanted.get("max_size"):
        options["DOWNLOAD_MAXSIZE"] = wanted["max_size"]
    results: list[Any] = []

    class Spy(CaseSpider):
        def close(self, reason: str) -> None:
            results.extend(self.results)

    await openoctopus.crawl(Spy, case=case, **options)
    return {"results": [one or fail("lost", "neither callback nor errback was called") for one in results]}


async def export(task: dict[str, Any]) -> dict[str, Any]:
    warnings: list[str] = []

    class Note(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            warnings.append(record.getMessage())

    note = Note(level=logging.WARNING)
    logging.getLogger().addHandler(note)
    try:
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder) / f"items.{task['format']}"
            options = {"FEED_EXPORT_FIELDS": task["fields"]} if task.get("fields") else {}
            done = await openoctopus.crawl(ItemSpider, items=task["items"], outputs=[str(target)], **options)
            text = target.read_bytes().decode("utf-8", "surrogateescape") if target.exists() else ""
        return {"export": text, "warned": bool(warnings), "item_errors": [repr(failed.error) for failed in done.failed_items]}
    except exceptions.OctopusError as error:
        return classify(error)
    finally:
        logging.getLogger().removeHandler(note)


def unsupported(case: dict[str, Any]) -> str:
    """What the case needs and OpenOctopus does not have yet."""
    task = case["task"]
    if task["kind"] in ("sitemap", "form"):
        return f"no {task['kind']} yet"
    if task["settings"].get("http_cache"):
        return "no HTTP cache yet"
    return "no XML output yet" if task.get("format") == "xml" else ""


async def one(case: dict[str, Any], outcomes: dict[str, Any], gate: asyncio.Semaphore) -> None:
    async with gate:
        began = time.monotonic()
        try:
            if why := unsupported(case):
                outcome: dict[str, Any] = {"unsupported": why}
            else:
                work = export(case["task"]) if case["task"]["kind"] == "export" else crawl(case)
                outcome = await asyncio.wait_for(work, PATIENCE)
        except TimeoutError:
            outcome = fail("timeout", f"not done after {PATIENCE} s")
        outcome["seconds"] = round(time.monotonic() - began, 2)
        outcomes[case["id"]] = outcome


def run(cases: list[dict[str, Any]], base_url: str) -> dict[str, Any]:
    for case in cases:
        for item in case["task"].get("start", []):
            if item["url"].startswith("/"):
                item["url"] = base_url + item["url"]

    async def main() -> dict[str, Any]:
        outcomes: dict[str, Any] = {}
        gate = asyncio.Semaphore(AT_ONCE)
        await asyncio.gather(*(one(case, outcomes, gate) for case in cases))
        return outcomes

    return asyncio.run(main())
