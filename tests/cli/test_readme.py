"""What the READMEs tell a newcomer to type, word for word."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from openoctopus.testing.news import NewsSite

READMES = {page.name: page.read_text("utf-8") for page in Path(__file__).parents[2].glob("README*.md")}


def block(page: str, language: str, word: str) -> str:
    """The one block of a page that has this word in it."""
    found = [text for text in re.findall(rf"```{language}\n(.*?)```", READMES[page], re.DOTALL) if word in text]
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize("page", READMES)
async def test_the_first_spider_runs(octopus, page):
    spider = block(page, "python", "Spider")
    assert spider.count("\n") <= 15
    _, command = block(page, "console", "runspider").splitlines()
    async with NewsSite(port=0) as site:
        octopus.write("news.py", spider.replace("http://127.0.0.1:8000/", site.url()))
        ran = await octopus(*command.removeprefix("$ octopus ").split())

    assert ran.code == 0, ran.err
    assert "failed" not in ran.err
    headlines = [json.loads(line) for line in (octopus.folder / "news.jsonl").read_text("utf-8").splitlines()]
    assert f" {len(headlines)} " in READMES[page]
    assert all(one["title"] and one["url"].startswith(site.url()) for one in headlines)
