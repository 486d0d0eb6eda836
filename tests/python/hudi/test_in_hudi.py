"""The suites of the pipeline, whose states, histories and marts are Hudi's: the same tests find the same rows."""

from __future__ import annotations

import pytest
from other_session import run

PIPELINE = "tests/python/pipeline"
MAINTENANCE = "tests/python/hudi/test_maintenance_of_hudi.py"
BUGS = "tests/python/hudi/test_bugs_of_hudi.py"
# The three by which MERGE INTO loses rows without an error.
BUGS_OF_MERGE = [
    f"{BUGS}::test_{name}"
    for name in (
        "update_under_a_condition_on_the_target_is_lost",
        "delete_before_an_update_is_not_taken",
        "row_of_another_partition_stays_unless_the_index_is_global",
    )
]
# Of states, histories, tables without a key, resets, schemas, types, partitions, marts, purges, writes and runs.
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
        "tables_without_key_at_random",
        "sent_again",
        "full_dumps",
        "schema_changes",
        "altered_tables",
        "hidden_names",
        "types",
        "partitions",
        "moma",
        "gold",
        "marts_of_histories",
        "purge",
        "computed_whole",
        "writing_of_hudi",
        "runs_of_a_part",
    )
]
# Recorded corpora against the true tables, random histories against a model, and the museum with its printed states.
MORE_SUITES = {
    "captures": ["tests/python/captures"],
    "properties": ["tests/python/properties"],
    "museum": ["tests/python/systems/test_moma.py", "tests/python/systems/test_moma_of_hudi.py"],
}


@pytest.mark.slow
def test_partitions_and_bugs_of_merge() -> None:
    modules = [*BUGS_OF_MERGE, f"{PIPELINE}/test_partitions.py"]
    assert " passed" in run("--file-format", "hudi_mor", "-m", "not slow", *modules)


@pytest.mark.slow
@pytest.mark.parametrize("file_format", ["hudi_cow", "hudi_mor"])
def test_suites_of_the_pipeline(file_format: str) -> None:
    assert " passed" in run("--file-format", file_format, BUGS, MAINTENANCE, *SUITES)


@pytest.mark.slow
@pytest.mark.parametrize("file_format", ["hudi_cow", "hudi_mor"])
def test_suites_of_the_pipeline_with_the_hudi_of_emr(file_format: str) -> None:
    """1.0.2, whose faults are others than those that test_bugs_of_hudi.py holds."""
    assert " passed" in run("--hudi", "emr", "--file-format", file_format, MAINTENANCE, *SUITES)


@pytest.mark.slow
@pytest.mark.parametrize("file_format", ["hudi_cow", "hudi_mor"])
@pytest.mark.parametrize("suite", MORE_SUITES)
def test_other_suites(file_format: str, suite: str) -> None:
    assert " passed" in run("--file-format", file_format, *MORE_SUITES[suite])
