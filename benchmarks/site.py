"""The sites that are crawled: an index, lists with a next page, articles. ``python -m benchmarks.site TREE...``

The same pages on every machine: all chance comes from fixed seeds.
"""

from __future__ import annotations

import html
import json
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from random import Random

from benchmarks import folder

SECTIONS = 10
PER_LIST = 20
ROBOTS = "User-agent: *\nDisallow: /private/\n"
_VOCABULARY = (
    "market report growth region analyst officials capital measure energy transport education health science culture sport "
    "weather technology company investors quarter policy minister council village river mountain train station airport "
    "bridge school research paper university student data network computer software engine model climate carbon ocean "
    "naïve café Zürich São coöperate déjà 北京 東京 新闻 Москва Ελλάδα €uro “quoted” —"
)
_WORDS = _VOCABULARY.split()


@dataclass(frozen=True)
class Size:
    """What an article is made of."""

    paragraphs: int
    #: Sentences in a paragraph.
    sentences: int
    links: int
    comments: int
    #: Lines of style sheets and scripts.
    styles: int
    scripts: int


SMALL = Size(paragraphs=2, sentences=2, links=8, comments=0, styles=2, scripts=2)
MEDIUM = Size(paragraphs=22, sentences=4, links=88, comments=22, styles=26, scripts=58)
LARGE = Size(paragraphs=150, sentences=5, links=500, comments=210, styles=120, scripts=270)


@dataclass(frozen=True)
class Tree:
    """A closed site below ``/name/``; every page can be reached from its index."""

    name: str
    #: Lists in each of the ten sections.
    lists: int
    size: Size

    @property
    def articles(self) -> int:
        return SECTIONS * self.lists * PER_LIST

    @property
    def pages(self) -> int:
        return 1 + SECTIONS * self.lists + self.articles

    def files(self) -> Iterator[tuple[str, str]]:
        """The path of each page, and its text."""
        yield "index.html", self._index()
        for section in range(SECTIONS if self.lists else 0):
            for number in range(1, self.lists + 1):
                yield f"s{section}/list-{number}.html", self._list(section, number)
            for number in range(self.lists * PER_LIST):
                yield f"s{section}/a-{number:06}.html", self._article(section, number)

    def _article_url(self, section: int, number: int) -> str:
        return f"/{self.name}/s{section}/a-{number:06}.html"

    def _list_url(self, section: int, number: int) -> str:
        return f"/{self.name}/s{section}/list-{number}.html"

    def _index(self) -> str:
        sections = range(SECTIONS if self.lists else 0)
        links = [f'<h2><a class="section-link" href="{self._list_url(n, 1)}">Section {n}</a></h2>' for n in sections]
        return _head(Random(self.name), "Index", SMALL) + _lines(['<div class="sections">', *links, "</div></body></html>"])

    def _list(self, section: int, number: int) -> str:
        random = Random(f"{self.name} list {section} {number}")
        articles = range((number - 1) * PER_LIST, number * PER_LIST)
        teasers = [f"{self._teaser(section, n)}<p class=sum>{_sentence(random)}</p></div>" for n in articles]
        following = f'<a class="next-page" href="{self._list_url(section, number + 1)}">Next</a>' if number < self.lists else ""
        body = ['<div id="page"><div class="article-list">', *teasers, "</div>", following, "</div></body></html>"]
        return _head(random, f"Section {section} page {number}", SMALL) + _lines(body)

    def _teaser(self, section: int, number: int) -> str:
        href = self._article_url(section, number)
        return f'<div class="teaser"><h2><a href="{href}">{_title(section, number)}</a></h2>'

    def _article(self, section: int, number: int) -> str:
        random = Random(f"{self.name} article {section} {number}")
        size = self.size
        links = [self._related(random, section) for _ in range(size.links)]
        in_text, beside = links[: size.links // 10], links[size.links // 10 :]
        parts = [
            _head(random, _title(section, number), size),
            '<div id="wrapper"><div class="container"><div class="row">\n',
            self._banner() if size is not SMALL else "",
            _article_head(random, section, number),
            _lines(['<div class="article-content">', *_paragraphs(random, size, in_text), "</div></article>"]),
            _lines(_comments(random, size)),
            _lines(
                ["</main><aside class=sidebar><ul>", *(f'<li class="rel-item"><div class=t>{link}</div>' for link in beside)]
            ),
            _lines(["</ul></aside></div></div></div>", _scripts(random, size.scripts // 2), "</body></html>"]),
        ]
        return "".join(parts)

    def _banner(self) -> str:
        sections = "".join(
            f'<li><a class="nav-link" href="{self._list_url(n, 1)}">Section {n}</a></li>' for n in range(SECTIONS)
        )
        logo = f'<a href="/{self.name}/index.html"><img src="/img/logo.png" alt="logo"></a>'
        return f'<header class="site-header">{logo}<nav class="main-nav"><ul>{sections}</ul></nav></header>\n'

    def _related(self, random: Random, section: int) -> str:
        """A link to any article of this site, most often of the same section."""
        section = section if random.random() < 0.6 else random.randrange(SECTIONS)
        number = random.randrange(self.lists * PER_LIST)
        title = _title(section, number)
        return f'<a class="rel" href="{self._article_url(section, number)}" title="{title}"><span>{title}</span></a>'


def _title(section: int, number: int) -> str:
    return f"Story {number} of section {section}: {_WORDS[(number * 31 + section) % len(_WORDS)]} news"


def _sentence(random: Random) -> str:
    return " ".join(random.choices(_WORDS, k=random.randint(8, 18))).capitalize() + "."


def _lines(lines: Iterable[str]) -> str:
    return "\n".join(lines) + "\n"


def _head(random: Random, title: str, size: Size) -> str:
    about = json.dumps(
        {"@type": "NewsArticle", "headline": title, "keywords": random.choices(_WORDS, k=12)}, ensure_ascii=False
    )
    properties = [f'<meta property="og:p{n}" content="{html.escape(_sentence(random))}">' for n in range(size.styles // 2 + 2)]
    colours = [
        f".c{n}-{random.randint(100, 999)} > .item:hover{{margin:{n}px;color:#{random.randrange(1 << 24):06x};"
        f"background:url(/img/{n}.png) no-repeat}}"
        for n in range(size.styles)
    ]
    head = ['<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">', f"<title>{title}</title>", *properties]
    head += ['<link rel="stylesheet" href="/static/main.css"><style>', *colours, "</style>"]
    head += [f'<script type="application/ld+json">{about}</script>', _scripts(random, size.scripts // 2), "</head><body>"]
    return _lines(head)


def _scripts(random: Random, lines: int) -> str:
    code = [
        f"track({{id:{random.randrange(10**9)},tag:'<b>{random.choice(_WORDS)}</b>',url:'/api?a=1&b=<x>'}});"
        for _ in range(lines)
    ]
    return _lines(["<script>", *code]) + "</script>"


def _article_head(random: Random, section: int, number: int) -> str:
    author = " ".join(random.choices(_WORDS, k=2)).title()
    date = f"2025-{random.randint(1, 12):02}-{random.randint(1, 28):02}T{random.randint(0, 23):02}:00:00Z"
    return (
        f'<main class="content"><article class="article" data-id="{section}-{number}"><header>\n'
        f'<h1 class="article-title">{_title(section, number)}</h1>\n'
        f'<div class="meta"><span class="author-name">{author}</span> '
        f'<time class="pub-date" datetime="{date}">today</time></div>\n'
        "</header>\n"
    )


def _paragraphs(random: Random, size: Size, links: list[str]) -> Iterator[str]:
    waiting = iter(links)
    for number in range(size.paragraphs):
        text = html.escape(" ".join(_sentence(random) for _ in range(size.sentences)), quote=False)
        link = next(waiting, "")
        yield f"<p>{text} <em>See</em> {link} <strong>and</strong> R&amp;D&nbsp;more.</p>" if link else f"<p>{text}</p>"
        if number % 7 == 6:
            caption = f"<figcaption>{_sentence(random)}</figcaption>"
            yield f'<figure><img src="/img/{number}.jpg" width=640 height=480>{caption}</figure>'


def _comments(random: Random, size: Size) -> Iterator[str]:
    for number in range(size.comments):
        yield (
            f'<div class="comment" id="c{number}"><div class="comment-inner">'
            f'<div class="avatar"><img src="/a/{number}.png"></div>'
            f'<div class="body"><span class="user">{random.choice(_WORDS)}</span>'
            f"<div class=text><p>{_sentence(random)}<br>{_sentence(random)}</div></div></div></div>"
        )


@dataclass(frozen=True)
class Chain:
    """Pages of which each links to the next one only: nothing can be fetched before the page before was read."""

    name: str = "chain"
    pages: int = 500

    def files(self) -> Iterator[tuple[str, str]]:
        for number in range(self.pages):
            following = (
                f'<a class="next-page" href="/{self.name}/{number + 1}.html">Next</a>' if number + 1 < self.pages else ""
            )
            yield f"{number}.html", f"<!DOCTYPE html><title>{number}</title><h1>{number}</h1>{following}\n"


_ALL: list[Tree | Chain] = [
    Tree("one", 0, SMALL),
    Tree("minih", 10, SMALL),
    Tree("mini", 20, SMALL),
    Tree("midh", 5, MEDIUM),
    Tree("mid", 10, MEDIUM),
    Tree("big", 1, LARGE),
    Tree("news", 95, MEDIUM),
    Chain(),
]
TREES = {tree.name: tree for tree in _ALL}
#: What the usual measurements need.
USUAL = ("one", "minih", "midh", "chain")


def write(names: Iterable[str]) -> None:
    """Write trees into the folder that nginx serves; one that is there already is left as it is."""
    folder.SITE.mkdir(parents=True, exist_ok=True)
    (folder.SITE / "robots.txt").write_text(ROBOTS)
    for name in names:
        done = folder.SITE / name / "complete"
        if done.exists():
            continue
        for path, text in TREES[name].files():
            file = folder.SITE / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        done.touch()
        print(f"site {name}: {TREES[name].pages} pages", flush=True)


def main() -> None:
    parser = ArgumentParser(prog="python -m benchmarks.site", description=__doc__)
    parser.add_argument("trees", nargs="+", choices=TREES)
    write(parser.parse_args().trees)


if __name__ == "__main__":
    main()
