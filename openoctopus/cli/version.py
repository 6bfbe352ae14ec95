"""``octopus version``: which OpenOctopus this is, and on what it stands."""

from __future__ import annotations

import platform
from importlib import metadata
from typing import Annotated

import typer

from openoctopus import __version__

#: The libraries that matter to a report of trouble.
LIBRARIES = (
    "wreq", "aiohttp", "turbohtml", "parsel", "lxml", "can_ada", "msgspec", "pydantic", "protego", "brotli", "rich",
    "typer", "uvloop", "aiodns", "aiohttp-socks",
)  # fmt: skip


def version(
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="The libraries too, for a report of trouble.")] = False,
) -> None:
    """Tell the version."""
    print(f"OpenOctopus {__version__}")
    if verbose:
        print(f"  {'Python':14} {platform.python_version()} on {platform.platform()}")
        for name in LIBRARIES:
            print(f"  {name:14} {_version_of(name)}")


def _version_of(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"
