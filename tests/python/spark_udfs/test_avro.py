"""Avro: the JSON text and the semantic types of a record."""

from __future__ import annotations

import base64
import io
import json
import random
import struct
from typing import Any

import fastavro
import pytest
from made_files import ENVELOPE, VALUE, avro, avro_header, envelope, gz, named, nullable, row

from alluvium.spark_udfs import Record, read_records
from alluvium.spark_udfs.avro import shortest_float32

ROW_TYPES = {
    "balance": "org.apache.kafka.connect.data.Decimal:2",
    "birth": "org.apache.kafka.connect.data.Date",
    "local_ts": "io.debezium.time.MicroTimestamp",
}


def record_of(*fields: dict[str, Any], name: str = "R", **other: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields), **other}


def one(schema: dict[str, Any], value: dict[str, Any], codec: str = "null") -> Record:
    (record,) = read_records(avro(schema, [value], codec), "x.avro")
    assert record.error is None
    assert record.value is not None
    return record


def text_of(type_: Any, value: Any) -> str:
    text = one(record_of(named("c", type=type_)), {"c": value}).value
    assert text is not None
    assert text.startswith('{"c":')
    return text[5:-1]


@pytest.mark.parametrize(
    ("type_", "value", "text"),
    [
        ("null", None, "null"),
        ("boolean", True, "true"),
        ("int", -(2**31), "-2147483648"),
        ("long", 2**63 - 1, "9223372036854775807"),
        ("long", -(2**63), "-9223372036854775808"),
        ("long", 2**53 + 1, "9007199254740993"),
        ("double", 0.1, "0.1"),
        ("double", 5e-324, "5e-324"),
        ("double", float("nan"), '"NaN"'),
        ("double", float("inf"), '"Infinity"'),
        ("double", float("-inf"), '"-Infinity"'),
        ("float", 0.1, "0.1"),
        ("float", 16777216.0, "16777216.0"),
        ("float", 3.4028234663852886e38, "3.4028235e+38"),
        ("float", 1.401298464324817e-45, "1e-45"),
        ("float", -0.0, "-0.0"),
        ("float", float("nan"), '"NaN"'),
        ("float", float("-inf"), '"-Infinity"'),
        ("bytes", b"", '""'),
        ("bytes", b"\xfb\xff\xfe", '"+//+"'),
        ("string", 'Дмитрий 王 "\\\n\u2028\U0001f600\x00', '"Дмитрий 王 \\"\\\\\\n\u2028\U0001f600\\u0000"'),
        ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, "B", '"B"'),
        ({"type": "fixed", "name": "F", "size": 2}, b"\x00\x01", '"AAE="'),
        ({"type": "array", "items": ["null", "string"]}, ["a", None, ""], '["a",null,""]'),
        ({"type": "array", "items": "float"}, [0.1, float("nan")], '[0.1,"NaN"]'),
        (
            {"type": "map", "values": ["null", "double"]},
            {"k ey": float("inf"), "n": None},
            '{"k ey":"Infinity","n":null}',
        ),
        (["null", "float"], None, "null"),
        (["null", {"type": "array", "items": "double"}], None, "null"),
        (["double", "null"], 1.5, "1.5"),
        (["null", "string", "double"], float("nan"), '"NaN"'),
        (["null", "long", record_of(named("x", type="double"), name="X")], {"x": float("inf")}, '{"x":"Infinity"}'),
        (
            record_of(named("scale", type="int"), named("value", type="bytes"), name="VariableScaleDecimal"),
            {"scale": 2, "value": b"\xff\x85"},
            '{"scale":2,"value":"/4U="}',
        ),
    ],
)
def test_json_text(type_: Any, value: Any, text: str) -> None:
    assert text_of(type_, value) == text


def test_decimals_dates_and_timestamps_stay_bytes_and_integers() -> None:
    schema = record_of(
        named("d", type={"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 3}),
        named(
            "f", type={"type": "fixed", "size": 3, "name": "F", "logicalType": "decimal", "precision": 5, "scale": 1}
        ),
        named("day", type={"type": "int", "logicalType": "date"}),
        named("far", type={"type": "int", "logicalType": "date"}),
        named("ms", type={"type": "long", "logicalType": "timestamp-millis"}),
        named("us", type={"type": "long", "logicalType": "timestamp-micros"}),
        named("local", type={"type": "long", "logicalType": "local-timestamp-micros"}),
        named("t", type={"type": "int", "logicalType": "time-millis"}),
        named("tu", type={"type": "long", "logicalType": "time-micros"}),
        named("u", type={"type": "string", "logicalType": "uuid"}),
        named("plain", type="long"),
        named("unknown", type={"type": "long", "logicalType": "no-such-type"}),
    )
    record = one(
        schema,
        {
            "d": (-1234567).to_bytes(3, "big", signed=True),
            "f": b"\xff\xff\xff",
            "day": -1,
            "far": 2145042905,
            "ms": -1,
            "us": 9223372036825200000,
            "local": 7,
            "t": 86399999,
            "tu": 86400000000,
            "u": "not checked",
            "plain": 1,
            "unknown": 2,
        },
    )
    values = json.loads(record.value or "")
    assert int.from_bytes(base64.b64decode(values.pop("d")), "big", signed=True) == -1234567
    assert values == {
        "f": "////",
        "day": -1,
        "far": 2145042905,
        "ms": -1,
        "us": 9223372036825200000,
        "local": 7,
        "t": 86399999,
        "tu": 86400000000,
        "u": "not checked",
        "plain": 1,
        "unknown": 2,
    }
    assert record.semantic_types == {
        "d": "org.apache.kafka.connect.data.Decimal:3",
        "f": "org.apache.kafka.connect.data.Decimal:1",
        "day": "io.debezium.time.Date",
        "far": "io.debezium.time.Date",
        "ms": "io.debezium.time.Timestamp",
        "us": "io.debezium.time.MicroTimestamp",
        "local": "io.debezium.time.MicroTimestamp",
        "t": "io.debezium.time.Time",
        "tu": "io.debezium.time.MicroTime",
        "u": "io.debezium.data.Uuid",
    }


def test_the_connect_name_goes_before_the_logical_type() -> None:
    schema = record_of(
        named(
            "t",
            **nullable(
                "long", logicalType="timestamp-millis", **{"connect.name": "org.apache.kafka.connect.data.Timestamp"}
            ),
        )
    )
    assert one(schema, {"t": 1}).semantic_types == {"t": "org.apache.kafka.connect.data.Timestamp"}


@pytest.mark.parametrize("codec", ["null", "deflate", "bzip2"])
def test_envelope(codec: str) -> None:
    record = one(ENVELOPE, envelope(7), codec)
    assert record == Record(
        1,
        '{"before":null,"after":{"id":7,"name":"Дмитрий 7","balance":"//k=","birth":-1508,"local_ts":1740381341000007},'
        '"op":"c","ts_ms":1795233549926}',
        ROW_TYPES,
        None,
    )


def test_row_types_of_a_flattened_record_and_of_the_store_envelope() -> None:
    assert one({**VALUE, "namespace": "shop.public.customers"}, row(1)).semantic_types == ROW_TYPES
    key = record_of(named("id", type={"type": "int", "connect.name": "io.debezium.time.Date"}), name="Key")
    metadata = record_of(named("topic", type="string"), named("offset", type="long"), name="Metadata")
    for value_schema, value in ((ENVELOPE, envelope(1)), (VALUE, row(1)), (["null", ENVELOPE], None)):
        store = record_of(
            named("key", type=key),
            named("value", type=value_schema),
            named("headers", **nullable({"type": "map", "values": "string"})),
            named("metadata", type=metadata),
        )
        record = one(
            store, {"key": {"id": 1}, "value": value, "headers": None, "metadata": {"topic": "t", "offset": 3}}
        )
        assert record.semantic_types == ROW_TYPES
        assert json.loads(record.value or "")["metadata"] == {"topic": "t", "offset": 3}


def test_columns_named_like_an_envelope_do_not_make_one() -> None:
    date = {"type": "int", "connect.name": "io.debezium.time.Date"}
    schema = record_of(*(named(name, type=date) for name in ("before", "after", "op")))
    assert one(schema, {"before": 1, "after": 2, "op": 3}).semantic_types == dict.fromkeys(
        ("before", "after", "op"), "io.debezium.time.Date"
    )
    schema = record_of(*(named(name, type=date) for name in ("key", "value", "headers", "metadata")))
    assert len(one(schema, dict.fromkeys(("key", "value", "headers", "metadata"), 1)).semantic_types or {}) == 4


def test_an_array_has_the_type_of_its_items_and_a_struct_its_own() -> None:
    schema = record_of(
        named("days", **nullable("array", items=["null", {"type": "int", "connect.name": "io.debezium.time.Date"}])),
        named("numbers", type={"type": "array", "items": "int"}),
        named(
            "ratio",
            type=[
                "null",
                record_of(
                    named("scale", type="int"), name="V", **{"connect.name": "io.debezium.data.VariableScaleDecimal"}
                ),
            ],
        ),
        named("again", type=["null", "V"]),
    )
    assert one(schema, {"days": [1, None], "numbers": [], "ratio": None, "again": {"scale": 1}}).semantic_types == {
        "days": "io.debezium.time.Date",
        "ratio": "io.debezium.data.VariableScaleDecimal",
        "again": "io.debezium.data.VariableScaleDecimal",
    }


def test_a_schema_without_semantic_types_gives_an_empty_map_and_not_null() -> None:
    assert one(record_of(named("a", type="int")), {"a": 1}).semantic_types == {}


def test_a_type_that_contains_itself() -> None:
    node = record_of(named("x", type="float"), named("next", type=["null", "Node"]), name="Node", namespace="n.s")
    inner = {"x": float("nan"), "next": None}
    assert one(node, {"x": 0.1, "next": inner}).value == '{"x":0.1,"next":{"x":"NaN","next":null}}'


def test_a_string_that_is_not_utf8_is_an_error_row_in_its_place() -> None:
    as_bytes, as_string = (record_of(named("a", type=type_)) for type_ in ("bytes", "string"))
    body = avro(as_bytes, [{"a": b"1"}, {"a": b"a\xffb"}, {"a": b"3"}]).removeprefix(avro_header(as_bytes))
    content = avro_header(as_string) + body
    first, error, last = read_records(content, "x.avro")
    assert (first.value, last.value) == ('{"a":"1"}', '{"a":"3"}')
    assert (error.line, error.value) == (2, None)
    assert error.error is not None
    assert error.error.startswith("invalid_utf8: ")


def test_a_codec_that_is_not_known_is_named() -> None:
    content = avro(ENVELOPE, [envelope(1)]).replace(b"\x08null", b"\x08nope", 1)
    (record,) = read_records(content, "x.avro")
    assert record == Record(1, None, None, "unsupported_codec: Avro codec 'nope'")


def test_a_block_that_does_not_decode_ends_the_file_with_the_blocks_before_it() -> None:
    schema = record_of(named("a", type="string"))
    content = bytearray(avro(schema, [{"a": "x"}, {"a": "y"}, {"a": "w"}, {"a": "z"}], per_block=2))
    content[content.rindex(b"\x02z")] = 0x7E
    records = list(read_records(content, "x.avro"))
    assert [record.value for record in records] == ['{"a":"x"}', '{"a":"y"}', None]
    assert (records[-1].error or "").startswith("corrupt: ")


@pytest.mark.parametrize("codec", ["null", "deflate"])
def test_a_block_with_more_records_than_it_counts_is_damaged(codec: str) -> None:
    """fastavro 1.13 leaves the rest of them out."""
    schema = record_of(named("a", type="string"))
    content = bytearray(avro(schema, [{"a": "x"}, {"a": "y"}, {"a": "z"}], codec))
    count = len(avro_header(schema, codec))
    assert content[count] == 6, "three records, in zigzag"
    content[count] = 2
    (record,) = read_records(content, "x.avro")
    assert record == Record(1, None, None, "corrupt: an Avro block has more than the 1 records that it counts")


def test_text_is_what_the_json_lines_of_the_same_record_hold() -> None:
    value = {key: item for key, item in envelope(3).items() if key != "after"} | {"after": None}
    line = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    (from_gzip,) = read_records(gz(line), None)
    assert json.loads(one(ENVELOPE, value).value or "") == json.loads(from_gzip.value or "")


def test_float32_text_is_the_shortest_that_round_trips() -> None:
    numbers = random.Random(1)
    for _ in range(20_000):
        (value,) = struct.unpack("<f", numbers.getrandbits(32).to_bytes(4, "little"))
        if value - value != 0:
            continue
        shortest = shortest_float32(value)
        assert isinstance(shortest, float)
        assert struct.unpack("<f", struct.pack("<f", shortest))[0] == value
        digits = len(f"{shortest!r}".split("e")[0].strip("-0").replace(".", "").strip("0"))
        if digits > 1:
            shorter = float(f"{value:.{digits - 1}g}")
            try:
                assert struct.unpack("<f", struct.pack("<f", shorter))[0] != value
            except OverflowError:
                continue


def test_the_made_files_are_avro_to_another_reader() -> None:
    record: Any
    (record,) = fastavro.reader(io.BytesIO(avro(ENVELOPE, [envelope(5)])))
    assert str(record["after"]["balance"]) == "-0.05"
