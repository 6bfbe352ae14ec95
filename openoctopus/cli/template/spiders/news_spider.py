"""A first spider: from the front page to the lists of articles, and from there to the articles."""

from openoctopus import Request, Spider
from openoctopus.testing.news import serve_news


class NewsSpider(Spider):
    """Articles of a newspaper: octopus runspider news_spider -o items.jsonl"""

    name = "news_spider"
    # Links that lead elsewhere are not followed.
    allowed_domains = ["127.0.0.1"]

    # The newspaper is one that OpenOctopus serves on this machine, so that there is something to crawl before you have
    # written a line. For a site of your own replace all of this by
    #
    #     start_urls = ["https://example.com/"]
    #     allowed_domains = ["example.com"]
    #
    # It is often busy (status 503), but our own machine needs no long pauses.
    custom_settings = {"DOWNLOAD_DELAY": 0, "AUTOTHROTTLE_MAX_DELAY": 0.05, "RETRY_AFTER_MAX": 0.2}

    async def start(self):
        self.newspaper = await serve_news(articles=60)
        yield Request(self.newspaper.url())

    async def close(self, reason):
        await self.newspaper.close()

    # From here on it is what every spider does.

    def parse(self, response):
        """The front page links to a list for each section."""
        yield from response.follow_all(css="nav a", callback=self.parse_list)

    def parse_list(self, response):
        """A list links to articles, and to the next list. What was seen before is left out by itself."""
        yield from response.follow_all(css="h2 a", callback=self.parse_article)
        yield from response.follow_all(css="a.next", callback=self.parse_list)

    def parse_article(self, response):
        """An article becomes an item: a dict, or a class of your own."""
        yield {
            "url": response.url,
            "title": response.css("h1::text").get(default="").strip(),
            "author": response.css(".author::text").get(default="").strip(),
            "published": response.css("time::attr(datetime)").get(),
            "tags": response.css(".tags li::text").getall(),
            "text": "\n".join(response.css(".text p::text").getall()).strip(),
        }
