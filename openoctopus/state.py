"""What parts of a crawl want to find again when it is resumed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence

from openoctopus.exceptions import SettingsError

State = Mapping[str, bytes]
NO_STATE: State = {}


class Stateful(ABC):
    """A part of a crawl whose state is kept with the job. Middlewares, pipelines and extensions may derive from it too."""

    #: Its name among all parts of the crawl, the same in each run.
    state_prefix: str
    #: Has what changed kept now, without a wait for the next page; returns when it is. There once ``restore_state`` was called.
    keep_state: Callable[[], Awaitable[None]]

    @abstractmethod
    def changed_state(self) -> State:
        """What changed since the last call, by key; an empty value takes the key away.

        Called in the moment in which pages are settled: what is told here is kept in the same step as what became of them.
        """

    @abstractmethod
    def restore_state(self, state: State) -> None:
        """All that was kept, by key; nothing if the job is new. Called once, before the pipelines are opened for the spider.

        Not called at all for a crawl that is not kept. Raises ``SettingsError`` if the crawl cannot go on with it.
        """

    async def finished(self) -> None:  # noqa: B027  # a hook that few need
        """Called when nothing is left to do for the job, once everything is closed and kept."""


class StateKeeper:
    """Collects the state of all parts, and hands it out again. Raises ``SettingsError`` for two parts of one name."""

    def __init__(self, parts: Sequence[Stateful] = ()) -> None:
        self._parts = parts
        for prefix, times in Counter(part.state_prefix for part in parts).items():
            if times > 1:
                raise SettingsError(f"{times} parts of the crawl keep their state as {prefix!r}: each needs a name of its own")

    def changed(self) -> State:
        """What changed since the last call."""
        if not self._parts:
            return NO_STATE
        return {f"{part.state_prefix}/{key}": value for part in self._parts for key, value in part.changed_state().items()}

    async def restore(self, kept: Callable[[str], Awaitable[State]], keep: Callable[[], Awaitable[None]]) -> None:
        """Give each part what ``kept`` has under its prefix; ``keep`` settles what there is to settle, with the state."""
        for part in self._parts:
            part.keep_state = keep
            prefix = f"{part.state_prefix}/"
            part.restore_state({key.removeprefix(prefix): value for key, value in (await kept(prefix)).items()})

    async def finished(self) -> None:
        """Nothing is left to do for the job."""
        for part in self._parts:
            await part.finished()
