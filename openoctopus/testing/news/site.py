"""The demo newspaper on loopback: a site with most of what makes crawling hard."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from random import Random

from openoctopus.testing.news import pages
from openoctopus.testing.news.articles import SECTIONS, Article, Quirk, Section, write_articles
from openoctopus.testing.site import Page, Site, cut, in_turn, slowly, zipped

#: Articles on one page of a list.
PER_PAGE = 10

_COOKIES = [("Set-Cookie", "visitor=octopus; Path=/; HttpOnly"), ("Set-Cookie", "edition=zh; Path=/; Max-Age=86400")]
_BUSY = (503, {"Retry-After": "1"}, "<h1>Too many readers</h1>")


class NewsSite(Site):
    """About ``articles`` pages in six sections, in Chinese and English, the same for the same ``seed``.

    It has list pages with ``a.next``, pages in GB18030 that only their ``<meta>`` declares, zipped ones, a slow second host,
    redirects, cookies, a robots.txt, a sitemap, and the articles of ``Quirk``, whose faults come once for each open site.
    """

    def __init__(self, *, articles: int = 200, seed: int = 1, port: int = 0) -> None:
        super().__init__(port=port)
        self.articles = write_articles(articles, seed)
        self._random = Random(f"site {seed}")

    async def open(self) -> None:
        """Listen on 127.0.0.1 and, for the slow host, 127.0.0.2. Raises ``OSError`` if the port is taken."""
        if _is_address("127.0.0.2"):
            self.hosts, self.slow_host = ("127.0.0.1", "127.0.0.2"), "127.0.0.2"
        else:  # macOS: the first host by another name
            self.slow_host = "localhost"
        await super().open()
        self.pages.update(self._all_pages())

    @property
    def expected_articles(self) -> list[Article]:
        """What a crawl that gives up nothing finds: an item for each."""
        return [one for one in self.articles if one.quirk not in (Quirk.DEFECTIVE, Quirk.WORDLESS)]

    def url_of(self, article: Article) -> str:
        """Where an article is."""
        return self.url(article.path, self._host_of(article.section))

    def _host_of(self, section: Section) -> str:
        return self.slow_host if section.slow else self.hosts[0]

    def _all_pages(self) -> Iterator[tuple[str, Page]]:
        latest = sorted(self.articles, key=lambda article: article.published, reverse=True)[:PER_PAGE]
        yield "/", (200, _COOKIES, pages.front(latest))
        yield "/robots.txt", f"User-agent: *\nDisallow: /private/\nSitemap: {self.url('/sitemap.xml')}\n"
        yield "/sitemap.xml", pages.sitemap([self.url(one.linked_path, self._host_of(one.section)) for one in self.articles])
        yield "/private/", pages.private()
        for section in SECTIONS:
            if section.slow:
                yield f"/{section.key}", (302, {"Location": self.url(f"/{section.key}/", self.slow_host)}, "")
            yield from self._section_pages(section)

    def _section_pages(self, section: Section) -> Iterator[tuple[str, Page]]:
        home = self.url("") if section.slow else ""
        articles = [one for one in self.articles if one.section is section]
        parts = [articles[start : start + PER_PAGE] for start in range(0, len(articles), PER_PAGE)]
        for number, part in enumerate(parts, 1):
            path = f"/{section.key}/page-{number}.html" if number > 1 else f"/{section.key}/"
            next_page = f"page-{number + 1}.html" if number < len(parts) else ""
            yield path, self._sent(section, pages.listing(section, part, next_page, home))
        for article in articles:
            others = [one for one in articles if one is not article]
            related = self._random.sample(others, min(3, len(others)))
            yield from self._article_pages(article, pages.story(article, related, home))

    def _article_pages(self, article: Article, html: str) -> Iterator[tuple[str, Page]]:
        if article.quirk is Quirk.SLOPPY:
            html = pages.made_sloppy(html)
        page = self._sent(article.section, html)
        if article.quirk is Quirk.BUSY:
            page = in_turn(*[_BUSY] * self._random.randint(1, 2), page)
        elif article.quirk is Quirk.CUT:
            body = html.encode(article.section.encoding)
            page = in_turn(cut(body, len(body) // 2), page)
        elif article.quirk is Quirk.DEFECTIVE:
            page = 500
        elif article.quirk is Quirk.MOVED:
            yield article.linked_path, (301, {"Location": article.path}, "")
        yield article.path, page

    def _sent(self, section: Section, html: str) -> Page:
        """The page as its section sends it: bytes, so that only its ``<meta>`` tells the encoding."""
        body = html.encode(section.encoding)
        page: Page = zipped(body) if section.zipped else body
        return slowly(self._random.uniform(0.3, 0.6), page) if section.slow else page


def _is_address(host: str) -> bool:
    """Whether this machine can listen on an address."""
    with socket.socket() as probe:
        try:
            probe.bind((host, 0))
        except OSError:
            return False
    return True


async def serve_news(*, articles: int = 200, seed: int = 1, port: int = 0) -> NewsSite:
    """The demo newspaper, open; its front page is ``site.url()``. Close it when done."""
    site = NewsSite(articles=articles, seed=seed, port=port)
    await site.open()
    return site
