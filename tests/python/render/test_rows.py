"""Feeds of bare rows: their clauses, their operations, and positions out of what a feed declares."""

from __future__ import annotations

import re
from typing import Any

import pytest

from alluvium import rules

from .feeds import column, feed, shop
from .harness import Renderer, assert_expression_parses, assert_parses, fold, relation

SOURCE = relation("shop__orders", "bronze")
SUBJECT = "change_log: source shop.orders"
COLUMNS = [
    column("id", "int"),
    column("note"),
    column("size", "bigint"),
    column("changed_at", "timestamp_ntz"),
    column("Op"),
]
ROW = {"connector": "table", "shape": "row"}
BATCH = {"number": 1, "after": None, "runs": None}


def rows(**options: Any) -> dict[str, Any]:
    """A feed of rows as `_apply_clauses` leaves it."""
    made = feed(**{"columns": COLUMNS, **ROW, "sequence_by": ["size"], **options})
    Renderer().render("_apply_clauses", SUBJECT, made)
    return made


def declared(**cdc: Any) -> Renderer:
    """A renderer whose source has the columns above, and these options beside its shape."""
    nodes = {name["name"]: {"name": name["name"], "data_type": name["data_type"], "meta": {}} for name in COLUMNS}
    renderer = shop(cdc={**ROW, **cdc}, columns=nodes)
    renderer.strategy = "append"
    return renderer


def test_change_log_of_rows_compiles_without_a_query() -> None:
    renderer = declared(sequence_by=["changed_at", "size"], apply_as_deletes="Op = 'D'", except_column_list=["Op"])
    renderer.which = "compile"
    sql = renderer.render("change_log", SOURCE)
    assert renderer.queries == []
    assert "coalesce(Op = 'D', false) as is_delete, coalesce(false, false) as is_truncate" in fold(sql)
    assert "kind = 'ignored'" not in sql
    ignorer = declared(sequence_by=["changed_at", "size"], ignore_rows="Op = 'B'")
    ignorer.which = "compile"
    ignoring = ignorer.sql("change_log", SOURCE)
    assert "coalesce(Op = 'B', false) as is_ignored" in ignoring
    assert "when said.is_ignored then 'ignored'" in ignoring
    assert "if(kind = 'ignored', null, `value__Op`) as `Op`," in ignoring
    assert "`value__Op` as `Op`, if(" not in fold(sql)
    assert_parses(sql)


def test_change_log_of_rows_in_order_of_a_number(macros: Renderer) -> None:
    assert_parses(macros.render("_change_log_sql", rows(), BATCH))


@pytest.mark.parametrize(
    ("cdc", "said"),
    [
        (
            {"shape": "envelope"},
            f'connector of shape envelope is "table"; allowed: {", ".join(rules.load("connectors"))}.',
        ),
        ({"connector": "oracle"}, 'connector of shape row is "oracle"; allowed: jdbc, table.'),
        (
            {},
            "sequence_by is not given; allowed: the columns that order the rows of a key; "
            "or order_by: offset, the order of delivery.",
        ),
        ({"sequence_by": "no"}, 'sequence_by is "no"; allowed: id, note, size, changed_at, Op.'),
        (
            {"sequence_by": "size", "order_by": "id"},
            'order_by is "id"; allowed: nothing where meta.cdc.sequence_by is given, too.',
        ),
        ({"sequence_by": "size", "keys": ["id"]}, 'keys is ["id"]; allowed: nothing where meta.cdc.key is given, too.'),
        ({"sequence_by": "size", "column_list": "id"}, 'column_list is "id"; allowed: a list of columns.'),
        (
            {"sequence_by": "size", "except_column_list": ["no"]},
            'except_column_list is "no"; allowed: id, note, size, changed_at, Op.',
        ),
        ({"sequence_by": "size", "except_column_list": ["id"]}, 'key is "id"; allowed: note, size, changed_at, Op.'),
        (
            {"sequence_by": "size", "ignore_null_updates": True, "ignore_null_updates_column_list": ["note"]},
            "ignore_null_updates is true; allowed: false where a list of columns is given, too.",
        ),
        (
            {"sequence_by": "size", "ignore_null_updates_column_list": ["id"]},
            'ignore_null_updates_column_list is "id"; allowed: note, size, changed_at, Op.',
        ),
        (
            {"sequence_by": "size", "ignore_null_updates": True, "apply_as_truncates": "Op = 'T'"},
            "apply_as_truncates is \"Op = 'T'\"; allowed: none where NULLs are ignored.",
        ),
    ],
)
def test_change_log_of_rows_refuses_before_any_query(cdc: dict[str, Any], said: str) -> None:
    assert declared(**cdc).refusal("change_log", SOURCE) == f"{SUBJECT}: meta.cdc.{said}"


def test_clauses_of_rows_are_refused_beside_an_envelope(macros: Renderer) -> None:
    macros.render("_require_no_clauses_of_rows", SUBJECT, feed())
    for option, value in {"apply_as_deletes": "true", "ignore_null_updates": True}.items():
        said = macros.refusal("_require_no_clauses_of_rows", SUBJECT, feed(**{option: value}))
        assert said.startswith(f"{SUBJECT}: meta.cdc.{option} of shape envelope is ")


def test_source_with_a_clause_of_rows_is_refused() -> None:
    renderer = shop(cdc={"apply_as_deletes": "true"})
    assert "apply_as_deletes of shape envelope" in renderer.refusal("change_log", SOURCE)


def test_one_option(macros: Renderer) -> None:
    assert macros.render("_one_option", SUBJECT, {"a": None, "b": []}, "a", "b") == []
    assert macros.render("_one_option", SUBJECT, {"a": 1, "b": None}, "a", "b") == 1
    assert "b is 2" in macros.refusal("_one_option", SUBJECT, {"a": 1, "b": 2}, "a", "b")


def test_apply_order_refuses_the_columns_of_an_envelope(macros: Renderer) -> None:
    assert macros.refusal("_apply_order", SUBJECT, feed(order_by="id")) == (
        f'{SUBJECT}: meta.cdc.order_by of shape envelope is "id"; allowed: None, position, offset, timestamp.'
    )
    assert "sequence_by of shape envelope" in macros.refusal("_apply_order", SUBJECT, feed(sequence_by="id"))


def test_require_sequence_column(macros: Renderer) -> None:
    for data_type in ("double", "boolean", "decimal(38,2)"):
        made = feed(columns=[column("x", data_type)])
        assert "data_type of the column x" in macros.refusal("_require_sequence_column", SUBJECT, made, "x")
    for data_type in (*macros.render("_sortable_types"), "decimal(37,10)"):
        macros.render("_require_sequence_column", SUBJECT, feed(columns=[column("x", data_type)]), "x")


def test_refuse_undecided_truncates(macros: Renderer) -> None:
    macros.render("_require_decided_truncates", SUBJECT, rows(apply_as_truncates="Op = 'T'"))
    by_offset = {**rows(), "apply_as_truncates": "true", "order_by": "offset"}
    assert "offsets of two partitions do not compare" in macros.refusal(
        "_require_decided_truncates", SUBJECT, by_offset
    )


def test_tied_rows() -> None:
    log = relation("stg_shop__orders")
    sql = declared(sequence_by="size", except_column_list=["Op"]).render("_tied_rows", log)
    assert "group by `id`, left(_cdc_position, length(_cdc_position) - 60) having" in fold(sql)
    assert_parses(sql)
    assert shop().refusal("_tied_rows", log) == (
        'tied_rows: source shop.orders: meta.cdc.shape is "envelope"; allowed: row.'
    )
    assert Renderer(execute=False).sql("_tied_rows", log) == "select 1 as not_compiled"


def test_current_state_refuses_snapshots_of_a_feed_without_their_positions() -> None:
    renderer = declared(sequence_by="size")
    renderer.strategy = "merge"
    renderer.this = relation("slv_shop__orders_state")
    renderer.parents = ["model.stg"]
    said = renderer.refusal("current_state", relation("stg_shop__orders"), [relation("stg_shop__customers")])
    assert "snapshotted_with is [" in said


DUMPS = {"path": "/full/([^/]+)/", "delay_seconds": 60}


def test_time_of_dump(macros: Renderer) -> None:
    made = rows(sequence_by=["changed_at", "size"], full_dumps=DUMPS)
    sql = macros.render("_time_of_dump", made)
    assert_expression_parses(sql)
    assert "'/full/([^/]+)/'" in sql
    # The hours of a day, with or without what separates them; nothing that only begins like a time.
    pattern = re.compile(sql.split(" rlike '")[1].split("'")[0])
    for text in ("2026-11-22", "20261122", "2026-11-22T03:00", "2026-11-22 03-00-05Z", "20261122T030005.123"):
        assert pattern.search(text), text
    for text in (
        "2026-11-2",
        "2026-1-2T10:00",
        "260501120000",
        "1795123100",
        "2026-11-22T10:00+02:00",
        "2026-11-22T1:00",
    ):
        assert not pattern.search(text), text
    for name in ("_recognise_row", "_operations_of_rows"):
        assert "dump_time" in macros.render(name, made)
        assert "dump_time" not in macros.render(name, rows(sequence_by=["changed_at"]))
    assert "'last_in_data_collection'" in macros.render("_recognise_row", made)
    assert "when dump_time is not null then 'r'" in macros.sql("_operations_of_rows", made)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"full_dumps": "/full/"}, 'path is "/full/"; allowed: {path: <regular expression with one group>'),
        ({"full_dumps": {"path": "/full/"}}, 'path is "/full/"; allowed: a regular expression with one group'),
        ({"full_dumps": {**DUMPS, "every": 1}}, 'option is "every"; allowed: path, delay_seconds.'),
        (
            {"full_dumps": {**DUMPS, "delay_seconds": -1}},
            "delay_seconds is -1; allowed: how many seconds a transaction",
        ),
        (
            {"full_dumps": {"path": "/full/([^/]+)/"}},
            "delay_seconds is not given; allowed: how many seconds a transaction",
        ),
        ({"full_dumps": {**DUMPS, "path": "/full/(?P<at>[^/]+)/"}}, "with one group (without a name)"),
        ({"sequence_by": ["size"]}, 'sequence_by is "bigint"; allowed: timestamp, timestamp_ntz.'),
        ({"sequence_by": ["changed_at", "note"]}, 'in meta.cdc.sequence_by is "string"; allowed: tinyint'),
        ({"sequence_by": None}, 'feed is "row without sequence_by"; allowed: a feed of rows with sequence_by'),
        ({"ignored_null_columns": ["note"]}, 'ignored NULLs of is ["note"]; allowed: none: a dump says what is NULL.'),
    ],
)
def test_require_full_dumps(macros: Renderer, changes: dict[str, Any], said: str) -> None:
    made = {**rows(sequence_by=["changed_at"]), "full_dumps": DUMPS, "ignored_null_columns": []}
    assert macros.does("_require_full_dumps", SUBJECT, made) == []
    assert said in macros.refusal("_require_full_dumps", SUBJECT, {**made, **changes})
    if "full_dumps" not in changes:
        assert said in macros.refusal("_require_order_for_dumps", SUBJECT, {**made, **changes})


def test_feed_with_full_dumps_has_complete_snapshots() -> None:
    assert rows(sequence_by=["changed_at"], full_dumps=DUMPS)["snapshots"] == "complete"
    assert rows(sequence_by=["changed_at"])["snapshots"] == "partial"
    renderer = declared(sequence_by="changed_at", full_dumps=DUMPS)
    renderer.which = "compile"
    assert_parses(renderer.render("change_log", SOURCE))
