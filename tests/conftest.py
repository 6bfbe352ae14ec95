"""What all tests share."""

from __future__ import annotations

import signal
from collections.abc import Generator
from typing import Any

import pytest

from tests.services import services

# A shell has those ignored that it starts in the background, and nohup too; the tests send them, also to what they start.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, Any, Any]:
    """A failure names the services that are gone. What was logged may hold half a character; a report travels as UTF-8."""
    report = yield
    if report.failed:
        report.sections += [("services", fault) for fault in services.faults()]
    report.sections = [(name, text.encode("utf-8", "backslashreplace").decode()) for name, text in report.sections]
    return report
