"""The museum's printed states of artist 299 by version and by time, the changes between two commits, deletes, the join.

A slow suite.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import pytest

from .loads import Loaded, Rows, SystemUnderTest, rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow

STATE = "silver.slv_moma__artists_state"
LOG = "silver.stg_moma__artists"
COMMITS_OF_HUDI = f"call show_commits(table => '{STATE}', limit => 100)"
# op, partition, name, nationality, gender, birth_year, death_year
PRINTED: Rows = [
    ("r", "American", "Gerhard H. Bakker", "American", "Male", 1906, 1988),
    ("u", "American", "Gerhard H. Bakker", "American", "Male", 1907, 1989),
    ("u", "American", "Gerhard M. Bakker", "American", "Male", 1907, 1989),
    ("u", "German", "Gerhard M. Bakker", "German", "Male", 1907, 1989),
    ("u", "German", "Gerhard M. Bakker", "German", "Male", 1905, 1989),
    ("d", "default", None, None, None, None, None),
]
# The printed row of the delete is emptied. Here it keeps the artist's last values, and says that it is gone.
KEPT = ("d", "German", "Gerhard M. Bakker", "German", "Male", 1905, 1989)
STATES: Rows = [*((*state, False) for state in PRINTED[:-1]), (*KEPT, True)]
COLUMNS = """
    _cdc_op, regexp_extract({place}, 'nationality=([^/]+)', 1),
    name, nationality, gender, birth_year, death_year, _is_deleted
"""


class Commit(NamedTuple):
    """A version of the state, and the rows that it has of artist 299.

    Attributes:
        by_version: what is asked for it, after the table's name; by Delta's number or Hudi's instant.
        by_time: the same, by time.
        found: rows.
    """

    by_version: str
    by_time: str
    found: Rows


@pytest.fixture(scope="module")
def moma(loaded: Callable[[str], Loaded]) -> SystemUnderTest:
    """Six loads are six commits of the state."""
    return loaded("moma").system


@pytest.fixture(scope="module")
def columns(format_variables: dict[str, str]) -> str:
    """Of artist 299, with the folder that its row lies in."""
    return COLUMNS.format(place="_hoodie_partition_path" if format_variables else "_metadata.file_path")


@pytest.fixture(scope="module")
def commits(moma: SystemUnderTest, columns: str, format_variables: dict[str, str], spark: SparkSession) -> list[Commit]:
    """The first version with each state of artist 299; versions that changed properties alone have the one before."""
    if format_variables:
        # Spark 3.5 parses no milliseconds that follow the seconds without a separator: to_timestamp gives NULL.
        digits, parts = r"(\\d{4})(\\d\\d)(\\d\\d)(\\d\\d)(\\d\\d)(\\d\\d)(\\d{3})", "$1-$2-$3 $4:$5:$6.$7"
        by_version, time = "timestamp as of '{}'", f"regexp_replace(version, '{digits}', '{parts}')"
        history = spark.sql(COMMITS_OF_HUDI).selectExpr("commit_time as version")
    else:
        by_version, time = "version as of {}", "date_format(timestamp, 'yyyy-MM-dd HH:mm:ss.SSS')"
        history = spark.sql(f"describe history {STATE}")
    versions = sorted(tuple(row) for row in history.selectExpr("version", time).collect())
    found = [
        Commit(
            as_of,
            f"timestamp as of '{at}'",
            rows_of(spark, f"select {columns} from {STATE} {as_of} where artist_id = 299"),
        )
        for as_of, at in ((by_version.format(version), at) for version, at in versions)
    ]
    return [next(same) for _, same in groupby(found, key=lambda commit: commit.found)]


def test_six_printed_states_of_artist_299_by_version(commits: list[Commit]) -> None:
    """One row at each, also after the move to another partition."""
    assert [commit.found for commit in commits] == [[state] for state in STATES]


def test_six_printed_states_of_artist_299_by_timestamp(
    commits: list[Commit], columns: str, spark: SparkSession
) -> None:
    query = f"select {columns} from {STATE} {{}} where artist_id = 299"
    assert [rows_of(spark, query.format(commit.by_time)) for commit in commits] == [[state] for state in STATES]


def test_changes_between_the_second_and_the_fourth_commit(commits: list[Commit], spark: SparkSession) -> None:
    """The change log between what the state had applied at both."""
    applied = "(select max(_cdc_batch) from {} {})"
    first, last = (applied.format(STATE, commits[number].by_version) for number in (1, 3))
    found = rows_of(
        spark,
        f"""
        select artist_id, _cdc_op, name, nationality, date_format(_cdc_source_ts, 'yyyy-MM-dd HH:mm')
        from {LOG} where _cdc_batch > {first} and _cdc_batch <= {last} order by _cdc_position
        """,
    )
    assert found == [
        (299, "u", "Gerhard M. Bakker", "American", "2021-12-30 14:18"),
        (299, "u", "Gerhard M. Bakker", "German", "2021-12-30 14:40"),
    ]


def test_states_are_partitioned_and_a_move_leaves_one_row(moma: SystemUnderTest, spark: SparkSession) -> None:
    """Where the printed read-optimized table has two rows of a deleted artist, in two partitions."""
    for state, column, key in (
        (STATE, "nationality", "artist_id"),
        ("silver.slv_moma__artworks_state", "classification", "artwork_id"),
    ):
        assert [found.name for found in spark.catalog.listColumns(state) if found.isPartition] == [column]
        assert rows_of(spark, f"select {key} from {state} group by 1 having count(*) > 1") == []
    assert rows_of(spark, f"select artist_id from {STATE} where artist_id = 299 and nationality = 'American'") == []


def test_empty_text_is_null_in_a_partition_column(moma: SystemUnderTest, spark: SparkSession) -> None:
    """Neither format has an empty text as a partition's value; the change log has it."""
    newest = "select {} from {} where artist_id = 525 order by _cdc_position desc limit 1"
    assert rows_of(spark, newest.format("nationality, gender", LOG)) == [("", "")]
    assert rows_of(spark, newest.format("nationality, gender", STATE)) == [(None, "")]


def test_printed_delete_of_artist_441(moma: SystemUnderTest, spark: SparkSession) -> None:
    """The event is emptied; the state keeps the last values (`delete_policy: soft`), and the living rows have none."""
    values = "name, nationality, gender, birth_year, death_year"
    event = f"select {values}, unix_millis(_cdc_source_ts) from {LOG} where artist_id = 441 and _cdc_op = 'd'"
    assert rows_of(spark, event) == [(None, None, None, None, None, 1_640_814_436_010)]
    kept = f"select {values}, _is_deleted from {STATE} where artist_id = 441"
    assert rows_of(spark, kept) == [("J. J. Beljon", "Dutch", "Male", 1922, 2002, True)]
    assert rows_of(spark, "select * from silver.slv_moma__artists where artist_id in (299, 441)") == []
    assert rows_of(spark, "select * from gold.dim_artist where artist_id in (299, 441)") == []


def test_five_updates_of_artwork_128447(moma: SystemUnderTest, spark: SparkSession) -> None:
    """All of them in the change log; each table shows the newest, with no copy that is behind."""
    log = """
        select _cdc_op, date, acquisition_date, dimensions like '%in (62.1 x 75 cm)'
        from silver.stg_moma__artworks where artwork_id = 128447 order by _cdc_position
    """
    assert rows_of(spark, log) == [
        ("r", None, None, False),
        ("u", 1959, None, False),
        ("u", 1959, "2009-04-15", False),
        ("u", 1959, "2009-04-15", True),
        ("u", 1959, "2009-04-19", True),
        ("u", 1960, "2009-04-19", True),
    ]
    living = "select date, acquisition_date, classification from silver.slv_moma__artworks where artwork_id = 128447"
    assert rows_of(spark, living) == [(1960, "2009-04-19", "Print")]


def test_printed_join_of_artworks_and_artists(moma: SystemUnderTest, spark: SparkSession) -> None:
    """The prints of a Spanish artist whose year is known."""
    join = """
        select title, created_year, artist_name, nationality, classification from gold.dim_artwork
        where artist_id = 4609 and nationality = 'Spanish' and classification = 'Print' and created_year is not null
        order by created_year, title
    """
    assert rows_of(spark, join) == [
        ("The Circus (Le Cirque)", 1945, "Pablo Picasso", "Spanish", "Print"),
        ("Picador (La Pique)", 1960, "Pablo Picasso", "Spanish", "Print"),
    ]


def test_envelopes_and_flattened_records_are_one_table(moma: SystemUnderTest, spark: SparkSession) -> None:
    """Artist 299 from the envelope, which has no years, to the delete, by the number that the log gave each event."""
    query = f"select _cdc_op, birth_year, death_year from {LOG} where artist_id = 299 order by _cdc_position"
    assert rows_of(spark, query) == [
        ("r", None, None),
        ("r", 1906, 1988),
        ("u", 1907, 1988),
        ("u", 1907, 1989),
        ("u", 1907, 1989),
        ("u", 1907, 1989),
        ("u", 1905, 1989),
        ("d", None, None),
    ]
    assert rows_of(spark, "select count(*) from silver.qrn_moma__artists") == [(0,)]
