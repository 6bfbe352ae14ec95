"""The failed items of a job."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping

import msgspec

from openoctopus.exceptions import InvalidRequest
from openoctopus.http.data import dumped, loaded
from openoctopus.pipelines.base import FailedItem, ItemOfPage
from openoctopus.state import State, Stateful

logger = logging.getLogger(__name__)

#: The keys of failed items in a job begin so.
PREFIX = "failed-item"


class KeptItem(msgspec.Struct, omit_defaults=True):
    """A failed item as a job keeps it."""

    #: Frozen as requests are; empty for one that cannot be.
    item: bytes
    #: For people.
    text: str
    reason: str
    detail: str
    #: Seconds since the epoch.
    at: float
    pipeline: str
    rid: bytes
    ordinal: int
    url: str
    #: Somebody wants to have it retried by the next run.
    retry: bool = False


class FailedItems(Stateful):
    """Keeps items that could not be stored, each in one step with its page.

    ``retries``: those that somebody wants to have retried are taken up here, and not by another worker.
    """

    state_prefix = PREFIX

    def __init__(self, *, retries: bool = True) -> None:
        self._takes_retries = retries
        self._changed: dict[str, bytes] = {}
        self._retries: dict[str, FailedItem] = {}
        self._is_kept = False

    def put(self, failed: FailedItem) -> None:
        """An item failed."""
        if self._is_kept:
            self._changed[_key(failed)] = msgspec.msgpack.encode(_kept(failed))

    def take_retries(self) -> Iterable[tuple[str, FailedItem]]:
        """Those of earlier runs that are to be retried, by their keys."""
        retries, self._retries = self._retries, {}
        return retries.items()

    def ended(self, key: str) -> None:
        """A retry came to its end: unless the item failed again it is forgotten."""
        self._changed.setdefault(key, b"")

    def changed_state(self) -> State:
        changed, self._changed = self._changed, {}
        return changed

    def restore_state(self, state: State) -> None:
        self._is_kept = True
        for key, kept in kept_items(state).items():
            if not (kept.retry and self._takes_retries):
                continue
            try:
                item = loaded(kept.item)
            except InvalidRequest as error:
                logger.error("a failed item cannot be retried: %s: %.200s", error, kept.text)
                continue
            of = ItemOfPage(int.from_bytes(kept.rid, "big"), kept.ordinal)
            self._retries[key] = FailedItem(item, Exception(kept.detail), kept.pipeline, of, kept.url)


def kept_items(state: State) -> Mapping[str, KeptItem]:
    """The failed items of a job by their keys. What another version wrote is left out."""
    found = {}
    for key, data in state.items():
        try:
            found[key] = msgspec.msgpack.decode(data, type=KeptItem)
        except msgspec.MsgspecError as error:
            logger.error("a failed item cannot be read: %s", error)
    return found


def _key(failed: FailedItem) -> str:
    """The same again when its page is read again."""
    return f"{failed.of.rid:032x}/{failed.of.ordinal}/{failed.pipeline}"


def _kept(failed: FailedItem) -> KeptItem:
    try:
        item = dumped(failed.item, "item")
    except InvalidRequest:
        item = b""
    text = repr(failed.item).encode("utf-8", "backslashreplace").decode()
    detail = str(failed.error).encode("utf-8", "backslashreplace").decode()
    return KeptItem(
        item, text, type(failed.error).__name__, detail, time.time(), failed.pipeline, failed.of.rid.to_bytes(16, "big"),
        failed.of.ordinal, failed.url,
    )  # fmt: skip
