"""Mistakes made on purpose: a few modules of the scheduler as they would be with one piece of code changed."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

from openoctopus import scheduler

SOURCES = Path(scheduler.__file__).parent


class Mutant(NamedTuple):
    """What goes wrong, where, and the piece of code that is replaced."""

    mistake: str
    module: str
    right: str
    wrong: str


def mutated(mutant: Mutant, modules: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """These modules with the mistake, in the order in which they import each other; the last one of them."""
    for name in modules:
        source = (SOURCES / f"{name}.py").read_text("utf-8")
        if name == mutant.module:
            assert source.count(mutant.right) == 1, f"{name}.py has no longer one {mutant.right!r}"
            source = source.replace(mutant.right, mutant.wrong)
        source = re.sub(
            rf"^from openoctopus\.scheduler\.({'|'.join(modules)}) import", r"from mutated_\1 import", source, flags=re.M
        )
        module = ModuleType(f"mutated_{name}")
        monkeypatch.setitem(sys.modules, module.__name__, module)
        exec(compile(source, f"{name}.py with {mutant.mistake}", "exec"), module.__dict__)
    return module
