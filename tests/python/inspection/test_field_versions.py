from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from alluvium.inspection import inspect
from alluvium.inspection.field_versions import latest_that_holds_all, propose_from_versions
from alluvium.inspection.schemas import Schema

DECIMAL = "org.apache.kafka.connect.data.Decimal"
MICROSECONDS = "io.debezium.time.MicroTimestamp"


def decimal(precision: int, scale: int) -> Schema:
    return Schema("bytes", DECIMAL, precision=precision, scale=scale)


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        ((Schema("int32"), Schema("int64")), "bigint"),
        ((Schema("int64"), Schema("int32")), "bigint"),
        ((Schema("float64"), Schema("float32")), "double"),
        ((decimal(12, 2), decimal(10, 2)), "decimal(12,2)"),
        ((decimal(10, 2), decimal(10, 4)), "decimal(10,4)"),
        # Neither holds the other: the newer one.
        ((Schema("string"), Schema("int32")), "int"),
        ((Schema("int64", MICROSECONDS), Schema("int32")), "int"),
    ],
)
def test_type_that_holds_the_values_of_all_schemas(versions: tuple[Schema, ...], expected: str) -> None:
    proposed = propose_from_versions(versions)
    assert proposed.data_type == expected
    assert proposed.why.endswith(" in other records")
    assert propose_from_versions(versions[:1] * 2).why == propose_from_versions(versions[:1]).why


def test_default_is_that_of_the_newest() -> None:
    newest = latest_that_holds_all([Schema("int64"), Schema("int32", optional=False, default=5, has_default=True)])
    assert (newest.type, newest.optional, newest.default) == ("int64", False, 5)


@pytest.mark.parametrize(("times", "expected"), [((1, 2), "string"), ((2, 1), "int")])
def test_newest_is_so_by_the_time_of_the_source(tmp_path: Path, times: tuple[int, int], expected: str) -> None:
    for partition, (type_, value) in enumerate((("int32", 1), ("string", "a"))):
        row = {"type": "struct", "field": "after", "fields": [{"field": "x", "type": type_}]}
        source: dict[str, Any] = {"connector": "mysql", "ts_ms": times[partition] * 1000}
        payload = {"before": None, "after": {"x": value}, "source": source, "op": "c"}
        line = {"schema": {"type": "struct", "fields": [row]}, "payload": payload}
        (tmp_path / f"t+{partition}+0.json").write_text(json.dumps(line) + "\n", encoding="utf-8")
    (entity,) = inspect(str(tmp_path)).entities
    assert entity.columns[0].type.data_type == expected
