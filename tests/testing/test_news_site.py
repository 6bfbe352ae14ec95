from __future__ import annotations

import gzip
import time
from collections import Counter
from collections.abc import AsyncIterator

import aiohttp
import pytest

from openoctopus.http import Headers, Response
from openoctopus.testing.news import SECTIONS, Article, NewsSite, Quirk, serve_news, write_articles


@pytest.fixture
async def site() -> AsyncIterator[NewsSite]:
    async with NewsSite(articles=40) as site:
        yield site


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(auto_decompress=False) as session:
        yield session


async def get(client: aiohttp.ClientSession, url: str, **options: object) -> Response:
    """One page; a body that arrives zipped is unzipped."""
    async with client.get(url, allow_redirects=False, **options) as answer:
        headers = Headers.received([(key.decode(), value.decode()) for key, value in answer.raw_headers])
        body = await answer.read()
        return Response(url, answer.status, headers, gzip.decompress(body) if "Content-Encoding" in headers else body)


def with_quirk(site: NewsSite, quirk: Quirk) -> list[Article]:
    return [article for article in site.articles if article.quirk is quirk]


def plain_in(site: NewsSite, section: str) -> Article:
    return next(one for one in site.articles if one.section.key == section and one.quirk is Quirk.NONE)


def assert_shows(page: Response, article: Article) -> None:
    assert page.css("h1::text").get().strip() == article.title
    assert page.css(".author::text").get().endswith(" " + article.author)
    assert page.css("time::attr(datetime)").get() == article.published.isoformat()
    assert page.css(".tags li::text").getall() == list(article.tags)
    assert [text.strip() for text in page.css(".text p::text").getall()] == list(article.paragraphs)


def test_the_same_seed_writes_the_same_newspaper():
    assert write_articles(60, seed=7) == write_articles(60, seed=7)
    assert write_articles(60, seed=7) != write_articles(60, seed=8)


@pytest.mark.parametrize("count", [20, 200, 1000])
def test_every_size_has_every_quirk_and_no_title_twice(count):
    articles = write_articles(count)

    assert len(articles) == count
    assert {article.quirk for article in articles} - {Quirk.NONE} == set(Quirk) - {Quirk.NONE}
    assert len({article.title for article in articles}) == len({article.path for article in articles}) == count
    assert {article.section for article in articles} == set(SECTIONS)


async def test_the_same_seed_serves_the_same_bytes(client):
    async with NewsSite(articles=40, seed=3) as one, NewsSite(articles=40, seed=3) as other:
        paths = [path for path in one.pages if path.startswith(("/world/", "/finance/"))]
        for path in paths:
            first, second = await get(client, one.url(path)), await get(client, other.url(path))
            assert (first.status, first.body) == (second.status, second.body)

    assert len(paths) > 10


@pytest.mark.parametrize("section", [section for section in SECTIONS if not section.slow], ids=lambda section: section.key)
async def test_an_article_reads_right_in_the_encoding_of_its_section(site, client, section):
    article = plain_in(site, section.key)

    page = await get(client, site.url_of(article))

    assert page.headers["Content-Type"] == "text/html"
    assert page.encoding == section.encoding
    assert_shows(page, article)


@pytest.mark.parametrize("key", ["technology", "world"])
async def test_a_section_lists_all_its_articles_page_by_page(client, key):
    async with NewsSite(articles=200) as site:
        found, url = [], site.url(f"/{key}/")
        while url:
            page = await get(client, url)
            found += [page.urljoin(href) for href in page.css("h2 a::attr(href)").getall()]
            following = page.css("a.next::attr(href)").get()
            url = page.urljoin(following) if following else ""

    assert found == [site.url(one.linked_path) for one in site.articles if one.section.key == key]
    assert Counter(visit.path for visit in site.log).most_common(1)[0][1] == 1
    assert len(site.log) == 4


async def test_the_front_page_links_every_section_and_sets_cookies(site, client):
    front = await get(client, site.url())

    links = [front.urljoin(href) for href in front.css("nav a::attr(href)").getall()]
    assert [(await get(client, link)).status for link in links] == [200, 200, 200, 200, 200, 302, 200]
    assert {cookie.partition("=")[0] for cookie in front.headers.getlist("Set-Cookie")} == {"visitor", "edition"}
    assert len(front.css(".teaser")) == 10


async def test_robots_txt_forbids_what_the_front_page_links_to(site, client):
    front = await get(client, site.url())
    robots = await get(client, site.url("/robots.txt"))

    assert "Disallow: /private/" in robots.text.splitlines()
    assert front.css("nav a[href^='/private/']")
    assert f"Sitemap: {site.url('/sitemap.xml')}" in robots.text.splitlines()


async def test_the_sitemap_names_every_article(site, client):
    sitemap = await get(client, site.url("/sitemap.xml"))

    urls = sitemap.xpath("//s:loc/text()", namespaces={"s": "http://www.sitemaps.org/schemas/sitemap/0.9"}).getall()
    moved = {site.url(one.linked_path) for one in with_quirk(site, Quirk.MOVED)}
    assert set(urls) - moved == {site.url_of(one) for one in site.articles if one.quirk is not Quirk.MOVED}
    assert moved < set(urls)


async def test_the_archive_is_slow_and_on_another_host(site, client):
    moved = await get(client, site.url("/archive"))
    home = site.url("").removeprefix("http://")

    started = time.monotonic()
    page = await get(client, moved.headers["Location"])

    assert 0.3 <= time.monotonic() - started < 2
    assert moved.headers["Location"] == site.url("/archive/", site.slow_host)
    assert site.slow_host != site.hosts[0]
    assert page.encoding == "gb18030"
    assert page.urljoin(page.css("h2 a::attr(href)").get()) == site.url_of(plain_in(site, "archive"))
    assert page.css("nav a::attr(href)").get() == f"http://{home}/technology/"


async def test_a_busy_article_asks_for_patience_once_or_twice(site, client):
    tries = []
    for article in with_quirk(site, Quirk.BUSY):
        answers = [await get(client, site.url_of(article)) for _ in range(3)]
        assert answers[0].headers["Retry-After"] == "1"
        assert_shows(answers[-1], article)
        tries.append([answer.status for answer in answers].count(503))

    assert len(tries) == 6
    assert set(tries) == {1, 2}


async def test_a_defective_article_never_works(site, client):
    (article,) = with_quirk(site, Quirk.DEFECTIVE)

    assert [(await get(client, site.url_of(article))).status for _ in range(4)] == [500] * 4


async def test_a_cut_article_is_whole_the_second_time(site, client):
    (article,) = with_quirk(site, Quirk.CUT)

    with pytest.raises(aiohttp.ClientPayloadError):
        await get(client, site.url_of(article))
    assert_shows(await get(client, site.url_of(article)), article)


async def test_sloppy_markup_reads_as_browsers_read_it(site, client):
    sloppy = with_quirk(site, Quirk.SLOPPY)
    for article in sloppy:
        page = await get(client, site.url_of(article))
        assert b"</p>" not in page.body
        assert_shows(page, article)

    assert len(sloppy) == 2


async def test_a_moved_article_is_found_behind_its_old_address(site, client):
    moved = with_quirk(site, Quirk.MOVED)
    for article in moved:
        answer = await get(client, site.url(article.linked_path))
        assert (answer.status, answer.urljoin(answer.headers["Location"])) == (301, site.url_of(article))
        assert_shows(await get(client, site.url_of(article)), article)

    assert len(moved) == 3


async def test_a_wordless_article_has_a_picture_and_no_text(site, client):
    article = with_quirk(site, Quirk.WORDLESS)[0]

    page = await get(client, site.url_of(article))

    assert page.css(".text img")
    assert_shows(page, article)


async def test_zipped_sections_are_zipped_for_those_who_take_it(site, client):
    url = site.url_of(plain_in(site, "culture"))

    packed = await get(client, url, headers={"Accept-Encoding": "gzip"})
    plain = await get(client, url, headers={"Accept-Encoding": "identity"})

    assert packed.headers["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in plain.headers
    assert packed.body == plain.body


async def test_serve_news_gives_an_open_site_at_a_chosen_port(client):
    site = await serve_news(articles=20)
    port = int(site.url().rstrip("/").rpartition(":")[2])
    await site.close()

    again = await serve_news(articles=20, port=port)
    try:
        assert again.url() == f"http://127.0.0.1:{port}/"
        assert (await get(client, again.url())).status == 200
    finally:
        await again.close()
