from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from .feeds import shop, source
from .harness import Renderer, assert_parses, relation

STAGED = "show table extended in bronze like '*'"
LEDGER = "silver.cdc_file_ledger"
LOG = relation("stg_shop__orders")


def selected(insert: str) -> list[str]:
    """The expressions of the outer select list, one each line that ends with a comma or the list."""
    outer = insert.partition("select")[2].partition("\n    from (")[0]
    return [line.strip().rstrip(",") for line in outer.strip().splitlines()]


def test_stage_external_sources_creates_both_tables_of_a_new_source() -> None:
    renderer = shop(options={"pathGlobFilter": "it's*"})
    renderer.selected = ["model.stg"]
    renderer.answers = {STAGED: [], "create": [], "drop table": []}
    ran = renderer.does("stage_external_sources")
    assert ran[0] == "create schema if not exists bronze"
    assert ran[2:4] == ["drop table if exists bronze.shop__orders", "drop table if exists bronze.shop__orders__files"]
    assert [sql.split(" options")[0] for sql in ran[4:]] == [
        "create table bronze.shop__orders__files using binaryFile",
        "create table bronze.shop__orders (value string) using text",
    ]
    assert renderer.messages == ["1 of 1 STAGED external source shop.orders"]
    for sql in ran[4:]:
        assert r"'pathGlobFilter' 'it\'s*'" in sql
        assert_parses(sql)


@pytest.mark.parametrize("which", ["compile", "list", "docs", "show"])
def test_stage_external_sources_is_for_runs(which: str) -> None:
    renderer = shop()
    renderer.which = which
    assert renderer.does("stage_external_sources") == []


def test_stage_external_sources_does_nothing_while_dbt_parses() -> None:
    renderer = shop()
    renderer.execute = False
    assert renderer.does("stage_external_sources", "shop") == []


def test_stage_external_sources_refuses_a_source_that_is_not_there() -> None:
    renderer = shop()
    renderer.which = "run-operation"
    assert renderer.refusal("stage_external_sources", "shop.ordres") == (
        'stage_external_sources: select is "shop.ordres"; allowed: shop, shop.orders.'
    )


def test_refuse_hidden_names(macros: Renderer) -> None:
    named = "stage_external_sources: source shop.orders: external.location or options.pathGlobFilter is "
    for changes, given in (
        ({"external": {"location": "/landing/_orders/", "using": "json"}}, '"_orders"'),
        ({"options": {"pathGlobFilter": ".orders*"}}, '".orders*"'),
    ):
        assert macros.refusal("_require_no_hidden_names", source(**changes)).startswith(named + given + "; allowed: ")
    assert macros.does("_require_no_hidden_names", source(options={"pathGlobFilter": "shop_orders*"})) == []


def test_external_format(macros: Renderer) -> None:
    assert macros.render("_external_format", "m", {"using": "JSON"}) == "json"
    assert macros.render("_external_format", "m", {"file_format": "parquet"}) == "parquet"
    assert (
        macros.refusal("_external_format", "m", {}) == "m: external.using is not given; allowed: json, avro, parquet."
    )


COLUMNS_OF_LEDGER = ["change_log", "missing_inside", "last_position", "replay_requested_at", "declaration"]


def test_create_file_ledger() -> None:
    macros = lost(commits=0)
    macros.absent, macros.columns = ["cdc_file_ledger", "cdc_schema_drift"], COLUMNS_OF_LEDGER
    ran = macros.does("create_file_ledger")
    assert ran[0] == "create schema if not exists silver"
    assert ran[-2].startswith(f"create table if not exists {LEDGER} using delta ")
    assert ran[-1].startswith("create view if not exists silver.cdc_schema_drift")
    assert macros.run_state["ledger_schema"] == "silver"


def test_create_file_ledger_that_is_there(macros: Renderer) -> None:
    macros.answers = {"create schema": [], "alter table": []}
    ran = macros.does("create_file_ledger")
    assert ran[0] == "create schema if not exists silver"
    # A ledger of before has no columns for offsets.
    assert ran[1].startswith(f"alter table {LEDGER} add columns (kafka_topic string, ")
    assert ran[2].startswith(f"alter table {LEDGER} add columns (unknown_columns map<string,string>")
    assert ran[3].startswith(f"alter table {LEDGER} add columns (replay_requested_at timestamp")
    assert ran[4].startswith(f"alter table {LEDGER} add columns (declaration string")
    for statement in ran[1:]:
        assert_parses(statement)
    macros.columns = COLUMNS_OF_LEDGER
    assert macros.does("create_file_ledger") == ran[:1]
    for which, execute in (("compile", True), ("docs", True), ("run", False)):
        assert Renderer(which=which, execute=execute).does("create_file_ledger") == []


FOLDER = "s3://bucket/côte d'ivoire/silver.db/cdc_notes"


def lost(commits: int, name: str = "cdc_notes") -> Renderer:
    """A database that does not know a ledger, over a folder with so many commits."""
    location = [
        {"info_name": "Comment", "info_value": ""},
        {"info_name": "Location", "info_value": FOLDER.rpartition("/")[0]},
    ]
    answers: dict[str, Sequence[Mapping[str, Any]]] = {
        "describe schema silver": location,
        "select count(*)": [{"commit_count": commits}],
    }
    for statement in ("create table", "create view", "create schema", "alter table", "refresh", "drop table"):
        answers[statement] = []
    return Renderer(absent=[name], answers=answers)


def test_ledgers_that_nothing_would_miss_are_looked_for_with_the_ledger_of_files() -> None:
    macros = lost(commits=1, name="cdc_file_ledger")
    macros.absent = ["cdc_file_ledger", "cdc_purge_ledger", "cdc_released_lines"]
    macros.does("create_file_ledger")
    assert macros.added == ["silver.cdc_file_ledger", "silver.cdc_purge_ledger", "silver.cdc_released_lines"]
    macros.absent = ["cdc_purge_ledger", "cdc_released_lines"]
    macros.added.clear()
    macros.does("create_file_ledger")
    assert macros.added == []


def test_refuse_shared_relations() -> None:
    def staged(**changes: Any) -> Renderer:
        other = source() | {"unique_id": "source.alluvium.erp.orders", "source_name": "erp"} | changes
        return Renderer(sources={"a": source(), "b": other})

    assert staged(identifier="erp__orders").does("_require_no_shared_relations") == []
    assert staged(identifier="SHOP__orders").refusal("_require_no_shared_relations") == (
        'stage_external_sources: source erp.orders: relation is "bronze.SHOP__orders"; '
        "allowed: an identifier of its own; this one is that of source shop.orders."
    )
    assert "shop__orders__files" in staged(identifier="shop__orders__files").refusal("_require_no_shared_relations")


def test_record_applied_files() -> None:
    macros = shop()
    macros.answers = {
        "left: new_files": [{"value": 2}],
        "select max(batch)": [{"batch": 4}],
        "insert into": [],
        "sum(rejected_count)": [
            {"batch": 5, "rejected_count": 0, "line_count": 9, "control_count": 0, "absent_count": 0}
        ],
        "left: files_read_again": [{"value": 0}],
        "'gap' as finding": [],
    }
    _, insert, _, findings = macros.does("record_applied_files")
    assert insert.startswith(f"insert into {LEDGER}")
    assert "where _cdc_batch > 4 " in insert
    assert "count_if(newest_batch > 4)" in findings
    # Not the number that the run had in mind: the append may have found no row.
    assert macros.run_state[f"newest_batch of {LOG}"] == 5
    again = macros.answers | {"left: files_read_again": [{"value": 1}], "merge into": [], "reorg table": []}
    again["count(replay_requested_at)"] = [{"file_count": 0}]
    ran = Renderer(sources=macros.sources, nodes=macros.nodes, answers=again).does("record_applied_files")
    assert "reorg table silver.stg_shop__orders apply (purge)" in ran
    macros.answers["sum(rejected_count)"] = []
    # A model that names the hook itself has it twice.
    assert macros.does("record_applied_files") == []
    macros.run_state.pop(f"record_applied_files of {LOG}")
    macros.does("record_applied_files")
    assert macros.run_state[f"newest_batch of {LOG}"] == 4
    unchanged = shop()
    unchanged.answers = {"left: new_files": [{"value": 0}]}
    assert unchanged.does("record_applied_files") == []
    unchanged.run_state.clear()
    unchanged.answers |= {"left: is_built_anew": [{"value": True}], "alter table": []}
    assert "set tblproperties ('alluvium.generation' = " in unchanged.does("record_applied_files")[0]
    assert macros.warnings == []
    assert Renderer(execute=False).does("record_applied_files") == []
