"""What Hudi 1.2.0 does wrong, and this project goes round: a test that fails here says that a way round can go.

Collected with ``--file-format hudi_cow`` or ``hudi_mor`` alone, since a session without Hudi cannot run any of it
(test_in_hudi.py runs them).
"""

from __future__ import annotations

import os
import select
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

SCHEMA = "bugs_of_hudi"
TABLE = f"{SCHEMA}.rows"
UPSERT = {"hoodie.index.type": "GLOBAL_SIMPLE", "hoodie.spark.sql.insert.into.operation": "upsert"}


@pytest.fixture
def hudi(spark: SparkSession) -> Iterator[SparkSession]:
    """The session, with an empty schema."""
    spark.sql(f"drop schema if exists {SCHEMA} cascade")
    spark.sql(f"create schema {SCHEMA}")
    yield spark
    spark.sql(f"drop schema {SCHEMA} cascade")


def create(spark: SparkSession, table_type: str, rows: str, **properties: str) -> None:
    """A table of Hudi's with the rows of a query and the key `id`."""
    all_properties = {
        "type": table_type,
        "primaryKey": "id",
        "hoodie.datasource.hive_sync.enable": "false",
        "hoodie.datasource.meta.sync.enable": "false",
        **properties,
    }
    texts = ", ".join(f"'{name}' = '{value}'" for name, value in all_properties.items())
    partitioned = "partitioned by (part)" if " part" in rows else ""
    spark.sql(f"create table {TABLE} using hudi {partitioned} tblproperties ({texts}) as {rows}")


def notes(spark: SparkSession) -> list[tuple[str, str]]:
    return [(row.id, row.note) for row in spark.sql(f"select id, note from {TABLE} order by id, note").collect()]


@pytest.mark.parametrize(("table_type", "is_lost"), [("cow", False), ("mor", True)])
def test_update_under_a_condition_on_the_target_is_lost(hudi: SparkSession, table_type: str, is_lost: bool) -> None:
    """upsert_sql joins instead."""
    create(hudi, table_type, "select '1' as id, 'old' as note, 1 as position")
    hudi.sql(f"""
        merge into {TABLE} as target
        using (select '1' as id, 'new' as note, 2 as position) as source on target.id = source.id
        when matched and source.position > target.position
            then update set id = source.id, note = source.note, position = source.position
    """)
    assert notes(hudi) == [("1", "old" if is_lost else "new")]


def test_delete_before_an_update_is_not_taken(hudi: SparkSession) -> None:
    """upsert_sql writes rows that go with an operation of their own."""
    create(hudi, "cow", "select '1' as id, 'old' as note, 'u' as op")
    hudi.sql(f"""
        merge into {TABLE} as target
        using (select '1' as id, 'new' as note, 'd' as op) as source on target.id = source.id
        when matched and source.op = 'd' then delete
        when matched then update set note = source.note
    """)
    assert notes(hudi) == [("1", "new")]


@pytest.mark.parametrize(("index", "rows"), [("SIMPLE", 2), ("GLOBAL_SIMPLE", 1)])
def test_row_of_another_partition_stays_unless_the_index_is_global(hudi: SparkSession, index: str, rows: int) -> None:
    """hudi_properties has a global index."""
    options = {"hoodie.index.type": index, "hoodie.simple.index.update.partition.path": "true"}
    options["hoodie.spark.sql.insert.into.operation"] = "upsert"
    create(hudi, "cow", "select '1' as id, 'old' as note, 'a' as part", **options)
    hudi.sql(f"insert into {TABLE} (id, note, part) select '1', 'new', 'b'")
    assert len(notes(hudi)) == rows


@pytest.mark.parametrize("prefix", ["", "spark."])
def test_setting_of_the_session_comes_before_a_property_of_the_table(hudi: SparkSession, prefix: str) -> None:
    """require_setting_of_hudi refuses it, and what hudi-defaults.conf says, which comes before both."""
    create(hudi, "cow", "select '1' as id, 'old' as note, 'a' as part", **UPSERT)
    hudi.sql(f"set {prefix}hoodie.index.type = SIMPLE")
    try:
        hudi.sql(f"insert into {TABLE} (id, note, part) select '1', 'new', 'b'")
    finally:
        hudi.sql(f"reset {prefix}hoodie.index.type")
    assert len(notes(hudi)) == 2


@pytest.mark.parametrize("statistics", ["true", "false"])
def test_filter_passes_over_a_file_with_nan(hudi: SparkSession, statistics: str) -> None:
    """fixed_properties_of_hudi has no statistics of columns, where NaN is less than any number."""
    rows = "select '1' as id, double('NaN') as amount union all select '2', 0.1D union all select '3', 5.0D"
    create(hudi, "cow", rows, **{"hoodie.metadata.index.column.stats.enable": statistics})
    hudi.sql(f"insert into {TABLE} (id, amount) select '4', double('NaN') union all select '5', 5.0D")
    found = {row.id for row in hudi.sql(f"select id from {TABLE} where amount > 1").collect()}
    assert (found == {"1", "3", "4", "5"}) is (statistics == "false")


def test_column_beside_decimals_of_one_name_ends_the_reading(hudi: SparkSession) -> None:
    """add_columns_of_hudi.sql writes such a table anew."""
    prices = "array(cast(1 as decimal(10, 2))) as net, array(cast(1 as decimal(20, 5))) as gross"
    create(hudi, "cow", f"select '1' as id, 'old' as note, {prices}", **UPSERT)
    hudi.sql(f"alter table {TABLE} add columns (extra string)")
    with pytest.raises(Exception, match="Can't redefine: element"):
        hudi.sql(f"insert into {TABLE} (id, note, net, gross, extra) select '1', 'new', net, gross, 'e' from {TABLE}")


def test_column_that_the_catalog_lacks_is_not_entered(hudi: SparkSession) -> None:
    """As a kill leaves it; add_columns_of_hudi.sql notes what it adds, and writes the table anew."""
    create(hudi, "cow", "select '1' as id, 'old' as note")
    catalog = hudi._jsparkSession.sharedState().externalCatalog()
    columns = catalog.getTable(SCHEMA, "rows").dataSchema()
    hudi.sql(f"alter table {TABLE} add columns (extra string)")
    catalog.alterTableDataSchema(SCHEMA, "rows", columns)
    hudi.sql(f"refresh table {TABLE}")
    with pytest.raises(Exception, match="already exists in the table"):
        hudi.sql(f"alter table {TABLE} add columns (extra string)")


def test_partitions_in_another_order_than_the_columns_are_not_taken(hudi: SparkSession) -> None:
    """columns_before_partitions puts the columns into that order."""
    columns, properties = "id string, a string, b string", "primaryKey = 'id', type = 'cow'"
    with pytest.raises(Exception, match="Partition schema fields order does not match"):
        hudi.sql(f"create table {TABLE} ({columns}) using hudi partitioned by (b, a) tblproperties ({properties})")


def test_keys_of_several_columns_collide(hudi: SparkSession) -> None:
    """keyed_rows makes a key that is another text for other values."""
    properties = {"primaryKey": "id,other", "hoodie.spark.sql.insert.into.operation": "upsert"}
    create(hudi, "cow", "select '1,other:2' as id, '3' as other, 'a' as note", **properties)
    hudi.sql(f"insert into {TABLE} (id, other, note) select '1', '2,other:3', 'b'")
    assert len(notes(hudi)) == 1


def test_small_integers_are_kept_as_integers(hudi: SparkSession) -> None:
    """stored_type says so."""
    hudi.sql(f"create table {TABLE} (id string, small smallint) using hudi tblproperties ('primaryKey' = 'id')")
    hudi.sql(f"insert into {TABLE} select '1', cast(2 as smallint)")
    assert dict(hudi.table(TABLE).dtypes)["small"] == "int"


def test_local_time_is_refused_by_a_hive_metastore(hudi: SparkSession) -> None:
    """stored_value makes a time in UTC of it."""
    with pytest.raises(Exception, match="catalog table"):
        hudi.sql(f"create table {TABLE} (id string, at timestamp_ntz) using hudi tblproperties ('primaryKey' = 'id')")


@pytest.mark.parametrize(
    ("options", "tables"),
    [(["hive_sync"], ["rows", "rows_ro", "rows_rt"]), (["hive_sync", "meta.sync"], ["rows"])],
)
def test_tables_are_registered_again_unless_both_are_off(
    hudi: SparkSession, options: list[str], tables: list[str]
) -> None:
    """hudi_properties turns off both."""
    properties = {"primaryKey": "id", "type": "mor"}
    properties |= {f"hoodie.datasource.{option}.enable": "false" for option in options}
    texts = ", ".join(f"'{name}' = '{value}'" for name, value in properties.items())
    hudi.sql(f"create table {TABLE} (id string) using hudi tblproperties ({texts})")
    hudi.sql(f"insert into {TABLE} select '1'")
    assert sorted(row.tableName for row in hudi.sql(f"show tables in {SCHEMA}").collect()) == tables


def test_parser_of_hudi_takes_time_travel_from_delta(hudi: SparkSession) -> None:
    """A session has Hudi's extension only where ALLUVIUM_FILE_FORMAT asks for it (profiles.yml)."""
    hudi.sql(f"create table {TABLE} using delta as select 1 as id")
    with pytest.raises(Exception, match="TimeTravelRelation"):
        hudi.sql(f"select * from {TABLE} version as of 0").collect()
    assert hudi.read.option("versionAsOf", 0).table(TABLE).count() == 1


def test_second_of_two_appends_that_read_the_table_is_not_stopped(hudi: SparkSession, tmp_path: Path) -> None:
    """Change logs and ledgers are Delta's (docs/decisions/0030-logs-and-ledgers-are-deltas.md)."""
    begun, ended = tmp_path / "begun", tmp_path / "ended"
    for pipe in (begun, ended):
        os.mkfifo(pipe)
    has_begun, is_to_end = os.open(begun, os.O_RDWR), os.open(ended, os.O_RDWR)

    def held(line: int) -> int:
        with begun.open("wb") as pipe:
            pipe.write(b".")
        with ended.open("rb", buffering=0) as pipe:
            pipe.read(1)
        return line

    hudi.udf.register("held", held, "int")
    properties = {
        "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
        "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider",
        "hoodie.cleaner.policy.failed.writes": "LAZY",
        "hoodie.parquet.small.file.limit": "0",
        "hoodie.datasource.hive_sync.enable": "false",
        "hoodie.datasource.meta.sync.enable": "false",
    }
    texts = ", ".join(f"'{name}' = '{value}'" for name, value in properties.items())
    hudi.sql(f"create table {TABLE} (line int, batch int) using hudi tblproperties ({texts})")
    hudi.sql(f"insert into {TABLE} select 0, 1")
    append = f"insert into {TABLE} select {{}}, 2 from (select 1 as line) where (select max(batch) from {TABLE}) < 2"
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(hudi.sql, append.format("held(line)"))
        try:
            assert select.select([has_begun], [], [], 120)[0]
            hudi.sql(append.format("line"))
        finally:
            os.write(is_to_end, b".")
        first.result()
    rows = hudi.sql(f"select line, batch from {TABLE} order by batch").collect()
    assert [tuple(row) for row in rows] == [(0, 1), (1, 2), (1, 2)]
