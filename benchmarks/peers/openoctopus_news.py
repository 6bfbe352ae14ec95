"""The news spider as a user of OpenOctopus writes it.

Variants: default (wreq), aiohttp, job (kept under a name), trace (with the history of each URL).
"""

from __future__ import annotations

from collections.abc import Iterator

from job import read_job

import openoctopus
from openoctopus import Request, Response, Spider

JOB = read_job()


class NewsSpider(Spider):
    name = "news"
    start_urls = (JOB.url,)

    def parse(self, response: Response) -> Iterator[Request]:
        for href in response.css("a.section-link::attr(href)").getall():
            yield Request(response.urljoin(href), self.parse_list)

    def parse_list(self, response: Response) -> Iterator[Request]:
        for href in response.css("div.article-list h2 a::attr(href)").getall():
            yield Request(response.urljoin(href), self.parse_article)
        following = response.css("a.next-page::attr(href)").get()
        if following:
            yield Request(response.urljoin(following), self.parse_list)

    def parse_article(self, response: Response) -> Iterator[dict[str, str | None]]:
        yield {
            "url": response.url,
            "title": response.css("h1.article-title::text").get(),
            "author": response.css("span.author-name::text").get(),
            "date": response.css("time.pub-date::attr(datetime)").get(),
            "content": "\n".join(p.xpath("string()").get() for p in response.css("div.article-content p")),
        }


class BroadSpider(NewsSpider):
    def parse(self, response: Response) -> Iterator[Request | dict[str, str | None]]:
        if response.css("h1.article-title"):
            yield from self.parse_article(response)
        for href in response.css("a::attr(href)").getall():
            yield Request(response.urljoin(href))


if __name__ == "__main__":
    openoctopus.run(
        BroadSpider if JOB.broad else NewsSpider,
        outputs=[JOB.output],
        DOWNLOADER="aiohttp" if JOB.variant == "aiohttp" else "http",
        JOB="bench" if JOB.variant in ("job", "trace") else "",
        TRACE=JOB.variant == "trace",
        JOB_FRESH=True,
        CONCURRENT_REQUESTS=JOB.concurrency,
        CONCURRENT_REQUESTS_PER_DOMAIN=JOB.concurrency,
        ROBOTSTXT_OBEY=JOB.duties,
        LOG_LEVEL=JOB.log_level,
    )
