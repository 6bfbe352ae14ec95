"""Scrapling's news spider. Variants: default, uvloop."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator
from typing import Any

from job import read_job
from scrapling.spiders import Request, Response, Spider

JOB = read_job()
FILE = open(JOB.output, "w", encoding="utf-8")  # noqa: SIM115


class NewsSpider(Spider):
    name = "news"
    start_urls = [JOB.url]  # noqa: RUF012
    concurrent_requests = JOB.concurrency
    concurrent_requests_per_domain = JOB.concurrency
    download_delay = 0.0
    robots_txt_obey = JOB.duties
    logging_level = logging.getLevelName(JOB.log_level)

    async def parse(self, response: Response) -> AsyncIterator[Any]:
        for href in response.css("a.section-link::attr(href)").getall():
            yield Request(response.urljoin(str(href)), callback=self.parse_list)

    async def parse_list(self, response: Response) -> AsyncIterator[Any]:
        for href in response.css("div.article-list h2 a::attr(href)").getall():
            yield Request(response.urljoin(str(href)), callback=self.parse_article)
        following = response.css("a.next-page::attr(href)").get()
        if following:
            yield Request(response.urljoin(str(following)), callback=self.parse_list)

    async def parse_article(self, response: Response) -> AsyncIterator[Any]:
        item = {
            "url": response.url,
            "title": str(response.css("h1.article-title::text").get()),
            "author": str(response.css("span.author-name::text").get()),
            "date": str(response.css("time.pub-date::attr(datetime)").get()),
            "content": "\n".join(str(p.get_all_text()) for p in response.css("div.article-content p")),
        }
        FILE.write(json.dumps(item, ensure_ascii=False) + "\n")
        for nothing in ():
            yield nothing


class BroadSpider(NewsSpider):
    async def parse(self, response: Response) -> AsyncIterator[Any]:
        if response.css("h1.article-title"):
            async for one in self.parse_article(response):
                yield one
        for href in response.css("a::attr(href)").getall():
            yield Request(response.urljoin(str(href)))


if __name__ == "__main__":
    if not JOB.duties:
        logging.disable(logging.WARNING)
    spider = BroadSpider() if JOB.broad else NewsSpider()
    spider.start(use_uvloop=JOB.variant == "uvloop")
    FILE.close()
