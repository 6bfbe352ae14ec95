"""``octopus publish``: make files of what several workers wrote."""

from __future__ import annotations

from typing import Annotated

import typer

from openoctopus.pipelines import feeds


def publish(
    target: Annotated[
        str, typer.Argument(metavar="FILE|FOLDER", help="The output, as it stood behind -o, or the folder of its segments.")
    ],
) -> int:
    """Add to a file what the workers of a crawl wrote for it that was broken off.

    A crawl that ends by itself does so too. Each item is added once, and what a kill tore off is left out. The segments are
    removed then, but not those of a job: it may go on, and puts the same items at the same place once more.
    """
    for made in feeds.publish(target):
        print(made)
    return 0
