from __future__ import annotations

from openoctopus.downloaders.base import Downloader, Downloaders, Incoming

__all__ = ["Downloader", "Downloaders", "Incoming"]
