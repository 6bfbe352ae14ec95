"""``python -m tests.chaos FIGURE``: make one of the figures of docs/reliability.md, and print how it came about."""

from __future__ import annotations

import asyncio
import inspect
import shlex
import shutil
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from tests.chaos import away, beside, disk, drain, faults, kills, poison, soak
from tests.chaos.victim import Violation

Figure = Callable[..., Coroutine[Any, Any, dict[str, Any]]]
FIGURES: dict[str, Figure] = {
    "kills": kills.run,
    "faults": faults.run,
    "poison": poison.run,
    "away": away.run,
    "disk": disk.run,
    "drain": drain.run,
    "soak": soak.run,
    "beside": beside.run,
}


def main() -> int:
    parser = ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    commands = parser.add_subparsers(dest="figure", required=True, metavar="FIGURE")
    for name, figure in FIGURES.items():
        command = commands.add_parser(name, help=inspect.getdoc(figure))
        for option in list(inspect.signature(figure, eval_str=True).parameters.values())[1:]:
            command.add_argument(f"--{option.name}", type=option.annotation, default=option.default, help="(%(default)s)")
    options = vars(parser.parse_args())
    return _run(options.pop("figure"), options)


def _run(name: str, options: dict[str, Any]) -> int:
    given = shlex.join(f"--{option}={value}" for option, value in options.items())
    print(f"python -m tests.chaos {name} {given}", flush=True)
    began = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix=f"chaos-{name}-"))
    try:
        figures = asyncio.run(FIGURES[name](folder, **options))
    except Violation as violation:
        print(f"  VIOLATED after {time.monotonic() - began:.1f} s: {violation}\n  everything is in {folder}", file=sys.stderr)
        return 1
    for label, value in {**figures, "took": f"{time.monotonic() - began:.1f} s"}.items():
        print(f"  {label:18} {value:,}" if isinstance(value, int) else f"  {label:18} {value}", flush=True)
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
