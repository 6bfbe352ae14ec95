"""``spider.state``, kept with the job."""

from __future__ import annotations

import logging

from openoctopus.exceptions import InvalidRequest, SettingsError
from openoctopus.http.data import dumped, loaded
from openoctopus.spider.base import Spider
from openoctopus.state import NO_STATE, State, Stateful

logger = logging.getLogger(__name__)

_EMPTY = dumped({}, "state")


class SpiderState(Stateful):
    """Keeps ``spider.state`` whenever it changed; each worker has its own."""

    def __init__(self, spider: Spider, worker: int = 0) -> None:
        self.state_prefix = "spider" if not worker else f"spider-{worker}"
        self._spider = spider
        self._kept = _EMPTY
        self._is_told = False

    def changed_state(self) -> State:
        try:
            now = dumped(self._spider.state, "spider.state")
        except InvalidRequest as error:
            if not self._is_told:
                logger.error("%s; the job goes on without it", error)
                self._is_told = True
            return NO_STATE
        if now == self._kept:
            return NO_STATE
        self._kept = now
        return {"state": now}

    def restore_state(self, state: State) -> None:
        if "state" not in state:
            return
        self._kept = state["state"]
        try:
            self._spider.state = loaded(self._kept)
        except InvalidRequest as error:
            raise SettingsError(
                f"the job's spider.state cannot be read: {error}; mend the spider, or begin with --fresh"
            ) from error
