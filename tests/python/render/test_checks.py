from __future__ import annotations

from typing import Any

import pytest

from .feeds import shop
from .harness import Renderer, assert_parses, fold, relation

LOG = relation("stg_shop__orders")
FILES = [{"is_wanted": True, "first_path": "/a", "last_path": "/a", "file_count": 1, "container_count": 0, "bytes": 5}]


def test_rejected_rows(macros: Renderer) -> None:
    sql = macros.render("rejected_rows", LOG)
    assert sql.startswith("select\n    _cdc_reject_reason,")
    assert sql.endswith("where _cdc_reject_reason is not null")
    assert_parses(sql)


def test_offset_findings(macros: Renderer) -> None:
    sql = macros.render("offset_findings", LOG)
    assert "change_log = 'silver.stg_shop__orders'" in sql
    assert_parses(sql)


def test_unaccounted_lines_reads_the_newest_batch_again() -> None:
    renderer = shop()
    renderer.answers = {"select max(_cdc_batch)": [{"batch": 7}], "batch <=> 7 as is_wanted": FILES}
    sql = renderer.sql("_unaccounted_lines", LOG)
    assert "_metadata.file_path = '/a'" in sql
    assert "where _cdc_batch = 7" in sql


@pytest.mark.parametrize(
    ("quarantine", "allowed"),
    [
        ({}, "100 * new_rejected_count > 5.0 * (new_rejected_count + (select count(*)"),
        ({"fail_above": "0.5 %"}, "100 * new_rejected_count > 0.5 * (new_rejected_count + (select count(*)"),
        ({"fail_above": "100%"}, "100 * new_rejected_count > 100.0 * (new_rejected_count + (select count(*)"),
        ({"fail_above": 3}, "or rejected_count > 3 as is_above_threshold"),
    ],
)
@pytest.mark.parametrize("which", ["build", "compile"])
def test_rejected_above_threshold(quarantine: dict[str, Any], allowed: str, which: str) -> None:
    renderer = shop(cdc={"quarantine": quarantine})
    renderer.which = which
    renderer.absent = ("cdc_released_lines",)
    renderer.answers = {"select max(_cdc_batch)": [{"batch": 7}]}
    sql = renderer.render("_rejected_above_threshold", LOG)
    assert allowed in fold(sql)
    latest = "7" if which == "build" else "(select max(_cdc_batch) from silver.stg_shop__orders)"
    assert f"count_if(rejected._cdc_batch = {latest}) as new_rejected_count" in fold(sql)
    assert f"where {renderer.render('_is_decoded')} limit 1) as decoded) = 0 or " in fold(sql)
    assert_parses(sql)


def test_unresolved_above_threshold() -> None:
    state = relation("slv_shop__orders_state")
    counted = shop(cdc={"unresolved": {"fail_above": 2}}).render("_unresolved_above_threshold", state)
    assert "from silver.slv_shop__orders_state where _cdc_unresolved_columns is not null" in fold(counted)
    assert counted.endswith("where unresolved_count > 2")
    assert_parses(counted)
    unread = shop().render("_unresolved_above_threshold", state)
    assert "silver." not in unread
    assert_parses(unread)
