"""Feeds of bare rows: their clauses, their operations, and positions out of what a feed declares."""

from __future__ import annotations

import re
from typing import Any

import pytest
from dbt_common.exceptions import CompilationError

from .feeds import ODD_NAMES, column, feed, shop, source
from .harness import Renderer, assert_expression_parses, assert_parses, fold, relation

SOURCE = relation("shop__orders", "bronze")
SUBJECT = "decode_rows: source shop.orders"
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
    """A feed of rows as `apply_clauses` leaves it."""
    made = feed(**{"columns": COLUMNS, **ROW, "sequence_by": ["size"], **options})
    Renderer().render("apply_clauses", SUBJECT, made)
    return made


def declared(**cdc: Any) -> Renderer:
    """A renderer whose source has the columns above, and these options beside its shape."""
    nodes = {name["name"]: {"name": name["name"], "data_type": name["data_type"], "meta": {}} for name in COLUMNS}
    renderer = shop(cdc={**ROW, **cdc}, columns=nodes)
    renderer.strategy = "append"
    return renderer


def test_decode_rows_is_a_placeholder_while_dbt_parses(macros: Renderer) -> None:
    macros.execute = False
    assert macros.sql("decode_rows", SOURCE) == "select 1 as not_compiled"


def test_decode_rows_compiles_without_a_query() -> None:
    renderer = declared(sequence_by=["changed_at", "size"], apply_as_deletes="Op = 'D'", except_column_list=["Op"])
    renderer.which = "compile"
    sql = renderer.render("decode_rows", SOURCE)
    assert renderer.queries == []
    assert "coalesce(Op = 'D', false) as is_delete, coalesce(false, false) as is_truncate" in fold(sql)
    assert "kind = 'ignored'" not in sql
    ignorer = declared(sequence_by=["changed_at", "size"], ignore_rows="Op = 'B'")
    ignorer.which = "compile"
    ignoring = ignorer.sql("decode_rows", SOURCE)
    assert "coalesce(Op = 'B', false) as is_ignored" in ignoring
    assert "when said.is_ignored then 'ignored'" in ignoring
    assert "if(kind = 'ignored', null, `value__Op`) as `Op`," in ignoring
    assert "`value__Op` as `Op`, if(" not in fold(sql)
    assert_parses(sql)


def test_default_decode_rows(macros: Renderer) -> None:
    made = rows()
    assert macros.sql("default__decode_rows", made, BATCH) == macros.sql("change_log_sql", made, BATCH)
    assert_parses(macros.render("change_log_sql", made, BATCH))


@pytest.mark.parametrize(
    ("cdc", "said"),
    [
        (
            {"shape": "envelope"},
            'connector of shape envelope is "table"; allowed: postgresql, mysql, mariadb, sqlserver, oracle, mongodb, '
            "db2, db2as400, informix, ingres, vitess, spanner, cockroachdb, singlestore, ticdc, yugabytedb, cassandra, "
            "other.",
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
        ({"sequence_by": "size", "stored_as_scd_type": 3}, "stored_as_scd_type is 3; allowed: 1, 2, 1, 2."),
        (
            {"sequence_by": "size", "ignore_null_updates": True, "apply_as_truncates": "Op = 'T'"},
            "apply_as_truncates is \"Op = 'T'\"; allowed: none where NULLs are ignored.",
        ),
    ],
)
def test_decode_rows_refuses_before_any_query(cdc: dict[str, Any], said: str) -> None:
    assert declared(**cdc).refusal("decode_rows", SOURCE) == f"{SUBJECT}: meta.cdc.{said}"


def test_each_shape_has_its_macro() -> None:
    assert declared(sequence_by="size").refusal("decode_debezium", SOURCE) == (
        'decode_debezium: source shop.orders: meta.cdc.shape is "row"; allowed: envelope, flattened.'
    )
    assert shop().refusal("feed_to_decode", "decode_rows", SOURCE, ["row"]) == (
        f'{SUBJECT}: meta.cdc.shape is "envelope"; allowed: row.'
    )


def test_reads_json_numbers_only_where_there_are_decimals(macros: Renderer) -> None:
    assert not macros.render("reads_json_numbers", rows(decimal_format="numeric"))
    price = [*COLUMNS, column("price", "decimal(9,2)")]
    assert macros.render("reads_json_numbers", rows(decimal_format="numeric", columns=price))
    # Of a column that the table leaves out, too.
    assert macros.render(
        "reads_json_numbers", rows(decimal_format="numeric", columns=price, except_column_list=["price"])
    )
    assert not macros.render("reads_json_numbers", rows(columns=price))


def test_decoder(macros: Renderer) -> None:
    assert macros.render("decoder", rows()) == "decode_rows"
    assert macros.render("decoder", feed()) == "decode_debezium"


def test_connector_defaults_yield_to_what_is_declared() -> None:
    def feed_of(**cdc: Any) -> dict[str, Any]:
        made: dict[str, Any] = Renderer().render("feed_of_source", "x", source(cdc={"sequence_by": "id", **ROW, **cdc}))
        return made

    assert feed_of()["decimal_format"] == "numeric"
    assert feed_of(decimal_format="base64")["decimal_format"] == "base64"
    assert feed_of(connector="jdbc")["time_precision_mode"] == "connect"
    assert Renderer().render("connector_defaults", "postgresql") == {}


def test_apply_clauses(macros: Renderer) -> None:
    made = feed(
        **{
            "columns": list(COLUMNS),
            **ROW,
            "key": None,
            "keys": ["id"],
            "sequence_by": "size",
            "column_list": ["note", "id"],
            "stored_as_scd_type": "2",
            "track_history_except_column_list": [],
        }
    )
    assert macros.does("apply_clauses", SUBJECT, made) == []
    assert made["key"] == ["id"]
    assert made["sequence_by"] == ["size"]
    assert [name["name"] for name in made["columns"]] == ["id", "note"]
    assert [name["name"] for name in made["unlisted_columns"]] == ["size", "changed_at", "Op"]
    assert (made["stored_as_scd_type"], made["tracked_columns"]) == (2, ["note"])
    assert made["snapshots"] == "partial"
    assert [name["name"] for name in macros.render("declared_columns", made)] == [
        "id",
        "note",
        "size",
        "changed_at",
        "Op",
    ]
    plain = feed()
    macros.does("apply_clauses", SUBJECT, plain)
    assert (plain["columns"], plain["snapshots"], plain["ignored_null_columns"]) == (feed()["columns"], "complete", [])


def test_clauses_of_rows_are_refused_beside_an_envelope(macros: Renderer) -> None:
    macros.render("refuse_clauses_of_rows", SUBJECT, feed())
    for option, value in {"apply_as_deletes": "true", "ignore_null_updates": True}.items():
        said = macros.refusal("refuse_clauses_of_rows", SUBJECT, feed(**{option: value}))
        assert said.startswith(f"{SUBJECT}: meta.cdc.{option} of shape envelope is ")


def test_source_with_a_clause_of_rows_is_refused() -> None:
    renderer = shop(cdc={"apply_as_deletes": "true"})
    assert "apply_as_deletes of shape envelope" in renderer.refusal("decode_debezium", SOURCE)


def test_clock_of_the_connector_is_no_source_time(macros: Renderer) -> None:
    made = feed(shape="flattened", order_by="timestamp")
    assert macros.render("source_fields", made) == {"ts_ms": "bigint", "ts_us": "bigint"}
    assert "try_cast(fields['__source_ts_ms'] as bigint) as source_ts_ms" in macros.sql("recognise_flattened", made)


def test_order_of_a_state_is_the_one_that_it_was_built_with() -> None:
    renderer = declared(sequence_by="size")
    renderer.answers = {"show tblproperties": []}
    built_with = renderer.does("require_key_of_table", rows())[-1].rpartition(" ")[2]
    renderer.answers = {"show tblproperties": [{"key": "alluvium.key", "value": built_with}]}
    renderer.does("require_key_of_table", rows())
    others = [rows(sequence_by=["id"]), rows(columns=[*COLUMNS[:2], column("size", "int"), *COLUMNS[3:]]), feed()]
    for other in others:
        with pytest.raises(CompilationError, match="the key and the order that"):
            renderer.render("require_key_of_table", other)


def test_declared_order(macros: Renderer) -> None:
    assert macros.render("declared_order", rows(sequence_by=["size", "note"])) == ["size bigint", "note string"]
    assert macros.render("declared_order", feed(order_by="offset")) == "offset"
    assert macros.render("declared_order", feed()) is None


def test_one_option(macros: Renderer) -> None:
    assert macros.render("one_option", SUBJECT, {"a": None, "b": []}, "a", "b") == []
    assert macros.render("one_option", SUBJECT, {"a": 1, "b": None}, "a", "b") == 1
    assert "b is 2" in macros.refusal("one_option", SUBJECT, {"a": 1, "b": 2}, "a", "b")


@pytest.mark.parametrize(
    ("shape", "given", "sequence_by", "order_by"),
    [
        ("row", {"order_by": "size"}, ["size"], None),
        ("row", {"sequence_by": ["size", "id"]}, ["size", "id"], None),
        ("row", {"order_by": "offset"}, None, "offset"),
        ("flattened", {"order_by": "timestamp"}, None, "timestamp"),
        ("envelope", {}, None, None),
    ],
)
def test_apply_order(
    macros: Renderer, shape: str, given: dict[str, Any], sequence_by: list[str] | None, order_by: str | None
) -> None:
    made = feed(shape=shape, columns=COLUMNS, **given)
    macros.does("apply_order", SUBJECT, made)
    assert (made["sequence_by"], made["order_by"]) == (sequence_by, order_by)


def test_apply_order_refuses_the_columns_of_an_envelope(macros: Renderer) -> None:
    assert macros.refusal("apply_order", SUBJECT, feed(order_by="id")) == (
        f'{SUBJECT}: meta.cdc.order_by of shape envelope is "id"; allowed: None, position, offset, timestamp.'
    )
    assert "sequence_by of shape envelope" in macros.refusal("apply_order", SUBJECT, feed(sequence_by="id"))


def test_require_sequence_column(macros: Renderer) -> None:
    for data_type in ("double", "boolean", "decimal(38,2)"):
        made = feed(columns=[column("x", data_type)])
        assert "data_type of the column x" in macros.refusal("require_sequence_column", SUBJECT, made, "x")
    for data_type in (*macros.render("sortable_types"), "decimal(37,10)"):
        macros.render("require_sequence_column", SUBJECT, feed(columns=[column("x", data_type)]), "x")


def test_refuse_undecided_truncates(macros: Renderer) -> None:
    macros.render("refuse_undecided_truncates", SUBJECT, rows(apply_as_truncates="Op = 'T'"))
    by_offset = {**rows(), "apply_as_truncates": "true", "order_by": "offset"}
    assert "offsets of two partitions do not compare" in macros.refusal(
        "refuse_undecided_truncates", SUBJECT, by_offset
    )


def test_listed_columns(macros: Renderer) -> None:
    names = ["a", "b", "c"]
    chosen = [
        macros.render("listed_columns", SUBJECT, {"some": some, "others": others}, "some", "others", names)
        for some, others in ((["c", "a"], None), (None, ["b"]), (None, None), ([], None))
    ]
    assert chosen == [["a", "c"], ["a", "c"], names, []]


def test_ignored_null_columns(macros: Renderer) -> None:
    def ignored(**options: Any) -> list[str]:
        found: list[str] = macros.render("ignored_null_columns", SUBJECT, feed(**options), ["note", "size"])
        return found

    assert ignored() == []
    assert ignored(ignore_null_updates=True) == ["note", "size"]
    assert ignored(ignore_null_updates_column_list=["note"]) == ["note"]
    assert ignored(ignore_null_updates_except_column_list=["note"]) == ["size"]


def test_null_of_an_ignored_column_was_not_sent(macros: Renderer) -> None:
    made = rows(ignore_null_updates_except_column_list=["size"])
    assert macros.render("columns_of_unavailable_values", made) == ["note", "changed_at", "Op"]
    assert macros.sql("unavailable_columns", made).startswith(
        "if(record_kind = 'change', nullif(flatten(filter(array("
        "case when row_image['note'] is null then array('note') end, "
    )
    with_default = column("note", default="x")
    assert macros.sql("is_unavailable", with_default, made) == (
        "row_image['note'] is null and map_contains_key(row_image, 'note')"
    )
    assert macros.render("has_unavailable_values", made) is False
    assert "cast(null as array<string>) as _cdc_unresolved_columns" in macros.sql("row_images", "changes", made)
    assert macros.render("merged_held_column", "_cdc_unresolved_columns", made) == "null"


def test_recognise_row(macros: Renderer) -> None:
    made = rows()
    sql = macros.render("recognise_row", made)
    assert macros.sql("recognise", made) == fold(sql)
    assert "else 'change' end as record_kind" in fold(sql)
    assert " as op" not in fold(sql)
    assert_parses(f"with parsed as (select 1), {sql} select * from recognised")


def test_fields_of_record(macros: Renderer) -> None:
    assert "lines[0].value['payload']" in macros.sql("fields_of_record", rows(store_envelope=True))


def test_operations_of_rows_see_the_columns_under_their_own_names(macros: Renderer) -> None:
    made = rows(columns=[*COLUMNS, *(column(name, "int") for name in ODD_NAMES)], apply_as_deletes="`it's` = 1")
    sql = macros.render("operations_of_rows", made)
    assert "coalesce(`it's` = 1, false) as is_delete" in fold(sql)
    assert "typed.`value__it's` as `it's`" in fold(sql)
    assert_parses(f"with typed as (select 1), {sql} select * from operations")


def test_time_of_sequence(macros: Renderer) -> None:
    assert macros.render("time_of_sequence", rows()) == "cast(null as timestamp)"
    assert macros.render("time_of_sequence", {**rows(), "sequence_by": None}) == "cast(null as timestamp)"
    sql = macros.render("time_of_sequence", rows(sequence_by=["size", "changed_at"]))
    assert sql.startswith("timestamp_micros(cast(cast(datediff(`value__changed_at`, ")
    assert_expression_parses(sql)


def test_time_of_row(macros: Renderer) -> None:
    made = rows(sequence_by=["changed_at"])
    by_sequence = macros.render("time_of_sequence", made)
    assert macros.render("time_of_row", made) == by_sequence
    dumps = rows(sequence_by=["changed_at"], full_dumps=DUMPS)
    assert macros.render("time_of_row", dumps).startswith(f"if(dump_time is null, {by_sequence}, ")
    assert_expression_parses(macros.render("time_of_row", dumps))


def test_declared_position(macros: Renderer) -> None:
    made = rows(sequence_by=["changed_at", "note"])
    assert macros.render("has_declared_order", made)
    assert macros.render("source_position_parts", made) == macros.render("declared_position", made)
    assert macros.render("declared_position", made)[1] == "hex(`value__note`)"
    assert macros.render("source_position_length", made) == 0
    assert_expression_parses(macros.sql("cdc_position", made))


@pytest.mark.parametrize(
    ("order_by", "said"),
    [
        ("offset", "if(kind = 'truncate', null, lpad(coalesce(kafka_offset, file_offset), 20, '0'))"),
        ("timestamp", "coalesce(source_ts_us, try_multiply(source_ts_ms, 1000))"),
    ],
)
def test_declared_position_of_events(macros: Renderer, order_by: str, said: str) -> None:
    made = feed(shape="flattened", order_by=order_by)
    assert said in macros.sql("source_position", made)
    assert_expression_parses(macros.sql("cdc_position", made))
    assert not macros.render("has_declared_order", feed())


def test_offset_position(macros: Renderer) -> None:
    (offset,) = macros.render("offset_position", feed())
    assert offset == "lpad(coalesce(kafka_offset, file_offset + line - 1), 20, '0')"
    assert offset in macros.sql("cdc_position", feed(order_by="offset"))
    assert (
        macros.render("offset_position", feed(layout="lenses"))[1] == "lpad(if(kafka_offset is null, line, 0), 12, '0')"
    )


@pytest.mark.parametrize("data_type", ["int", "decimal(20,4)", "date", "timestamp", "timestamp_ntz", "string"])
def test_sortable_text(macros: Renderer, data_type: str) -> None:
    made = column("x", data_type)
    assert_expression_parses(macros.sql("sortable_text", made, "value"))
    if data_type.startswith("decimal"):
        assert macros.sql("sortable_text", made, "value") == macros.sql("sortable_decimal", made, "value")
        digits = "lpad(translate(cast(if(value < 0, value - 1, value + 1) as string), '-.', ''), 21, '0')"
        assert digits in macros.sql("sortable_decimal", made, "value")
    elif data_type != "string":
        number = macros.render("whole_number", made, "value")
        assert macros.sql("sortable_text", made, "value") == macros.sql("sortable_number", number, 19)


def test_tied_rows() -> None:
    log = relation("stg_shop__orders")
    sql = declared(sequence_by="size", except_column_list=["Op"]).render("tied_rows", log)
    assert "group by `id`, left(_cdc_position, length(_cdc_position) - 60) having" in fold(sql)
    assert_parses(sql)
    assert shop().refusal("tied_rows", log) == (
        'tied_rows: source shop.orders: meta.cdc.shape is "envelope"; allowed: row.'
    )
    assert Renderer(execute=False).sql("tied_rows", log) == "select 1 as not_compiled"


def test_default_tied_rows_compares_maps_by_their_entries(macros: Renderer) -> None:
    made = rows(columns=[*COLUMNS, column("tags", "map<string,string>")])
    sql = macros.sql("default__tied_rows", relation("stg_shop__orders"), made)
    assert "sort_array(map_entries(`tags`)) as `tags`" in sql
    assert_parses(sql)


def test_position_of_event_is_what_the_delivery_leaves(macros: Renderer) -> None:
    delivery = macros.sql("cdc_position", rows()).split("if(op = 'r', '0', '1')")[1]
    version = macros.sql("version_of_file")
    widths = [
        int(width) for width in re.findall(r", (\d+), '0'\)", delivery.replace(version, "lpad(version, 16, '0')"))
    ]
    assert widths == [6, 20, 16, 12]
    assert "8, '0')" in version
    assert version.endswith("'0'), 8))")
    # A dot before each of them and before the mark of one character.
    assert macros.render("position_of_event", rows()).endswith(f"- {sum(widths) + 1 + 5})")


def test_current_state_refuses_snapshots_of_a_feed_without_their_positions() -> None:
    renderer = declared(sequence_by="size")
    renderer.strategy = "merge"
    renderer.this = relation("slv_shop__orders_state")
    renderer.meta = {"cdc": {"merge_guard": "_cdc_position"}}
    renderer.parents = ["model.stg"]
    said = renderer.refusal("current_state", relation("stg_shop__orders"), [relation("stg_shop__customers")])
    assert "snapshotted_with is [" in said


DUMPS = {"path": "/full/([^/]+)/", "delay_seconds": 60}
BATCHES = {"after": 1, "until": 2}


def test_time_of_dump(macros: Renderer) -> None:
    made = rows(sequence_by=["changed_at", "size"], full_dumps=DUMPS)
    sql = macros.render("time_of_dump", made)
    assert sql == macros.render("default__time_of_dump", made)
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
    for name in ("recognise_row", "operations_of_rows"):
        assert "dump_time" in macros.render(name, made)
        assert "dump_time" not in macros.render(name, rows(sequence_by=["changed_at"]))
    assert "'last_in_data_collection'" in macros.render("recognise_row", made)
    assert "when dump_time is not null then 'r'" in macros.sql("operations_of_rows", made)


def test_rows_of_a_dump_lie_at_its_moment(macros: Renderer) -> None:
    columns = [*COLUMNS, column("amount", "decimal(9,2)")]
    made = rows(columns=columns, sequence_by=["changed_at", "size", "amount"], full_dumps=DUMPS)
    first, *others = [
        macros.sql("position_in_dump", made, macros.render("column_of", made, name), name)
        for name in made["sequence_by"]
    ]
    assert "- 60 * 1000000" in first
    assert others == [
        f"case when dump_time is not null then '{'0' * zeros}' when snapshot is null then {name} end"
        for name, zeros in (("size", 20), ("amount", 11))
    ]
    assert_expression_parses(first)
    assert_expression_parses(macros.render("source_position", made))
    assert [macros.render("sortable_width", column("x", type_)) for type_ in ("int", "decimal(9,2)")] == [20, 11]
    assert macros.render("declared_position_length", made) == macros.render("source_position_length", made) == 53
    assert macros.render("declared_position_length", rows(sequence_by=["size"])) == 0
    assert "timestamp_micros(" + macros.render("micros_of_dump", made) in macros.sql("operations_of_rows", made)
    assert "_cdc_op = 'r'" in macros.sql("default__tied_rows", "log", made)
    assert "_cdc_op = 'r'" not in macros.sql("default__tied_rows", "log", rows())
    assert "rejected._cdc_batch" in macros.render("resets_sql", "log", rows(), {"until": 1}, [], "")
    assert "rejected._cdc_batch" not in macros.render("resets_sql", "log", made, {"until": 1}, [], "")
    assert any("full_dumps" in name for name in macros.render("declared_order", made))


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
    assert macros.does("require_full_dumps", SUBJECT, made) == []
    assert said in macros.refusal("require_full_dumps", SUBJECT, {**made, **changes})
    if "full_dumps" not in changes:
        assert said in macros.refusal("require_order_for_dumps", SUBJECT, {**made, **changes})


def test_feed_with_full_dumps_has_complete_snapshots() -> None:
    assert rows(sequence_by=["changed_at"], full_dumps=DUMPS)["snapshots"] == "complete"
    assert rows(sequence_by=["changed_at"])["snapshots"] == "partial"
    renderer = declared(sequence_by="changed_at", full_dumps=DUMPS)
    renderer.which = "compile"
    assert_parses(renderer.render("decode_rows", SOURCE))


def test_any_row_of_a_dump_says_where_it_lies(macros: Renderer) -> None:
    made = rows(sequence_by=["changed_at"], full_dumps=DUMPS)
    start = "left(_cdc_position, 20)"
    assert macros.render("is_reset", made) == (
        "(_cdc_kind = 'truncate' or (_cdc_kind in ('change', 'purged') and _cdc_snapshot is not null))"
    )
    assert macros.render("reset_position", made) == (
        f"if(_cdc_kind <> 'truncate' and _cdc_snapshot is not null, {start}, _cdc_position)"
    )
    assert macros.render("snapshot_of_row", made) == f"if(_cdc_snapshot is not null, {start}, null)"
    news = macros.sql("new_resets_sql", "log", made, BATCHES, [])
    assert "where (_cdc_kind in ('change', 'truncate') or _cdc_snapshot is not null) and" in news
    assert_parses(news)
    assert_parses(macros.render("resets_sql", "log", made, BATCHES, [], "1000"))


def test_file_of_a_dump_is_what_its_newest_batch_has(macros: Renderer) -> None:
    made = rows(sequence_by=["changed_at"], full_dumps=DUMPS)
    files = macros.sql("broken_dump_files_sql", "log", made, BATCHES, "1000")
    assert "_cdc_position >= '1000' and _cdc_batch <= 2" in files
    assert files.endswith(
        "group by _cdc_file_path having max(if(_cdc_kind = 'rejected', _cdc_batch, null)) = max(_cdc_batch)"
    )
    broken = macros.sql("broken_dump_sql", "log", made, BATCHES, "1000")
    assert files in broken
    assert broken.endswith("where startswith(position, '1000')")
    assert_parses(broken)


@pytest.mark.parametrize(
    ("file_path", "resets", "is_refused"),
    [("/full/a.json", [], True), ("/full/a.json", [{"position": "2000", "micros": 2}], False), (None, [], False)],
)
def test_refuse_broken_dump(file_path: str | None, resets: list[Any], is_refused: bool) -> None:
    made = rows(sequence_by=["changed_at"], full_dumps=DUMPS)
    asked = declared()
    asked.answers = {"select min(file_path)": [{"file_path": file_path}], "unix_micros(min(source_ts))": resets}
    asked.this = relation("slv_shop__orders_state")
    arguments = ("current_state", "log", made, BATCHES, "1000")
    if is_refused:
        with pytest.raises(CompilationError, match=r'full dump is "/full/a.json"; allowed: a file without') as said:
            asked.render("refuse_broken_dump", *arguments)
        assert "`dbt build --full-refresh --select slv_shop__orders_state+`" in str(said.value)
    else:
        asked.render("refuse_broken_dump", *arguments)


@pytest.mark.parametrize(
    ("cdc", "files", "lost", "warned"),
    [
        ({"full_dumps": DUMPS}, ["/full/2024-05-01/a.json"], 3, True),
        ({"full_dumps": DUMPS}, ["/full/2024-05-01/a.json"], 0, False),
        ({"full_dumps": DUMPS}, [], None, False),
        ({}, None, None, False),
    ],
)
def test_announce_rows_lost_by_dumps(
    cdc: dict[str, Any], files: list[str] | None, lost: int | None, warned: bool
) -> None:
    macros = Renderer()
    log = relation("stg_shop__orders")
    macros.answers = {} if files is None else {"min(batch) < 5": [{"file_path": file} for file in files]}
    macros.answers |= {} if lost is None else {"as lost_rows": [{"lost_rows": lost}]}
    macros.does("announce_rows_lost_by_dumps", log, rows(sequence_by=["changed_at"], **cdc), {"batch": 5})
    assert bool(macros.warnings) is warned
    if warned:
        assert "lack 3 rows" in macros.warnings[0]
        assert "`dbt build --full-refresh --select stg_shop__orders+`" in macros.warnings[0]


def test_rows_lost_by_dumps_sql(macros: Renderer) -> None:
    log = relation("stg_shop__orders")
    assert_parses(macros.sql("files_landed_anew_sql", log, 5))
    sql = macros.sql("rows_lost_by_dumps_sql", log, rows(sequence_by=["changed_at"], full_dumps=DUMPS), 5, ["it's"])
    assert_parses(sql)
    assert r"array_contains(array('it\'s'), _cdc_file_path)" in sql
