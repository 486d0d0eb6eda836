"""Truncates and complete snapshots: which of them a state has to be held against, without Spark."""

from __future__ import annotations

from typing import Any

import pytest

from .feeds import feed, shop
from .harness import Renderer, assert_expression_parses, assert_parses, relation

LOG = relation("stg_shop__orders")
OTHER = relation("stg_shop__seats")
STATE = relation("slv_shop__orders_state")
BATCHES = {"after": 4, "until": 6}
LEVEL = {"after": 6, "until": 6}
RESETS = [{"position": "20", "micros": 2000}, {"position": "40", "micros": 4000}]


def state(known: str | None, *, incremental: bool = True, **news: str | None) -> Renderer:
    """A state that knows a reset, and what its new batches bring."""
    renderer = shop()
    renderer.this, renderer.incremental = STATE, incremental
    properties = [{"key": "alluvium.reset_at", "value": known}] if known else []
    renderer.answers = {
        "show tblproperties": properties,
        "max(if(is_reset": [{"oldest_change": None, "oldest_reset": None, "newest_reset": None} | news],
        "unix_micros(min(source_ts))": RESETS,
        "select _cdc_file_path from": [],
    }
    return renderer


def pending(renderer: Renderer, batches: Any = BATCHES, others: Any = ()) -> Any:
    return renderer.render("pending_resets", LOG, feed(), batches, list(others))


def listed_from(renderer: Renderer) -> str | None:
    """The lowest position that the list of resets was asked for; None where nothing asked."""
    asked = [sql for sql in renderer.queries if "unix_micros" in sql]
    return asked[0].partition("_cdc_position >= '")[2].partition("'")[0] if asked else None


@pytest.mark.parametrize(
    ("known", "incremental", "news", "listed"),
    [
        # The snapshot that a table begins with, and the changes after it: files from before it may come later.
        (None, False, {"oldest_change": "10.5", "oldest_reset": "10", "newest_reset": "10"}, "10"),
        ("10", True, {"oldest_change": "11"}, None),
        ("10", True, {}, None),
        # A truncate, in the first build and in a later one, alone and after other changes.
        (None, False, {"oldest_change": "10", "oldest_reset": "20", "newest_reset": "20"}, "10"),
        ("10", True, {"oldest_change": "30", "oldest_reset": "20", "newest_reset": "20"}, "10"),
        ("10", True, {"oldest_reset": "20", "newest_reset": "20"}, "10"),
        # A change, or a truncate, that comes after the truncate that it lies below.
        ("40", True, {"oldest_change": "30"}, "30"),
        ("40", True, {"oldest_change": "50", "oldest_reset": "20", "newest_reset": "20"}, "20"),
        (None, True, {"oldest_reset": "20", "newest_reset": "20"}, "20"),
        # A row of a snapshot whose end has come before; of one that the table knows there is nothing to ask.
        ("10", True, {"oldest_change": "20.5", "oldest_snapshot": "20", "newest_snapshot": "20"}, "10"),
        ("20", True, {"oldest_change": "20.5", "oldest_snapshot": "20", "newest_snapshot": "20"}, None),
        # Its end may lie below the first of its rows that came.
        ("30", True, {"oldest_change": "20.5", "oldest_snapshot": "20", "newest_snapshot": "20"}, "20"),
    ],
)
def test_pending_resets(known: str | None, incremental: bool, news: dict[str, str], listed: str | None) -> None:
    renderer = state(known, incremental=incremental, **news)
    assert pending(renderer) == (RESETS if listed else [])
    assert listed_from(renderer) == listed


def test_pending_resets_are_left_for_the_merge() -> None:
    renderer = state("10", oldest_reset="20", newest_reset="20")
    pending(renderer)
    left = {sql.split(".")[1]: sql.partition(" = ")[2] for sql in renderer.queries if sql.startswith("set ")}
    assert left["reset_at"] == "40"
    assert '"position": "20"' in left["resets"]


def test_whole_images_before_are_warned_of_where_nothing_is_declared(macros: Renderer) -> None:
    renderer = state("10", oldest_change="30")
    renderer.answers["max(if(is_reset"] = [{"oldest_change": "30", "has_whole_deletes": True}]
    pending(renderer)
    assert len(renderer.warnings) == 1
    assert "Is its REPLICA IDENTITY FULL? Then say `replica_identity: full`" in renderer.warnings[0]
    of_oracle = state("10", oldest_change="30")
    of_oracle.answers["max(if(is_reset"] = renderer.answers["max(if(is_reset"]
    of_oracle.render("pending_resets", LOG, feed(connector="oracle"), BATCHES, [])
    assert "Has it no LOB column? Then say `replica_identity: full`" in of_oracle.warnings[0]
    assert of_oracle.warnings[0].endswith("if not, say `default`")
    undeclared = macros.sql("new_resets_sql", LOG, feed(), BATCHES, [OTHER])
    assert "as has_whole_deletes" in undeclared
    assert_parses(undeclared)
    of_delete = "if(_cdc_kind = 'change' and _cdc_op = 'd', to_json(struct(`note`)), null)"
    assert macros.sql("image_of_delete", feed()) == of_delete
    for options in (feed(replica_identity="default"), feed(connector="mysql")):
        assert "has_whole_deletes" not in macros.sql("new_resets_sql", LOG, options, BATCHES, [])
        assert macros.sql("image_of_delete", options) == "cast(null as string)"


def test_pending_resets_of_a_level_state_asks_nothing() -> None:
    renderer = state("10")
    assert pending(renderer, LEVEL) == []
    assert not any(sql.startswith("select") for sql in renderer.queries)
    asked = state("10", newest_reset="20", oldest_reset="20")
    assert pending(asked, LEVEL, [OTHER]) == RESETS
    assert any(str(OTHER) in sql for sql in asked.queries)


def test_known_reset() -> None:
    assert state("10").render("known_reset", STATE) == "10"
    assert state(None).render("known_reset", STATE) == ""


@pytest.mark.parametrize(
    ("remembered", "applied", "properties"),
    [
        ("20", {"applied_batch.a": 6}, {"reset_at"}),
        ("20", {}, {"reset_at", "generation"}),
        ("10", {}, set()),
        (None, {}, set()),
    ],
)
def test_reset_properties(remembered: str | None, applied: dict[str, int], properties: set[str]) -> None:
    renderer = state("10")
    if remembered:
        renderer.answers["set alluvium.reset_at"] = [{"value": remembered}]
    assert set(renderer.render("reset_properties", applied)) == properties


def test_remembered_resets() -> None:
    renderer = state("10")
    assert renderer.render("remembered_resets") == []
    renderer.answers["set alluvium.resets"] = [{"value": '[{"position": "20", "micros": 2000}]'}]
    assert renderer.render("remembered_resets") == RESETS[:1]


def test_standing_resets_ask_for_rejected_lines_last() -> None:
    renderer = state("10")
    renderer.answers["unix_micros(min(source_ts))"] = RESETS[::-1]
    assert renderer.render("standing_resets", LOG, feed(), BATCHES, [], "10") == RESETS
    assert ["not exists" in sql for sql in renderer.queries] == [False, False]
    renderer.answers["select _cdc_file_path from"] = [{"_cdc_file_path": "a"}]
    renderer.queries.clear()
    assert renderer.render("standing_resets", LOG, feed(), BATCHES, [], "10") == RESETS
    assert ["not exists" in sql for sql in renderer.queries] == [False, False, True]
    none = state("10")
    none.answers["unix_micros(min(source_ts))"] = []
    assert none.render("standing_resets", LOG, feed(), BATCHES, [], "10") == []
    assert len(none.queries) == 1


def test_rejected_line_sql(macros: Renderer) -> None:
    assert "_cdc_batch <= 6" in macros.sql("rejected_line_sql", LOG, BATCHES)
    assert_parses(macros.render("rejected_line_sql", LOG, BATCHES))
    plain = macros.render("resets_sql", LOG, feed(), BATCHES, [OTHER], "10", False)
    assert "rejected" not in plain
    assert_parses(plain)


@pytest.mark.parametrize("connector", ["postgresql", "mariadb"])
@pytest.mark.parametrize("snapshots", ["complete", "partial"])
def test_reset_queries(macros: Renderer, connector: str, snapshots: str) -> None:
    options = feed(connector=connector, snapshots=snapshots)
    news = macros.sql("new_resets_sql", LOG, options, BATCHES, [OTHER])
    listed = macros.sql("resets_sql", LOG, options, BATCHES, [OTHER], "10")
    assert "_cdc_batch <= 6" in news
    snapshot = macros.sql("snapshot_of_row", options)
    assert (
        snapshot == "cast(null as string)"
        if snapshots == "partial"
        else "not _cdc_snapshot <=> 'incremental'" in snapshot
    )
    assert "_cdc_batch <= 6" in listed
    assert "rejected._cdc_position is null and rejected._cdc_batch <= _cdc_resets.batch" in listed
    assert "rejected._cdc_written_at < _cdc_resets.source_ts - interval 1 hour" in listed
    other = macros.sql("resets_of_other_logs_sql", [OTHER], LOG, options, BATCHES, "10")
    assert other in listed
    assert "coalesce(own.batch, 6) as batch" in other
    standing = macros.sql("standing_rejections_sql", LOG, BATCHES)
    assert standing in listed
    assert "rejected._cdc_batch = files.batch or rejected._cdc_file_length = files.file_length" in standing
    assert_parses(macros.render("standing_rejections_sql", LOG, BATCHES))
    assert_parses(macros.render("resets_of_other_logs_sql", [OTHER, LOG], LOG, options, BATCHES, "10"))
    assert_parses(news)
    assert_parses(macros.render("resets_sql", LOG, options, BATCHES, [OTHER], "10"))


@pytest.mark.parametrize(
    ("options", "is_undeclared"),
    [({}, True), ({"replica_identity": "default"}, False), ({"connector": "mariadb"}, False)],
)
def test_has_undeclared_identity(macros: Renderer, options: dict[str, str], is_undeclared: bool) -> None:
    assert macros.render("has_undeclared_identity", feed(**options)) is is_undeclared


def test_conditions_on_a_row_of_the_log(macros: Renderer) -> None:
    assert macros.render("is_reset", feed(snapshots="partial")) == "_cdc_kind = 'truncate'"
    assert macros.render("is_reset", feed()) == (
        "(_cdc_kind = 'truncate' or (_cdc_kind in ('change', 'purged') and _cdc_op = 'r'"
        " and _cdc_snapshot in ('last', 'last_in_data_collection')))"
    )
    assert macros.render("ends_snapshot", ["last"]).endswith("_cdc_snapshot in ('last')")
    assert macros.render("snapshot_start", feed()) == "left(_cdc_position, 41)"
    assert macros.render("reset_position", feed(connector="mysql")) == (
        "if(_cdc_op = 'r' and _cdc_snapshot like 'last%', left(_cdc_position, 42), _cdc_position)"
    )


@pytest.mark.parametrize(("connector", "length"), [("postgresql", 41), ("mysql", 42), ("mariadb", 42)])
def test_source_position_length(macros: Renderer, connector: str, length: int) -> None:
    assert macros.render("source_position_length", feed(connector=connector)) == length


def test_reset_of_a_feed_without_the_time_of_the_source(macros: Renderer) -> None:
    assert "cast(null as bigint) as micros" in macros.sql("reset_away_at", [{"position": "20", "micros": None}])


def test_what_a_reset_does_to_a_row(macros: Renderer) -> None:
    assert macros.render("is_reset_away", RESETS) == "_cdc_position < '40'"
    assert macros.render("is_reset_away", RESETS, "target.") == "target._cdc_position < '40'"
    at = macros.sql("reset_away_at", RESETS, "target.")
    assert at == (
        "timestamp_micros(get(filter(array(struct('20' as position, cast(2000 as bigint) as micros),"
        " struct('40' as position, cast(4000 as bigint) as micros)),"
        " reset -> reset.position > target._cdc_position), 0).micros)"
    )
    assert_expression_parses(at)


@pytest.mark.parametrize(("snapshots", "expected"), [("complete", [OTHER]), ("partial", [])])
def test_logs_snapshotted_with(macros: Renderer, snapshots: str, expected: list[Any]) -> None:
    assert macros.render("logs_snapshotted_with", feed(snapshots=snapshots), [OTHER]) == expected
