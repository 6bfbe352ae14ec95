"""The server of the sites: nginx with one worker, on a core of its own. ``python -m benchmarks.nginx start|stop``"""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks import folder
from benchmarks.process import SERVER_CORE, stay_on

#: The first of three ports: plain pages; the same with a cookie; many hosts by name.
PLAIN = int(os.environ.get("BENCH_PORT", "8800"))
COOKIES = PLAIN + 1
HOSTS = PLAIN + 2

CONFIGURATION = folder.NGINX / "nginx.conf"
#: Seconds that it may take to start.
_PATIENCE = 5.0


def url(path: str, port: int = PLAIN) -> str:
    return f"http://127.0.0.1:{port}/{path}"


def check() -> None:
    """Leave with a message if nginx or its echo module is missing."""
    if shutil.which("nginx") is None:
        sys.exit("nginx is not on PATH: install the Debian packages nginx and libnginx-mod-http-echo")
    folder.NGINX.mkdir(parents=True, exist_ok=True)
    (folder.NGINX / "temporary").mkdir(exist_ok=True)
    CONFIGURATION.write_text(_configuration())
    tested = subprocess.run(["nginx", "-t", "-q", "-c", CONFIGURATION], capture_output=True, text=True)
    if tested.returncode:
        sys.exit(f"nginx refuses its configuration (is libnginx-mod-http-echo installed?)\n{tested.stderr}")


def _configuration() -> str:
    words = {
        "@USER@": f"user {getpass.getuser()};" if os.geteuid() == 0 else "",
        "@FOLDER@": str(folder.NGINX),
        "@SITE@": str(folder.SITE),
        "@PLAIN@": str(PLAIN),
        "@COOKIES@": str(COOKIES),
        "@HOSTS@": str(HOSTS),
    }
    text = (Path(__file__).parent / "nginx.conf").read_text()
    for word, value in words.items():
        text = text.replace(word, value)
    return text


def start() -> None:
    """Start it in the background, and return when it answers."""
    check()
    subprocess.run(["nginx", "-c", CONFIGURATION], check=True, preexec_fn=lambda: stay_on(SERVER_CORE))
    patience = time.monotonic() + _PATIENCE
    while not answers():
        if time.monotonic() > patience:
            sys.exit(f"nginx does not answer; see {folder.NGINX / 'error.log'}")
        time.sleep(0.02)


def stop() -> None:
    subprocess.run(["nginx", "-s", "quit", "-c", CONFIGURATION], check=True)


def answers() -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", PLAIN)) == 0


@contextmanager
def running() -> Iterator[None]:
    """Use the one that runs, or one for the time of this block."""
    if answers():
        yield
        return
    start()
    try:
        yield
    finally:
        stop()


def main() -> None:
    parser = ArgumentParser(prog="python -m benchmarks.nginx", description=__doc__)
    parser.add_argument("action", choices=["start", "stop"])
    if parser.parse_args().action == "stop":
        stop()
    else:
        start()
        print(f"nginx: {url('')}, pid {(folder.NGINX / 'nginx.pid').read_text().strip()}")


if __name__ == "__main__":
    main()
