"""Crawlee's news crawler (parsel, impit). Variants: default, memory (storage), tuned (uvloop, no sessions, own file)."""

from __future__ import annotations

import asyncio
import json
import logging

import uvloop
from crawlee import ConcurrencySettings
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext
from crawlee.storage_clients import MemoryStorageClient
from job import read_job

JOB = read_job()
TUNED = JOB.variant == "tuned"
Context = ParselCrawlingContext


def new_crawler() -> ParselCrawler:
    many = ConcurrencySettings(
        min_concurrency=JOB.concurrency, desired_concurrency=JOB.concurrency, max_concurrency=JOB.concurrency
    )
    options = {} if JOB.variant == "default" else {"storage_client": MemoryStorageClient()}
    return ParselCrawler(
        concurrency_settings=many,
        configure_logging=JOB.duties,
        respect_robots_txt_file=JOB.duties,
        use_session_pool=JOB.duties or not TUNED,
        **options,
    )


def read_article(context: Context) -> dict[str, str | None]:
    css = context.selector.css
    return {
        "url": context.request.url,
        "title": css("h1.article-title::text").get(),
        "author": css("span.author-name::text").get(),
        "date": css("time.pub-date::attr(datetime)").get(),
        "content": "\n".join(p.xpath("string()").get() for p in css("div.article-content p")),
    }


async def crawl() -> None:
    with open(JOB.output, "w", encoding="utf-8") as file:  # noqa: ASYNC230

        def write(item: dict[str, str | None]) -> None:
            file.write(json.dumps(item, ensure_ascii=False) + "\n")

        async def keep(context: Context) -> None:
            item = read_article(context)
            if TUNED:
                write(item)
            else:
                await context.push_data(item)

        crawler = new_crawler()
        route(crawler, keep)
        await crawler.run([JOB.url])
        if not TUNED:
            async for item in (await crawler.get_dataset()).iterate_items():
                write(item)


def route(crawler: ParselCrawler, keep) -> None:
    @crawler.router.default_handler
    async def index(context: Context) -> None:
        if not JOB.broad:
            await context.enqueue_links(selector="a.section-link", label="list")
            return
        if context.selector.css("h1.article-title"):
            await keep(context)
        await context.enqueue_links()

    @crawler.router.handler("list")
    async def lists(context: Context) -> None:
        await context.enqueue_links(selector="div.article-list h2 a", label="article")
        await context.enqueue_links(selector="a.next-page", label="list")

    crawler.router.handler("article")(keep)


if __name__ == "__main__":
    if not JOB.duties:
        logging.disable(logging.WARNING)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop if TUNED else None) as runner:
        runner.run(crawl())
