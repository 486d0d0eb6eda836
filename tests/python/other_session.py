"""Suites in a process of their own, whose Spark session is another one than that of the tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def run(*arguments: str) -> str:
    """pytest with these arguments; its closing line. A test that fails there fails here, with what pytest printed."""
    environment = os.environ | {"PYTHONPATH": f"{REPOSITORY / 'tests' / 'python'}{os.pathsep}{REPOSITORY}"}
    environment = {name: value for name, value in environment.items() if not name.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *arguments]
    ended = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False)
    closing = ended.stdout.rstrip().rpartition("\n")[2]
    assert ended.returncode == 0, ended.stdout[-6000:] + ended.stderr[-2000:]
    return closing
