"""The state of a table without a key, without Spark."""

from __future__ import annotations

from typing import Any

import pytest

from .feeds import ODD_NAMES, column, feed, shop
from .harness import NO_PARTITIONS, Renderer, assert_expression_parses, assert_parses, fold, relation

LOG = relation("stg_shop__orders")
STATE = relation("slv_shop__orders_state")
BATCHES = {"after": 4, "until": 6}
LEVEL = {"after": 6, "until": 6}
RESETS: list[dict[str, Any]] = [{"position": "10", "micros": 1000}, {"position": "20", "micros": None}]
KEYLESS = {"key": [], "replica_identity": "full"}
ODD = feed(**KEYLESS, columns=[column(name) for name in ODD_NAMES])
PLAIN = feed(**KEYLESS)
MYSQL = {**ODD, "connector": "mysql"}
FLATTENED = {**ODD, "shape": "flattened"}
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
    renderer.meta = {"cdc": {"merge_guard": "_cdc_position", "delete_policy": "soft"}}
    renderer.columns, renderer.types = [*COLUMNS, "_cdc_position"], {("slv_shop__orders_state", "id"): "int"}
    renderer.answers = {
        **NO_PARTITIONS,
        "set alluvium.oldest_change.": [{"value": oldest}] if oldest else [],
        "select max(_cdc_position)": ({"position": newest},),
        "is_mixed": [{"is_mixed": False}],
        "show tblproperties": [],
        "unix_micros(min(source_ts))": RESETS,
        "select _cdc_file_path from": [],
    }
    return renderer


def counted(renderer: Renderer, batches: Any = BATCHES, resets: Any = (), **options: Any) -> str:
    return str(renderer.render("counted_rows", LOG, {**PLAIN, **options}, "soft", batches, list(resets)))


def test_counted_rows_adds_newer_events() -> None:
    renderer = state(position(19, 20), position(29, 30))
    sql = counted(renderer)
    assert "_cdc_batch > 4" in sql
    assert_parses(sql)
    assert any(query.endswith(f" = {position(29, 30)}") and "adds_from" in query for query in renderer.queries)
    assert renderer.messages == []


@pytest.mark.parametrize(
    ("newest", "oldest", "batches", "resets"),
    [
        (position(29, 30), position(29, 30), BATCHES, []),
        (position(19, 20), position(9, 10), BATCHES, []),
        (position(19, 20), position(29, 30), BATCHES, RESETS),
        (None, position(29, 30), BATCHES, []),
        (position(19, 20), None, LEVEL, RESETS),
    ],
    ids=["again", "late", "reset", "empty", "level"],
)
def test_counted_rows_counts_the_log(newest: str | None, oldest: str | None, batches: Any, resets: Any) -> None:
    renderer = state(newest, oldest)
    sql = counted(renderer, batches, resets)
    assert "_cdc_batch > " not in sql
    assert "_cdc_batch <= 6" in sql
    assert_parses(sql)
    assert not any("adds_from" in query for query in renderer.queries)
    assert renderer.messages == [
        "shop.orders: an event came late, or again, or a reset came: the whole change log is counted"
    ]
    # Rows that an earlier reset has taken away keep its time.
    assert any("unix_micros" in query and "_cdc_position >= ''" in query for query in renderer.queries)


def test_counted_rows_of_a_level_state_are_none() -> None:
    assert fold(counted(state(), LEVEL)).endswith("where false")


def test_counted_rows_refuses() -> None:
    renderer = state()
    assert 'delete_policy is "purge"; allowed: soft, hard.' in renderer.refusal(
        "counted_rows", LOG, PLAIN, "purge", BATCHES, []
    )
    assert 'meta.cdc.key is ["id"]' in renderer.refusal("counted_rows", LOG, feed(), "soft", BATCHES, [])


def test_require_countable() -> None:
    renderer = state()
    for options in (PLAIN, {**PLAIN, "replica_identity": "default"}, {**MYSQL, "replica_identity": "undeclared"}):
        assert renderer.does("require_countable", options) == []
    assert "meta.cdc.replica_identity of a table without a key" in renderer.refusal(
        "require_countable", {**PLAIN, "replica_identity": "undeclared"}
    )
    assert 'meta.cdc.snapshots is "partial"; allowed: complete' in renderer.refusal(
        "require_countable", {**PLAIN, "snapshots": "partial"}
    )
    assert 'meta.cdc.connector of a table without a key is "oracle"' in renderer.refusal(
        "require_countable", {**PLAIN, "connector": "oracle"}
    )


def test_adds_from() -> None:
    def adds_from(newest: str | None, oldest: str, options: Any, resets: Any = (), is_mixed: bool = False) -> Any:
        renderer = state(newest, oldest)
        renderer.answers["is_mixed"] = [{"is_mixed": is_mixed}]
        return renderer.render("adds_from", LOG, options, BATCHES, list(resets))

    assert adds_from(position(19, 20), position(29, 30), PLAIN) == position(29, 30)
    assert adds_from(position(19, 20), position(29, 30), PLAIN, RESETS) is None
    # Of the same transaction, delivered in two runs; of one before; the same event.
    assert adds_from(position(10, 20), position(10, 25), PLAIN) == position(10, 25)
    assert adds_from(position(10, 20), position(10, 15), PLAIN) is None
    assert adds_from(position(10, 20), position(10, 20), PLAIN) is None
    # Sent again with another end of the transaction before, it would look later.
    assert adds_from(position(10, 20), position(25, 20), PLAIN, is_mixed=True) is None
    built_anew = state(position(19, 20), position(29, 30))
    built_anew.incremental = False
    assert built_anew.render("adds_from", LOG, PLAIN, BATCHES, []) is None


def test_adds_from_lists_the_files_of_hudi_anew() -> None:
    """In a session that lives on, those that another session has cleaned away are gone."""
    renderer = state(position(19, 20), position(29, 30))
    renderer.file_format = "hudi"
    renderer.answers["refresh table"] = []
    assert renderer.render("adds_from", LOG, PLAIN, BATCHES, []) == position(29, 30)
    asked = [query for query in renderer.queries if query.startswith(("refresh", "select max"))]
    assert asked == [f"refresh table {STATE}", f"select max(_cdc_position) as position from {STATE}"]


def test_adds_from_of_a_binlog() -> None:
    def at(row: int) -> str:
        return f"{1:010}.{99:020}.{row:010}.1.000000"

    assert state(at(1), at(2)).render("adds_from", LOG, MYSQL, BATCHES, []) == at(2)
    assert state(at(1), at(1)).render("adds_from", LOG, MYSQL, BATCHES, []) is None


def test_lsns_of_batches_sql(macros: Renderer) -> None:
    sql = macros.render("lsns_of_batches_sql", LOG, BATCHES)
    assert "filter (where _cdc_batch > 4)" in sql
    assert "and _cdc_batch <= 6" in sql
    assert_parses(sql)
    assert macros.render("own_lsn", "_cdc_position") == "substring(_cdc_position, 22, 20)"
    assert position(19, 20)[21:41].strip("0") == "2"


@pytest.mark.parametrize("options", [ODD, MYSQL, FLATTENED], ids=["postgresql", "mysql", "flattened"])
@pytest.mark.parametrize("adds_from", [None, "30"])
@pytest.mark.parametrize("known", [None, "10"])
def test_default_counted_rows(options: dict[str, Any], adds_from: str | None, known: str | None) -> None:
    renderer = state()
    renderer.answers["show tblproperties"] = [{"key": "alluvium.reset_at", "value": known}] if known else []
    sql = renderer.render("default__counted_rows", LOG, options, "hard", BATCHES, RESETS, adds_from)
    assert_parses(sql)
    # A snapshot that the log starts with counts before its end is known, not one that comes later.
    assert ("cross join" in sql) == (adds_from is None and known is None)
    assert ("if(_cdc_row_count <= 0, null, newest.image" in sql) == (adds_from is None)


def test_announce_way_of_counting() -> None:
    renderer = state()
    assert len(renderer.does("announce_way_of_counting", PLAIN, BATCHES, "30")) == 1
    assert renderer.does("announce_way_of_counting", PLAIN, None, None) == []
    assert renderer.messages == []
    assert renderer.does("announce_way_of_counting", PLAIN, BATCHES, None) == []
    assert len(renderer.messages) == 1


def test_row_changes(macros: Renderer) -> None:
    # A column of the table may be called so, too.
    sql = macros.sql("row_changes", "changes", {**ODD, "columns": [column("image"), *ODD["columns"]]})
    assert "taken.image.`image`" in sql
    sql = macros.sql("row_changes", "changes", ODD)
    assert "when _cdc_op = 'd' then array(struct(-1, " in sql
    assert macros.sql("known_image_before", ODD) in sql
    assert "_cdc_has_image_before" not in macros.sql("row_changes", "changes", FLATTENED)
    assert_parses(sql)


def test_row_hash_is_of_sorted_columns(macros: Renderer) -> None:
    columns = [column("b"), column("a")]
    one, other = (macros.sql("row_hash", feed(**KEYLESS, columns=made), "image") for made in (columns, columns[::-1]))
    assert one == other
    assert one.startswith("sha2(to_json(struct(image.`a`, image.`b`), map('timeZone', 'UTC', ")
    assert_expression_parses(macros.sql("row_hash", ODD, "image"))


def test_event_position(macros: Renderer) -> None:
    """A PostgreSQL event keeps its own lsn when it is sent again; a binlog event its place in the binlog."""
    assert (
        macros.render("event_position", PLAIN)
        == "if(_cdc_op = 'r', left(_cdc_position, 41), substring(_cdc_position, 22, 20))"
    )
    assert position(19, 20)[21:41] == f"{20:020}"
    assert macros.render("event_position", MYSQL) == "left(_cdc_position, 42)"


def test_record_identity(macros: Renderer) -> None:
    assert "_cdc_connector_ts_ns" in macros.sql("record_identity", PLAIN)
    assert "_cdc_connector_ts_ns" not in macros.sql("record_identity", FLATTENED)
    assert_expression_parses(macros.sql("record_identity", PLAIN))


def test_events_once(macros: Renderer) -> None:
    for options in (ODD, MYSQL):
        assert_parses(macros.sql("events_once", "row_changes", options))


def test_rows_of_event(macros: Renderer) -> None:
    assert macros.sql("rows_of_event", MYSQL) == "case _cdc_op when 'r' then record_count else 1 end"
    assert "has_places" in macros.sql("rows_of_event", PLAIN)
    assert_expression_parses(macros.sql("rows_of_event", PLAIN))


def test_ambiguous_events(macros: Renderer) -> None:
    assert "_cdc_op = 'c' and not has_places" in macros.sql("ambiguous_events", PLAIN)
    assert "_cdc_op = 'c'" not in macros.sql("ambiguous_events", MYSQL)
    assert_expression_parses(macros.sql("ambiguous_events", PLAIN))


def test_sum_of_events(macros: Renderer) -> None:
    sql = macros.sql("sum_of_events", "row_count", PLAIN, "10", False)
    assert "filter (where _cdc_op <> 'r' and newest._cdc_position > '10')" in sql
    assert "filter (where _cdc_op = 'r' and source_position = '10')" in sql
    assert "source_position = log.start" in macros.sql("sum_of_events", "row_count", PLAIN, "", True)
    assert_expression_parses(sql)


def test_start_of_log(macros: Renderer) -> None:
    assert macros.render("start_of_log", PLAIN) == "min(left(_cdc_position, 41))"
    assert macros.render("start_of_log", FLATTENED) == "min(if(_cdc_op = 'r', left(_cdc_position, 41), null))"


def test_counted_columns(macros: Renderer) -> None:
    hard = macros.sql("counted_columns", "counts", ODD, "hard", "20", RESETS)
    assert r"if(_cdc_row_count <= 0, null, newest.image.`it's`) as `it's`" in hard
    assert "when newest._cdc_position < '20' then timestamp_micros(" in hard
    assert "timestamp_micros" not in macros.sql("counted_columns", "counts", ODD, "soft", "", [])
    assert_parses(hard)


def test_counted_merge_sql() -> None:
    renderer = state()
    renderer.answers["set alluvium.pending_batch."] = [{"value": "6"}]
    for delete_policy in ("soft", "hard"):
        added = renderer.sql("counted_merge_sql", STATE, LOG, PLAIN, COLUMNS, delete_policy, "30")
        whole = renderer.sql("counted_merge_sql", STATE, LOG, PLAIN, COLUMNS, delete_policy, None)
        assert "if(target._cdc_position < '30', target._cdc_row_count + source._cdc_row_count, raise_error(" in added
        assert "if(target._cdc_batch <= 6, source._cdc_row_count, raise_error(" in whole
        assert ("if(source._is_deleted, null, source.`note`)" in whole) == (delete_policy == "hard")
        assert_parses(added)
        assert_parses(whole)


def test_counted_values() -> None:
    renderer = state()
    added = renderer.render("counted_values", PLAIN, COLUMNS, "hard", "30")
    gone = "target._cdc_row_count + source._cdc_row_count <= 0"
    assert added["note"] == f"if({gone}, null, source.`note`)"
    assert added["_is_deleted"] == gone
    assert added["_cdc_batch"] == "source.`_cdc_batch`"
    whole = renderer.render("counted_values", PLAIN, COLUMNS, "hard", None)
    assert (whole["note"], whole["_is_deleted"]) == ("source.`note`", "source.`_is_deleted`")


def test_values_of_unnamed_row() -> None:
    renderer = state()
    values = renderer.render("values_of_unnamed_row", PLAIN, "soft")
    assert (values["_is_deleted"], values["_cdc_batch"], "note" in values) == ("true", 0, False)
    assert renderer.render("values_of_unnamed_row", PLAIN, "hard")["note"] == "null"
    assert_expression_parses(renderer.sql("is_counted_otherwise"))
    assert (
        "when not matched by source and target._cdc_row_count <> 0 then update set `_cdc_row_count` = if("
        in renderer.sql("counted_merge_sql", STATE, LOG, PLAIN, COLUMNS, "hard", None)
    )
    assert "not matched by source" not in renderer.sql("counted_merge_sql", STATE, LOG, PLAIN, COLUMNS, "hard", "30")


def test_unless_applied_elsewhere(macros: Renderer) -> None:
    sql = macros.sql("unless_applied_elsewhere", "1", "30")
    assert sql.startswith("if(target._cdc_position < '30', 1, raise_error('another run ")
    assert_expression_parses(sql)


def test_new_counted_values(macros: Renderer) -> None:
    assert macros.render("new_counted_values", PLAIN, ["note", "_cdc_batch"], "soft") == {
        "note": "source.`note`",
        "_cdc_batch": "source.`_cdc_batch`",
    }
    assert macros.render("new_counted_values", PLAIN, ["note"], "hard") == {
        "note": "if(source._is_deleted, null, source.`note`)"
    }


def test_merge_of_a_table_without_a_key() -> None:
    renderer = state()
    renderer.answers |= {"set alluvium.pending_batch.": [{"value": "6"}], "set alluvium.adds_from.": [{"value": "30"}]}
    renderer.types = {}
    sql = renderer.sql("spark__get_merge_sql", STATE, LOG, None, [], None)
    assert "on target._cdc_row_hash = source._cdc_row_hash when matched then update set" in sql


@pytest.mark.parametrize(("negative", "ambiguous"), [(0, 0), (1, 0), (0, 2)])
def test_announce_undecided_counts(negative: int, ambiguous: int) -> None:
    renderer = state(oldest="30")
    renderer.answers["count_if(_cdc_row_count < 0)"] = [{"negative_count": negative, "ambiguous_count": ambiguous}]
    assert len(renderer.does("announce_undecided_counts")) == 2 + bool(negative or ambiguous)
    assert len(renderer.warnings) == (1 if negative or ambiguous else 0)


def test_announce_undecided_counts_asks_no_other_model() -> None:
    with_key = shop()
    with_key.this, with_key.parents, with_key.meta = STATE, ["model.stg"], {"cdc": {"merge_guard": "_cdc_position"}}
    with_key.answers = {"set alluvium.oldest_change.": [{"value": "30"}]}
    assert len(with_key.does("announce_undecided_counts")) == 1
    assert Renderer().does("announce_undecided_counts") == []
    assert_parses(with_key.sql("undecided_counts_sql", STATE))


def test_repeated_rows() -> None:
    renderer = state()
    sql = renderer.sql("living_rows", STATE)
    assert sql == renderer.sql("repeated_rows", STATE, feed(**KEYLESS, name="shop.orders"))
    assert "lateral view explode(sequence(cast(1 as bigint), _cdc_row_count)) numbers as _cdc_row_number" in sql
    assert_parses(sql)


def test_is_unresolved() -> None:
    assert state().render("has_undecided_count") == "(_cdc_row_count < 0 or _cdc_ambiguous_events > 0)"
    assert state().render("is_unresolved", STATE) == "(_cdc_row_count < 0 or _cdc_ambiguous_events > 0)"
    assert shop().render("is_unresolved", STATE) == "_cdc_unresolved_columns is not null and not _is_deleted"
