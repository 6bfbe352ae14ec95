"""Scrapy's news spider. Variants: default, items4 (CONCURRENT_ITEMS=4), tuned (uvloop, and nothing that can be spared)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from job import read_job
from scrapy import Request, Spider
from scrapy.crawler import CrawlerProcess
from scrapy.http import Response

JOB = read_job()


class NewsSpider(Spider):
    name = "news"
    start_urls = [JOB.url]  # noqa: RUF012

    def parse(self, response: Response) -> Iterator[Any]:
        for href in response.css("a.section-link::attr(href)").getall():
            yield Request(response.urljoin(href), self.parse_list)

    def parse_list(self, response: Response) -> Iterator[Any]:
        for href in response.css("div.article-list h2 a::attr(href)").getall():
            yield Request(response.urljoin(href), self.parse_article)
        following = response.css("a.next-page::attr(href)").get()
        if following:
            yield Request(response.urljoin(following), self.parse_list)

    def parse_article(self, response: Response) -> Iterator[Any]:
        yield {
            "url": response.url,
            "title": response.css("h1.article-title::text").get(),
            "author": response.css("span.author-name::text").get(),
            "date": response.css("time.pub-date::attr(datetime)").get(),
            "content": "\n".join(p.xpath("string()").get() for p in response.css("div.article-content p")),
        }


class BroadSpider(NewsSpider):
    def parse(self, response: Response) -> Iterator[Any]:
        if response.css("h1.article-title"):
            yield from self.parse_article(response)
        for href in response.css("a::attr(href)").getall():
            yield Request(response.urljoin(href))


SETTINGS: dict[str, Any] = {
    "CONCURRENT_REQUESTS": JOB.concurrency,
    "CONCURRENT_REQUESTS_PER_DOMAIN": JOB.concurrency,
    "DOWNLOAD_DELAY": 0,
    "ROBOTSTXT_OBEY": JOB.duties,
    "LOG_LEVEL": JOB.log_level,
    "TELNETCONSOLE_ENABLED": False,
    "FEEDS": {JOB.output: {"format": "jsonlines"}},
}
FEWER_TASKS = {"CONCURRENT_ITEMS": 4}
TUNED = {
    **FEWER_TASKS,
    "ASYNCIO_EVENT_LOOP": "uvloop.Loop",
    "WARN_ON_GENERATOR_RETURN_VALUE": False,
    "COOKIES_ENABLED": JOB.duties,
    "RETRY_ENABLED": False,
    "REDIRECT_ENABLED": False,
    "METAREFRESH_ENABLED": False,
    "HTTPPROXY_ENABLED": False,
    "REFERER_ENABLED": False,
    "DOWNLOADER_STATS": False,
    "MEMUSAGE_ENABLED": False,
}
VARIANTS: dict[str, dict[str, Any]] = {"default": {}, "items4": FEWER_TASKS, "tuned": TUNED}

if __name__ == "__main__":
    process = CrawlerProcess({**SETTINGS, **VARIANTS[JOB.variant]})
    process.crawl(BroadSpider if JOB.broad else NewsSpider)
    process.start()
