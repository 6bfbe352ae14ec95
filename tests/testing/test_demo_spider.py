from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import pytest

from openoctopus.exceptions import DropItem
from openoctopus.http import Request, Response
from openoctopus.testing.demo import ArticleItem, CleanArticle, NewsSpider
from openoctopus.testing.news import Article, NewsSite, Quirk


async def fetch(client: aiohttp.ClientSession, request: Request) -> Response | None:
    """The page, after two more tries at most; ``None`` if there is none to be had."""
    for _ in range(3):
        try:
            async with client.get(request.url) as answer:
                if answer.status == 200:
                    return Response(str(answer.url), 200, list(answer.headers.items()), await answer.read(), request)
        except aiohttp.ClientPayloadError:
            continue
    return None


async def walk(spider: NewsSpider) -> tuple[list[Any], list[str]]:
    """Follow every link but the private ones, level by level: what was found, and which URLs failed."""
    found: list[Any] = []
    failed: list[str] = []
    seen: set[str] = set()
    waiting = [request async for request in spider.start()]
    async with aiohttp.ClientSession() as client:
        while waiting:
            pages = await asyncio.gather(*[fetch(client, request) for request in waiting])
            failed += [request.url for request, page in zip(waiting, pages, strict=True) if page is None]
            results = [one for page in pages if page for one in read(spider, page)]
            found += [one for one in results if not isinstance(one, Request)]
            requests = {one.url: one for one in results if isinstance(one, Request) and "/private/" not in one.url}
            waiting = [request for url, request in requests.items() if url not in seen]
            seen.update(requests)
    return found, failed


def read(spider: NewsSpider, page: Response) -> list[Any]:
    callback = page.request.callback or spider.parse
    return list(callback(page, **page.cb_kwargs))


def item_of(site: NewsSite, article: Article) -> ArticleItem:
    """What the spider should make of an article."""
    return ArticleItem(
        url=site.url_of(article),
        title=article.title,
        author=article.author,
        published=article.published.isoformat(),
        section=article.section.title,
        tags=list(article.tags),
        summary=article.paragraphs[0],
        length=sum(map(len, article.paragraphs)),
    )


async def test_the_demo_spider_finds_every_article_as_it_was_written():
    async with NewsSite(articles=30) as site:
        spider = NewsSpider(site=site.url())
        found, failed = await walk(spider)

        cleaned, dropped = [], []
        for item in found:
            try:
                cleaned.append(CleanArticle().process_item(item, spider))
            except DropItem:
                dropped.append(item["url"])

        by_url = {item["url"]: item for item in cleaned}
        assert by_url == {site.url_of(article): item_of(site, article) for article in site.expected_articles}
        assert len(cleaned) == len(by_url) == 27
        assert sorted(dropped) == [site.url_of(one) for one in site.articles if one.quirk is Quirk.WORDLESS]
        assert failed == [site.url_of(one) for one in site.articles if one.quirk is Quirk.DEFECTIVE]


def test_an_item_without_text_is_dropped():
    item = ArticleItem(url="http://127.0.0.1/", title="Picture", author="By Ada", length=0)

    with pytest.raises(DropItem, match="no text"):
        CleanArticle().process_item(item, NewsSpider())


@pytest.mark.parametrize(
    ("written", "clean"), [("By Ada Byrne", "Ada Byrne"), ("记者 欧阳晓梅", "欧阳晓梅"), ("Byron", "Byron")]
)
def test_titles_and_names_are_cleaned(written, clean):
    item = ArticleItem(title="\n  A night\n train ", author=written, length=9)

    assert CleanArticle().process_item(item, NewsSpider()) == ArticleItem(title="A night train", author=clean, length=9)
