"""``python -m openoctopus.workers SOCKET JOURNAL PARENT`` is a worker; its supervisor calls it."""

from __future__ import annotations

import os
import socket
import sys

from openoctopus.runner import new_runner
from openoctopus.workers.worker import Journal, Worker, end_with_parent


def main(descriptor: int, journal: int, parent: int) -> None:
    """Crawl as the process at the other end of the socket says."""
    end = socket.socket(fileno=descriptor)
    end_with_parent(end, parent)
    with Journal(journal) as lines, new_runner() as runner:
        runner.run(Worker(end, lines).run())
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # taking down the interpreter and every thread of the libraries is only time, and noise


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
