"""The Avro, Parquet and JSON layouts of one topic hold the same records."""

from __future__ import annotations

import base64
import json
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from made_files import ENVELOPE, avro, envelope, gz, parquet

from alluvium.spark_udfs import Record, read_records

REPOSITORY = Path(__file__).parents[3]
CAPTURES = REPOSITORY.parent / "shared" / "data" / "captures"
CORPUS = "pg-envelope-json-schemas/bronze"
LAYOUTS = ("confluent-avro", "confluent-parquet", "confluent-json-gz")


@pytest.fixture(scope="session")
def captures() -> Path:
    """The folder of recorded change files, which a checkout does not have to have."""
    if not CAPTURES.is_dir():
        pytest.skip("no recorded change files beside the checkout; the same rules are tested on made files")
    return CAPTURES


def read(file: Path) -> list[Record]:
    records = list(read_records(file.read_bytes(), file.as_posix()))
    assert [record.error for record in records] == [None] * len(records)
    return records


def decimal_text(unscaled: str, scale: int) -> str:
    number = int.from_bytes(base64.b64decode(unscaled), "big", signed=True)
    return f"{Decimal(number).scaleb(-scale):f}"


def row_types(schema: dict[str, Any]) -> dict[str, str]:
    """What the JSON message says itself about the columns of the row."""
    fields = {field["field"]: field for field in schema["fields"]}
    row = fields["after"] if "after" in fields and "op" in fields else schema
    types = {}
    for field in row["fields"]:
        name = field.get("name") or field.get("items", {}).get("name")
        if name and name.endswith(".Decimal"):
            name = f"{name}:{field['parameters']['scale']}"
        if name:
            types[field["field"]] = name
    return types


def with_decimal_text(record: dict[str, Any], types: dict[str, str] | None) -> dict[str, Any]:
    scales = {name: int(type_.rpartition(":")[2]) for name, type_ in (types or {}).items() if ".Decimal:" in type_}
    for row in (record.get("before"), record.get("after"), record):
        for name in scales.keys() & (row or {}).keys():
            if row is not None and row[name] is not None:
                row[name] = decimal_text(row[name], scales[name])
    return record


def test_made_layouts_are_equal() -> None:
    events = [envelope(number) for number in (0, 1, -1, 32767, -32767)]
    events.append(
        {**events[1], "before": {**events[2]["after"], "name": None, "balance": None}, "after": None, "op": "d"}
    )
    types = {"balance": "org.apache.kafka.connect.data.Decimal:2"}

    def encoded(value: object) -> str:
        assert isinstance(value, bytes)
        return base64.b64encode(value).decode()

    lines = [json.dumps(event, default=encoded, ensure_ascii=False) for event in events]
    row = pa.struct(
        [
            ("id", pa.int64()),
            ("name", pa.string()),
            ("balance", pa.decimal128(12, 2)),
            ("birth", pa.date32()),
            ("local_ts", pa.timestamp("us")),
        ]
    )
    images: dict[str, list[Any]] = {"before": [], "after": []}
    for event in events:
        for image, values in images.items():
            value = event[image] and dict(event[image])
            if value and value["balance"] is not None:
                value["balance"] = Decimal(decimal_text(encoded(value["balance"]), 2))
            values.append(value)
    table = pa.table(
        {
            **{image: pa.array(values, row) for image, values in images.items()},
            **{name: [event[name] for event in events] for name in ("op", "ts_ms")},
        }
    )
    expected = [with_decimal_text(json.loads(line), types) for line in lines]
    assert [record["after"] and record["after"]["balance"] for record in expected] == [
        "0.00", "-0.01", "0.01", "-327.67", "327.67", None,
    ]  # fmt: skip
    from_lines = read_records(gz("\n".join(lines).encode()), "x.json.gz")
    from_avro = read_records(avro(ENVELOPE, events), "x.avro")
    from_parquet = read_records(parquet(table), "x.parquet")
    assert [record.value for record in from_lines] == lines
    assert [with_decimal_text(json.loads(record.value or ""), types) for record in from_avro] == expected
    assert [json.loads(record.value or "") for record in from_parquet] == expected


def test_recorded_layouts_are_equal(captures: Path) -> None:
    compared: Counter[str] = Counter()
    for partition in sorted((captures / CORPUS / "confluent-avro").glob("topics/*/partition=*")):
        relative = partition.relative_to(captures / CORPUS / "confluent-avro")
        # Avro and Parquet files end where the schema changes, JSON files do not: only whole partitions compare.
        avro, parquet, json_lines = (
            [record for file in sorted((captures / CORPUS / layout / relative).iterdir()) for record in read(file)]
            for layout in LAYOUTS
        )
        assert len(avro) == len(parquet) == len(json_lines)
        for from_avro, from_parquet, line in zip(avro, parquet, json_lines, strict=True):
            message = json.loads(line.value or "")
            expected_types = row_types(message["schema"])
            assert from_avro.semantic_types == expected_types
            assert from_parquet.semantic_types == {
                name: "decimal" for name, type_ in expected_types.items() if ".Decimal:" in type_
            }
            expected = with_decimal_text(message["payload"], expected_types)
            assert with_decimal_text(json.loads(from_avro.value or ""), expected_types) == expected
            assert json.loads(from_parquet.value or "") == expected
            compared[partition.parent.name] += 1
    assert compared.total() > 5_000
    assert compared["shop.public.customers"] > 500


@pytest.mark.parametrize("folder", ["envelope-avro", "unwrapped-avro"])
def test_files_of_the_confluent_sink(folder: str) -> None:
    files = sorted((REPOSITORY / "samples" / "moma" / "1-snapshot" / folder).glob("*.avro"))
    assert files
    for file in files:
        records = read(file)
        assert len(records) == 300
        assert all(isinstance(json.loads(record.value or ""), dict) for record in records)
