"""Parquet: the JSON text and the semantic types of a record."""

from __future__ import annotations

import datetime as dt
import json
import random
import struct
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from made_files import ENVELOPE, parquet

from alluvium.spark_udfs import Record, read_records
from alluvium.spark_udfs.avro import shortest_float32

ROW = pa.struct(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("balance", pa.decimal128(12, 2)),
        ("birth", pa.date32()),
        ("local_ts", pa.timestamp("us")),
        ("raw", pa.binary()),
    ]
)
ROW_TYPES = {"balance": "decimal", "birth": "io.debezium.time.Date", "local_ts": "io.debezium.time.MicroTimestamp"}


def read(table: pa.Table, **options: Any) -> list[Record]:
    return list(read_records(parquet(table, **options), "x.snappy.parquet"))


def texts(type_: pa.DataType, *values: Any) -> list[str]:
    records = read(pa.table({"c": pa.array(values, type_)}))
    assert [record.error for record in records] == [None] * len(values)
    return [(record.value or "")[5:-1] for record in records]


@pytest.mark.parametrize(
    ("type_", "value", "text"),
    [
        (pa.bool_(), True, "true"),
        (pa.int8(), -128, "-128"),
        (pa.int32(), -(2**31), "-2147483648"),
        (pa.int64(), 2**53 + 1, "9007199254740993"),
        (pa.int64(), -(2**63), "-9223372036854775808"),
        (pa.uint64(), 2**64 - 1, "18446744073709551615"),
        (pa.float32(), 0.1, "0.1"),
        (pa.float32(), 1.401298464324817e-45, "1e-45"),
        (pa.float32(), float("nan"), '"NaN"'),
        (pa.float64(), 0.1, "0.1"),
        (pa.float64(), float("inf"), '"Infinity"'),
        (pa.float64(), float("-inf"), '"-Infinity"'),
        (pa.string(), 'Дмитрий "\\\n\u2028\x00', '"Дмитрий \\"\\\\\\n\u2028\\u0000"'),
        (pa.large_string(), "x", '"x"'),
        (pa.dictionary(pa.int32(), pa.string()), "x", '"x"'),
        (pa.binary(), b"\xfb\xff\xfe", '"+//+"'),
        (pa.binary(2), b"\x00\x01", '"AAE="'),
        (pa.decimal128(12, 2), Decimal("-766153.50"), '"-766153.50"'),
        (pa.decimal128(20, 10), Decimal("0.0000001000"), '"0.0000001000"'),
        (pa.decimal128(38, 0), Decimal(10**38 - 1), f'"{10**38 - 1}"'),
        (pa.decimal256(60, 20), Decimal("-1" + "0" * 39 + "." + "0" * 19 + "1"), f'"-1{"0" * 39}.{"0" * 19}1"'),
        (pa.decimal128(12, 2), Decimal("0.00"), '"0.00"'),
        (pa.date32(), -1508, "-1508"),
        (pa.date32(), 2145042905, "2145042905"),
        (pa.timestamp("ms"), -1, "-1"),
        (pa.timestamp("us", "UTC"), 9223372036825200000, "9223372036825200000"),
        (pa.timestamp("ns"), 1795233549926477123, "1795233549926477123"),
        (pa.time32("ms"), 86399999, "86399999"),
        (pa.time64("us"), 1, "1"),
        (pa.list_(pa.string()), ["a", None, ""], '["a",null,""]'),
        (pa.list_(pa.float32()), [0.1, float("nan")], '[0.1,"NaN"]'),
        (pa.list_(pa.list_(pa.int32())), [[1, None], None, []], "[[1,null],null,[]]"),
        (pa.map_(pa.string(), pa.int32()), [("k", 1), ("n", None)], '{"k":1,"n":null}'),
        (pa.map_(pa.int32(), pa.string()), [(1, "a")], '[[1,"a"]]'),
        (
            pa.struct([("scale", pa.int32()), ("value", pa.binary())]),
            {"scale": 2, "value": b"\xff\x85"},
            '{"scale":2,"value":"/4U="}',
        ),
        (pa.struct([("d", pa.decimal128(3, 1)), ("f", pa.float64())]), {"d": None, "f": None}, '{"d":null,"f":null}'),
    ],
    ids=str,
)
def test_json_text(type_: pa.DataType, value: Any, text: str) -> None:
    # NULLs around it: what is nested must not slip by a row.
    assert texts(type_, None, value, None, value) == ["null", text, "null", text]


def envelope_table() -> pa.Table:
    value = {
        "id": 1,
        "balance": Decimal("-0.05"),
        "birth": dt.date(1970, 1, 2),
        "local_ts": dt.datetime(1970, 1, 1, 0, 0, 1, 7),
        "raw": b"\x00",
    }
    return pa.table(
        {
            "before": pa.array([None, value, None], ROW),
            "after": pa.array([value, None, {**value, "balance": None}], ROW),
            "op": ["c", "d", "u"],
        }
    )


def test_envelope() -> None:
    text = '{"id":1,"balance":"-0.05","birth":1,"local_ts":1000007,"raw":"AA=="}'
    assert read(envelope_table()) == [
        Record(1, f'{{"before":null,"after":{text},"op":"c"}}', ROW_TYPES, None),
        Record(2, f'{{"before":{text},"after":null,"op":"d"}}', ROW_TYPES, None),
        Record(
            3,
            f'{{"before":null,"after":{text.replace(chr(34) + "-0.05" + chr(34), "null")},"op":"u"}}',
            ROW_TYPES,
            None,
        ),
    ]


def test_row_types_of_a_flattened_record_and_of_the_store_envelope() -> None:
    table = envelope_table()
    flat = pa.Table.from_struct_array(table["after"].take([0]))
    assert [record.semantic_types for record in read(flat)] == [ROW_TYPES]
    store = pa.table(
        {
            "key": [{"id": 1}] * 3,
            "value": pa.array(table.to_pylist(), pa.struct(list(table.schema))),
            "headers": [None] * 3,
            "metadata": [{"offset": 3}] * 3,
        }
    )
    assert [record.semantic_types for record in read(store)] == [ROW_TYPES] * 3


def test_many_row_groups_and_batches_keep_the_order() -> None:
    records = read(pa.table({"n": pa.array(range(20_000))}), row_group_size=7_000)
    assert [record.value for record in records] == [f'{{"n":{number}}}' for number in range(20_000)]
    assert [record.line for record in records] == list(range(1, 20_001))


def test_lists_maps_and_structs_with_nulls_across_batches() -> None:
    values: list[Any] = [
        None if n % 7 == 0 else {"l": None if n % 5 == 0 else [n] * (n % 4), "m": [(str(n), n)]} for n in range(9_001)
    ]
    table = pa.table(
        {"s": pa.array(values, pa.struct([("l", pa.list_(pa.int64())), ("m", pa.map_(pa.string(), pa.int64()))]))}
    )
    expected = [None if value is None else {"l": value["l"], "m": dict(value["m"])} for value in values]
    assert [json.loads(record.value or "")["s"] for record in read(table)] == expected


def test_types_that_the_avro_schema_in_the_footer_names() -> None:
    """parquet-avro writes the Connect schema's names there, the only place where a plain int64 has a meaning."""
    row = pa.struct(
        [("id", pa.int64()), ("balance", pa.decimal128(12, 2)), ("birth", pa.date32()), ("local_ts", pa.int64())]
    )
    value = {"id": 1, "balance": None, "birth": None, "local_ts": 5}
    table = pa.table({"before": pa.array([None], row), "after": pa.array([value], row), "op": ["c"]})
    table = table.replace_schema_metadata({"parquet.avro.schema": json.dumps(ENVELOPE)})
    assert [record.semantic_types for record in read(table)] == [
        {
            "balance": "decimal",
            "birth": "org.apache.kafka.connect.data.Date",
            "local_ts": "io.debezium.time.MicroTimestamp",
        }
    ]
    # The file holds microseconds whatever the Connect schema says.
    table = table.set_column(1, "after", pa.array([{**value, "birth": 3}], pa.struct([("birth", pa.timestamp("us"))])))
    assert [record.semantic_types for record in read(table)] == [{"birth": "io.debezium.time.MicroTimestamp"}]


def test_int96_timestamps_are_microseconds_and_reach_past_2262() -> None:
    table = pa.table({"t": pa.array([dt.datetime(2261, 1, 1), dt.datetime(1600, 1, 1)], pa.timestamp("us"))})
    first, _ = read(table, use_deprecated_int96_timestamps=True)
    assert first.value == f'{{"t":{int(dt.datetime(2261, 1, 1, tzinfo=dt.timezone.utc).timestamp()) * 10**6}}}'
    assert first.semantic_types == {"t": "io.debezium.time.MicroTimestamp"}


def test_a_list_has_the_type_of_its_items() -> None:
    (record,) = read(pa.table({"l": pa.array([[Decimal("1.50")]], pa.list_(pa.decimal128(4, 2)))}))
    assert (record.value, record.semantic_types) == ('{"l":["1.50"]}', {"l": "decimal"})


def test_a_string_that_is_not_utf8_is_an_error_row_in_its_place() -> None:
    bad = pa.array([b"1", b"a\xffb", None, b"3"], pa.binary()).view(pa.string())
    first, error, null, last = read(pa.table({"a": bad}))
    assert [first.value, null.value, last.value] == ['{"a":"1"}', '{"a":null}', '{"a":"3"}']
    assert (error.line, error.value) == (2, None)
    assert error.error is not None
    assert error.error.startswith("invalid_utf8: ")


def test_float32_text_equals_that_of_avro() -> None:
    numbers = random.Random(2)
    values = [struct.unpack("<f", numbers.getrandbits(32).to_bytes(4, "little"))[0] for _ in range(5_000)]
    assert texts(pa.float32(), *values) == [json.dumps(shortest_float32(value)) for value in values]
