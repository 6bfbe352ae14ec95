"""One run: a fresh process on a core of its own, and what it took."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

#: The core of what is measured, and that of the server.
CLIENT_CORE, SERVER_CORE = 0, 1


@dataclass(frozen=True)
class Cost:
    """What a process took, its threads and the children that it waited for included."""

    #: Seconds on the clock and on the processor.
    wall: float
    cpu: float
    peak_mb: float
    exit_code: int


def stay_on(core: int) -> None:
    """Keep this process and its children on one core, where the system can do that."""
    if hasattr(os, "sched_setaffinity") and (os.cpu_count() or 1) > 1:
        os.sched_setaffinity(0, {core})


def go_first() -> None:
    """Run before whatever else the machine does, where we may; children inherit it."""
    try:
        os.nice(-15)
        Path("/proc/self/autogroup").write_text("-15")
    except OSError:
        pass


def measured(command: Sequence[str | Path], errors: Path, timeout: float = 400.0) -> Cost:
    """Run a command to its end. Its standard error goes to a file; after ``timeout`` seconds it is killed."""
    with errors.open("wb") as log:
        since = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log, cwd=errors.parent, preexec_fn=_pinned)
        killer = threading.Timer(timeout, process.kill)
        killer.start()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - since
        killer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)  # so that Popen does not wait for it as well
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, process.returncode)


def _pinned() -> None:
    stay_on(CLIENT_CORE)
