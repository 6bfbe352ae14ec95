"""``octopus demo``: a real crawl of a newspaper that this machine serves to itself."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from openoctopus.cli.runspider import Options, Progress, pairs
from openoctopus.cli.watch import watch
from openoctopus.crawler import Crawler, crawl_settings
from openoctopus.testing.demo import NewsSpider
from openoctopus.testing.news import NewsSite
from openoctopus.testing.process import in_own_process

OUTPUT = "demo-items.jsonl"
#: The newspaper says 503 now and then. On one machine nobody is helped by going slow for long because of it.
SETTINGS = {"AUTOTHROTTLE_MAX_DELAY": 0.05}


def demo(
    options: Options,
    output: Annotated[Path, typer.Option("-O", "--output", metavar="FILE", help="Where the items go.")] = Path(OUTPUT),
    progress: Progress = None,
) -> int:
    """Serve a small newspaper on loopback and crawl it: lists, articles, a slow host, errors, Chinese in two encodings."""
    settings = crawl_settings(NewsSpider, SETTINGS, pairs(options, "-s"))
    with in_own_process("openoctopus.testing.news") as url:
        crawler = Crawler(NewsSpider(site=url), settings, outputs=[(str(output), True)])
        result = watch(crawler, progress)
    found, expected = result.stats.get("item_scraped_count"), len(NewsSite().expected_articles)
    print(f"\n{found} of {expected} articles are in {output}, one JSON object a line.")
    print(f"The spider is {NewsSpider.__module__}; for one of your own: octopus startproject NAME")
    return result.exit_code
