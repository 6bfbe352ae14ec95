"""Real trouble of people who crawl, over raw sockets: what comes out is judged by what the server saw."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
#: Of the cases that can run, so many must pass.
SHARE = 0.97


@pytest.mark.timeout(300)
def test_nearly_all_hostile_cases_come_out_right(tmp_path: Path) -> None:
    results = tmp_path / "results.json"
    command = [sys.executable, str(HERE / "judge.py"), "--adapter", "openoctopus", "--results", str(results)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert results.exists(), ran.stdout + ran.stderr
    verdicts = {case: one["verdict"] for case, one in json.loads(results.read_text())["verdicts"].items()}
    passed = sum(verdict == "pass" for verdict in verdicts.values())
    failed = sum(verdict == "fail" for verdict in verdicts.values())
    assert passed > 100
    assert passed / (passed + failed) >= SHARE, ran.stdout
    assert ran.returncode == 0, f"undisputed cases fail:\n{ran.stdout}"
