"""A spider to learn from: it crawls the demo newspaper from its front page and makes an item of every article."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from openoctopus.exceptions import DropItem
from openoctopus.http import Request, Response
from openoctopus.items import Field, Item
from openoctopus.pipelines import ItemPipeline
from openoctopus.spider import Spider


class ArticleItem(Item):
    """One article. An item takes these fields and no others, so that a misspelt one is noticed at once."""

    url = Field()
    title = Field()
    author = Field()
    #: Date, time and zone as ISO 8601 writes them.
    published = Field()
    section = Field()
    tags = Field()
    #: The first paragraph.
    summary = Field()
    #: Characters in the whole text.
    length = Field()


class CleanArticle(ItemPipeline):
    """Pages are laid out for readers. What that does to the data is put right here, and the spider stays simple."""

    def process_item(self, item: ArticleItem, spider: Spider) -> ArticleItem:
        if not item["length"]:
            raise DropItem("no text")
        item["title"] = " ".join(item["title"].split())
        item["author"] = item["author"].strip().removeprefix("记者 ").removeprefix("By ")
        return item


class NewsSpider(Spider):
    """Front page, then the lists of each section, then the articles. ``-a site=URL`` says where the newspaper is."""

    name = "news"
    #: Links that lead elsewhere are not followed. The archive is on the second of these hosts.
    allowed_domains = ("127.0.0.1", "127.0.0.2", "localhost")
    custom_settings: ClassVar[Mapping[str, Any]] = {
        "ITEM_PIPELINES": {"openoctopus.testing.demo.CleanArticle": 100},
        # Only hosts in start_urls may be on a private network; the archive's is not among them.
        "ALLOW_PRIVATE_ADDRESSES": True,
    }

    def __init__(self, site: str = "http://127.0.0.1:8000/", **arguments: Any) -> None:
        super().__init__(**arguments)
        self.start_urls = [site]

    def parse(self, response: Response) -> Iterator[Request]:
        """The front page links to the first list of each section."""
        for link in response.css("nav a"):
            # What is known here and wanted later travels with the request, to the callback's keyword.
            yield response.follow(link, self.parse_list, cb_kwargs={"section": link.css("::text").get()})

    def parse_list(self, response: Response, section: str) -> Iterator[Request]:
        """A list links to ten articles and to the next list. Links that were seen before are dropped by the crawler."""
        known = {"section": section}
        yield from response.follow_all(css="h2 a", callback=self.parse_article, cb_kwargs=known)
        yield from response.follow_all(css="a.next", callback=self.parse_list, cb_kwargs=known)

    def parse_article(self, response: Response, section: str) -> Iterator[ArticleItem]:
        paragraphs = [text.strip() for text in response.css(".text p::text").getall()]
        yield ArticleItem(
            url=response.url,
            title=response.css("h1::text").get(default=""),
            author=response.css(".author::text").get(default=""),
            # The machine's date, not the one for readers: that is written differently in every section.
            published=response.css("time::attr(datetime)").get(),
            section=section,
            tags=response.css(".tags li::text").getall(),
            summary=paragraphs[0] if paragraphs else "",
            length=sum(map(len, paragraphs)),
        )
