from __future__ import annotations

import re
from typing import Any

import pytest

from .feeds import ODD_NAMES, column, feed
from .harness import Renderer, assert_expression_parses

BASE64 = "if(length(x) % 4 = 0 and x rlike '^[A-Za-z0-9+/]*={0,2}$', try_to_binary(x, 'base64'), null)"
DEBEZIUM_TIME = "io.debezium.time"


@pytest.mark.parametrize(
    ("declared", "options", "starts"),
    [
        (column("a"), {}, "x"),
        (column("a", "boolean"), {}, "try_cast(x as boolean)"),
        (column("a", "bigint"), {}, "try_cast(x as bigint)"),
        (column("a", "double"), {}, "try_cast(x as double)"),
        (column("a", "decimal(12,2)"), {}, "try_cast(x as decimal(12,2))"),
        (column("a", "date"), {}, "case coalesce(semantic_types['a'], 'io.debezium.time.Date') when"),
        (column("a", "timestamp"), {}, "case when x in ('infinity', '9223372036854775807') or "),
        (
            column("a", "timestamp_ntz"),
            {},
            "case when x in ('infinity', '9223372036854775807') or startswith(x, '+29227899') then timestamp_ntz ",
        ),
        (column("a", "binary"), {}, BASE64),
        (
            column("a", "array<int>"),
            {},
            "transform(from_json(x, 'array<string>'), element -> try_cast(element as int))",
        ),
        (column("a", "struct<b:int>"), {}, "from_json(x, 'struct<b:int>', map('timeZone', 'UTC'))"),
        (column("a", "struct<`it's`:int>"), {}, r"from_json(x, 'struct<`it\'s`:int>', map('timeZone', 'UTC'))"),
        (column("a", "bigint", semantic_type=f"{DEBEZIUM_TIME}.MicroTime"), {}, "case coalesce(semantic_types['a']"),
        (column("a", "int", semantic_type="io.debezium.data.Bits"), {}, "transform(filter(array(if(length(x) % 4 = 0"),
    ],
)
def test_decode_value(macros: Renderer, declared: dict[str, Any], options: dict[str, Any], starts: str) -> None:
    sql = macros.sql("decode_value", declared, feed(**options), "x")
    assert sql.startswith(starts)
    assert_expression_parses(sql)


def test_decode_value_never_passes_through_double(macros: Renderer) -> None:
    for data_type in ("bigint", "decimal(38,10)", "timestamp", "timestamp_ntz", "date"):
        sql = macros.sql("decode_value", column("a", data_type), feed(), "x")
        assert "double" not in sql
        assert "float" not in sql


def test_decode_date(macros: Renderer) -> None:
    sql = macros.sql("decode_date", column("d", "date"), feed(time_precision_mode="connect"), "x")
    assert sql == (
        "case coalesce(semantic_types['d'], 'org.apache.kafka.connect.data.Date')"
        " when 'io.debezium.time.Date' then date_add(date '1970-01-01', try_cast(x as int))"
        " when 'org.apache.kafka.connect.data.Date' then date_add(date '1970-01-01', try_cast(x as int))"
        " when 'io.debezium.time.IsoDate'"
        " then if(x rlike '^[+-]?[0-9]{4,}-[0-9]{2}-[0-9]{2}Z?$', try_cast(rtrim('Z', x) as date), null) end"
    )


def test_decode_timestamp_ntz_knows_no_time_zone(macros: Renderer) -> None:
    sql = macros.sql("decode_timestamp_ntz", column("t", "timestamp_ntz"), feed(), "x")
    assert "else timestamp_ntz '1970-01-01 00:00:00' + interval '0.000001' second * case" in sql
    assert "timestamp_micros" not in sql
    assert_expression_parses(sql)


def test_decode_timestamp_wants_a_zone(macros: Renderer) -> None:
    sql = macros.sql("decode_timestamp", column("t", "timestamp"), feed(), "x")
    pattern = macros.render("iso_timestamp_pattern")
    cast = macros.sql("cast_iso_timestamp", "x", "timestamp")
    assert f"then if(x rlike '{pattern}(Z|[+-][0-9]{{2}}(:?[0-9]{{2}}){{0,2}})$', {cast}, null)" in sql
    assert cast.startswith("coalesce(try_cast(x as timestamp), ")
    assert_expression_parses(sql)


def test_infinite_timestamps(macros: Renderer) -> None:
    """Other databases have no infinity, and may have a time at the end of 64 bits."""
    sql = macros.sql("infinite_timestamps", feed(connector="mongodb"), "x", "timestamp_micros({})")
    assert sql == (
        "when x in ('infinity') then timestamp_micros(9223372036825200000)"
        " when x in ('-infinity') then timestamp_micros(-9223372036832400000)"
    )


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("2024-05-01T12:30:00", True),
        ("-0043-03-15T12:00", True),
        ("2024-05-01T12:30:00.123456000", True),
        ("2024-05-01T12:30:00.123456001", False),
        ("2024", False),
        ("T12:30", False),
        ("2024-05-01", False),
    ],
)
def test_iso_timestamp_pattern(macros: Renderer, text: str, whole: bool) -> None:
    assert bool(re.fullmatch(macros.render("iso_timestamp_pattern"), text)) is whole


@pytest.mark.parametrize("kind", ["Timestamp", "Time"])
def test_microseconds(macros: Renderer, kind: str) -> None:
    sql = macros.sql(
        "microseconds", column("t", "bigint", semantic_type=f"{DEBEZIUM_TIME}.Micro{kind}"), feed(), "x", kind
    )
    assert f"when 'io.debezium.time.{kind}' then try_multiply(try_cast(x as bigint), 1000)" in sql
    assert f"when 'io.debezium.time.Micro{kind}' then try_cast(x as bigint)" in sql
    assert f"when 'io.debezium.time.Nano{kind}' then if(try_cast(x as bigint) % 1000 = 0, " in sql
    assert_expression_parses(sql)


def test_decode_time(macros: Renderer) -> None:
    cdc = {"semantic_type": f"{DEBEZIUM_TIME}.MicroTime"}
    number = macros.sql("decode_time", column("t", "bigint", **cdc), feed(), "x")
    text = macros.sql("decode_time", column("t", "string", **cdc), feed(), "x")
    assert number == macros.sql("microseconds", column("t", "bigint", **cdc), feed(), "x", "Time")
    assert text.startswith(
        f"transform(array({number}), us -> if(us is null, null, format_string('%s%02d:%02d:%02d.%06d',"
    )
    assert_expression_parses(text)


@pytest.mark.parametrize(
    ("mode", "sql"),
    [
        ("bytes", BASE64),
        ("base64", BASE64),
        ("base64-url-safe", "try_to_binary(translate(x, '-_', '+/'), 'base64')"),
        (
            "hex",
            f"if(semantic_types['b'] <=> 'io.debezium.data.Bits', {BASE64}, try_to_binary(x, 'hex'))",
        ),
    ],
)
def test_decode_binary(macros: Renderer, mode: str, sql: str) -> None:
    assert macros.sql("decode_binary", column("b", "binary"), feed(binary_handling_mode=mode), "x") == sql
    bits = column("b", "binary", semantic_type="io.debezium.data.Bits")
    assert macros.sql("decode_binary", bits, feed(binary_handling_mode="hex"), "x") == BASE64


def test_decode_bits(macros: Renderer) -> None:
    sql = macros.sql("decode_bits", column("b", "smallint"), "x")
    assert "bytes -> length(bytes) <= 8" in sql
    assert sql.endswith(", -1), -1) as smallint))[0]")
    assert "8 * (i - 1)" in sql  # little-endian
    assert_expression_parses(sql)


def test_decode_array(macros: Renderer) -> None:
    numbers = macros.sql("decode_array", column("n", "array<decimal(6,2)>"), feed(decimal_handling_mode="string"), "x")
    assert numbers.startswith("transform(from_json(x, 'array<string>'), element -> transform(array(case")
    assert numbers.endswith(", null, try_cast(number as decimal(6,2))))[0])")
    integers = macros.sql("decode_array", column("n", "array<int>"), feed(), "x")
    assert integers == "transform(from_json(x, 'array<string>'), element -> try_cast(element as int))"
    assert_expression_parses(numbers)


def test_column_text(macros: Renderer) -> None:
    sent = feed(connector="mongodb")
    assert macros.sql("column_text", column("a"), sent) == "row_image['a']"
    precise = macros.sql(
        "column_text", column("d", "string", semantic_type="io.debezium.data.VariableScaleDecimal"), sent
    )
    assert precise == macros.sql(
        "plain_number_text",
        column("d", "string", semantic_type="io.debezium.data.VariableScaleDecimal"),
        feed(),
        "row_image['d']",
    )
    assert macros.sql("column_text", column("d", "decimal(8,3)"), sent).startswith(
        "case when coalesce(semantic_types['d'], "
    )


def test_column_text_of_odd_names(macros: Renderer) -> None:
    for name in ODD_NAMES:
        assert_expression_parses(macros.sql("column_text", column(name), feed()))
    assert_expression_parses(macros.sql("column_text", column("it's", "decimal(8,3)"), feed()))
    assert macros.sql("column_text", column("it's"), feed(connector="mongodb")) == r"row_image['it\'s']"


def test_decode_column(macros: Renderer) -> None:
    assert macros.sql("decode_column", column("a", "int"), feed()) == "try_cast(`text__a` as int)"
    assert macros.sql("decode_column", column("it's", "int", default="a'b"), feed()) == (
        r"if(not map_contains_key(row_image, 'it\'s'), cast('a\'b' as int), try_cast(`text__it's` as int))"
    )
    assert "cast('0' as int)" in macros.sql("decode_column", column("a", "int", default=0), feed())


def test_plain_number_text(macros: Renderer) -> None:
    declared = column("d", "string", semantic_type="io.debezium.data.VariableScaleDecimal")
    sql = macros.sql("plain_number_text", declared, feed(), "x")
    assert "then decimal_text(get_json_object(x, '$.value'), cast(get_json_object(x, '$.scale') as int))" in sql
    assert_expression_parses(sql)


def test_number_text_of_json_numbers(macros: Renderer) -> None:
    numeric = feed(decimal_format="numeric")
    declared = column("d", "decimal(8,3)")
    assert macros.sql("number_text", declared, numeric, "x") == "x"
    assert macros.sql("column_text", declared, {**numeric, "columns": [declared]}).endswith("number_image['d'])")
    # A number of a document is a double at the source.
    documents = {**numeric, "connector": "mongodb", "columns": [declared]}
    assert macros.sql("column_text", declared, documents) == "row_image['d']"


def test_number_text(macros: Renderer) -> None:
    sql = macros.sql("number_text", column("d", "decimal(8,3)"), feed(), "x")
    type_sql = "coalesce(semantic_types['d'], 'org.apache.kafka.connect.data.Decimal:3')"
    assert sql.startswith(f"case when {type_sql} = 'decimal' then x")
    assert f"'E-', split_part({type_sql}, ':', 2))" in sql
    assert_expression_parses(sql)


def test_number_text_of_unsigned_integers(macros: Renderer) -> None:
    unsigned = column("u", "decimal(20,0)", unsigned=True)
    wrapped = macros.sql("number_text", unsigned, feed(), "x")
    assert wrapped == "if(x like '-%', cast(try_cast(x as decimal(20, 0)) + 18446744073709551616 as string), x)"
    precise = macros.sql("number_text", unsigned, feed(bigint_unsigned_handling_mode="precise"), "x")
    assert "coalesce(semantic_types['u'], 'org.apache.kafka.connect.data.Decimal:0')" in precise


def test_unscaled_value(macros: Renderer) -> None:
    sql = macros.sql("unscaled_value", "x")
    assert sql.startswith(f"transform(array(hex({BASE64})), digits -> ")
    assert "double" not in sql
    assert_expression_parses(sql)


def test_base64_bytes(macros: Renderer) -> None:
    assert macros.render("base64_bytes", "x") == BASE64


def test_is_rounded(macros: Renderer) -> None:
    sql = macros.sql("is_rounded", column("d", "decimal(12,2)"), "x")
    assert sql.endswith(" > 2")
    assert_expression_parses(sql)


@pytest.mark.parametrize(
    ("declared", "options", "semantic_type"),
    [
        (column("a", "int"), {}, None),
        (column("a", "date"), {}, f"{DEBEZIUM_TIME}.Date"),
        (column("a", "date"), {"time_precision_mode": "isostring"}, f"{DEBEZIUM_TIME}.IsoDate"),
        (column("a", "timestamp_ntz"), {"time_precision_mode": "connect"}, "org.apache.kafka.connect.data.Timestamp"),
        (column("a", "timestamp_ntz"), {"time_precision_mode": "nanoseconds"}, f"{DEBEZIUM_TIME}.NanoTimestamp"),
        (column("a", "timestamp_ntz"), {}, f"{DEBEZIUM_TIME}.MicroTimestamp"),
        (column("a", "timestamp"), {"time_precision_mode": "connect"}, f"{DEBEZIUM_TIME}.ZonedTimestamp"),
        (column("a", "decimal(8,3)"), {}, "org.apache.kafka.connect.data.Decimal:3"),
        (column("a", "string", semantic_type=f"{DEBEZIUM_TIME}.MicroTime"), {}, f"{DEBEZIUM_TIME}.MicroTime"),
    ],
)
def test_semantic_type(
    macros: Renderer, declared: dict[str, Any], options: dict[str, Any], semantic_type: str | None
) -> None:
    assert macros.render("semantic_type", declared, feed(**options)) == semantic_type


def test_decimal_semantic_type(macros: Renderer) -> None:
    declared = column("a", "decimal(8,3)")
    assert macros.render("decimal_semantic_type", declared, feed()) == "org.apache.kafka.connect.data.Decimal:3"
    for options in (
        {"decimal_handling_mode": "string"},
        {"decimal_handling_mode": "double"},
        {"decimal_format": "numeric"},
    ):
        assert macros.render("decimal_semantic_type", declared, feed(**options)) == "decimal"
    unsigned = column("a", "decimal(20,0)", unsigned=True)
    for options in ({}, {"decimal_handling_mode": "string"}):
        assert (
            macros.render("decimal_semantic_type", unsigned, feed(**options))
            == "org.apache.kafka.connect.data.Decimal:0"
        )


def test_refuse_json_numbers(macros: Renderer) -> None:
    """Where Spark would read a JSON number as a double."""
    numbers = feed(decimal_format="numeric")
    said = (
        'decode_debezium: source shop.orders: data_type of column a is "{}"; allowed: decimal(precision, scale) where'
    )
    array = column("a", "array<decimal(6,2)>")
    assert macros.refusal("decode_array", array, numbers, "x").startswith(said.format("array<decimal(6,2)>"))
    text = column("a", "string", semantic_type="decimal")
    assert macros.refusal("column_text", text, numbers).startswith(said.format("string"))
    assert macros.refusal("refuse_json_numbers", text, numbers).endswith("or decimal_format base64.")


def test_declared_semantic_type(macros: Renderer) -> None:
    declared = column("a", "decimal(8,3)", semantic_type="org.apache.kafka.connect.data.Decimal")
    assert macros.render("declared_semantic_type", declared, feed()) == "org.apache.kafka.connect.data.Decimal:3"


def test_decimal_as_text_has_the_scale_of_its_record_alone(macros: Renderer) -> None:
    declared = column("a", "string", semantic_type="org.apache.kafka.connect.data.Decimal")
    assert macros.render("declared_semantic_type", declared, feed()) == "org.apache.kafka.connect.data.Decimal"
    sql = macros.sql("plain_number_text", declared, feed(), "x")
    type_sql = "coalesce(semantic_types['a'], 'org.apache.kafka.connect.data.Decimal')"
    assert f"then decimal_text(x, try_cast(split_part({type_sql}, ':', 2) as int))" in sql
    assert_expression_parses(sql)


def test_decimals_in_an_array_of_texts_are_refused(macros: Renderer) -> None:
    declared = column("a", "array<string>", semantic_type="io.debezium.data.VariableScaleDecimal")
    refusal = macros.refusal("decode_array", declared, feed(), "x")
    assert "data_type of column a" in refusal
    assert "array<string>" in refusal
    assert "array<decimal(precision, scale)>" in refusal
    assert macros.sql("decode_array", column("a", "array<string>", semantic_type="decimal"), feed(), "x")


def test_semantic_types_are_all_decoded(macros: Renderer) -> None:
    """A semantic type that a column may declare stands in some decoder, or is text as it is."""
    texts = {f"{DEBEZIUM_TIME}.IsoTime", f"{DEBEZIUM_TIME}.ZonedTime"}
    decoders = "".join(
        macros.sql("decode_value", column("a", data_type, **cdc), feed(), "x")
        for data_type, cdc in (
            ("date", {}),
            ("timestamp", {}),
            ("timestamp_ntz", {}),
            ("bigint", {"semantic_type": f"{DEBEZIUM_TIME}.Time"}),
        )
    ) + macros.sql("number_text", column("a", "decimal(8,3)"), feed(), "x")
    for name in macros.render("semantic_types"):
        assert name in texts | {"io.debezium.data.Bits"} or f"'{name}" in decoders, name


@pytest.mark.parametrize(
    ("data_type", "precision", "scale"), [("decimal(12,2)", 12, 2), ("decimal(38)", 38, 0), ("decimal", 10, 0)]
)
def test_decimal_precision_and_scale(macros: Renderer, data_type: str, precision: int, scale: int) -> None:
    assert macros.render("decimal_precision", data_type) == precision
    assert macros.render("decimal_scale", data_type) == scale


def test_semantic_type_sql(macros: Renderer) -> None:
    sql = macros.sql("semantic_type_sql", column("it's", "date"), feed())
    assert sql == r"coalesce(semantic_types['it\'s'], 'io.debezium.time.Date')"
