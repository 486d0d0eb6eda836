"""The workflows of GitHub's: what a pull request does not wait for is run by night."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

REPOSITORY = Path(__file__).resolve().parents[3]
TESTS = REPOSITORY / "tests" / "python"
SLOW = re.compile(r"pytest\.mark\.slow\b")


def test_each_folder_with_slow_tests_is_run_by_night() -> None:
    text = (REPOSITORY / ".github" / "workflows" / "nightly.yml").read_text(encoding="utf-8")
    lines = yaml.safe_load(text)["jobs"]["slow"]["strategy"]["matrix"]["folders"]
    by_night = [folder for line in lines for folder in line.split()]
    slow = {
        file.relative_to(TESTS).parts[0]
        for file in TESTS.glob("*/**/*.py")
        if SLOW.search(file.read_text(encoding="utf-8"))
    }
    assert sorted(by_night) == sorted(slow)
