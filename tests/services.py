"""What a test needs from the machine."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def missing(what: str) -> NoReturn:
    """Skip the test and say what is not there; with ``CI`` set that is a failure."""
    if os.environ.get("CI"):
        pytest.fail(what)
    pytest.skip(what)
