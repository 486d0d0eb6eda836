from __future__ import annotations

from typing import Any

import pytest
from dbt_common.exceptions import CompilationError

from .feeds import column, feed
from .harness import Renderer, assert_parses, fold, relation

LOG = relation("stg_shop__orders")
# A table without partitions.
WHOLE = [{"partitionColumns": "[]"}]
STRINGS = {("stg_shop__orders", "id"): "int"}


def with_columns(*names: str, types: dict[str, str] | None = None, policy: str = "append_new_columns") -> Renderer:
    renderer = Renderer(on_schema_change=policy)
    renderer.columns = [*names, "_cdc_op"]
    renderer.types = {
        ("stg_shop__orders", name): data_type for name, data_type in ({"id": "int"} | (types or {})).items()
    }
    return renderer


@pytest.mark.parametrize(
    ("names", "policy", "has_all"),
    [
        (("id", "note"), "append_new_columns", True),
        (("id",), "append_new_columns", False),
        (("id",), "ignore", True),
        (("id",), "sync_all_columns", False),
        (("id", "note", "gone"), "append_new_columns", True),
        (("id", "note", "gone"), "ignore", True),
    ],
)
def test_apply_schema_change_leaves_new_columns_to_dbt(names: tuple[str, ...], policy: str, has_all: bool) -> None:
    renderer = with_columns(*names, policy=policy)
    assert renderer.render("apply_schema_change", feed()) is has_all
    assert renderer.queries == []


@pytest.mark.parametrize(("policy", "is_told"), [("append_new_columns", True), ("ignore", False)])
def test_table_is_told_of_its_first_time_without_a_zone(policy: str, is_told: bool) -> None:
    declared = feed(columns=[column("id", "int"), column("at", "array<timestamp_ntz>")])
    renderer = with_columns("id", policy=policy)
    renderer.answers = {"alter table": []}
    renderer.render("apply_schema_change", declared)
    assert bool(renderer.queries) is is_told
    assert renderer.render("adds_local_time", declared, ["at"]) is True
    assert renderer.render("adds_local_time", declared, ["id"]) is False


def test_apply_schema_change_rewrites_the_table_once() -> None:
    renderer = with_columns("id", "note", "gone", types={"id": "smallint"}, policy="sync_all_columns")
    properties = [{"key": "alluvium.generation", "value": "it's"}, {"key": "delta.minReaderVersion", "value": "3"}]
    renderer.answers = {"show tblproperties": properties, "create or replace": [], "describe detail": WHOLE}
    assert renderer.render("apply_schema_change", feed()) is True
    assert renderer.messages == ["model stg_shop__orders: rewritten for gone, id (on_schema_change: sync_all_columns)"]
    assert renderer.queries[-1] == (
        r"create or replace table silver.stg_shop__orders using delta tblproperties ('alluvium.generation' = 'it\'s') "
        "as select cast(`id` as int) as `id`, `note`, `_cdc_op` from silver.stg_shop__orders"
    )


def test_table_of_other_partitions_is_not_rewritten() -> None:
    """The new table would be the model's, with values that nobody has looked at."""
    renderer = with_columns("id", "note", "gone", policy="sync_all_columns")
    renderer.partition_by = ["note"]
    renderer.answers = {"show tblproperties": [], "describe detail": WHOLE}
    with pytest.raises(CompilationError, match=r'partition_by is \["note"\]; allowed: none, as the table has it'):
        renderer.render("apply_schema_change", feed())
    assert not [query for query in renderer.queries if query.startswith("create")]


def test_rewrite_columns_sql() -> None:
    columns = [{"name": "a b", "dtype": "int"}, {"name": "gone", "dtype": "int"}]
    change = {"added": [], "removed": ["gone"], "retyped": {"a b": {"from": "int", "to": "bigint"}}}
    properties = [{"key": "delta.enableDeletionVectors", "value": "true"}, {"key": "x", "value": "y"}]
    renderer = Renderer(answers={"describe detail": WHOLE})
    sql = renderer.render("rewrite_columns_sql", LOG, columns, change, properties)
    assert_parses(sql)
    assert "('delta.enableDeletionVectors' = 'true', 'x' = 'y') as select cast(`a b` as bigint) as `a b` from" in fold(
        sql
    )
    bare = renderer.sql("rewrite_columns_sql", LOG, columns, change, [])
    assert bare.startswith("create or replace table silver.stg_shop__orders using delta as select")
    partitioned = Renderer(partition_by=["day"]).sql("default__rewrite_columns_sql", LOG, columns, change, properties)
    assert partitioned == fold(sql).replace(" as select", " partitioned by (day) as select", 1)


def test_rewrite_with_a_property_that_spark_hides() -> None:
    """It would be written as Spark shows it; the model may say it."""
    hidden = [{"key": "owner.url", "value": "*********(redacted)"}]
    change = {"added": [], "removed": ["gone"], "retyped": {}}
    columns = [{"name": "id", "dtype": "int"}]
    with pytest.raises(
        CompilationError, match=r"rewrite_columns_sql: Spark hides the value of property owner\.url of "
    ):
        Renderer(answers={"describe detail": WHOLE}).sql("rewrite_columns_sql", LOG, columns, change, hidden)
    renderer = Renderer(tblproperties={"owner.url": "a"}, answers={"describe detail": WHOLE})
    said = renderer.sql("rewrite_columns_sql", LOG, columns, change, hidden)
    assert "tblproperties ('owner.url' = 'a') as select" in said
    shown = {"key": "owner.url", "value": "b"}
    kept = [Renderer(tblproperties={"owner.url": "a"}).render("kept_value", LOG, row) for row in (*hidden, shown)]
    assert kept == ["a", "b"]


def test_is_kept_property() -> None:
    names = ("alluvium.key", "delta.enableDeletionVectors", "delta.feature.deletionVectors", "delta.minWriterVersion")
    assert [Renderer().render("is_kept_property", name) for name in names] == [True, True, False, False]


def test_schema_change() -> None:
    columns = [{"name": name, "dtype": "int"} for name in ("id", "note", "gone", "_cdc_op", "_is_deleted")]
    declared = feed(columns=[column("id", "int"), column("note"), column("more"), column("deep", "struct<A: int>")])
    assert Renderer().render("schema_change", columns, declared) == {
        "added": ["more", "deep"],
        "removed": ["gone"],
        "retyped": {"note": {"from": "int", "to": "string"}},
    }
    deep = [{"name": "deep", "dtype": "struct<a:int>"}]
    assert Renderer().render("schema_change", deep, feed(columns=declared["columns"][3:]))["retyped"] == {}


REFUSED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    (
        {"types": {"id": "string"}},
        {},
        'type of column id is "int"; allowed: string, as the table has it, or a wider type; another one needs '
        "`dbt build --full-refresh --select stg_shop__orders+`.",
    ),
    (
        {"types": {"id": "smallint"}},
        {},
        'type of column id is "int"; allowed: smallint, as the table has it; a wider one needs on_schema_change: '
        "sync_all_columns, or `dbt build --full-refresh --select stg_shop__orders+`.",
    ),
    ({"types": {"id": "bigint"}, "policy": "sync_all_columns"}, {}, "allowed: bigint, as the table has it, or a wider"),
    (
        {"types": {"id": "smallint"}, "policy": "sync_all_columns"},
        {"key": []},
        "as the table has it; another one needs",
    ),
    (
        {"names": ("id", "note", "gone"), "policy": "fail"},
        {},
        "allowed: all columns of the table, gone too; without it",
    ),
    ({"names": ("id", "note", "gone")}, {"key": []}, "allowed: all columns of the table, gone too; without it"),
    ({"names": ("id",), "policy": "fail"}, {}, "allowed: those of the table, without note (on_schema_change: fail)"),
    (
        {"types": {"id": "smallint"}, "policy": "sync_all_columns"},
        {"sequence_by": ["id"]},
        'type of column id in meta.cdc.sequence_by is "int"; allowed: smallint, as the table has it; another one needs',
    ),
    ({"policy": "sync"}, {}, 'on_schema_change is "sync"; allowed: ignore, fail, append_new_columns, sync_all_columns'),
]


@pytest.mark.parametrize(("table", "declared", "message"), REFUSED)
def test_refuse_schema_change(table: dict[str, Any], declared: dict[str, Any], message: str) -> None:
    names = table.pop("names", ("id", "note"))
    refusal = with_columns(*names, **table).refusal("apply_schema_change", feed(**declared))
    assert refusal.startswith("model stg_shop__orders: ")
    assert message in refusal


def test_change_log_takes_new_columns() -> None:
    renderer = with_columns("id", policy="ignore")
    renderer.strategy = "append"
    refusal = renderer.refusal("apply_schema_change", feed())
    assert 'on_schema_change is "ignore"; allowed: append_new_columns or sync_all_columns for a change log' in refusal


@pytest.mark.parametrize("policy", ["append_new_columns", "sync_all_columns", "ignore"])
def test_new_column_with_values_in_applied_batches_is_refused(policy: str) -> None:
    renderer = with_columns("id", policy=policy)
    log = relation("stg_log")
    renderer.answers = {"select concat_ws(": [{"names": "note"}]}
    if policy == "ignore":
        assert renderer.render("apply_schema_change", feed(), log, 6) is True
        return
    with pytest.raises(
        CompilationError, match='new columns is "note"; allowed: columns without values in batches that'
    ):
        renderer.render("apply_schema_change", feed(), log, 6)
    assert renderer.queries == [
        "select concat_ws(', ', if(count(`note`) > 0, 'note', null)) as names from silver.stg_log where _cdc_batch <= 6"
    ]
    assert_parses(renderer.render("columns_with_values_sql", log, ["note", "it's `odd`"], 6))
    renderer.answers = {"select concat_ws(": [{"names": ""}]}
    assert renderer.render("apply_schema_change", feed(), log, 6) is False
    renderer.render("refuse_values_of_applied_batches", "m", ["note"], log, 6)


@pytest.mark.parametrize(("policy", "is_refused"), [("append_new_columns", True), ("sync_all_columns", False)])
def test_new_column_whose_name_has_another_case(policy: str, is_refused: bool) -> None:
    renderer = with_columns("id", "Note", policy=policy)
    renderer.answers = {"show tblproperties": [], "create or replace": [], "describe detail": WHOLE}
    if is_refused:
        refusal = renderer.refusal("apply_schema_change", feed())
        assert "allowed: columns of other names than those of the table, which has note in another case" in refusal
    else:
        assert renderer.render("apply_schema_change", feed()) is False


def test_new_column_with_a_default_is_warned_of() -> None:
    renderer = with_columns("id")
    declared = feed(columns=[column("id", "int"), column("note", default="x")])
    assert renderer.render("apply_schema_change", declared) is False
    (warning,) = renderer.warnings
    assert "the new column note has a default, and rows that are here already have NULL in it until `dbt" in warning


def test_column_that_hard_deletes_would_not_empty_is_refused() -> None:
    renderer = with_columns("id", "note", "gone")
    renderer.meta = {"cdc": {"delete_policy": "hard"}}
    refusal = renderer.refusal("apply_schema_change", feed())
    assert "allowed: sync_all_columns, which drops gone: deletes are hard" in refusal
    renderer.meta = {"cdc": {"delete_policy": "soft"}}
    assert renderer.render("apply_schema_change", feed()) is True


def test_refuse_schema_change_takes_what_the_policy_allows() -> None:
    change = {"added": ["a"], "removed": ["b"], "retyped": {"c": {"from": "int", "to": "bigint"}}}
    assert Renderer().does("refuse_schema_change", "model m", "sync_all_columns", change, feed()) == []


@pytest.mark.parametrize(
    ("from_type", "to_type", "is_wider"),
    [
        ("int", "bigint", True),
        ("tinyint", "int", True),
        ("bigint", "int", False),
        ("int", "string", False),
        ("float", "double", False),
        ("date", "timestamp_ntz", False),
        ("int", "decimal(10,0)", True),
        ("int", "decimal(10,2)", False),
        ("bigint", "decimal(20,0)", True),
        ("decimal(10,2)", "decimal(12,2)", True),
        ("decimal(10,2)", "decimal(12,4)", True),
        ("decimal(10,2)", "decimal(11,4)", False),
        ("decimal(10,2)", "decimal(12,0)", False),
        ("decimal(10,2)", "bigint", False),
        ("array<int>", "array<bigint>", False),
    ],
)
def test_is_widened(from_type: str, to_type: str, is_wider: bool) -> None:
    assert Renderer().render("is_widened", from_type, to_type) is is_wider
