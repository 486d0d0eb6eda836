"""The workflows of GitHub's: what a pull request does not wait for is run by night."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import yaml

REPOSITORY = Path(__file__).resolve().parents[3]
TESTS = REPOSITORY / "tests" / "python"
SLOW = re.compile(r"pytest\.mark\.slow\b")


def test_each_folder_with_slow_tests_is_run_by_night() -> None:
    slow = {
        file.relative_to(TESTS).parts[0]
        for file in TESTS.glob("*/**/*.py")
        if SLOW.search(file.read_text(encoding="utf-8"))
    }
    split = {line.partition("/")[0] for line in by_night() if "/" in line}
    assert sorted([*(line for line in by_night() if "/" not in line), *split]) == sorted(slow)


def test_each_slow_test_of_a_folder_that_is_split_is_run_once_by_night() -> None:
    split = [f"tests/python/{line}" for line in by_night() if "/" in line]
    folders = sorted({line.rpartition("/")[0] for line in split})
    arguments = ["--collect-only", "--quiet", "-p", "no:cacheprovider", "-m", "slow"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments, *folders],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    tests = [line for line in done.stdout.splitlines() if "::" in line]
    assert len(tests) > len(split), done.stdout
    jobs = {
        test: [line for line in split if test == line or test.startswith((f"{line}::", f"{line}["))] for test in tests
    }
    assert {test: lines for test, lines in jobs.items() if len(lines) != 1} == {}


def by_night() -> list[str]:
    text = (REPOSITORY / ".github" / "workflows" / "nightly.yml").read_text(encoding="utf-8")
    lines = yaml.safe_load(text)["jobs"]["slow"]["strategy"]["matrix"]["folders"]
    return [entry for line in lines for entry in line.split()]
