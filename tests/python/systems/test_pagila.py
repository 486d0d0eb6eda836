"""The tables that are printed for films 1 to 5 of the log-based Pagila, and what its key moves and deletes leave.

A slow suite.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from .loads import Loaded, Rows, SystemUnderTest, rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow

# film_id, title, release_year, rental_rate, rental_duration, timestamp
ALL_ROWS: Rows = [
    (1, "ACADEMY DINOSAUR", 2021, "2.99", 6, "2021-08-20 01:43:37"),
    (1, "ACADEMY DINOSAUR", 2019, "3.99", 6, "2021-08-20 02:41:32"),
    (2, "ACE GOLDFINGER", 2006, "4.99", 3, "2021-08-20 02:49:17"),
    (2, "ACE GOLDFINGER", 2006, "4.99", 4, "2021-08-20 02:49:33"),
    (2, "ACE GOLDFINGER", 2006, "4.99", 7, "2021-08-20 02:49:33"),
    (3, "ADAPTATION HOLES", 2006, "2.99", 7, "2021-08-20 01:43:37"),
    (4, "AFFAIR PREJUDICE", 2006, "2.99", 5, "2021-08-20 01:43:37"),
    (4, "AFFAIR PREJUDICE", 2017, "3.99", 5, "2021-08-20 02:55:23"),
    (5, "AFRICAN EGG", 2006, "2.99", 6, "2021-08-20 01:43:37"),
    (5, "", None, "4.99", 3, "2021-08-20 03:00:49"),
]
# The printed result lacks it. A snapshot reads every row, and the other films' rows of that second are there.
FILM_2_OF_THE_SNAPSHOT = (2, "ACE GOLDFINGER", 2006, "4.99", 3, "2021-08-20 01:43:37")
LATEST_ROWS: Rows = [
    (1, "ACADEMY DINOSAUR", 2019, "3.99", 6, "2021-08-20 02:41:32"),
    (2, "ACE GOLDFINGER", 2006, "4.99", 7, "2021-08-20 02:49:33"),
    (3, "ADAPTATION HOLES", 2006, "2.99", 7, "2021-08-20 01:43:37"),
    (4, "AFFAIR PREJUDICE", 2017, "3.99", 5, "2021-08-20 02:55:23"),
]
COLUMNS = "film_id, title, release_year, cast(rental_rate as string), rental_duration"
FLATTENED_FROM = "2021-08-20"


@pytest.fixture(scope="module")
def pagila(loaded: Callable[[str], Loaded]) -> SystemUnderTest:
    """After its last load."""
    return loaded("pagila").system


def test_printed_table_of_all_rows_of_films_1_to_5(pagila: SystemUnderTest, spark: SparkSession) -> None:
    """As they were landed: the delete's values are the table's defaults, which no other row here ever shows."""
    found = rows_of(
        spark,
        f"""
        select {COLUMNS}, date_format(_cdc_source_ts, 'yyyy-MM-dd HH:mm:ss')
        from silver.stg_pagila__film
        where film_id <= 5 and _cdc_source_ts >= '{FLATTENED_FROM}'
        order by film_id, _cdc_position
        """,
    )
    assert found.count(FILM_2_OF_THE_SNAPSHOT) == 1
    found.remove(FILM_2_OF_THE_SNAPSHOT)
    assert found == ALL_ROWS


@pytest.mark.parametrize(
    ("table", "time"), [("silver.slv_pagila__film", "_cdc_source_ts"), ("gold.dim_film", "changed_at")]
)
def test_printed_table_of_the_latest_rows_of_films_1_to_5(
    pagila: SystemUnderTest, spark: SparkSession, table: str, time: str
) -> None:
    query = f"select {COLUMNS}, date_format({time}, 'yyyy-MM-dd HH:mm:ss') from {table} where film_id <= 5 order by 1"
    assert rows_of(spark, query) == LATEST_ROWS


def test_film_5_is_deleted_by_what_is_ordered_last(pagila: SystemUnderTest, spark: SparkSession) -> None:
    """Deletes that are left out before the ordering leave the film as the snapshot had it."""
    filtered_first = """
        select max_by(title, _cdc_position) from silver.stg_pagila__film where film_id = 5 and _cdc_op <> 'd'
    """
    assert rows_of(spark, filtered_first) == [("AFRICAN EGG",)]
    tombstone = "select title, rental_duration, _is_deleted from silver.slv_pagila__film_state where film_id = 5"
    assert rows_of(spark, tombstone) == [("AFRICAN EGG", 6, True)]


def test_film_5s_actors_and_category_have_moved_to_film_100(pagila: SystemUnderTest, spark: SparkSession) -> None:
    moved = [51, 59, 103, 181, 200]
    query = "select film_id, sort_array(collect_list(actor_id)) from silver.slv_pagila__film_actor {} group by 1"
    assert rows_of(spark, query.format("where film_id in (5, 100)")) == [(100, sorted([*moved, 41, 62, 90, 125, 172]))]
    gone = "where film_id = 5 and _is_deleted"
    assert rows_of(spark, f"select count(*) from silver.slv_pagila__film_actor_state {gone}") == [(5,)]
    assert rows_of(spark, f"select count(*) from silver.slv_pagila__film_category_state {gone}") == [(1,)]
    film = "select categories, size(actors) from gold.dim_film where film_id = 100"
    assert rows_of(spark, film) == [(["Family", "Foreign"], 10)]


def test_envelopes_and_flattened_records_are_one_table(pagila: SystemUnderTest, spark: SparkSession) -> None:
    """Film 1 from the first snapshot to the last update, by the number that the log gave each event."""
    query = """
        select _cdc_op, release_year, split(_cdc_position, '[.]')[1] = repeat('0', 20)
        from silver.stg_pagila__film where film_id = 1 order by _cdc_position
    """
    assert rows_of(spark, query) == [("r", 2006, True), ("u", 2021, False), ("r", 2021, True), ("u", 2019, False)]
    assert rows_of(spark, "select count(*) from silver.qrn_pagila__film") == [(0,)]


def test_films_are_partitioned_by_rating(pagila: SystemUnderTest, spark: SparkSession) -> None:
    (detail,) = spark.sql("describe detail gold.dim_film").collect()
    assert detail["partitionColumns"] == ["rating"]
