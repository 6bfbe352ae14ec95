"""Where the benchmarks keep environments, sites and results: outside of the checkout, in ``BENCH_DIR``."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(os.environ.get("BENCH_DIR", "~/.cache/openoctopus-bench")).expanduser().resolve()
ENVIRONMENTS = ROOT / "environments"
SITE = ROOT / "site"
NGINX = ROOT / "nginx"
RESULTS = ROOT / "results"

PEERS = Path(__file__).parent / "peers"


def python_of(environment: str) -> Path:
    """The interpreter of a peer's environment."""
    return ENVIRONMENTS / environment / "bin" / "python"
