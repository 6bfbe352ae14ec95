"""Make what the benchmarks need: an environment for each peer, and the sites. ``python -m benchmarks.setup``"""

from __future__ import annotations

import subprocess
import sys
from argparse import ArgumentParser
from pathlib import Path

from benchmarks import folder, nginx, site

REQUIREMENTS = folder.PEERS / "requirements"


def make_environment(requirements: Path) -> None:
    """A virtual environment with one peer in it; nothing is done if it has what is required already."""
    python = folder.python_of(requirements.stem)
    made = python.parent.parent / "made-from.txt"
    if made.exists() and made.read_text() == requirements.read_text():
        return
    print(f"environment of {requirements.stem}", flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", python.parent.parent], check=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--requirement", str(requirements)], check=True)
    made.write_text(requirements.read_text())


def main() -> None:
    parser = ArgumentParser(prog="python -m benchmarks.setup", description=__doc__)
    parser.add_argument("--trees", nargs="*", default=site.USUAL, choices=site.TREES, help="sites to write")
    options = parser.parse_args()
    nginx.check()
    for requirements in sorted(REQUIREMENTS.glob("*.txt")):
        make_environment(requirements)
    site.write(options.trees)
    print(f"ready in {folder.ROOT}")


if __name__ == "__main__":
    main()
