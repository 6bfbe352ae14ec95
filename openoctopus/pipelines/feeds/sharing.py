"""One output of several workers: each writes segments, and the file is made of them when the crawl has ended."""

from __future__ import annotations

import os
from collections.abc import Sequence
from os import PathLike
from typing import Any

from openoctopus.exceptions import SettingsError
from openoctopus.folders import make_folder_of
from openoctopus.pipelines.base import FailItem
from openoctopus.pipelines.feeds.existing import Existing
from openoctopus.pipelines.feeds.parts import Record, is_stream
from openoctopus.pipelines.feeds.pipeline import FeedPipeline
from openoctopus.pipelines.feeds.segments import LAYOUT, SUFFIX, Head, SegmentWriter, Share, folder_of, segments_in
from openoctopus.state import State


class SharedFeed(FeedPipeline):
    """As ``FeedPipeline``, for one of several workers. ``publish`` makes the file."""

    def __init__(self, target: str | PathLike[str], share: Share, **options: Any) -> None:
        super().__init__(target, **options)
        if is_stream(self.target):
            raise SettingsError(
                f"several workers cannot write to {self.target} together: give a file, or a table of a database"
            )
        self._share = share
        self.folder = folder_of(self.target)
        self._segment: SegmentWriter | None = None

    def _open(self) -> None:
        """See whether there will be a place for the file."""
        try:
            make_folder_of(self.folder)
            if os.path.isdir(self.target):
                raise SettingsError(f"cannot write to {self.target}: it is a folder")
            if not self.options.overwrite and os.path.exists(self.target) and os.path.getsize(self.target):
                self._format.resume(Existing(self.target, self._format.charset, self.options.compression))
        except OSError as error:
            raise SettingsError(f"cannot write to {self.target}: {error.strerror}") from error
        self._refuse_others()

    def _refuse_others(self) -> None:
        for path in segments_in(self.folder):
            if not path.name.startswith(f"{self._share.crawl}-"):
                raise SettingsError(
                    f"{self.folder} has items of another crawl that are not in {self.target} yet: "
                    f"`octopus publish {self.target}` adds them; or remove the folder"
                )

    def begin(self, fail_item: FailItem, retry_times: int) -> None:
        super().begin(fail_item, retry_times)
        # A segment without items tells what an empty file looks like.
        self._segment = SegmentWriter(self.folder / f"{self._share.crawl}-{self._share.worker}{SUFFIX}", self._head())

    def _head(self) -> Head:
        names, options = self._names, self.options.model_dump(exclude_unset=True)
        options["item_classes"] = ()  # whatever is here was taken
        return Head(LAYOUT, self._share.crawl, self._share.job, self.target, options, names.started, names.values())

    def _write(self, records: Sequence[Record]) -> None:
        assert self._segment is not None
        left = [record for record in records if record.data is not None]
        self._segment.write([(r.receipt.rid.to_bytes(16, "little"), r.ordinal, r.item_class, r.data) for r in left])
        for record in left:
            record.data = None

    def _close(self) -> None:
        segment, self._segment = self._segment, None
        if segment is not None:
            segment.close()
        self._taken.check(self)

    def restore_state(self, state: State) -> None:
        """Items that come again are left out when the file is made."""
