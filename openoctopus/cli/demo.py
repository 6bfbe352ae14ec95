"""``octopus demo``: a real crawl of a newspaper that this machine serves to itself."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from openoctopus.cli.runspider import pairs, watch
from openoctopus.crawler import Crawler, Result, crawl_settings
from openoctopus.testing.demo import NewsSpider
from openoctopus.testing.process import in_own_process

OUTPUT = "demo-items.jsonl"


def demo(
    output: Annotated[Path, typer.Option("-O", "--output", help="Where the items go.")] = Path(OUTPUT),
    options: Annotated[list[str], typer.Option("-s", "--set", metavar="NAME=VALUE", help="As runspider takes it.")] = [],
    progress: Annotated[bool | None, typer.Option("--progress/--no-progress", help="Show live progress.")] = None,
) -> None:  # fmt: skip
    """Serve a small newspaper on loopback and crawl it: lists, articles, a slow host, errors, Chinese in two encodings."""
    with in_own_process("openoctopus.testing.news") as url:
        settings = crawl_settings(NewsSpider, None, pairs(options, "-s"))
        crawler = Crawler(NewsSpider(site=url), settings, outputs=[(str(output), True)])
        result: Result = watch(crawler, progress)
    print(f"\nThe items are in {output}. The spider that found them: {NewsSpider.__module__}")
    raise typer.Exit(result.exit_code)
