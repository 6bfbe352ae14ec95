"""The spider of the chaos runs for Scrapy, with settings in its favour; it runs where Scrapy is installed."""

from __future__ import annotations

import sqlite3

import scrapy


class OneByOne:
    """Keeps each item at once, and by its key only once."""

    def open_spider(self):
        self.database = sqlite3.connect("items.db", isolation_level=None)
        self.database.execute("PRAGMA journal_mode = WAL")
        self.database.execute("CREATE TABLE IF NOT EXISTS items (key TEXT PRIMARY KEY)")

    def process_item(self, item):
        self.database.execute("INSERT OR IGNORE INTO items VALUES (?)", [item["key"]])
        return item


class Graph(scrapy.Spider):
    name = "graph"
    custom_settings = {
        "JOBDIR": "job",
        "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleLifoSQLiteQueue",
        "SCHEDULER_START_DISK_QUEUE": "scrapy.squeues.PickleFifoSQLiteQueue",
        "ITEM_PIPELINES": {OneByOne: 1},
        "CONCURRENT_REQUESTS": 16,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
        "DOWNLOAD_DELAY": 0,
        "ROBOTSTXT_OBEY": False,
        "TELNETCONSOLE_ENABLED": False,
        "LOG_LEVEL": "INFO",
    }

    async def start(self):
        yield scrapy.Request(self.site, dont_filter=True)

    def parse(self, response):
        for item in response.css("li.item"):
            yield {"key": item.attrib["id"]}
        yield from response.follow_all(css="a")
