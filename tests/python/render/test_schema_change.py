from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from dbt_common.exceptions import CompilationError

from .feeds import column, feed
from .harness import Renderer, relation

LOG = relation("stg_shop__orders")
# A table without partitions.
WHOLE = [{"partitionColumns": "[]"}]


def with_columns(*names: str, types: dict[str, str] | None = None, policy: str = "append_new_columns") -> Renderer:
    renderer = Renderer(on_schema_change=policy, answers={"left: properties": [{"value": {}}]})
    renderer.columns = [*names, "_cdc_op"]
    renderer.types = {
        ("stg_shop__orders", name): data_type for name, data_type in ({"id": "int"} | (types or {})).items()
    }
    return renderer


def test_rewrite_with_a_property_that_spark_hides() -> None:
    """It would be written as Spark shows it; the model may say it."""
    hidden = [{"key": "owner.url", "value": "*********(redacted)"}]
    change = {"added": [], "removed": ["gone"], "retyped": {}}
    columns = [{"name": "id", "dtype": "int"}]
    answers: dict[str, Sequence[Mapping[str, Any]]] = {"describe detail": WHOLE, "show tblproperties": []}
    with pytest.raises(
        CompilationError, match=r"rewrite_columns_sql: Spark hides the value of property owner\.url of "
    ):
        Renderer(answers=answers).sql("_rewrite_columns_sql", LOG, columns, change, hidden)
    renderer = Renderer(tblproperties={"owner.url": "a"}, answers=answers)
    said = renderer.sql("_rewrite_columns_sql", LOG, columns, change, hidden)
    assert """tblproperties ('owner.url' = 'a', 'alluvium.dropped_columns' = '["gone"]') as select""" in said
    shown = {"key": "owner.url", "value": "b"}
    kept = [Renderer(tblproperties={"owner.url": "a"}).render("_kept_value", LOG, row) for row in (*hidden, shown)]
    assert kept == ["a", "b"]


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
    refusal = with_columns(*names, **table).refusal("_apply_schema_change", feed(**declared))
    assert refusal.startswith("model stg_shop__orders: ")
    assert message in refusal


@pytest.mark.parametrize(
    ("stored", "declared", "is_wider"),
    [
        ("decimal(10,2)", "decimal(12,4)", True),
        ("decimal(10,2)", "decimal(11,4)", False),
        ("decimal(10,2)", "decimal(12,1)", False),
        ("int", "decimal(10,0)", True),
        ("int", "decimal(10,1)", False),
        ("float", "double", False),
    ],
)
def test_type_that_holds_every_value_of_the_one_before_is_taken(stored: str, declared: str, is_wider: bool) -> None:
    renderer = with_columns("id", "total", types={"total": stored}, policy="sync_all_columns")
    asked = feed(columns=[column("id", "int"), column("total", declared)])
    renderer.answers = {"show tblproperties": [], "create or replace": [], "describe detail": WHOLE}
    if is_wider:
        assert renderer.render("_apply_schema_change", asked) is True
        assert f"cast(`total` as {declared}) as `total`" in renderer.queries[-1]
    else:
        with pytest.raises(CompilationError, match="as the table has it, or a wider type; another one needs"):
            renderer.render("_apply_schema_change", asked)


def test_change_log_takes_new_columns() -> None:
    renderer = with_columns("id", policy="ignore")
    renderer.strategy = "append"
    refusal = renderer.refusal("_apply_schema_change", feed())
    assert 'on_schema_change is "ignore"; allowed: append_new_columns or sync_all_columns for a change log' in refusal


@pytest.mark.parametrize(("policy", "is_refused"), [("append_new_columns", True), ("sync_all_columns", False)])
def test_new_column_whose_name_has_another_case(policy: str, is_refused: bool) -> None:
    renderer = with_columns("id", "Note", policy=policy)
    renderer.answers |= {"show tblproperties": [], "create or replace": [], "describe detail": WHOLE}
    if is_refused:
        refusal = renderer.refusal("_apply_schema_change", feed())
        assert "allowed: columns of other names than those of the table, which has note in another case" in refusal
    else:
        assert renderer.render("_apply_schema_change", feed()) is False


def test_column_that_hard_deletes_would_not_empty_is_refused() -> None:
    renderer = with_columns("id", "note", "gone")
    renderer.meta = {"cdc": {"delete_policy": "hard"}}
    refusal = renderer.refusal("_apply_schema_change", feed())
    assert "allowed: sync_all_columns, which drops gone: deletes are hard" in refusal
    renderer.meta = {"cdc": {"delete_policy": "soft"}}
    assert renderer.render("_apply_schema_change", feed()) is True
