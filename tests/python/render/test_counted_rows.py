"""The state of a table without a key, without Spark."""

from __future__ import annotations

from typing import Any

from .feeds import ODD_NAMES, column, feed, shop
from .harness import NO_PARTITIONS, Renderer, assert_parses, relation

LOG = relation("stg_shop__orders")
STATE = relation("slv_shop__orders_state")
BATCHES = {"after": 4, "until": 6}
RESETS: list[dict[str, Any]] = [{"position": "10", "micros": 1000}, {"position": "20", "micros": None}]
KEYLESS = {"key": [], "replica_identity": "full"}
ODD = feed(**KEYLESS, columns=[column(name) for name in ODD_NAMES])
PLAIN = feed(**KEYLESS)
MYSQL = {**ODD, "connector": "mysql"}
COLUMNS = [
    "id",
    "note",
    "_cdc_row_hash",
    "_cdc_row_count",
    "_cdc_ambiguous_events",
    "_is_deleted",
    "_deleted_at",
    "_cdc_batch",
]


def position(before: int, lsn: int) -> str:
    return f"{before:020}.{lsn:020}.1.000000.{lsn:020}"


def state(newest: str | None = None, oldest: str | None = None) -> Renderer:
    """The state of a table without a key, whose newest position and the oldest of whose news are known."""
    renderer = shop(cdc=KEYLESS)
    renderer.this, renderer.parents = STATE, ["model.stg"]
    renderer.columns, renderer.types = [*COLUMNS, "_cdc_position"], {("slv_shop__orders_state", "id"): "int"}
    renderer.answers = {
        **NO_PARTITIONS,
        "left: oldest_change": [{"value": oldest}] if oldest else [],
        "select max(_cdc_position)": ({"position": newest},),
        "is_mixed": [{"is_mixed": False}],
        "show tblproperties": [],
        "unix_micros(min(source_ts))": RESETS,
        "select _cdc_file_path from": [],
    }
    return renderer


def test_counted_rows_refuses() -> None:
    renderer = state()
    assert 'delete_policy is "purge"; allowed: soft, hard.' in renderer.refusal(
        "_keyless_rows", LOG, PLAIN, "purge", BATCHES, []
    )
    assert 'meta.cdc.key is ["id"]' in renderer.refusal("_keyless_rows", LOG, feed(), "soft", BATCHES, [])


def test_require_countable() -> None:
    renderer = state()
    for options in (PLAIN, {**PLAIN, "replica_identity": "default"}, {**MYSQL, "replica_identity": "undeclared"}):
        assert renderer.does("_require_countable", options) == []
    assert "meta.cdc.replica_identity of a table without a key" in renderer.refusal(
        "_require_countable", {**PLAIN, "replica_identity": "undeclared"}
    )
    assert 'meta.cdc.snapshots is "partial"; allowed: complete' in renderer.refusal(
        "_require_countable", {**PLAIN, "snapshots": "partial"}
    )
    assert 'meta.cdc.connector of a table without a key is "oracle"' in renderer.refusal(
        "_require_countable", {**PLAIN, "connector": "oracle"}
    )


def test_merge_of_a_table_without_a_key() -> None:
    renderer = state()
    renderer.answers |= {"left: pending_batch": [{"value": 6}], "left: adds_from": [{"value": "30"}]}
    renderer.types = {}
    sql = renderer.sql("spark__get_merge_sql", STATE, LOG, None, [], None)
    assert "on target._cdc_row_hash = source._cdc_row_hash when matched then update set" in sql


def test_repeated_rows() -> None:
    renderer = state()
    sql = renderer.sql("current_rows", STATE)
    assert sql == renderer.sql("_current_rows_sql", STATE, feed(**KEYLESS, name="shop.orders"))
    assert "lateral view explode(sequence(cast(1 as bigint), _cdc_row_count)) numbers as _cdc_row_number" in sql
    assert_parses(sql)
