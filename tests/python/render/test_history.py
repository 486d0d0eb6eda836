"""Histories, without Spark."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from dbt_common.exceptions import CompilationError

from .feeds import ODD_NAMES, column, feed, model, shop
from .harness import NO_PARTITIONS, Renderer, assert_expression_parses, assert_parses, fold, relation

LOG = relation("stg_shop__orders")
HISTORY = relation("slv_shop__orders_history")
BATCHES = {"after": 4, "until": 6}
RESETS: list[dict[str, Any]] = [{"position": "10", "micros": 1000}, {"position": "20", "micros": None}]
ODD = feed(key=["a b", "sel`ect"], columns=[column(name, nullable=name == "a b") for name in ODD_NAMES])
MAPS = feed(columns=[column("id", "int"), column("note"), column("tags", "map<string,string>")])
SUBJECT = "scd2_from_changes: model slv_shop__orders_history"
NEWS = {"show tblproperties silver.stg_shop__orders": [], "select max(_cdc_batch)": [{"batch": 6}]}
APPLIED = {"key": "alluvium.applied_batch.stg_shop__orders", "value": "4"}


def history(**changes: Any) -> Renderer:
    """A renderer whose model is the history of `shop.orders`."""
    renderer = shop(**changes)
    renderer.this = HISTORY
    renderer.nodes = {**renderer.nodes, "model.history": model(HISTORY.identifier or "", "model.stg")}
    renderer.parents = ["model.stg"]
    renderer.meta = {"cdc": {"stored_as_scd_type": 2}}
    renderer.columns = ["id", "note", *Renderer().render("history_columns"), "_cdc_position", "_cdc_batch"]
    renderer.types = {("slv_shop__orders_history", "id"): "int"}
    return renderer


def with_news(**properties: str) -> Renderer:
    """A history that is behind its log, with two resets."""
    renderer = history()
    mine: list[dict[str, Any]] = [{"key": f"alluvium.{name}", "value": value} for name, value in properties.items()]
    renderer.answers = {
        **NEWS,
        "show tblproperties silver.slv_shop__orders_history": [APPLIED, *mine],
        "unix_micros(min(source_ts))": RESETS,
        "select _cdc_file_path from": [],
    }
    return renderer


def test_scd2_from_changes_reads_the_keys_that_are_named() -> None:
    renderer = with_news()
    sql = renderer.render("scd2_from_changes", LOG)
    folded = fold(sql)
    assert "where _cdc_kind = 'change' and _cdc_batch > 4 and _cdc_batch <= 6" in folded
    assert "where exists (select 1 from touched where _cdc_past.`id` = touched.`id`)" in folded
    assert "full outer join" in folded
    assert_parses(sql)


def test_scd2_from_changes_is_not_partitioned_by_times() -> None:
    """Delta (3.3.3) would write other ones where the session's zone is not UTC."""
    renderer = history()
    renderer.partition_by = "_valid_from"
    said = "scd2_from_changes: model slv_shop__orders_history: type of column _valid_from, which partition_by names, is"
    assert said in renderer.refusal("scd2_from_changes", LOG)


def test_scd2_from_changes_built_anew_reads_all() -> None:
    renderer = with_news()
    renderer.incremental = False
    sql = renderer.render("scd2_from_changes", LOG)
    assert "touched" not in sql
    assert fold(sql).endswith("select * from versions")
    assert_parses(sql)


def test_scd2_from_changes_over_a_log_built_anew_takes_it_whole() -> None:
    sql = history().render("default__scd2_from_changes", LOG, feed(), ["note"], {"after": 0, "until": 6}, RESETS)
    assert "touched" not in sql
    assert "full outer join" in sql
    assert_parses(sql)


def test_scd2_from_changes_without_news_reads_nothing() -> None:
    sql = history().render("default__scd2_from_changes", LOG, feed(), ["note"], {"after": 6, "until": 6}, [])
    assert fold(sql).endswith("select * from silver.slv_shop__orders_history where false")
    assert_parses(sql)


def test_scd2_from_changes_is_a_placeholder_while_dbt_parses() -> None:
    renderer = history()
    renderer.execute = False
    assert renderer.sql("scd2_from_changes", LOG) == "select 1 as not_compiled"


def test_scd2_from_changes_refuses() -> None:
    renderer = history()
    renderer.strategy = "append"
    assert 'incremental_strategy is "append"; allowed: merge.' in renderer.refusal("scd2_from_changes", LOG)
    renderer = history()
    renderer.meta = {"cdc": {}}
    assert (
        renderer.refusal("scd2_from_changes", LOG)
        == f"{SUBJECT}: meta.cdc.stored_as_scd_type is not given; allowed: 2."
    )
    renderer = history()
    renderer.post_hooks = []
    assert "record_applied_batches" in renderer.refusal("scd2_from_changes", LOG)
    assert "collapse_unchanged is 1" in history().refusal("scd2_from_changes", LOG, collapse_unchanged="1").replace(
        '"', ""
    )
    assert "at least one column" in history(cdc={"key": []}).refusal("scd2_from_changes", LOG)


def test_feed_of_own_log() -> None:
    assert history().render("feed_of_own_log", "scd2_from_changes", LOG)["name"] == "shop.orders"


def test_tracked_columns(macros: Renderer) -> None:
    def tracked(*lists: Any) -> Any:
        return macros.render("tracked_columns", "a", MAPS, *lists)

    assert tracked(None, None) == ["note", "tags"]
    assert tracked(["tags"], None) == ["tags"]
    assert tracked([], None) == []
    assert tracked(None, ["tags"]) == ["note"]


@pytest.mark.parametrize(
    ("lists", "refusal"),
    [
        ((["id"], None), 'track_history_column_list is "id"; allowed: note, tags.'),
        ((None, ["x"]), 'track_history_except_column_list is "x"; allowed: note, tags.'),
        (("note", None), 'track_history_column_list is "note"; allowed: a list of columns outside the key.'),
        ((["note"], ["tags"]), 'track_history_except_column_list is ["tags"]; allowed: one of the two lists'),
    ],
)
def test_tracked_columns_refuses(macros: Renderer, lists: Any, refusal: str) -> None:
    assert f"a: {refusal}" in macros.refusal("tracked_columns", "a", MAPS, *lists)


def test_require_same_options() -> None:
    renderer = history()
    renderer.answers = {"show tblproperties": []}
    (*_, left) = renderer.does("require_same_options", "a", "x", [], [["id"], None, None, True])
    renderer.answers = {"show tblproperties": [{"key": "alluvium.key", "value": left.partition(" = ")[2]}]}
    renderer.does("require_same_options", "a", "x", [], [["id"], None, None, True])
    with pytest.raises(CompilationError) as caught:
        renderer.render("require_same_options", "a", "x", [], [["id"], ["note"], None, True])
    assert "--full-refresh --select slv_shop__orders_history+" in str(caught.value.msg)


@pytest.mark.parametrize("level", [False, True])
@pytest.mark.parametrize("others", [[], [relation("stg_shop__seats")]])
def test_resets_of_history(level: bool, others: list[Any]) -> None:
    renderer = with_news()
    batches = {"after": 6 if level else 4, "until": 6}
    found = renderer.render("resets_of_history", LOG, feed(), batches, others)
    assert found == ([] if level and not others else RESETS)
    left = [sql for sql in renderer.queries if sql.startswith("set alluvium.reset_at")]
    assert len(left) == len(found) / 2


def test_resets_of_history_that_are_known() -> None:
    renderer = with_news()
    renderer.render("resets_of_history", LOG, feed(), BATCHES, [])
    (left,) = [sql for sql in renderer.queries if sql.startswith("set alluvium.reset_at")]
    renderer = with_news(reset_at=left.partition(" = ")[2])
    level = {"after": 6, "until": 6}
    assert renderer.render("resets_of_history", LOG, feed(), level, [relation("stg_shop__seats")]) == []
    # Keys of news need them all the same.
    assert renderer.render("resets_of_history", LOG, feed(), BATCHES, []) == RESETS


def test_history_knows_the_newest_full_dump_and_refuses_it_where_it_is_broken() -> None:
    dumps = feed(full_dumps={"path": "/full/([^/]+)/", "delay_seconds": 0})
    renderer = with_news()
    renderer.render("resets_of_history", LOG, dumps, BATCHES, [])
    (left,) = [sql.partition(" = ")[2] for sql in renderer.queries if sql.startswith("set alluvium.reset_at")]
    assert left.endswith(f" {RESETS[-1]['position']}")
    renderer = with_news(reset_at=left)
    renderer.answers |= {
        "select min(file_path)": [{"file_path": "/full/a.json"}],
        "unix_micros(min(source_ts))": [],
    }
    with pytest.raises(CompilationError, match=r"scd2_from_changes: source shop.orders: full dump is"):
        renderer.render("resets_of_history", LOG, dumps, BATCHES, [])
    # A table that another version built has no position there.
    renderer = with_news(reset_at=left.partition(" ")[0])
    assert renderer.render("resets_of_history", LOG, dumps, BATCHES, []) == RESETS


def test_touched_keys() -> None:
    renderer = with_news(reset_at="old")
    renderer.answers["set alluvium.reset_at"] = [{"value": "new"}]
    assert "union select `id` from silver.slv_shop__orders_history where" in renderer.sql(
        "touched_keys", LOG, feed(), BATCHES, RESETS
    )
    renderer.answers["set alluvium.reset_at"] = [{"value": "old"}]
    sql = renderer.sql("touched_keys", LOG, feed(), BATCHES, RESETS)
    assert "slv_shop__orders_history" not in sql
    assert sql.endswith("as news group by `id`),")


def test_is_cut_by_reset(macros: Renderer) -> None:
    assert macros.sql("is_cut_by_reset", feed(), []) == "(_cdc_ended_op = 'r' and length(_cdc_ended_position) = 41)"
    cut = macros.sql("is_cut_by_reset", feed(), RESETS)
    assert "and not array_contains(array('10', '20'), _cdc_ended_position) or coalesce(" in cut
    assert_expression_parses(cut)
    assert_expression_parses(macros.sql("first_reset_above", RESETS))


@pytest.mark.parametrize("options", [feed(), ODD, MAPS, feed(replica_identity="full"), feed(connector="mysql")])
@pytest.mark.parametrize(
    ("batches", "resets", "tracked"),
    # Each two values of different arguments meet.
    [
        (None, [], None),
        (None, RESETS, []),
        (None, [], ["note"]),
        (BATCHES, RESETS, None),
        (BATCHES, [], []),
        (BATCHES, RESETS, ["note"]),
    ],
)
def test_versions_of_keys(macros: Renderer, options: dict[str, Any], batches: Any, resets: Any, tracked: Any) -> None:
    sql = macros.render("versions_of_keys", LOG, options, tracked, batches, resets, None)
    assert "_cdc_batch > " not in sql
    assert_parses(f"with {sql} select * from versions")


def test_intervals_of_rows(macros: Renderer) -> None:
    plain = macros.sql("intervals_of_rows", feed(), ["note"], [], False)
    assert "survivors" not in plain
    assert "as _cdc_reset " not in plain
    contested = macros.sql("intervals_of_rows", feed(replica_identity="full"), ["note"], RESETS, True)
    assert (
        "left join survivors on images.`id` = survivors.`id` and images._cdc_position = survivors._cdc_position"
        in contested
    )


def test_row_after_event(macros: Renderer) -> None:
    assert macros.sql("row_after_event", feed(), False) == "if(images._cdc_op = 'd', null, images._cdc_image)"
    assert_expression_parses(macros.sql("row_after_event", feed(replica_identity="full"), True))


def test_end_of_row(macros: Renderer) -> None:
    assert macros.sql("end_of_row", feed(), []) == "_cdc_next"
    ended = macros.sql("end_of_row", feed(), RESETS)
    assert "_cdc_reset.position < coalesce(_cdc_next.position, '~')" in ended
    assert_expression_parses(ended)


def test_goes_on(macros: Renderer) -> None:
    over = "over (order by _cdc_position)"
    each = macros.sql("goes_on", feed(connector="mysql"), None, over)
    assert each == f"lag(_cdc_until.position) {over} = _cdc_position and (false)"
    collapsed = macros.sql("goes_on", feed(connector="mysql"), ["note"], over)
    values = macros.sql("compared_values", feed(connector="mysql"), ["note"])
    assert collapsed.endswith(f"and (lag({values}) {over} <=> {values})")
    contested = macros.sql("goes_on", feed(replica_identity="full"), None, over)
    assert "<=> struct(_cdc_row._cdc_position, _cdc_row._cdc_unresolved_columns)" in contested
    for sql in (each, collapsed, contested):
        assert_expression_parses(sql)


def test_compared_values(macros: Renderer) -> None:
    assert macros.sql("compared_values", MAPS, []) == "struct(true)"
    assert macros.sql("compared_values", MAPS, ["note", "tags"]) == (
        "struct(nullif(array_intersect(_cdc_row._cdc_unresolved_columns, array('note', 'tags')), array()),"
        " _cdc_row.`note`, sort_array(map_entries(_cdc_row.`tags`)))"
    )


def test_version_columns(macros: Renderer) -> None:
    sql = macros.sql("version_columns", feed(), BATCHES)
    assert sql.startswith("select `id`, _cdc_last.row.`note`, _cdc_first._cdc_source_ts as _valid_from,")
    assert "cast(6 as bigint) as _cdc_batch" in sql
    assert "cast(0 as bigint) as _cdc_batch" in macros.sql("version_columns", feed(), None)
    # What a full refresh makes is what a run merges.
    for name in macros.render("history_columns"):
        assert f"{name}," in sql or f"`{name}`," in sql
    assert_parses(sql)


def test_history_lineage_columns(macros: Renderer) -> None:
    names = macros.render("history_lineage_columns")
    assert {"_cdc_op", "_cdc_position", "_cdc_file_path", "_cdc_line"} <= set(names)
    assert "_cdc_batch" not in names


@pytest.mark.parametrize("keys", [None, "touched"])
def test_changed_versions(keys: str | None) -> None:
    renderer = history()
    sql = renderer.render("changed_versions", MAPS, BATCHES, keys)
    assert ("exists (select 1 from touched where _cdc_stored.`id` = touched.`id`)" in fold(sql)) == (keys is not None)
    # A column that the table has not yet.
    assert "or not sort_array(map_entries(versions.`tags`)) <=> null" in sql
    assert "or not versions.`note` <=> stored.`note`" in sql
    assert_parses(sql)


def test_surviving_rows(macros: Renderer) -> None:
    options = feed(replica_identity="full", columns=MAPS["columns"])
    for resets in ([], RESETS):
        sql = macros.render("surviving_rows", "events", options, resets)
        assert sql == macros.render("default__surviving_rows", "events", options, resets)
        assert "partition by `id`, _cdc_stretch" in sql
        assert_parses(sql)
    assert "filter(array('10', '20'), position -> position <= _cdc_position)" in macros.sql(
        "numbered_stretches", "events", RESETS
    )
    marked = macros.sql("marked_as_contested", "events", options, "`id`")
    assert "where" not in marked
    assert_parses(marked)


def test_history_merge_sql(macros: Renderer) -> None:
    columns = ["a b", "sel`ect", "from", "_cdc_position", "_cdc_op"]
    sql = macros.render("history_merge_sql", HISTORY, relation("tmp"), ODD, columns)
    assert (
        "on target.`a b` <=> source.`a b` and target.`sel``ect` = source.`sel``ect`"
        " and target._cdc_position = source._cdc_position\n" in sql
    )
    assert "when matched and source._cdc_op is null\n        then delete" in sql
    assert "`_cdc_position` = source" not in sql
    assert_parses(sql)


def test_get_merge_sql_of_a_history() -> None:
    renderer = history()
    renderer.answers = dict(NO_PARTITIONS)
    renderer.types = {}
    sql = renderer.sql("spark__get_merge_sql", HISTORY, relation("tmp"), None, [], None)
    assert "target._cdc_position = source._cdc_position when matched and source._cdc_op is null" in sql


def moved(found: bool, **changes: Any) -> Renderer:
    """A history whose batches are merged, with versions that moved."""
    renderer = history(**changes)
    renderer.answers = {
        "set alluvium.pending_batch.": [{"value": "6"}],
        "set alluvium.pending_generation.": [{"value": "none"}],
        "show tblproperties": [APPLIED],
        "select 1 as moved": [{"moved": 1}] if found else [],
        "merge into": [],
    }
    return renderer


def test_resolve_moved_versions() -> None:
    renderer = moved(found=True)
    merges = [sql for sql in renderer.does("resolve_moved_versions") if sql.startswith("merge into")]
    assert len(merges) == 100
    assert_parses(merges[0])
    assert not any(sql.startswith("merge") for sql in moved(found=False).does("resolve_moved_versions"))


def test_resolve_moved_versions_asks_nothing_without_reason() -> None:
    level = moved(found=True)
    level.answers["show tblproperties"] = [APPLIED | {"value": "6"}]
    not_a_history = moved(found=True)
    not_a_history.meta = {"cdc": {"merge_guard": "_cdc_position"}}
    whole_images = moved(found=True, cdc={"replica_identity": "full"})
    for renderer in (level, not_a_history, whole_images):
        assert not any(sql.startswith(("select 1", "merge")) for sql in renderer.does("resolve_moved_versions"))


def test_moved_versions_sql() -> None:
    renderer = history()
    sql = renderer.sql("moved_versions_sql", MAPS)
    assert "if(array_contains(moved._cdc_moved_columns, 'note'), old.`note`, moved.`note`) as `note`" in sql
    assert "and not sort_array(map_entries(old.`tags`)) <=> sort_array(map_entries(moved.`tags`))" in sql
    assert_parses(sql)
    assert_expression_parses(renderer.sql("unresolved_of_moved_version"))
    merge = renderer.sql("resolve_moved_versions_sql", MAPS, sql)
    assert "`_cdc_batch` = 0" in merge
    assert_parses(merge)


def test_events_of_a_declared_order_are_told_apart_by_it(macros: Renderer) -> None:
    assert macros.render("position_of_event", feed()) == macros.render("event_position", feed())
    assert macros.render("position_of_event", feed(connector="sqlserver")).startswith("left(_cdc_position, ")
    declared = feed(order_by="offset", shape="flattened", snapshots="partial")
    assert macros.render("position_of_event", declared) == "left(_cdc_position, length(_cdc_position) - 60)"
    sql = macros.sql("versions_of_keys", LOG, declared, ["note"], BATCHES, [], None)
    assert "left(_cdc_position, length(_cdc_position) - 60) as _cdc_source_position" in sql
    # Two rows at one place may each bring what the other lacks.
    ignoring = {**declared, "ignored_null_columns": ["note"]}
    assert macros.render("identity_of_event", ignoring) == (
        "struct(left(_cdc_position, length(_cdc_position) - 60), struct(`note`))"
    )


@pytest.mark.parametrize(("known", "after"), [("none", 4), ("same", 4), ("other", 0)])
def test_history_with_other_tracked_columns_is_computed_anew(known: str, after: int) -> None:
    renderer = with_news()
    fingerprint = hashlib.md5(b'["note"]').hexdigest() if known == "same" else known
    there = [{"key": "alluvium.tracked_columns", "value": fingerprint}]
    renderer.answers = {"show tblproperties": there, "set alluvium.": []}
    batches = {"after": 4, "until": 6}
    renderer.render("take_all_where_tracked_otherwise", ["note"], batches)
    assert batches == {"after": after, "until": 6}
    assert any("tracked_columns" in sql and sql.startswith("set") for sql in renderer.queries) == (known != "same")


def test_columns_that_the_source_tracks_are_the_default() -> None:
    def compiled(source_option: list[str] | None = None, **arguments: Any) -> str:
        renderer = history(cdc={"track_history_except_column_list": source_option} if source_option else {})
        renderer.which, renderer.incremental = "compile", False
        return renderer.sql("scd2_from_changes", LOG, **arguments)

    by_argument = compiled(track_history_except_column_list=["note"])
    assert compiled(["note"]) == by_argument
    assert compiled() == compiled(["note"], track_history_column_list=["note"]) != by_argument
