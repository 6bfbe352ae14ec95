"""feapder's news spider, with one HTTP session for all its threads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from threading import Lock
from typing import Any

import feapder
from job import read_job

JOB = read_job()
FILE = open(JOB.output, "w", encoding="utf-8")  # noqa: SIM115
LOCK = Lock()


class NewsSpider(feapder.AirSpider):
    __custom_setting__ = {  # noqa: RUF012
        "SPIDER_THREAD_COUNT": JOB.concurrency,
        "SPIDER_SLEEP_TIME": 0,
        "USE_SESSION": True,
        "RANDOM_HEADERS": False,
        "PROXY_ENABLE": False,
        "LOG_LEVEL": JOB.log_level,
    }

    def start_requests(self) -> Iterator[Any]:
        yield feapder.Request(JOB.url)

    def parse(self, request: Any, response: Any) -> Iterator[Any]:
        for href in response.css("a.section-link::attr(href)").extract():
            yield feapder.Request(href, callback=self.parse_list)

    def parse_list(self, request: Any, response: Any) -> Iterator[Any]:
        for href in response.css("div.article-list h2 a::attr(href)").extract():
            yield feapder.Request(href, callback=self.parse_article)
        following = response.css("a.next-page::attr(href)").extract_first()
        if following:
            yield feapder.Request(following, callback=self.parse_list)

    def parse_article(self, request: Any, response: Any) -> None:
        item = {
            "url": response.url,
            "title": response.css("h1.article-title::text").extract_first(),
            "author": response.css("span.author-name::text").extract_first(),
            "date": response.css("time.pub-date::attr(datetime)").extract_first(),
            "content": "\n".join(p.xpath("string()").extract_first() for p in response.css("div.article-content p")),
        }
        line = json.dumps(item, ensure_ascii=False) + "\n"
        with LOCK:
            FILE.write(line)


if __name__ == "__main__":
    spider = NewsSpider(thread_count=JOB.concurrency)
    spider.start()
    spider.join()
    FILE.close()
