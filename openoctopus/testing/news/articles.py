"""What stands in the demo newspaper: its sections and articles, the same for the same seed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from enum import Enum
from random import Random
from typing import NamedTuple

from openoctopus.testing.news.words import (
    ARCHIVE,
    CHINESE,
    CULTURE,
    ENGLISH,
    FINANCE,
    SPORT,
    TECHNOLOGY,
    WORLD,
    Language,
    Topic,
    Writer,
)


class Quirk(Enum):
    """What is special about the way an article is served."""

    NONE = "nothing"
    BUSY = "503 once or twice, with a Retry-After of 1 second, then it works"
    DEFECTIVE = "always 500"
    CUT = "the first answer breaks off in the middle, the next is whole"
    SLOPPY = "markup that has to be repaired as browsers do it"
    MOVED = "lists know its old address only, which redirects to the new one"
    WORDLESS = "a picture without text, which is not worth an item"


#: How often each occurs, whatever the size of the site.
QUIRKS = (
    *[Quirk.BUSY] * 6,
    *[Quirk.MOVED] * 3,
    *[Quirk.SLOPPY] * 2,
    *[Quirk.WORDLESS] * 2,
    Quirk.CUT,
    Quirk.DEFECTIVE,
)


class Section(NamedTuple):
    """A part of the newspaper, and how its pages are sent."""

    key: str
    title: str
    language: Language
    topic: Topic
    #: Year of its latest articles.
    year: int = 2025
    encoding: str = "utf-8"
    zipped: bool = False
    #: On the slow host, 0.3 to 0.6 seconds a page.
    slow: bool = False


SECTIONS = (
    Section("technology", "科技", CHINESE, TECHNOLOGY),
    Section("finance", "财经", CHINESE, FINANCE, encoding="gb18030"),
    Section("culture", "文化", CHINESE, CULTURE, zipped=True),
    Section("world", "World", ENGLISH, WORLD),
    Section("sport", "Sport", ENGLISH, SPORT, zipped=True),
    Section("archive", "档案", CHINESE, ARCHIVE, year=1998, encoding="gb18030", slow=True),
)
_FIRST_NUMBER = 1001
_BEIJING = timezone(timedelta(hours=8))


@dataclass(frozen=True)
class Article:
    """One article, as a crawl should find it."""

    number: int
    section: Section
    title: str
    author: str
    published: datetime
    tags: tuple[str, ...]
    paragraphs: tuple[str, ...]
    quirk: Quirk = Quirk.NONE

    @property
    def path(self) -> str:
        """Where it is."""
        return f"/{self.section.key}/{self.number}.html"

    @property
    def linked_path(self) -> str:
        """Where links say that it is."""
        return f"/go/{self.number}" if self.quirk is Quirk.MOVED else self.path


def write_articles(count: int = 200, seed: int = 1) -> list[Article]:
    """All articles, section by section, the newest first; a tenth of them are in the slow archive, without quirks.

    ``count`` is 20 to 1,000, so that there is room for every quirk and titles do not repeat.
    """
    random = Random(f"news {seed}")
    archived = count // 10
    share, left_over = divmod(count - archived, len(SECTIONS) - 1)
    articles: list[Article] = []
    for place, section in enumerate(SECTIONS):
        size = archived if section.slow else share + (place < left_over)
        articles += _section_articles(section, size, _FIRST_NUMBER + len(articles), random)
    for place, quirk in zip(random.sample(range(count - archived), len(QUIRKS)), QUIRKS, strict=True):
        articles[place] = _made_odd(articles[place], quirk)
    return articles


def _section_articles(section: Section, count: int, first_number: int, random: Random) -> Iterator[Article]:
    writer = Writer(section.language, section.topic, random)
    published = datetime(section.year, 12, 1, 18, tzinfo=_BEIJING)
    for number, title in enumerate(writer.titles(count), first_number):
        published -= timedelta(minutes=random.randint(40, 2000))
        paragraphs = tuple(writer.paragraph() for _ in range(random.randint(3, 7)))
        yield Article(number, section, title, writer.name(), published, tuple(writer.tags()), paragraphs)


def _made_odd(article: Article, quirk: Quirk) -> Article:
    return replace(article, quirk=quirk, paragraphs=() if quirk is Quirk.WORDLESS else article.paragraphs)
