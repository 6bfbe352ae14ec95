"""The HTML libraries as directly as they can be used: three functions each, the parsed page in and plain values out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import parsel
import turbohtml
from selectolax.lexbor import LexborHTMLParser

TITLE, AUTHOR, DATE, PARAGRAPHS = "h1.article-title", "span.author-name", "time.pub-date", "div.article-content p"


class Parser(Protocol):
    def parse(self, body: bytes) -> Any:
        """The tree of a page."""

    def article(self, tree: Any) -> dict[str, str] | None:
        """The fields of an article; ``None`` for other pages."""

    def links(self, tree: Any, css: str) -> list[str]:
        """The addresses of the links that match."""


@dataclass(frozen=True)
class Parsel:
    def parse(self, body: bytes) -> Any:
        return parsel.Selector(text=body.decode())

    def article(self, tree: Any) -> dict[str, str] | None:
        title = tree.css(f"{TITLE}::text").get()
        if title is None:
            return None
        return {
            "title": title,
            "author": tree.css(f"{AUTHOR}::text").get(),
            "date": tree.css(f"{DATE}::attr(datetime)").get(),
            "content": "\n".join([p.xpath("string()").get() for p in tree.css(PARAGRAPHS)]),
        }

    def links(self, tree: Any, css: str) -> list[str]:
        return tree.css(f"{css}::attr(href)").getall()


@dataclass(frozen=True)
class Lexbor:
    def parse(self, body: bytes) -> Any:
        return LexborHTMLParser(body)

    def article(self, tree: Any) -> dict[str, str] | None:
        title = tree.css_first(TITLE)
        if title is None:
            return None
        return {
            "title": title.text(),
            "author": tree.css_first(AUTHOR).text(),
            "date": tree.css_first(DATE).attrs.get("datetime"),
            "content": "\n".join([p.text() for p in tree.css(PARAGRAPHS)]),
        }

    def links(self, tree: Any, css: str) -> list[str]:
        return [link.attrs.get("href") for link in tree.css(css)]


@dataclass(frozen=True)
class Turbohtml:
    def parse(self, body: bytes) -> Any:
        return turbohtml.parse(body, encoding="utf-8")

    def article(self, tree: Any) -> dict[str, str] | None:
        title = tree.select_one(TITLE)
        if title is None:
            return None
        return {
            "title": title.text,
            "author": tree.select_one(AUTHOR).text,
            "date": tree.select_one(DATE).attr("datetime"),
            "content": "\n".join([p.text for p in tree.select(PARAGRAPHS)]),
        }

    def links(self, tree: Any, css: str) -> list[str]:
        return [link.attr("href") for link in tree.select(css)]


PARSERS: dict[str, Parser] = {"parsel": Parsel(), "lexbor": Lexbor(), "turbohtml": Turbohtml()}
