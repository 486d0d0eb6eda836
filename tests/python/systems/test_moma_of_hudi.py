"""What Hudi itself answers on the museum's tables. Collected as tests/python/hudi/test_bugs_of_hudi.py is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .loads import SystemUnderTest, rows_of
from .test_moma import COMMITS_OF_HUDI, STATE, Commit, columns, commits, moma  # noqa: F401  # fixtures

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow


def test_incremental_query_between_the_second_and_the_fourth_commit(
    moma: SystemUnderTest,  # noqa: F811
    commits: list[Commit],  # noqa: F811
    spark: SparkSession,
) -> None:
    """The newest of the two changes of artist 299, as the table had it after the last of the commits."""
    # An incremental query goes by the times when commits were completed, time travel by their instants (Hudi 1.2.0).
    completed = {row.commit_time: row.state_transition_time for row in spark.sql(COMMITS_OF_HUDI).collect()}
    first, last = (completed[commits[number].by_version.split("'")[1]] for number in (1, 3))
    found = rows_of(
        spark,
        f"""
        select artist_id, _cdc_op, name, nationality
        from hudi_table_changes('{STATE}', 'latest_state', '{first}', '{last}')
        """,
    )
    assert found == [(299, "u", "Gerhard M. Bakker", "German")]
