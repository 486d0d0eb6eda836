"""The suites of the pipeline, whose states, histories and marts are Hudi's: the same tests find the same rows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]
PIPELINE = "tests/python/pipeline"
OF_HUDI = [f"tests/python/hudi/test_{name}_of_hudi.py" for name in ("bugs", "maintenance")]
# The suites of states, histories, tables without a key, resets, schema changes, types, partitions and marts.
SUITES = [
    f"{PIPELINE}/test_{name}.py"
    for name in (
        "current_state",
        "history",
        "row_histories",
        "swapped_histories",
        "contested_keys",
        "table_resets",
        "unavailable_values",
        "tables_without_key",
        "full_dumps",
        "schema_changes",
        "types",
        "partitions",
        "moma",
        "gold",
    )
]
# Recorded corpora against the true tables, random histories against a model, and the museum with its printed states.
MORE_SUITES = {
    "captures": ["tests/python/captures", "-m", "not slow"],
    "properties": ["tests/python/properties", "-m", "not slow"],
    "museum": ["tests/python/systems/test_moma.py", "tests/python/systems/test_moma_of_hudi.py"],
}


def run(file_format: str, *arguments: str) -> str:
    """pytest in a process of its own, whose session knows Hudi; its closing line."""
    environment = os.environ | {"PYTHONPATH": f"{REPOSITORY / 'tests' / 'python'}{os.pathsep}{REPOSITORY}"}
    environment = {name: value for name, value in environment.items() if not name.startswith("PYTEST_")}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "--file-format",
        file_format,
    ]
    ended = subprocess.run(
        [*command, *arguments], cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False
    )
    closing = ended.stdout.rstrip().rpartition("\n")[2]
    assert ended.returncode == 0, ended.stdout[-6000:] + ended.stderr[-2000:]
    return closing


def test_resets_partitions_and_bugs_of_hudi() -> None:
    suites = [f"{PIPELINE}/test_{name}.py" for name in ("table_resets", "partitions")]
    assert " passed" in run("hudi_mor", *OF_HUDI, *suites, "-m", "not slow")


@pytest.mark.slow
@pytest.mark.parametrize("file_format", ["hudi_cow", "hudi_mor"])
def test_suites_of_the_pipeline(file_format: str) -> None:
    assert " passed" in run(file_format, *OF_HUDI, *SUITES)


@pytest.mark.slow
@pytest.mark.parametrize("file_format", ["hudi_cow", "hudi_mor"])
@pytest.mark.parametrize("suite", MORE_SUITES)
def test_other_suites(file_format: str, suite: str) -> None:
    assert " passed" in run(file_format, *MORE_SUITES[suite])
