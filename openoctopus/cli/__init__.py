"""The command ``octopus``."""

from __future__ import annotations

from openoctopus.cli.main import main

__all__ = ["main"]
