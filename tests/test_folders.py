"""Whatever a crawl writes, a file where a folder should be is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from openoctopus.exceptions import SettingsError
from openoctopus.folders import make_folder_of
from openoctopus.log import writing
from openoctopus.runner import crawl
from openoctopus.settings import Settings
from openoctopus.spider import Spider


def test_folders_are_made(tmp_path: Path) -> None:
    for _ in range(2):
        make_folder_of(tmp_path / "a" / "b" / "items.csv")

    assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")] == ["a", "a/b"]


async def begun(output: str, log: str) -> None:
    if output == "LOG_FILE":
        with writing(Settings(LOG_FILE=log)):
            return
    await crawl(Spider, outputs=[output])


@pytest.mark.parametrize("below", ["x", "sub/x", "a/b/c/x"])
@pytest.mark.parametrize("output", ["{}.jsonl", "{}.csv.gz", "sqlite:///{}.db", "LOG_FILE"])
async def test_a_file_in_the_way_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: str, below: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file.py").touch()
    asked = f"file.py/{below}"
    with pytest.raises(SettingsError, match=rf"file.py/.*: {tmp_path}/file.py is a file and no folder$"):
        await begun(output.format(asked), asked)

    assert list(tmp_path.iterdir()) == [tmp_path / "file.py"]
