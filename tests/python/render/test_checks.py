from __future__ import annotations

from .feeds import feed, shop
from .harness import Renderer, assert_parses, fold, relation

LOG = relation("stg_shop__orders")
FILES = [{"is_wanted": True, "first_path": "/a", "last_path": "/a", "file_count": 1, "gzip_count": 0, "bytes": 5}]


def test_rejected_rows(macros: Renderer) -> None:
    sql = macros.render("rejected_rows", LOG)
    assert sql.startswith("select\n    _cdc_reject_reason,")
    assert sql.endswith("where _cdc_reject_reason is not null")
    assert_parses(sql)


def test_unaccounted_lines_reads_the_newest_batch_again() -> None:
    renderer = shop()
    renderer.answers = {"select max(_cdc_batch)": [{"batch": 7}], "applied.batch <=> 7": FILES}
    sql = renderer.sql("unaccounted_lines", LOG)
    assert "_metadata.file_path = '/a'" in sql
    assert "where _cdc_batch = 7" in sql


def test_unaccounted_lines_sql(macros: Renderer) -> None:
    sql = macros.render("unaccounted_lines_sql", feed(), LOG, 7, FILES)
    assert "where change_log = 'silver.stg_shop__orders' and batch = 7" in fold(sql)
    assert_parses(sql)


def test_rejected_threshold() -> None:
    assert shop(cdc={"quarantine": {"fail_above": 3}}).render("rejected_threshold", LOG) == 3
    assert shop().render("rejected_threshold", LOG) == "cast('Infinity' as double)"


def test_unresolved_above_threshold() -> None:
    state = relation("slv_shop__orders_state")
    counted = shop(cdc={"unresolved": {"fail_above": 2}}).render("unresolved_above_threshold", state)
    assert "from silver.slv_shop__orders_state where _cdc_unresolved_columns is not null" in fold(counted)
    assert counted.endswith("where unresolved_count > 2")
    assert_parses(counted)
    unread = shop().render("unresolved_above_threshold", state)
    assert "silver." not in unread
    assert_parses(unread)
