"""A first spider: from list pages to articles."""

from openoctopus import Request, Spider


class NewsSpider(Spider):
    """Run it with `octopus runspider news_spider -o items.jsonl`; without `-a site=URL` it reads a page of its own making."""

    name = "news_spider"

    def __init__(self, site="", **arguments):
        super().__init__(**arguments)
        self.site = site

    async def start(self):
        if self.site:
            yield Request(self.site, self.parse)
        else:
            # No site was given: show that everything works. Replace this by your own start_urls.
            yield {"title": "It works: now give -a site=https://...", "url": None}

    def parse(self, response):
        for link in response.follow_all(css="h2 a", callback=self.parse_article):
            yield link
        for link in response.follow_all(css="a.next", callback=self.parse):
            yield link

    def parse_article(self, response):
        yield {
            "url": response.url,
            "title": response.css("h1::text").get(default="").strip(),
            "text": "\n".join(response.css("p::text").getall()),
        }
