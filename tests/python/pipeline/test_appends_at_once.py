"""Two runs that append the same files to one change log at the same time: one wins, the other stops."""

from __future__ import annotations

from threading import Barrier, Thread
from typing import TYPE_CHECKING

import pytest
from render.harness import Renderer, relation

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow

ROWS = 2_000_000  # long enough that both have read the log before either commits


def append_twice(spark: SparkSession, log: str, condition: str) -> list[str]:
    """Append one file's rows from two threads; returns the errors' first words."""
    spark.sql("create schema if not exists pipe_silver")
    spark.sql(f"drop table if exists {log}")
    spark.sql(f"""
        create table {log} using delta as
        select
            'a' as _cdc_file_path,
            cast(1 as bigint) as _cdc_file_length,
            cast(1 as bigint) as _cdc_batch,
            id
        from range(1)
    """)
    errors: list[str] = []
    together = Barrier(2)

    def append() -> None:
        together.wait()
        try:
            spark.sql(f"""
                insert into {log}
                select numbered.file_path, numbered.file_length, cast(2 as bigint), numbered.id
                from (select 'b' as file_path, cast(9 as bigint) as file_length, id from range({ROWS})) as numbered
                where {condition}
            """)
        except Exception as error:
            errors.append(str(error))

    threads = [Thread(target=append) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


@pytest.mark.parametrize(("guarded", "copies"), [(True, 1), (False, 2)])
def test_later_of_two_appends_stops(spark: SparkSession, guarded: bool, copies: int) -> None:
    # Without the guard both appends succeed: what the clause is there for.
    log = f"pipe_silver.stg_appended_at_once_{copies}"
    guard = Renderer(this=relation(log.split(".")[1], "pipe_silver")).render("_not_logged_since", {"after": 1})
    errors = append_twice(spark, log, guard if guarded else "true")
    assert len(errors) == 2 - copies
    assert all("DELTA_CONCURRENT_APPEND" in error for error in errors)
    assert spark.table(log).where("_cdc_batch = 2").count() == copies * ROWS
