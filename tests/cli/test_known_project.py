"""A project of the shape that users bring along runs unchanged: ``octopus runspider news_spider`` in its folder."""

from __future__ import annotations

import json
import secrets

import asyncmy
import pytest

from openoctopus.testing import Site
from tests.servers import MariaDb
from tests.services import services

SETTINGS = """
BOT_NAME = "news"
SPIDER_MODULES = ["spiders"]
NEWSPIDER_MODULE = "spiders"

CONCURRENT_REQUESTS = 8
DOWNLOAD_DELAY = 0

ITEM_PIPELINES = {{
    "pipelines.CleanPipeline": 100,
    "pipelines.MySQLPipeline": {mysql},
}}

DOWNLOADER_MIDDLEWARES = {{
    "middlewares.UserAgentMiddleware": 400,
    "middlewares.ProxyMiddleware": 410,
}}
PROXY_POOL_URL = "{proxy}"
{more}
"""

MIDDLEWARES = """
import random

from openoctopus.downloadermiddlewares import DownloaderMiddleware

USER_AGENTS = ["Mozilla/5.0 (X11; Linux x86_64) known", "Mozilla/5.0 (Windows NT 10.0; Win64; x64) known"]


class UserAgentMiddleware(DownloaderMiddleware):
    async def process_request(self, request, spider):
        if not request.headers.get("User-Agent"):
            request.headers["User-Agent"] = random.choice(USER_AGENTS)


class ProxyMiddleware(DownloaderMiddleware):
    def __init__(self, proxy_pool_url):
        self.proxy_pool_url = proxy_pool_url

    async def process_request(self, request, spider):
        request.meta["proxy"] = self.proxy_pool_url
"""

PIPELINES = """
import aiomysql

from openoctopus.exceptions import DropItem
from openoctopus.pipelines import ItemPipeline


class CleanPipeline(ItemPipeline):
    def open_spider(self, spider):
        self.titles = set()

    def process_item(self, item, spider):
        if not item["title"]:
            raise DropItem("no title")
        if item["title"] in self.titles:
            raise DropItem("seen before")
        self.titles.add(item["title"])
        return item


class MySQLPipeline(ItemPipeline):
    def __init__(self, host, port, user, password, db):
        self.host = host
        self.port = port
        self.user = user
        self.password = password
        self.db = db

    async def open_spider(self, spider):
        self.pool = await aiomysql.create_pool(
            host=self.host, port=self.port, user=self.user, password=self.password, db=self.db, autocommit=True
        )
        async with self.pool.acquire() as connection, connection.cursor() as cursor:
            await cursor.execute("CREATE TABLE TABLE_NAME (url VARCHAR(200), title VARCHAR(200), author VARCHAR(200))")

    async def process_item(self, item, spider):
        async with self.pool.acquire() as connection, connection.cursor() as cursor:
            await cursor.execute(
                "INSERT INTO TABLE_NAME (url, title, author) VALUES (%s, %s, %s)", (item["url"], item["title"], item["author"])
            )
        return item

    async def close_spider(self, spider):
        self.pool.close()
        await self.pool.wait_closed()
"""

SPIDER = """
from openoctopus.http import Request
from openoctopus.spider import Spider


class NewsSpider(Spider):
    name = "news_spider"
    start_urls = ["http://news.example/"]
    allowed_domains = ["news.example"]

    def parse(self, response):
        for href in response.css("a::attr(href)").getall():
            yield Request(url=response.urljoin(href), callback=self.parse_article)

    def parse_article(self, response):
        yield {
            "url": response.url,
            "title": response.css("h1::text").get(default="").strip(),
            "author": response.css(".author::text").get(default="unknown").strip(),
        }
"""

PAGES = {
    "/": "<a href='/1'>1</a><a href='/2'>2</a><a href='/3'>3</a><a href='/again'>again</a><a href='http://other.example/'>x</a>",
    "/robots.txt": "User-agent: *\nAllow: /\n",
    "/1": "<h1> 新闻一 </h1><p class=author> 陈文博 </p>",
    "/2": "<h1>News two</h1>",
    "/3": "<p>no title</p>",
    "/again": "<h1>News two</h1>",
}

#: How a project tells where its database is: in the entry of the pipeline, or in settings beside it.
WAYS = {
    "beside its order": lambda server: (json.dumps({"order": 300} | server), ""),
    "with its name in front": lambda server: ("300", assigned("MYSQLPIPELINE_", server)),
    "by their own names": lambda server: ("300", assigned("", server)),
}


def assigned(prefix, server):
    return "\n".join(f"{prefix}{key.upper()} = {value!r}" for key, value in server.items())


@pytest.fixture
def server():
    """What drivers must be told of the database of the tests."""
    return MariaDb.arguments(services.url("mysql"))


@pytest.fixture
async def table(server):
    """A name for a table that is there for one test, and the rows it has in the end, read by a driver of ours."""
    connection = await asyncmy.connect(**server, autocommit=True)
    name = f"known_project_{secrets.token_hex(4)}"

    async def rows() -> list[tuple[str, ...]]:
        async with connection.cursor() as cursor:
            await cursor.execute(f"SELECT url, title, author FROM {name} ORDER BY url")
            return [tuple(row) for row in await cursor.fetchall()]

    yield name, rows
    async with connection.cursor() as cursor:
        await cursor.execute(f"DROP TABLE IF EXISTS {name}")
    await connection.ensure_closed()


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
async def test_a_known_project_runs_unchanged(octopus, server, table, way):
    name, rows = table
    entry, more = way(server)
    async with Site(PAGES) as site:
        octopus.write("settings.py", SETTINGS.format(mysql=entry, proxy=site.url(), more=more))
        octopus.write("middlewares.py", MIDDLEWARES)
        octopus.write("pipelines.py", PIPELINES.replace("TABLE_NAME", name))
        octopus.write("spiders/news_spider.py", SPIDER)
        ran = await octopus("runspider", "news_spider")

    assert ran.code == 0, ran.err
    assert sorted((title, author) for _, title, author in await rows()) == [("News two", "unknown"), ("新闻一", "陈文博")]
    assert "items      2 (" in ran.err
    assert "2 dropped: " in ran.err
    asked = {visit.path.removeprefix("http://news.example") for visit in site.log}
    assert asked == {"/robots.txt", "/", "/1", "/2", "/3", "/again"}
    assert all(visit.headers["User-Agent"].endswith("known") for visit in site.log if "robots" not in visit.path)
