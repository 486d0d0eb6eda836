from __future__ import annotations

from typing import Any

import pytest

from .feeds import column, feed, shop
from .harness import Renderer, assert_expression_parses, assert_parses, fold, relation

LOG = relation("stg_shop__orders")
MICRO = "io.debezium.time.MicroTimestamp"
LEDGER = relation("cdc_file_ledger")
READ_AGAIN = (
    "select file_path, file_length, max(batch) as batch, max(replay_requested_at) as replay_requested_at "
    "from silver.cdc_file_ledger "
    "where change_log = 'silver.stg_shop__orders' and file_path is not null group by file_path, file_length "
    "having count(distinct batch) > 1"
)


@pytest.fixture
def macros() -> Renderer:
    return Renderer()


def test_create_schema_drift_sql(macros: Renderer) -> None:
    sql = macros.render("create_schema_drift_sql", LEDGER)
    assert fold(sql).startswith("create view if not exists silver.cdc_schema_drift as with files as (")
    assert_parses(sql)
    assert macros.render("schema_drift_view").render() == "silver.cdc_schema_drift"
    assert_parses(macros.render("schema_drift", LEDGER))


def test_difference_columns(macros: Renderer) -> None:
    assert_parses(f"create table t ({macros.render('difference_columns')}) using delta")


def test_collected_and_file_differences(macros: Renderer) -> None:
    collected = macros.sql("collected_differences")
    assert "filter (where _cdc_op in ('c', 'u', 'r')) as last_position" in collected
    sql = macros.sql("file_differences", feed(unknown_columns="ignore"))
    assert "name -> struct(name, 'ignore'))) as unknown_columns" in sql
    assert_parses(f"select {sql} from (select {collected} from t) as files")


def test_declarations(macros: Renderer) -> None:
    columns = [column("it's", "int"), column("at", "timestamp_ntz", semantic_type="io.debezium.time.Timestamp")]
    assert macros.render("declarations", feed(columns=columns)) == (
        r"map('it\'s', 'int', 'at', 'timestamp_ntz, io.debezium.time.Timestamp, adaptive')"
    )
    columns = [column("raw", "binary"), column("size", "decimal(20,0)", unsigned=True)]
    modes = {"binary_handling_mode": "hex", "bigint_unsigned_handling_mode": "long"}
    assert macros.render("declarations", feed(columns=columns, **modes)) == (
        "map('raw', 'binary, hex', 'size', 'decimal(20,0), precise, base64, long')"
    )


def test_declaration_differs_where_an_ambiguity_is_ended(macros: Renderer) -> None:
    plain, said = (column("at", "timestamp_ntz", **cdc) for cdc in ({}, {"semantic_type": MICRO}))
    declared = [macros.render("declaration", each, feed()) for each in (plain, said)]
    assert declared == ["timestamp_ntz, adaptive", f"timestamp_ntz, {MICRO}, adaptive"]
    for type_ in ("array<date>", "array<decimal(6,2)>"):
        modes: list[dict[str, Any]] = [{}, {"time_precision_mode": "connect", "decimal_handling_mode": "string"}]
        one, other = (macros.render("declaration", column("a", type_), feed(**mode)) for mode in modes)
        assert one != other


def test_is_outdated(macros: Renderer) -> None:
    sql = macros.sql("is_outdated", feed())
    assert "field.value = 'quarantine' and array_contains(array('id', 'note'), field.key))" in sql
    assert "not map('id', 'int', 'note', 'string')[field.key] <=> field.value" in sql
    assert_expression_parses(sql)
    # Whatever was rejected for it, is not any more.
    assert "field.value = 'quarantine')" in macros.sql("is_outdated", feed(unknown_columns="ignore"))


def test_drop_superseded_rows(macros: Renderer) -> None:
    macros.answers = {"merge into": [], "reorg table": [], "count(replay_requested_at)": [{"file_count": 0}]}
    replayed, rows, purge, entries = macros.does("drop_superseded_rows", LOG)
    assert replayed == macros.sql("replayed_files_sql", LOG)
    assert_parses(replayed)
    assert rows == macros.sql("drop_superseded_rows_sql", LOG)
    assert purge == "reorg table silver.stg_shop__orders apply (purge)"
    assert entries == macros.sql("drop_superseded_entries_sql", LOG)
    assert macros.sql("files_read_again", LOG) == READ_AGAIN
    for merge, table in ((rows, "silver.stg_shop__orders as logged"), (entries, "silver.cdc_file_ledger as entry")):
        assert merge.startswith(f"merge into {table} using ({READ_AGAIN}) as again on ")
        assert merge.endswith("batch < again.batch then delete")
        assert_parses(merge)


def test_replayed_files_make_the_log_another_one_before_their_request_goes(macros: Renderer) -> None:
    macros.answers = {"merge into": [], "reorg table": [], "count(replay_requested_at)": [{"file_count": 1}]}
    macros.answers["alter table"] = []
    _, generation, rows, _, entries = macros.does("drop_superseded_rows", LOG)
    assert [generation] == macros.does("set_generation", LOG)
    assert rows.startswith("merge into silver.stg_shop__orders as logged")
    assert entries.startswith("merge into silver.cdc_file_ledger as entry")


@pytest.mark.parametrize(
    ("counted", "found", "warned"),
    [
        ({"batch": 5, "absent_count": 0}, None, False),
        ({"batch": 5, "absent_count": 2}, [], False),
        ({"batch": 5, "absent_count": 2}, [{"column_name": "a"}, {"column_name": "b"}], True),
    ],
)
def test_announce_absent_columns(counted: dict[str, Any], found: list[dict[str, Any]] | None, warned: bool) -> None:
    macros = shop()
    macros.answers = {} if found is None else {"difference = 'absent' and first_batch = 5": found}
    macros.does("announce_absent_columns", LOG, counted)
    assert bool(macros.warnings) is warned
    if warned:
        assert "that the newest events do not have: a, b. Dropped, renamed or misspelt?" in macros.warnings[0]
        assert_parses(macros.warnings[0].split("`")[1])


def test_absent_columns(macros: Renderer) -> None:
    sql = macros.sql("absent_columns", feed())
    assert sql.startswith("if(kind = 'change' and op <> 'd', nullif(array_except(array('id', 'note'), map_keys(")
    for other in ({"shape": "row"}, {"connector": "mongodb"}):
        assert macros.sql("absent_columns", feed(**other)) == "cast(null as array<string>)"


def test_kind_of_record(macros: Renderer) -> None:
    assert [macros.render("kind_of_record", feed(shape=shape)) for shape in ("row", "envelope")] == [
        "record_kind",
        "kind",
    ]
