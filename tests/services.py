"""What a test needs from the machine: a service is used where it usually is, else started, else missed loudly."""

from __future__ import annotations

import atexit
import os
from collections.abc import Mapping
from contextlib import ExitStack
from typing import NoReturn
from urllib.parse import urlsplit

import pytest

from tests.servers import SERVERS, Server, ServerDied, listens


def missing(what: str) -> NoReturn:
    """Skip the test and say what is not there; with ``CI`` set that is a failure."""
    if os.environ.get("CI"):
        pytest.fail(what)
    pytest.skip(what)


class Services:
    """The services that the tests of one process use; each is looked for when it is first asked for."""

    def __init__(self, kinds: Mapping[str, type[Server]]) -> None:
        self._kinds = kinds
        #: Those that are used: our own, or ``None`` for the usual one.
        self._used: dict[str, Server | None] = {}
        self._started = ExitStack()

    def url(self, name: str) -> str:
        """Where the service is; the test is skipped if there is none. Raises ``ServerDied`` if it was there and is gone."""
        if name not in self._used:
            self._find(name)
        if fault := self._fault(name):
            raise ServerDied(fault)
        own = self._used[name]
        return own.url if own else self._kinds[name].usual

    def own(self, name: str) -> Server:
        """A server that the test may kill and start again; it runs within ``with``."""
        kind = self._kinds[name]
        if not kind.installed():
            missing(f"needs {kind.title} that can be killed and started: {kind.remedy()}")
        return kind()

    def faults(self) -> list[str]:
        """What is known of the services that were used and are gone."""
        return [fault for name in self._used if (fault := self._fault(name))]

    def stop(self) -> None:
        """End those that were started."""
        self._started.close()

    def _find(self, name: str) -> None:
        kind = self._kinds[name]
        if not (refusal := kind.refusal(kind.usual)):
            self._used[name] = None
        elif kind.installed():
            own = self._used[name] = kind()
            self._started.enter_context(own)
        else:
            missing(f"needs {kind.title} at {kind.usual} ({refusal}), or one that can be started: {kind.remedy()}")

    def _fault(self, name: str) -> str:
        if own := self._used[name]:
            return own.fault()
        usual = self._kinds[name].usual
        gone = f"{self._kinds[name].title} at {usual} was used by the tests, and nothing listens there any more"
        return "" if listens(urlsplit(usual).port or 0) else gone


services = Services(SERVERS)
atexit.register(services.stop)
