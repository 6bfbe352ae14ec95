"""How the pages of the demo newspaper look."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from openoctopus.testing.news.articles import SECTIONS, Article, Section

NAME = "章鱼日报 · The Octopus Daily"

_FRAME = """<!DOCTYPE html>
<html lang="{language}">
<head>
<meta charset="{encoding}">
<title>{title}</title>
<style>body {{ max-width: 44em; margin: 2em auto; font-family: sans-serif }} nav a {{ margin-right: 1em }}</style>
</head>
<body>
<header><a href="{home}/">{name}</a></header>
<nav>{links}</nav>
<main>
{content}
</main>
<footer><p>&copy; {name} &mdash; everything here is made up.</p></footer>
</body>
</html>
"""

_STORY = """<article>
<h1>
  {title}
</h1>
<p class="byline"><span class="author">{by} {author}</span>
<time datetime="{published}">{shown}</time></p>
<div class="text">
{paragraphs}
</div>
<ul class="tags">{tags}</ul>
</article>
<aside class="related"><ul>{related}</ul></aside>"""


def front(latest: Iterable[Article]) -> str:
    """The front page: the latest articles of all sections."""
    return _framed(SECTIONS[0], NAME, "\n".join(map(_teaser, latest)))


def listing(section: Section, articles: Iterable[Article], next_page: str, home: str) -> str:
    """One page of a section's list; ``next_page`` is the link to the following one, if there is one."""
    teasers = "\n".join(map(_teaser, articles))
    following = f'<a class="next" href="{next_page}">&raquo;</a>' if next_page else ""
    return _framed(section, section.title, f"<h1>{section.title}</h1>\n{teasers}\n{following}", home)


def story(article: Article, related: Iterable[Article], home: str) -> str:
    """The page of one article."""
    chinese, day = article.section.language.code == "zh", article.published
    content = _STORY.format(
        title=escape(article.title),
        by="记者" if chinese else "By",
        author=article.author,
        published=day.isoformat(),
        shown=f"{day.year}年{day.month}月{day.day}日" if chinese else f"{day:%d/%m/%Y}",
        paragraphs="\n".join(f"<p>{escape(text)}</p>" for text in article.paragraphs) or '<img src="/picture.jpg" alt="">',
        tags="".join(f"<li>{escape(tag)}</li>" for tag in article.tags),
        related="".join(f'<li><a href="{one.linked_path}">{escape(one.title)}</a></li>' for one in related),
    )
    return _framed(article.section, article.title, content, home)


def private() -> str:
    """What robots.txt asks crawlers not to read."""
    return _framed(SECTIONS[0], "Drafts", "<h1>Drafts</h1>\n<h2><a href='/private/draft.html'>Not for crawlers</a></h2>")


def made_sloppy(html: str) -> str:
    """The same page, as careless hands write it; browsers still read the same text in the same places."""
    html = html.replace("</p>", "").replace("</li>", "").replace("</h1>", "</h1></center>")
    html = html.replace('class="author"', "class=author").replace("<footer>", "<b><footer></b>").replace("</html>", "<!-- end")
    return html.replace("<!DOCTYPE html>\n", "").replace("</article>", "").replace("&copy;", "&copy")


def sitemap(urls: Sequence[str]) -> str:
    """https://www.sitemaps.org/protocol.html"""
    entries = "\n".join(f"<url><loc>{escape(url)}</loc></url>" for url in urls)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{entries}\n</urlset>\n'
    )


def _teaser(article: Article) -> str:
    summary = escape(article.paragraphs[0][:60]) if article.paragraphs else ""
    return f'<div class="teaser"><h2><a href="{article.linked_path}">{escape(article.title)}</a></h2><p>{summary}</p></div>'


def _framed(section: Section, title: str, content: str, home: str = "") -> str:
    """A whole page around its content. ``home`` stands before links to the first host on pages of the slow one."""
    # The archive is on another host: its link, without the last slash, redirects there.
    places = [(one.title, f"/{one.key}" if one.slow else f"/{one.key}/") for one in SECTIONS]
    links = "".join(f'<a href="{home}{path}">{name}</a>' for name, path in [*places, ("内部 Drafts", "/private/")])
    return _FRAME.format(
        language=section.language.code,
        encoding=section.encoding,
        title=escape(title),
        home=home,
        name=NAME,
        links=links,
        content=content,
    )
