"""Values that a row holds from earlier events, from an old key, or in spite of a delete, without Spark."""

from __future__ import annotations

from typing import Any

import pytest
from dbt_common.exceptions import CompilationError

from .feeds import ODD_NAMES, column, feed, shop
from .harness import Renderer, assert_expression_parses, assert_parses, fold, relation

LOG = relation("stg_shop__orders")
STATE = relation("slv_shop__orders_state")
BATCHES = {"after": 4, "until": 6}
RESETS = [{"position": "10", "micros": 1000}]
ODD = feed(key=["a b", "sel`ect"], columns=[column(name, nullable=name == "a b") for name in ODD_NAMES])
FULL = {**ODD, "replica_identity": "full"}
FIXED = feed(columns=[column("id", "int"), column("size", "int")])


def state(**changes: Any) -> Renderer:
    """A state that applies a batch whose oldest change is known."""
    renderer = shop(**changes)
    renderer.this, renderer.parents = STATE, ["model.stg"]
    renderer.meta = {"cdc": {"merge_guard": "_cdc_position", "delete_policy": "soft"}}
    renderer.answers = {
        "set alluvium.oldest_change.": [{"value": "20"}],
        "set alluvium.pending_batch.": [{"value": "6"}],
        "merge into": [],
    }
    return renderer


@pytest.mark.parametrize(
    "options", [ODD, FULL, FIXED, {**ODD, "connector": "mongodb"}], ids=["held", "full", "fixed", "mongodb"]
)
def test_row_images(macros: Renderer, options: dict[str, Any]) -> None:
    sql = macros.sql("row_images", "changes", options)
    assert sql == macros.sql("default__row_images", "changes", options)
    # A log may have events from before the table was altered to REPLICA IDENTITY FULL.
    assert ("_cdc_held__" in sql) == (options in (ODD, FULL))
    for name in ("_cdc_value_positions", "_cdc_moved_columns", "_cdc_unresolved_columns"):
        assert f"as {name}" in sql
    assert_parses(sql)


def test_values_are_looked_for_where_an_event_lacks_one(macros: Renderer) -> None:
    for lacks_values in (True, None):
        assert "_cdc_held__" in macros.sql("row_images", "changes", {**ODD, "lacks_values": lacks_values})
    sql = macros.sql("row_images", "changes", {**ODD, "lacks_values": False})
    assert "_cdc_held__" not in sql
    assert "cast(null as map<string, string>) as _cdc_value_positions" in sql
    assert_parses(sql)
    # The past of a contested key may lack values that its new events have.
    assert "_cdc_held__" in macros.sql("row_images", "changes", {**FULL, "lacks_values": False})


def test_window_over_a_keys_events_grows_with_them(macros: Renderer) -> None:
    """The other way round, Spark would aggregate anew for each row."""
    assert macros.sql("events_of_key_up_to_this", ODD) == (
        "partition by `a b`, `sel``ect` order by _cdc_position rows between unbounded preceding and current row"
    )


def test_held_values(macros: Renderer) -> None:
    sql = macros.sql("held_values", "changes", ODD, ["it's"])
    assert sql.endswith(" as `_cdc_held__it's` from changes")
    assert_parses(sql)
    assert macros.render("held_value", "a") == "`_cdc_held__a`"


def test_held_value_of_event(macros: Renderer) -> None:
    sql = macros.sql("held_value_of_event", "it's")
    unchanged = r"if(coalesce(array_contains(_cdc_unavailable_columns, 'it\'s'), false) and _cdc_op = 'u' and not "
    elsewhere = r"coalesce(exists(_cdc_unavailable_columns, name -> startswith(name, 'it\'s: ')), false)"
    assert sql.startswith(f"{unchanged}{elsewhere}, null, struct(")
    assert sql.endswith(f"and not {elsewhere} as is_moved))"), "a value elsewhere is under no other key"
    assert_expression_parses(sql)


def test_names_and_positions_of_held_values(macros: Renderer) -> None:
    assert macros.render("positions_of_held_values", []) == "cast(null as map<string, string>)"
    assert macros.render("held_columns_where", [], "is_moved") == "cast(null as array<string>)"
    positions = macros.sql("positions_of_held_values", ["a", "it's"])
    assert r"'it\'s', coalesce(`_cdc_held__it's`.position, '')" in positions
    names = macros.sql("held_columns_where", ["a"], "is_moved")
    assert (
        names == "nullif(filter(array(if(`_cdc_held__a`.is_moved, 'a', null), cast(null as string)),"
        " name -> name is not null), array())"
    )
    assert_expression_parses(positions)


def test_changes_of_batches(macros: Renderer) -> None:
    placed = macros.sql("has_its_place", LOG, feed())
    all_changes = f"select * from {LOG} where _cdc_kind = 'change' and {placed}"
    assert macros.sql("changes_of_batches", LOG, feed(), None) == all_changes
    some = macros.sql("changes_of_batches", LOG, feed(), BATCHES)
    assert some.endswith(f"'change' and _cdc_batch > 4 and _cdc_batch <= 6 and {placed}")
    some = macros.sql("changes_of_batches", LOG, feed(), {"after": 0, "until": 6})
    assert some.endswith(f"'change' and _cdc_batch <= 6 and {placed}")


def test_a_change_has_its_place(macros: Renderer) -> None:
    sql = macros.sql("has_its_place", LOG, feed())
    assert "(_cdc_position is null or _cdc_kind = 'change' and `id` is null), raise_error(" in sql
    assert macros.sql("said_of_lost_place", LOG, LOG) in sql
    assert_expression_parses(sql)
    nullable = feed(columns=[column("id", "int", nullable=True)])
    assert "`id`" not in macros.sql("has_its_place", LOG, nullable)


def test_table_of_an_earlier_release_is_looked_through_once() -> None:
    renderer = shop(answers={"where _cdc_position is null": []})
    assert len(renderer.does("require_placed_rows", {})) == 1
    assert renderer.does("require_placed_rows", {"has_positions": "true"}) == []
    renderer.answers["where _cdc_position is null"] = [{"missing": 1}]
    with pytest.raises(CompilationError, match=r"has rows without a position.*dbt build --full-refresh"):
        renderer.render("require_placed_rows", {})


def test_has_contested_keys(macros: Renderer) -> None:
    for connector in ("postgresql", "sqlserver", "oracle"):
        assert macros.render("has_contested_keys", {**FULL, "connector": connector})
        assert not macros.render("has_contested_keys", feed(connector=connector))
    assert not macros.render("has_contested_keys", {**FULL, "connector": "mysql"})


@pytest.mark.parametrize("resets", [[], ["10"], ["10", "20"]])
def test_contested_rows(macros: Renderer, resets: list[str]) -> None:
    options = {**FULL, "columns": [*FULL["columns"], column("tags", "map<string,string>")]}
    sql = macros.sql("contested_rows", "changes", options, resets)
    assert sql == macros.sql("default__contested_rows", "changes", options, resets)
    literals = ", ".join(f"'{reset}'" for reset in resets)
    assert (f"filter(array({literals}), reset -> reset < _cdc_newest_position)" in sql) == bool(resets)
    assert_parses(macros.render("contested_rows", "changes", options, resets))
    if resets:
        assert_parses("select * from " + macros.render("changes_after_reset", "changes", options, resets))
    once = macros.render("delivered_once", "changes", options)
    assert "substring(_cdc_position, 22, 20)), _cdc_op order by _cdc_position desc" in once
    assert_parses(f"select * from {once}")


def test_parts_of_contested_rows(macros: Renderer) -> None:
    assert macros.render("takes_living_key", FULL) == (
        "_cdc_op = 'c' and _cdc_before._cdc_op <> 'd'"
        " and if(_cdc_before._cdc_op = 'r', left(_cdc_before._cdc_position, 41),"
        " substring(_cdc_before._cdc_position, 22, 20))"
        " <> if(_cdc_op = 'r', left(_cdc_position, 41), substring(_cdc_position, 22, 20))"
    )
    assert macros.render("begins_transaction", FULL) == (
        "not coalesce(split_part(_cdc_transaction_id, ':', 1) = split_part(_cdc_before._cdc_transaction_id, ':', 1),"
        " (left(_cdc_position, 20) = left(_cdc_before._cdc_position, 20)"
        " or left(_cdc_position, 20) = substring(_cdc_position, 22, 20)"
        " and _cdc_source_ts <=> _cdc_before._cdc_source_ts))"
    )
    of_oracle = {**FULL, "connector": "oracle"}
    one, other = (macros.render("transaction_of", of_oracle, f"{name}.") for name in ("one", "other"))
    assert macros.render("is_same_commit", of_oracle, one, other) == (
        "left(one._cdc_position, 24) = left(other._cdc_position, 24)"
    )
    assert "left(one._cdc_position, 22) = " in macros.render(
        "is_same_commit", {**FULL, "connector": "sqlserver"}, one, other
    )
    by_time = macros.render("is_same_time", one, other)
    assert by_time == "one._cdc_source_ts <=> other._cdc_source_ts"
    by_offset = macros.render("is_same_transaction", {**of_oracle, "order_by": "offset"}, one, other)
    assert by_offset == f"coalesce(one._cdc_transaction_id = other._cdc_transaction_id, {by_time})"
    assert "length(_cdc_before._cdc_position) - 60" in macros.render("takes_living_key", {**FULL, "order_by": "offset"})
    tags = feed(columns=[column("id", "int"), column("name"), column("tags", "map<string,int>")])
    assert macros.render("image_of_event", tags) == "struct(`name`, sort_array(map_entries(`tags`)) as `tags`)"
    assert "array_position(" in macros.render("row_that_ends")
    assert_expression_parses(macros.render("rows_after_events"))
    assert "latest._cdc_op = 'd'" in macros.render("is_survivor", "contested")
    assert_expression_parses(macros.sql("image_of_survivor", "contested", tags))
    assert_parses(macros.sql("settled_rows", "latest", "contested", FULL))


def test_changes_with_past(macros: Renderer) -> None:
    macros.this = STATE
    sql = macros.sql("changes_with_past", LOG, FULL, BATCHES)
    assert f"inner join {STATE} as state on news.`a b` <=> state.`a b` and news.`sel``ect` = state.`sel``ect`" in sql
    tables = macros.render("changes_with_past", LOG, FULL, BATCHES).rstrip().rstrip(",")
    assert_parses(f"with {tables} select * from changes")
    late = macros.sql("changes_with_past", LOG, FULL, BATCHES, [{"position": "10", "micros": 1}])
    assert "or news._cdc_first._cdc_position < '10' union select target.`a b`, target.`sel``ect` from" in late
    assert "exists(array('10'), reset -> reset < target._cdc_position and (target._cdc_image_position < reset" in late
    tables = (
        macros.render("changes_with_past", LOG, FULL, BATCHES, [{"position": "10", "micros": 1}]).rstrip().rstrip(",")
    )
    assert_parses(f"with {tables} select * from changes")


@pytest.mark.parametrize("incremental", [True, False])
def test_current_state_where_keys_may_be_contested(incremental: bool) -> None:
    renderer = state(cdc={"replica_identity": "full"})
    renderer.incremental = incremental
    renderer.answers["show tblproperties"] = []
    sql = renderer.sql("current_state_sql", LOG, FULL, "soft", BATCHES, RESETS)
    assert ("replayed as (" in sql) == incremental
    assert "_cdc_op = 'd' and not _cdc_is_survivor or _cdc_position < '10' as _is_deleted" in sql
    assert_parses(renderer.render("current_state_sql", LOG, FULL, "soft", BATCHES, RESETS))


def test_newest_reset() -> None:
    renderer = state()
    renderer.answers["show tblproperties"] = [{"key": "alluvium.reset_at", "value": "10"}]
    assert renderer.render("newest_reset") == "10"
    renderer.answers["set alluvium.reset_at"] = [{"value": "20"}]
    assert renderer.render("newest_reset") == "20"
    assert renderer.render("positions_of_resets", [{"position": "15", "micros": 1}]) == ["15", "20"]
    assert Renderer(incremental=False).render("newest_reset") == ""


def test_is_held(macros: Renderer) -> None:
    assert [macros.render("is_held", name, ODD) for name in ("it's", "a b", "_cdc_moved_columns", "_cdc_op")] == [
        True,
        False,
        True,
        False,
    ]
    assert not macros.render("is_held", "_cdc_moved_columns", FULL)


@pytest.mark.parametrize(
    ("name", "macro", "arguments"),
    [
        ("it's", "merged_held_value", ["it's"]),
        ("_cdc_value_positions", "merged_value_positions", [ODD]),
        ("_cdc_moved_columns", "merged_column_names", [ODD, "_cdc_moved_columns", "false"]),
        ("_cdc_unresolved_columns", "merged_column_names", [ODD, "_cdc_unresolved_columns", "true"]),
    ],
)
def test_merged_held_column(macros: Renderer, name: str, macro: str, arguments: list[Any]) -> None:
    sql = macros.sql("merged_held_column", name, ODD)
    assert sql == fold(macros.render(macro, *arguments))
    assert_expression_parses(sql)


def test_parts_of_merged_held_columns(macros: Renderer) -> None:
    names = macros.sql("merged_column_names", ODD, "_cdc_moved_columns", "false")
    assert "then array_contains(target._cdc_moved_columns, name)" in names
    assert names.endswith("else false end), array())")
    positions = macros.sql("merged_value_positions", ODD)
    assert "position <> greatest(source._cdc_image_position, target._cdc_image_position)" in positions


def test_newest_value_wins_whichever_row_has_it(macros: Renderer) -> None:
    position = macros.sql("value_position", "target", "'a'")
    assert position == "coalesce(target._cdc_value_positions['a'], target._cdc_image_position, '')"
    assert macros.sql("newest_value_position", "'a'").startswith(f"greatest({position}, ")
    assert macros.sql("merged_held_value", "a").endswith(
        "then target.`a` when " + position.replace("target", "source") + " then source.`a` end"
    )
    brings = macros.sql("brings_held_value", ODD, "soft")
    assert brings.startswith("exists(array('Upper', ")
    assert macros.sql("brings_held_value", ODD, "hard") == "not target._is_deleted and " + brings
    assert_expression_parses(brings)


def test_unless_deleted(macros: Renderer) -> None:
    assert macros.render("unless_deleted", "a", "_cdc_position", "soft", RESETS) == "a"
    assert macros.render("unless_deleted", "a", "_cdc_position", "hard", RESETS) == (
        "if(if(source._cdc_position > target._cdc_position, source._is_deleted,"
        " target._is_deleted or target._cdc_position < '10'), null, a)"
    )


MOVES = "silver.slv_shop__orders_state__moves"
MOVED_VALUES = "silver.slv_shop__orders_state__moved_values"


def following(found: list[dict[str, Any]], missing: list[dict[str, Any]]) -> Renderer:
    """A state whose rows have moved; the oldest position of a step is `found`, unless a test says more."""
    renderer = state()
    renderer.answers = {"insert into": [], "select 1 as missing": missing} | renderer.answers
    renderer.answers |= {"select 1 as moved": [{"moved": 1}]}
    renderer.answers |= {"min(_cdc_created_position)": found, "create table": [], "drop table": [], "merge into": []}
    return renderer


def test_resolve_moved_values() -> None:
    renderer = following([{"created_position": "20.30.1"}], [])
    ran = [sql.split(" ")[0] for sql in renderer.does("resolve_moved_values") if not sql.startswith("set")]
    assert ran[:10] == ["select", "select", "drop", "create", "drop", "create", "insert", "insert", "select", "select"]
    assert (ran.count("merge"), ran.count("create"), ran.count("insert")) == (1, 2, 200), "a chain that never ends"
    renderer.answers["min(_cdc_created_position)"] = [{"created_position": None}]
    assert [sql.split(" ")[0] for sql in renderer.does("resolve_moved_values")] == ["set", "select", "select"]
    assert renderer.render("has_moved_rows") is True
    renderer.answers["select 1 as moved"] = []
    assert [sql.split(" ")[0] for sql in renderer.does("resolve_moved_values")] == ["set", "select"]
    assert renderer.render("oldest_created_position", "t") is None
    renderer.answers["set alluvium.oldest_change."] = []
    assert [sql.split(" ")[0] for sql in renderer.does("resolve_moved_values")] == ["set"]
    by_offset = state(cdc={"order_by": "offset"})
    assert not any(sql.startswith("select") for sql in by_offset.does("resolve_moved_values"))
    full = state(cdc={"replica_identity": "full"})
    assert not any(sql.startswith("select") for sql in full.does("resolve_moved_values"))


def test_follow_moved_rows_steps_until_nobody_has_moved_on() -> None:
    renderer = following([{"created_position": "20.30.1"}], [{"missing": 1}])
    renderer.answers = {
        f"from (select * from {MOVED_VALUES} where _cdc_step = 1": [{"created_position": None}]
    } | renderer.answers
    inserts = [sql for sql in renderer.does("follow_moved_rows", ODD, "select 1") if sql.startswith("insert")]
    assert [sql.split(" ")[2] for sql in inserts] == [MOVES, MOVED_VALUES, MOVED_VALUES] * 2
    assert "from (select 1) as moved" in inserts[0]
    assert f"from (select * from {MOVED_VALUES} where _cdc_step = 0" in inserts[3]


def test_log_is_asked_for_what_the_state_has_not_alone() -> None:
    renderer = following([{"created_position": "20.30.1"}], [])
    renderer.answers = {f"from (select * from {MOVED_VALUES}": [{"created_position": None}]} | renderer.answers
    ran = renderer.does("follow_moved_rows", ODD, "select 1")
    assert sum(sql.startswith("insert") for sql in ran) == 2
    assert not any("as event" in sql for sql in ran)


@pytest.mark.parametrize(
    ("options", "follows"),
    [
        (ODD, True),
        (FULL, False),
        ({**ODD, "connector": "mysql"}, True),
        ({**ODD, "connector": "mongodb"}, False),
        ({**ODD, "order_by": "offset"}, False),
    ],
)
def test_follows_moves(macros: Renderer, options: dict[str, Any], follows: bool) -> None:
    assert macros.render("follows_moves", options) is follows


def test_create_empty() -> None:
    renderer = state()
    renderer.answers = {"create table": [], "drop table": []}
    table = renderer.render("beside_model", "moves")
    assert table.render() == MOVES
    # A table that is there before its rows can be dropped with them, however far a killed run has come.
    assert renderer.does("create_empty", table, ["`a``b` int", "`c` map<string,string>"]) == [
        f"drop table if exists {MOVES}",
        f"create table {MOVES} (`a``b` int, `c` map<string,string>) using parquet",
    ]


def test_columns_of_moves(macros: Renderer) -> None:
    composite = feed(
        columns=[column("a`b", "int"), column("k", "decimal(12,2)"), column("step", "string")], key=["a`b", "k"]
    )
    assert macros.render("columns_with_types", composite, ["step"]) == ["`step` string"]
    moves = macros.render("columns_of_moves", composite)
    assert moves[:2] == ["`a``b` int", "`k` decimal(12,2)"]
    assert moves[2:4] == ["_cdc_old_key_1 int", "_cdc_old_key_2 decimal(12,2)"]
    step = macros.render("moves_of_step", composite, "moves", 3)
    assert "struct(_cdc_old_key_1 as `a``b`, _cdc_old_key_2 as `k`) as _cdc_old_key" in step
    assert_parses("select * from " + step)
    # A table of the source may have columns of any names but those of the project.
    assert all(name.startswith("_cdc_") for name in moves[2:])
    values = macros.render("columns_of_moved_values", composite)
    assert values[:3] == ["`a``b` int", "`k` decimal(12,2)", "`step` string"]
    assert all(name.startswith("_cdc_") for name in values[3:])


def test_resolve_moved_values_sql() -> None:
    renderer = state()
    assert renderer.render("change_log_of_model").render() == LOG.render()
    assert_parses(renderer.sql("moved_rows_sql", "20"))
    assert_parses(renderer.sql("moved_on_sql", "found", 0))
    assert_expression_parses(renderer.render("created_position"))
    assert_expression_parses(renderer.render("oldest_value_position", "held", "wanted"))
    merge = renderer.sql("resolve_moved_values_sql", ODD, "select 1", "found")
    # A row of which nothing is found any more loses the value that an earlier run found.
    assert "from (select 1) as moved left join found as found" in merge
    assert r"`it's` = if(array_contains(target._cdc_moved_columns, 'it\'s'), source.`it's`, target.`it's`)" in merge
    assert_parses(merge)
    assert renderer.render("is_moved", "a") == "array_contains(target._cdc_moved_columns, 'a')"
    assert_expression_parses(renderer.sql("unresolved_after_moves"))
    tags = feed(columns=[column("id", "int"), column("tags", "map<string,int>")])
    assert "sort_array(map_entries(source.`tags`))" in renderer.render("is_resolved_otherwise", "tags", tags)


def test_found_value_of_a_partition_is_checked() -> None:
    """Of a moved row: it has not passed the state's own SQL."""
    tags = feed(columns=[column("id", "int"), column("note", "string"), column("day", "date")])
    assert Renderer().render("found_value", tags, "note") == "source.`note`"
    renderer = state()
    renderer.partition_by = ["note", "day"]
    checked = renderer.render("found_value", tags, "note")
    assert checked.startswith("if(source.`note` in ('', '__HIVE_DEFAULT_PARTITION__'), raise_error(")
    assert renderer.render("found_value", tags, "day") == "source.`day`"
    held = feed(columns=[column("id", "int"), column("note", "string")])
    assert checked in renderer.render("resolve_moved_values_sql", held, "select 1", "found")
    assert checked in renderer.render("resolve_moved_versions_sql", held, "select 1")


def test_values_under_old_keys() -> None:
    renderer = state()
    named = [MOVES, MOVED_VALUES]
    assert "inner join" in renderer.sql("moves_sql", ODD, "( select 1 )", "20", 0)
    assert "image_position is not null" in renderer.sql("values_left_in_state_sql", ODD, MOVES, 0)
    assert "left anti join" in renderer.sql("values_in_log_sql", ODD, *named, 0)
    for part, arguments in (
        ("moves_sql", ["( select 1 )", "20"]),
        ("values_left_in_state_sql", [MOVES]),
        ("values_in_log_sql", named),
    ):
        assert_parses(renderer.render(part, ODD, *arguments, 1))
    assert_parses("select * from " + renderer.render("moves_without_values", ODD, *named, 1))
    assert_parses(renderer.render("moved_values_of", "found", ODD, 1))
    chosen = renderer.render("feed_of_columns", ODD, ["it's"])
    assert [column["name"] for column in chosen["columns"]] == ["a b", "sel`ect", "it's"]
