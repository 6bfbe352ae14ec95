"""aio-scrapy's news spider."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from aioscrapy import Request, Spider
from job import read_job

JOB = read_job()
FILE = open(JOB.output, "w", encoding="utf-8")  # noqa: SIM115


class NewsSpider(Spider):
    name = "news"
    start_urls = [JOB.url]  # noqa: RUF012
    custom_settings = {  # noqa: RUF012
        "CLOSE_SPIDER_ON_IDLE": True,
        "CONCURRENT_REQUESTS": JOB.concurrency,
        "CONCURRENT_REQUESTS_PER_DOMAIN": JOB.concurrency,
        "DOWNLOAD_DELAY": 0,
        "HTTPPROXY_ENABLED": False,
        "LOG_LEVEL": JOB.log_level,
    }

    async def parse(self, response: Any) -> AsyncIterator[Any]:
        for href in response.css("a.section-link::attr(href)").getall():
            yield Request(response.urljoin(href), callback=self.parse_list)

    async def parse_list(self, response: Any) -> AsyncIterator[Any]:
        for href in response.css("div.article-list h2 a::attr(href)").getall():
            yield Request(response.urljoin(href), callback=self.parse_article)
        following = response.css("a.next-page::attr(href)").get()
        if following:
            yield Request(response.urljoin(following), callback=self.parse_list)

    async def parse_article(self, response: Any) -> AsyncIterator[Any]:
        item = {
            "url": response.url,
            "title": response.css("h1.article-title::text").get(),
            "author": response.css("span.author-name::text").get(),
            "date": response.css("time.pub-date::attr(datetime)").get(),
            "content": "\n".join(p.xpath("string()").get() for p in response.css("div.article-content p")),
        }
        FILE.write(json.dumps(item, ensure_ascii=False) + "\n")
        for nothing in ():
            yield nothing


if __name__ == "__main__":
    NewsSpider.start()
    FILE.close()
