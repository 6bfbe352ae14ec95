"""The folders of what a crawl writes."""

from __future__ import annotations

from errno import ENOTDIR
from os import PathLike
from pathlib import Path


def make_folder_of(file: str | PathLike[str]) -> None:
    """Make the folder that a file belongs into, and those above. Raises ``OSError`` that says what stands in the way."""
    folder = Path(file).absolute().parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        in_the_way = next((one for one in [folder, *folder.parents] if one.exists() and not one.is_dir()), folder)
        raise NotADirectoryError(ENOTDIR, f"{in_the_way} is a file and no folder") from error
