from __future__ import annotations

import json
import re
from typing import Any

import pytest
from dbt.adapters.spark.impl import SparkAdapter
from dbt_common.exceptions import CompilationError

from .feeds import ODD_NAMES, column, feed, shop
from .harness import NO_PARTITIONS, Renderer, assert_expression_parses, assert_parses, fold, relation

LOG = relation("stg_shop__orders")
SOURCE = relation("shop__orders", "bronze")
RUNS = [{"is_wanted": True, "first_path": "/a", "last_path": "/b", "file_count": 2, "container_count": 1, "bytes": 10}]
RUNS[0] |= {"outdated_count": 0, "superseded_count": 0}
FIRST_BATCH = {"number": 1, "after": None, "runs": None}
NEXT_BATCH = {"number": 3, "after": 2, "runs": RUNS}
# One column of every kind, and every name that needs quoting.
WIDE = [
    column("id", "int"),
    column("total", "decimal(12,2)", default=0),
    column("born", "date"),
    column("placed_at", "timestamp"),
    column("local", "timestamp_ntz"),
    column("raw", "binary"),
    column("tags", "array<string>"),
    column("t", "string", semantic_type="io.debezium.time.MicroTime"),
    *(column(name, "int") for name in ODD_NAMES),
]


def both_shapes() -> list[Any]:
    """Feeds of both shapes, with and without the store envelope, of both kinds of position, and a batch of each."""
    return [
        (feed(shape=shape, store_envelope=store, connector=connector, columns=WIDE, format=using), batch)
        for shape in ("envelope", "flattened")
        for store, connector, using, batch in (
            (True, "postgresql", "json", NEXT_BATCH),
            (False, "mariadb", "avro", FIRST_BATCH),
        )
    ]


def test_flattened_feed_may_have_envelopes(macros: Renderer) -> None:
    made = feed(shape="flattened", reads_envelopes=True, columns=WIDE, decimal_format="numeric")
    sql = macros.render("decode_records_sql", made, NEXT_BATCH)
    assert_parses(sql)
    assert "\n    \n" not in sql, "a blank line in the compiled SQL"
    assert macros.render("fields_of_flattened_envelope", made).strip() in sql
    assert macros.sql("is_envelope", "record_fields") in fold(sql)
    assert "is_envelope" not in macros.render("decode_records_sql", feed(shape="flattened"), NEXT_BATCH)


def test_flattened_envelope_has_the_names_of_the_feed(macros: Renderer) -> None:
    sql = macros.sql("flattened_envelope", feed(shape="flattened", add_fields_prefix="~"))
    assert_expression_parses(sql)
    assert "concat('~source_', name)" in sql
    assert "'~op', record_fields['op']" in sql


def test_decode_debezium_is_a_placeholder_while_dbt_parses(macros: Renderer) -> None:
    macros.execute = False
    assert macros.sql("decode_debezium", SOURCE) == "select 1 as not_compiled"


def test_decode_debezium_compiles_without_a_query() -> None:
    renderer = shop()
    renderer.which = "compile"
    renderer.strategy = "append"
    sql = renderer.render("decode_debezium", SOURCE)
    assert renderer.queries == []
    assert "cast(1 as bigint) as _cdc_batch from numbered" in fold(sql)
    assert_parses(sql)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"cdc": {"connector": "db3"}},
            'meta.cdc.connector is "db3"; allowed: '
            "postgresql, mysql, mariadb, sqlserver, oracle, mongodb, db2, db2as400, informix, ingres, vitess, spanner, "
            "cockroachdb, singlestore, ticdc, yugabytedb, cassandra, other, jdbc, table.",
        ),
        ({"cdc": {"key": ["no"]}}, 'meta.cdc.key is "no"; allowed: id, note.'),
        ({"using": "orc"}, 'external.using is "orc"; allowed: json, avro, parquet.'),
    ],
)
def test_decode_debezium_refuses_before_any_query(changes: dict[str, Any], said: str) -> None:
    assert shop(**changes).refusal("decode_debezium", SOURCE) == f"decode_debezium: source shop.orders: {said}"


def test_default_decode_debezium_without_news_reads_nothing(macros: Renderer) -> None:
    macros.types = {("stg_shop__orders", "id"): "int"}
    macros.columns = ["id", "note", "_cdc_op"]
    sql = macros.render("default__decode_debezium", feed(), {"number": 3, "after": 2, "runs": []})
    assert fold(sql).endswith("select * from silver.stg_shop__orders where false")
    assert_parses(sql)
    # A column that the log has not yet: dbt adds it from the model's own columns.
    macros.columns = ["id", "_cdc_op"]
    assert "numbered as (" in macros.sql("default__decode_debezium", feed(), {"number": 3, "after": 2, "runs": []})


def test_default_decode_debezium_of_an_empty_folder_makes_an_empty_log(macros: Renderer) -> None:
    sql = macros.sql("default__decode_debezium", feed(), {"number": 1, "after": None, "runs": []})
    assert f"and {macros.render('holds_values', '_metadata.file_path')} and false" in sql


@pytest.mark.parametrize(("made", "batch"), both_shapes())
def test_decode_records_sql(macros: Renderer, made: dict[str, Any], batch: dict[str, Any]) -> None:
    sql = macros.render("decode_records_sql", made, batch)
    assert_parses(sql)
    assert ("where not exists (select 1 from silver.stg_shop__orders as logged" in fold(sql)) == (batch is NEXT_BATCH)
    assert "\n    \n" not in sql, "a blank line in the compiled SQL"


def test_change_log_columns(macros: Renderer) -> None:
    lines = macros.render("change_log_columns", feed(), NEXT_BATCH).splitlines()
    assert lines[:2] == ["`value__id` as `id`,", "`value__note` as `note`,"]
    assert lines[-1] == "cast(3 as bigint) as _cdc_batch"
    assert_expression_parses("\n".join(lines))


def test_not_logged_since(macros: Renderer) -> None:
    sql = macros.render("not_logged_since", NEXT_BATCH)
    assert fold(sql) == ("not exists (select 1 from silver.stg_shop__orders as logged where logged._cdc_batch > 2)")
    assert_expression_parses(sql)


def test_next_batch_of_a_log(macros: Renderer) -> None:
    macros.answers = {
        "select max(batch)": [{"batch": 4}],
        "select max(_cdc_batch)": [{"batch": 4}],
        "refresh table": [],
        "with listed as": RUNS,
        "set alluvium": [],
    }
    assert macros.render("next_batch", feed()) == {"number": 5, "after": 4, "runs": RUNS}
    # The next batch is known to nobody before its rows are there.
    assert f"set {macros.render('setting', 'newest_batch', LOG)} = 4" in macros.queries
    assert not any(query.endswith(" = 5") for query in macros.queries)


def test_next_batch_of_a_log_that_is_built_anew(macros: Renderer) -> None:
    macros.incremental = False
    macros.answers = {
        "select max(batch)": [{"batch": 4}],
        "as rewritten_count": [{"file_count": 0, "first_path": None, "rewritten_count": 0}],
        "delete from": [],
        "refresh table": [],
        "with listed as": RUNS,
        "set alluvium": [],
    }
    assert macros.render("next_batch", feed()) == {"number": 5, "after": None, "runs": None}
    macros.answers["with listed as"] = []
    assert macros.render("next_batch", feed()) == {"number": 5, "after": None, "runs": []}


@pytest.mark.parametrize("which", ["compile", "test", "show", "docs"])
def test_next_batch_changes_nothing_outside_of_a_run(which: str) -> None:
    assert Renderer(which=which).render("next_batch", feed()) == FIRST_BATCH


def test_announce_new_files(macros: Renderer) -> None:
    macros.answers = {"set alluvium": []}
    two, none = (f"set {macros.render('setting', 'new_files', LOG)} = {count}" for count in (2, 0))
    again = f"set {macros.render('setting', 'files_read_again', LOG)} = "
    assert macros.does("announce_new_files", feed(), RUNS) == [two, again + "0"]
    assert macros.does("announce_new_files", feed(), []) == [none, again + "0"]
    assert macros.messages == ["shop.orders: 2 new files, 10 bytes", "shop.orders: no new files"]
    macros.does("announce_new_files", feed(), [RUNS[0] | {"file_count": 1, "bytes": 9}])
    assert macros.messages[-1] == "shop.orders: 1 new file, 9 bytes"
    assert macros.does("announce_new_files", feed(), [RUNS[0] | {"outdated_count": 1}])[1] == again + "1"
    assert macros.messages[-1].endswith(
        ", 10 bytes, 1 of them read again: columns are declared otherwise since, or a replay was asked for"
    )


@pytest.mark.parametrize(("value", "none"), [("0", True), ("3", False), ("<undefined>", False)])
def test_has_no_new_files(macros: Renderer, value: str, none: bool) -> None:
    macros.answers = {"set alluvium.new_files.": [{"value": value}]}
    assert macros.render("has_no_new_files") is none


def test_get_insert_into_sql(macros: Renderer) -> None:
    macros.columns = ["id", "a b"]
    macros.answers = {"set alluvium.new_files": [{"value": "1"}], **NO_PARTITIONS}
    assert macros.sql("get_insert_into_sql", relation("tmp"), LOG) == (
        "insert into silver.stg_shop__orders (`id`, `a b`) select `id`, `a b` from silver.tmp"
    )
    macros.answers["describe detail"] = [{"partitionColumns": '["id"]'}]
    with pytest.raises(CompilationError, match="partition_by is not given; allowed: id, as the table has it"):
        macros.sql("get_insert_into_sql", relation("tmp"), LOG)
    macros.answers = {"set alluvium.new_files": [{"value": "0"}]}
    assert macros.sql("get_insert_into_sql", relation("tmp"), LOG) == "select 'nothing new' as applied"
    macros.post_hooks = ("{{ grant_to_all() }}",)
    assert macros.sql("get_insert_into_sql", relation("tmp"), LOG) == "dbt-spark's own insert"


def test_same_columns(macros: Renderer) -> None:
    macros.columns = ["id", "a b"]
    assert macros.render("same_columns", relation("tmp"), LOG) == ["id", "a b"]
    macros.types = {("tmp", "a b"): "decimal(12,4)", ("stg_shop__orders", "a b"): "decimal(12,2)"}
    assert macros.refusal("same_columns", relation("tmp"), LOG) == (
        'model stg_shop__orders: type of column a b is "decimal(12,4)"; allowed: decimal(12,2), as the table has it; '
        "another one needs `dbt build --full-refresh --select stg_shop__orders+`."
    )


@pytest.mark.parametrize(
    "cut", ["struct<a:int,... 5 more fields>", "array<struct<a:struct<b:int,... 12 more fields>>>"]
)
def test_types_that_spark_does_not_show_whole_are_refused(macros: Renderer, cut: str) -> None:
    macros.columns = ["id", "document"]
    assert [column.name for column in macros.render("columns_in_relation", LOG)] == ["id", "document"]
    macros.types = {("tmp", "document"): cut, ("stg_shop__orders", "document"): cut}
    for refused in (macros.refusal("same_columns", relation("tmp"), LOG), macros.refusal("columns_in_relation", LOG)):
        assert refused.startswith(f'model stg_shop__orders: type of column document is "{cut}"; allowed: a type that ')
        assert "spark.sql.debug.maxToStringFields" in refused


def test_require_types_and_own_columns(macros: Renderer) -> None:
    columns = [{"name": "a", "dtype": "int"}]
    assert not macros.sql("require_types", LOG, columns, {"b": "date"})
    assert 'column a is "date"; allowed: int, ' in macros.refusal("require_types", LOG, columns, {"a": "date"})
    names = ("_cdc_x", "_is_deleted", "_deleted_at", "_METADATA", "cdc_x", "_hoodie_is_deleted")
    own = [macros.render("is_own_column", name) for name in names]
    assert own == [True, True, True, True, False, False]
    # dbt-spark takes these for no columns of a table, whatever its format is.
    assert all(macros.render("is_own_column", name) for name in SparkAdapter.HUDI_METADATA_COLUMNS)


def test_insert_into_sql(macros: Renderer) -> None:
    assert_parses(macros.render("insert_into_sql", relation("tmp"), LOG, list(ODD_NAMES)))


def test_line_number(macros: Renderer) -> None:
    assert macros.sql("line_number", feed(format="parquet")) == "record_order"
    assert macros.sql("line_number", feed()).startswith("row_number() over (partition by file_path, file_length ")


def test_text_of_and_value_of(macros: Renderer) -> None:
    assert macros.render("text_of", "sel`ect") == "`text__sel``ect`"
    assert macros.render("value_of", "with.dot") == "`value__with.dot`"


def test_recognise_takes_the_feeds_shape(macros: Renderer) -> None:
    for shape in ("envelope", "flattened"):
        made = feed(shape=shape)
        by_shape = {
            "envelope": macros.sql("recognise_envelope", made),
            "flattened": macros.sql("recognise_flattened", made),
        }
        assert macros.sql("recognise", made) == by_shape[shape]


def test_recognise_gives_both_shapes_the_same_columns(macros: Renderer) -> None:
    def names(sql: str) -> set[str]:
        selected = sql[sql.index("recognised as (") : sql.rindex("\n    from ")]
        columns = re.findall(r"^ {8}(?:\S.* as )?(\w+),?$", selected, re.MULTILINE)
        return set(columns) - {"case"}

    envelope = names(macros.render("recognise_envelope", feed()))
    assert names(macros.render("recognise_flattened", feed(shape="flattened"))) == envelope - {"image_before"}
    documents = feed(connector="mongodb", replica_identity="full")
    assert "image_before" not in names(macros.render("recognise_envelope", documents))
    assert {
        "value",
        "malformed",
        "op",
        "row_image",
        "kind",
        "source_ts",
        "kafka_offset",
        "transaction_order",
    } <= envelope


def test_recognise_envelope_reads_both_forms_of_json(macros: Renderer) -> None:
    sql = macros.sql("recognise_envelope", feed(store_envelope=True))
    assert "coalesce(lines[0].value.payload.op, lines[0].value.op) as record_op," in sql
    assert "if(record_op = 'd', record_before, record_after) as row_image," in sql


def test_recognise_flattened_takes_the_prefix(macros: Renderer) -> None:
    sql = macros.sql("recognise_flattened", feed(shape="flattened", add_fields_prefix="it's_"))
    assert r"fields['it\'s_source_ts_ms']" in sql
    assert "fields['__" not in sql
    assert_parses(f"with parsed as (select 1), {sql} select * from recognised")


def test_flattened_control_kinds_know_a_record_by_all_of_its_fields(macros: Renderer) -> None:
    """A row of a table that has some of these columns, or all of them, is no control record."""
    kinds = {
        "message": ["id", "op", "source", "message"],
        "transaction": ["id", "status", "event_count", "data_collections"],
        "schema_change": ["source", "databaseName", "ddl", "tableChanges"],
        "heartbeat": ["ts_ms"],
    }
    sql = macros.render("flattened_control_kinds", feed(shape="flattened"))
    assert re.findall("then '(.*)'", sql) == list(kinds)
    assert "= array('data_collections', 'event_count', 'id', 'status') then 'transaction'" in sql
    assert_expression_parses(f"case {sql} end")
    for kind, names in kinds.items():
        table = feed(shape="flattened", columns=[column(name) for name in names], key=[])
        assert set(re.findall("then '(.*)'", macros.render("flattened_control_kinds", table))) == {*kinds} - {kind}
    # A row has its key.
    clocked = feed(shape="flattened", columns=[column("id"), column("ts_ms")])
    assert "array('ts_ms') then 'heartbeat'" in macros.render("flattened_control_kinds", clocked)


def test_flattened_operations(macros: Renderer) -> None:
    sql = macros.sql("flattened_operations", feed(shape="flattened"))
    assert "when lower(fields['__deleted']) = 'true' then 'd' when lower(fields['__deleted']) <> 'false' then " in sql
    assert_parses(f"with parsed as (select 1), {sql} select * from operations")


def test_record_kind(macros: Renderer) -> None:
    plain = macros.sql("record_kind", feed(), "'change'")
    assert plain.endswith("else 'change' end")
    assert "metadata" not in plain
    stored = macros.sql("record_kind", feed(store_envelope=True), "'change'")
    assert "when lines[0].metadata is not null and lines[0].value is null" in stored
    rejected = f"when {macros.render('is_malformed')} then 'rejected'"
    assert stored.index(rejected) < stored.index("when lines[0].metadata is not null")
    for sql in (plain, stored):
        assert_expression_parses(sql)


def test_carried_columns(macros: Renderer) -> None:
    plain = macros.render("carried_columns", feed())
    assert plain.startswith("value,\nread_error,\n")
    assert plain.endswith("as file_offset")
    numbers = feed(decimal_format="numeric", columns=WIDE)
    assert f"value,\n{macros.render('number_image', numbers)} as number_image,\n" in macros.render(
        "carried_columns", numbers
    )
    assert_expression_parses(plain)


def test_is_malformed(macros: Renderer) -> None:
    """Spark reads an array up to its end: only the length tells the object that was appended from one of the line."""
    sql = macros.render("is_malformed")
    assert "size(lines) <> 2" in sql
    assert sql.endswith("lines[1]['line_length'] is distinct from cast(length(value) as string)")
    assert_expression_parses(sql)
    parsed = macros.sql("decode_records_sql", feed(), FIRST_BATCH)
    quoted = macros.render("with_quoted_constants", "value")
    assert f"from_json(concat('[', {quoted}, ',{{\"line_length\":', length(value), '}}]')," in parsed


def test_has_only_fields(macros: Renderer) -> None:
    plain = macros.sql("has_only_fields", feed(), ["ts_ms"])
    assert plain == (
        "size(array_except(json_object_keys(coalesce(get_json_object(value, '$.payload'), value)), array('ts_ms'))) = 0"
    )
    stored = macros.sql("has_only_fields", feed(store_envelope=True), ["a", "b"])
    assert "get_json_object(value, '$.value.payload'), get_json_object(value, '$.value')" in stored
    assert_expression_parses(stored)


def test_json_options(macros: Renderer) -> None:
    assert macros.render("json_options", ["allowSingleQuotes"]) == (
        "map('maxStringLen', '2147483647', 'maxNumLen', '2147483647', 'allowSingleQuotes', 'false')"
    )


def test_delivery_columns(macros: Renderer) -> None:
    confluent = macros.sql("delivery_columns", feed())
    name = macros.render("pattern_of_layout", "confluent")["pattern"]
    assert confluent.startswith(f"try_cast(regexp_extract(file_path, {name}, 2) as int) as kafka_partition,")
    assert "cast(null as bigint) as kafka_offset," in confluent
    lenses = macros.sql("delivery_columns", feed(layout="lenses", store_envelope=True))
    assert lenses.startswith("coalesce(lines[0].metadata.partition, ")
    name = macros.render("pattern_of_layout", "lenses")["pattern"]
    assert f"regexp_extract(file_path, {name}, 3) as bigint) as file_offset" in lenses
    own = macros.sql("delivery_columns", feed(layout="_(?<last_offset>[0-9]+)[.]json$"))
    assert own.startswith("cast(null as int) as kafka_partition,")
    assert own.endswith("try_cast(regexp_extract(file_path, '_([0-9]+)[.]json$', 1) as bigint) as file_offset")
    for sql in (confluent, lenses, own):
        assert_expression_parses(sql)


def test_record_type(macros: Renderer) -> None:
    assert macros.render("record_type", feed(shape="flattened")) == "map<string,string>"
    stored = macros.render("record_type", feed(shape="flattened", store_envelope=True))
    assert stored.startswith(
        "struct<value:map<string,string>,metadata:struct<topic:string,partition:int,offset:bigint,"
    )
    envelope = macros.render("record_type", feed())
    assert envelope.startswith("struct<schema:struct<fields:")
    assert envelope.count("before:map<string,string>,after:map<string,string>") == 2
    stored_envelope = macros.render("record_type", feed(store_envelope=True))
    for made in (stored, envelope, stored_envelope):
        assert made.endswith(",line_length:string>")
        assert made.count("line_length") == 1
        assert_expression_parses(f"cast(null as {made})")


@pytest.mark.parametrize("using", ["json", "parquet"])
@pytest.mark.parametrize("shape", ["envelope", "flattened"])
def test_decimals_that_are_json_numbers_are_read_as_texts(macros: Renderer, shape: str, using: str) -> None:
    numbers = feed(shape=shape, format=using, columns=WIDE, decimal_format="numeric")
    sql = macros.sql("decode_records_sql", numbers, FIRST_BATCH)
    quoted = macros.render("with_quoted_constants", "value")
    assert f"from_json(concat('[', {macros.render('numbers_as_texts', quoted)}, ']')," in sql
    assert "number_image['total']) as `text__total`" in sql
    assert "number_lines" not in macros.sql("decode_records_sql", {**numbers, "columns": WIDE[:1]}, FIRST_BATCH)
    assert_parses(macros.render("decode_records_sql", numbers, FIRST_BATCH))


def test_numbers_as_texts(macros: Renderer) -> None:
    sql = macros.render("numbers_as_texts", "value")
    assert sql.startswith("regexp_replace(value, '")
    assert sql.endswith(""", '$1"$2"')""")
    assert_expression_parses(sql)


def test_constants_that_json_has_not_are_quoted(macros: Renderer) -> None:
    sql = macros.render("with_quoted_constants", "value")
    assert sql.startswith("if(contains(value, 'NaN') or contains(value, 'Infinity'), regexp_replace(value, ")
    assert_expression_parses(sql)
    assert macros.render("json_string_pattern").replace("\\", "\\\\") in sql


def test_number_image_is_from_where_the_row_image_is(macros: Renderer) -> None:
    assert macros.sql("number_image", feed()) == (
        "if(record_op = 'd', coalesce(number_lines[0].payload.before, number_lines[0].before),"
        " coalesce(number_lines[0].payload.after, number_lines[0].after))"
    )
    keyless = macros.sql("number_image", feed(key=[]))
    assert keyless.startswith("if(is_image_before or record_op = 'd', coalesce(number_lines[0].payload.before, ")
    stored = feed(shape="flattened", store_envelope=True)
    assert macros.sql("number_image", stored) == macros.sql("row_of_record", "number_lines[0].value")
    assert f"{macros.sql('row_of_record', 'lines[0].value')} as fields," in macros.sql("fields_of_record", stored)


def test_is_wrapped_asks_for_the_whole_wrapper(macros: Renderer) -> None:
    sql = macros.sql("is_wrapped", feed(), "x")
    assert sql.startswith(
        "map_contains_key(x, 'payload') and size(array_except(map_keys(x), array('schema', 'payload')))"
    )
    assert_expression_parses(sql)
    of_column = feed(columns=[column("id", "int"), column("payload")])
    assert macros.sql("is_wrapped", of_column, "x").startswith(
        """map_contains_key(x, 'payload') and size(x) = 2 and x['schema'] like '{"type":"struct",%"""
    )
    assert '"payload":null' in macros.sql("record_kind", feed(), "'change'")
    assert '"payload":null' not in macros.sql("record_kind", of_column, "'change'")
    assert macros.sql("row_of_record", "x") == (
        f"if(is_wrapped, from_json(x['payload'], 'map<string,string>', {macros.render('json_options')}), x)"
    )


def test_types_of_the_parts_of_a_record(macros: Renderer) -> None:
    """No part types a row image's values: a number that is text stays exact until it meets its declared type."""
    fields = macros.render("envelope_fields", feed())
    assert "double" not in fields
    assert "float" not in fields
    assert macros.render("schema_fields_type") in macros.render("envelope_schema_type")


def test_semantic_types_of_row(macros: Renderer) -> None:
    fields = f"from_json(lines[0]['schema'], 'struct<fields:{macros.render('schema_fields_type')}>').fields"
    assert macros.render("semantic_types_of_row", "lines[0]") == macros.render("semantic_types_of_fields", fields)


def test_semantic_types_of_fields(macros: Renderer) -> None:
    sql = macros.sql("semantic_types_of_fields", "x")
    assert "filter(x, field -> coalesce(field.name, field.items.name) is not null)" in sql
    assert_expression_parses(sql)


def test_reject_reason_gives_every_code(macros: Renderer) -> None:
    sql = macros.sql("reject_reason", feed(columns=WIDE))
    codes = (
        "invalid_utf8",
        "unreadable_file",
        "malformed_json",
        "unknown_op",
        "unknown_shape",
        "missing_position",
        "missing_key",
        "changed_key",
        "unknown_column",
        "ambiguous_unit",
        "type_misfit",
    )
    places = [sql.index(f"'{code}") for code in codes]
    assert places == sorted(places)
    assert_expression_parses(sql)


def test_reject_reason_follows_the_feed(macros: Renderer) -> None:
    sql = macros.sql("reject_reason", feed(unknown_columns="ignore", key=[], format="avro"))
    assert "unknown_column" not in sql
    assert "then 'missing_key: no row image'" in sql
    assert "'UTF-8'" not in sql


@pytest.mark.parametrize(
    ("options", "decided"),
    [
        ({}, {"id": [], "note": ["d"]}),
        ({"key": []}, {"id": [], "note": []}),
        (
            {"shape": "row", "sequence_by": ["at"], "apply_as_deletes": "Op = 'D'", "apply_as_truncates": "op = 'T'"},
            {"id": ["t"], "at": [], "note": ["d", "t"], "op": []},
        ),
    ],
)
def test_ops_decided_without(macros: Renderer, options: dict[str, Any], decided: dict[str, list[str]]) -> None:
    for name, ops in decided.items():
        assert macros.render("ops_decided_without", name, feed(**options)) == ops
    condition = macros.render("unless_op_decides", "note", feed(**options), "x")
    names = ", ".join(repr(op) for op in decided["note"])
    assert condition == (f"op not in ({names}) and (x)" if names else "x")


def test_is_decided_despite_text(macros: Renderer) -> None:
    assert macros.sql("is_decided_despite_text", feed()) == (
        r"kind = 'change' and op = 'd' and not contains(concat_ws('', row_image['id']), '\uFFFD')"
        " or kind = 'truncate' and op = 't'"
    ).replace(r"\\u", r"\u")
    assert macros.sql("is_decided_despite_text", feed(key=[])) == "kind = 'truncate' and op = 't'"


def test_a_deletes_value_that_does_not_fit_is_not_logged(macros: Renderer) -> None:
    total = column("total", "decimal(12,2)")
    assert "> 2" in macros.sql("is_another_value", total, feed())
    assert macros.sql("logged_value", total, feed()).startswith("if(op = 'd' and (")
    assert macros.sql("logged_value", total, feed(key=["total"])) == "`value__total`"
    assert macros.sql("logged_value", column("note"), feed()) == "`value__note`"


def test_foreign_message_looks_at_few_lines(macros: Renderer) -> None:
    envelope, row = (macros.sql("foreign_message", feed(shape=shape)) for shape in ("envelope", "row"))
    assert "when verdict is not null then coalesce(concat('foreign_message: '," in envelope
    assert "when verdict is not null or arrays_overlap(unknown_columns, array('id', " in row
    assert "${" not in row, "Spark would put a variable there"
    assert_expression_parses(row)


def test_format_of_message_reads_the_record_in_its_wrapper(macros: Renderer) -> None:
    sql = macros.sql("format_of_message", feed(store_envelope=True), [])
    assert "map_keys(from_json(if(size(array_except(json_object_keys(get_json_object(value, '$.value'))," in sql
    assert "array(map_keys(row_image))" in macros.sql("format_of_message", feed(shape="row"), [])


def test_forms_of_messages_are_those_of_the_table(macros: Renderer) -> None:
    forms = macros.render("forms_of_messages")
    assert len(forms) == sum(len(entry["forms"]) for entry in macros.render("message_formats"))
    assert {"path": "$['metadata']['record-type']", "pattern": "^(data|control)$"} in [
        mark for form in forms for mark in form["marks"]
    ]
    assert "'op_type'" in macros.render("fields_of_forms", forms)


def test_misses_key(macros: Renderer) -> None:
    made = feed(key=["id", "note"], columns=[column("id", "int"), column("note", nullable=True)])
    assert macros.sql("misses_key", made) == (
        "row_image is null or row_image['id'] is null or not map_contains_key(row_image, 'note')"
    )


def test_misses_key_column(macros: Renderer) -> None:
    made = feed(key=["it's"], columns=[column("it's", nullable=True)])
    assert macros.render("misses_key_column", made, "it's") == r"not map_contains_key(row_image, 'it\'s')"


def test_missing_key_columns(macros: Renderer) -> None:
    sql = macros.sql("missing_key_columns", feed(key=["id", "note"]))
    assert sql == (
        "concat_ws(', ', if(row_image is null or row_image['id'] is null, 'id', null), "
        "if(row_image is null or row_image['note'] is null, 'note', null))"
    )


@pytest.mark.parametrize(
    ("options", "is_compared"),
    [
        ({}, True),
        ({"connector": "mysql"}, True),
        # Other columns than those of the index are sent as the defaults of their types.
        ({"replica_identity": "index"}, False),
        ({"shape": "flattened"}, False),
        ({"key": []}, False),
        ({"connector": "mongodb"}, False),
    ],
)
def test_compares_keys(macros: Renderer, options: dict[str, Any], is_compared: bool) -> None:
    made = feed(**options)
    assert macros.render("compares_keys", made) == is_compared
    assert ("changed_key" in macros.sql("reject_reason", made)) == is_compared
    if made["shape"] == "envelope":
        assert not is_compared or "as image_before," in macros.sql("recognise_envelope", made)


def test_changed_key_columns(macros: Renderer) -> None:
    sql = macros.sql("changed_key_columns", feed(key=["it's"], columns=[column("it's")]))
    assert r"if(map_contains_key(image_before, 'it\'s') and not image_before['it\'s'] <=> row_image['it\'s']" in sql
    assert_expression_parses(sql)


def test_unknown_columns(macros: Renderer) -> None:
    assert macros.sql("unknown_columns", feed()) == (
        "if(kind = 'change', nullif(array_except(map_keys(row_image), array('id', 'note')), array()), null)"
    )
    flattened = macros.sql("unknown_columns", feed(shape="flattened", add_fields_prefix="it's"))
    assert r"name -> not startswith(name, 'it\'s')" in flattened


def test_columns_of_unsaid_unit(macros: Renderer) -> None:
    said = column("said", "timestamp_ntz", semantic_type="io.debezium.time.Timestamp")
    columns = [column("a", "timestamp_ntz"), said, column("b", "timestamp"), column("c", "array<timestamp_ntz>")]
    names = [found["name"] for found in macros.render("columns_of_unsaid_unit", feed(columns=columns))]
    assert names == ["a", "c"]
    assert macros.render("columns_of_unsaid_unit", feed(columns=columns, time_precision_mode="connect")) == []


def test_ambiguous_columns(macros: Renderer) -> None:
    sql = macros.sql("ambiguous_columns", feed(columns=[column("it's", "timestamp_ntz"), column("b", "int")]))
    assert sql.count("'it\\'s'") == 2
    assert "'b'" not in sql
    assert_expression_parses(sql)


def test_is_ambiguous(macros: Renderer) -> None:
    assert macros.sql("is_ambiguous", column("at", "timestamp_ntz")) == (
        "semantic_types['at'] is null and abs(try_cast(`text__at` as bigint)) between 1 and 253402300799999"
    )
    elements = macros.sql("is_ambiguous", column("at", "array<timestamp_ntz>"))
    assert "exists(from_json(`text__at`, 'array<string>'), element -> abs(try_cast(element as bigint))" in elements
    assert_expression_parses(elements)


def test_names_where(macros: Renderer) -> None:
    assert macros.sql("names_where", {"it's": "a > 1"}) == (
        r"filter(array(if(a > 1, 'it\'s', null), cast(null as string)), name -> name is not null)"
    )


def test_misfit_columns(macros: Renderer) -> None:
    sql = macros.sql("misfit_columns", feed())
    assert sql == (
        "filter(array(if(row_image['id'] is not null and (`value__id` is null), 'id', null), cast(null as string)),"
        " name -> name is not null)"
    )
    assert_expression_parses(macros.sql("misfit_columns", feed(columns=WIDE)))


def test_takes_any_text(macros: Renderer) -> None:
    assert macros.render("takes_any_text", column("a"), feed())
    assert not macros.render("takes_any_text", column("a", "int"), feed())
    assert not macros.render("takes_any_text", column("a", semantic_type="io.debezium.time.MicroTime"), feed())


def test_is_misfit(macros: Renderer) -> None:
    plain = macros.sql("is_misfit", column("a", "int"), feed())
    assert plain == "row_image['a'] is not null and (`value__a` is null)"
    rounded = macros.sql("is_misfit", column("a", "decimal(12,2)"), feed())
    assert rounded.endswith(" > 2, true)) and array_contains(unavailable_columns, 'a') is not true")
    torn = macros.sql("is_misfit", column("a", "array<int>"), feed())
    assert "<> size(filter(`value__a`, element -> element is not null)), true))" in torn
    assert macros.render("is_changed_value", column("a", "int"), "x", "v") is None
    assert macros.sql("is_changed_value", column("a", "double"), "x", "v") == (
        "abs(v) = cast('Infinity' as double) and x not like '%Inf%'"
    )
    assert macros.sql("is_changed_value", column("a", "float"), "x", "v").endswith(
        "not like '%Inf%' or " + macros.sql("is_rounded_float", "x", "v")
    )
    assert_expression_parses(macros.sql("is_rounded_float", "x", "v"))
    assert macros.sql("is_changed_value", column("a", "date"), "x", "v") == "v < date '-4713-11-24'"
    for type_, zone in (("timestamp", "Z"), ("timestamp_ntz", "")):
        changed = macros.sql("is_changed_value", column("a", type_), "x", "v")
        assert changed == (
            f"v < {type_} '-4713-11-24 00:00:00{zone}' and v <> {type_} '-290308-12-21 19:59:27.6{zone}'"
        )


def test_time_that_no_database_has(macros: Renderer) -> None:
    later = "`value__a` >= timestamp_ntz '+10000-01-01 00:00:00'"
    assert macros.sql("is_of_wider_time", column("a", "timestamp_ntz"), feed(connector="mysql"), "`value__a`") == later
    assert macros.sql("is_misfit", column("a", "timestamp_ntz"), feed(connector="mysql")).endswith(
        f" or {later}, true))"
    )
    assert macros.render("is_of_wider_time", column("a", "timestamp_ntz"), feed(), "v") is None
    assert macros.render("is_of_wider_time", column("a", "int"), feed(connector="mysql"), "v") is None


def test_is_lost_inside(macros: Renderer) -> None:
    fields = macros.sql("is_lost_inside", "struct<a: int, b: array<timestamp>>", "x", "v")
    assert fields.startswith(
        "not startswith(ltrim(x), '{') or exists(array(from_json(x, 'map<string,string>')), fields ->"
        " (fields['a'] is not null and (v.`a` is null)) or (fields['b']"
    )
    assert "zip_with(from_json(fields['b'], 'array<string>'), v.`b`, (part, item) -> (part is not null and" in fields
    for type_ in (
        "struct<a: int, b: array<timestamp>>",
        "map<string, struct<d: date>>",
        "array<struct<a:decimal(4,1)>>",
    ):
        assert_expression_parses(macros.sql("is_lost_inside", type_, "x", "v"))
    # A value's place is told by the key of its own map, not by that of the map inside.
    maps = macros.sql("is_lost_inside", "map<string,map<string,int>>", "x", "v")
    assert "entry -> struct(entry.value as part, v[entry.key] as item)), of_key -> " in maps
    assert "entry -> struct(entry.value as part, of_key.item[entry.key] as item)), of_key -> " in maps
    assert macros.render("is_lost_inside", "int", "x", "v") is None
    assert macros.sql("is_lost_inside", "date", "x", "v") == "not x rlike '^[+-]?[0-9]{4,}-[0-9]{2}-[0-9]{2}$'"
    inside = column("a", "map<string,int>")
    assert macros.sql("is_changed_value", inside, "x", "v") == macros.sql("is_lost_inside", "map<string,int>", "x", "v")


def test_begins_otherwise(macros: Renderer) -> None:
    assert macros.sql("begins_otherwise", "x", "[") == "not startswith(ltrim(x), '[')"


def test_is_part_lost(macros: Renderer) -> None:
    assert macros.sql("is_part_lost", "int", "x", "v") == "(x is not null and (v is null))"
    assert macros.sql("is_part_lost", "float", "x", "v").startswith("(x is not null and (v is null or abs(v) = ")


def test_unknown_fields(macros: Renderer) -> None:
    assert macros.render("unknown_fields", "map<string,int>", "x", "a") is None
    assert macros.sql("unknown_fields", "struct<b: int, `c d`: string>", "x", "a") == (
        "coalesce(transform(array_except(map_keys(from_json(x, 'map<string,string>')), array('b', 'c d')),"
        " name -> concat('a.', name)), array())"
    )
    deep = macros.sql("unknown_fields", "struct<b: array<struct<c:int>>, m: map<string, struct<d:int>>>", "x", "a")
    assert "from_json(from_json(x, 'map<string,string>')['b'], 'array<string>')" in deep
    assert "name -> concat('a.b.', name)" in deep
    assert "name -> concat('a.m.', name)" in deep
    assert_expression_parses(deep)
    assert_expression_parses(
        macros.sql("unknown_columns", feed(columns=[column("id", "int"), column("a", "struct<b:int>")]))
    )


def test_cdc_position(macros: Renderer) -> None:
    sql = macros.sql("cdc_position", feed())
    assert sql.startswith("if(source_position is null, null, concat_ws('.', source_position, ")
    assert sql.endswith(f"{macros.sql('version_of_file')}, lpad(line, 12, '0')))")
    assert_expression_parses(sql)


def test_version_of_file(macros: Renderer) -> None:
    sql = macros.sql("version_of_file")
    assert "conv(unix_millis(file_modified_at) div 10, 10, 36)" in sql
    assert "xxhash64(file_path, file_length)" in sql
    assert_expression_parses(sql)


def test_is_snapshot_row(macros: Renderer) -> None:
    assert macros.render("is_snapshot_row") == "op = 'r'"


@pytest.mark.parametrize("name", ["unit price", "a,b", "a=b", "a(b)", "a\tb"])
def test_name_that_delta_refuses_is_refused_before(macros: Renderer, name: str) -> None:
    odd = feed(columns=[column("id", "int"), column(name)])
    assert macros.refusal("require_names_of_delta", "m", odd).startswith(f"m: name of a column is {json.dumps(name)}; ")
    mapped = Renderer(tblproperties={"delta.columnMapping.mode": "name"})
    assert mapped.does("require_names_of_delta", "m", odd) == []
    for harmless in ("order", "Größe", "a.b", "it's", "x`y", "a-b"):
        assert macros.does("require_names_of_delta", "m", feed(columns=[column(harmless)])) == []
