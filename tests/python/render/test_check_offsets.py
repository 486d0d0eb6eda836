from __future__ import annotations

from typing import Any

import pytest
from dbt_common.exceptions import CompilationError

from .feeds import feed, shop
from .harness import Renderer, assert_expression_parses, assert_parses, fold, relation

LOG = relation("stg_shop__orders")
SUMMARY = "'gap' as finding"


def finding(kind: str, count: int, new: int) -> dict[str, Any]:
    """A row of offset_summary_sql."""
    place = {"kafka_topic": "t", "kafka_partition": 0, "from_offset": 2, "until_offset": 4, "file_path": "/t+0+5.json"}
    return {"finding": kind, "finding_count": count, "new_count": new, **place}


@pytest.mark.parametrize(
    ("cdc", "after_batch", "queries"),
    [
        ({}, 3, 1),
        ({}, None, 0),
        ({"on_gap": "ignore"}, 3, 1),
        ({"on_gap": "ignore", "on_overlap": "ignore"}, 3, 0),
        ({"on_gap": "fail"}, None, 1),
        ({"on_overlap": "fail", "on_gap": "ignore"}, None, 1),
    ],
)
def test_check_offsets_asks_only_where_somebody_wants_to_know(
    cdc: dict[str, str], after_batch: int | None, queries: int
) -> None:
    renderer = shop(cdc=cdc)
    renderer.answers = {SUMMARY: []}
    assert len(renderer.does("check_offsets", LOG, after_batch)) == queries


def test_check_offsets_warns_of_what_is_new() -> None:
    renderer = shop(cdc={"on_overlap": "ignore"})
    renderer.answers = {SUMMARY: [finding("gap", 3, 1), finding("overlap", 2, 2), finding("rewritten", 1, 1)]}
    renderer.does("check_offsets", LOG, 3)
    assert renderer.warnings == [
        "shop.orders: offsets missing before a file, or in it, 1 times (on_gap: warn), first t partition 0"
        " offsets 2 to 4 at /t+0+5.json; all with `dbt show --limit 100 --inline"
        " \"{{ alluvium.offset_findings(ref('stg_shop__orders')) }}\"`"
    ]
    renderer.warnings.clear()
    renderer.answers = {SUMMARY: [finding("gap", 3, 0)]}
    renderer.does("check_offsets", LOG, 3)
    assert renderer.warnings == []


@pytest.mark.parametrize(
    ("kind", "option"), [("gap", "on_gap"), ("overlap", "on_overlap"), ("rewritten", "on_overlap")]
)
def test_check_offsets_fails_for_old_findings_too(kind: str, option: str) -> None:
    renderer = shop(cdc={option: "fail"})
    renderer.answers = {SUMMARY: [finding(kind, 3, 0)]}
    with pytest.raises(CompilationError, match=rf"3 times \({option}: fail\)"):
        renderer.render("check_offsets", LOG, None)


def test_offset_message(macros: Renderer) -> None:
    row = finding("overlap", 3, 1)
    assert macros.render("offset_message", feed(), LOG, row, 1).startswith(
        "shop.orders: files share offsets with one before, 1 "
    )


def test_offset_summary_sql(macros: Renderer) -> None:
    sql = macros.render("offset_summary_sql", LOG, 3)
    assert "count_if(newest_batch > 3) as new_count" in sql
    assert_parses(sql)


def test_offset_findings(macros: Renderer) -> None:
    sql = macros.render("offset_findings", LOG)
    assert "from silver.cdc_file_ledger where change_log = 'silver.stg_shop__orders'" in fold(sql)
    assert_parses(sql)


def test_offset_expressions(macros: Renderer) -> None:
    for expressions in (macros.render("counted_offsets"), macros.render("file_offsets", feed())):
        assert_expression_parses(expressions)
    columns = macros.render("offset_columns")
    assert_parses(f"create table t (\n{columns}\n)")
