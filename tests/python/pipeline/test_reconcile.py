"""A current table held against a dump of its source: equal passes, each way to differ is shown and fails."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from .events import encoded, lines, postgresql, unscaled
from .project import Feed, Outcome, Project

pytestmark = pytest.mark.slow

ISO = "io.debezium.time.IsoTimestamp"
COLUMNS = {
    "region": ("string", {"nullable": True}),
    "id": "bigint",
    "note": "string",
    "total": "decimal(12,2)",
    "day": "date",
    "at": "timestamp",
    "local": "timestamp_ntz",
    "raw": "binary",
    "ratio": "double",
}
MARK = "__debezium_unavailable_value"
MODEL = "slv_pipe__reconciled"


def image(number: int, region: str | None = "eu", note: str | None = 'a,"b"\n', total: str = "1.10") -> dict[str, Any]:
    return {
        "region": region,
        "id": number,
        "note": note,
        "total": unscaled(int(Decimal(total) * 100)),
        "day": 19844,
        "at": "2024-05-01T12:00:00.123456Z",
        "local": 1_714_564_800_123_456,
        "raw": encoded(b"\x00\xff"),
        "ratio": 0.1,
    }


EVENTS = [
    postgresql("c", 10, image(1)),
    postgresql("c", 20, image(2, region=None, note=None)),
    postgresql("c", 30, image(3, note="")),
    postgresql("c", 40, image(9)),
    postgresql("d", 50, image(9)),
]
FEEDS = [
    Feed(
        "reconciled",
        COLUMNS,
        [{"reconciled+0+0.json": lines(*EVENTS)}],
        key=("region", "id"),
        models=("log", "state", "living"),
    ),
    Feed(
        "half_known",
        {"id": "int", "note": "string"},
        [{"half_known+0+0.json": lines(postgresql("u", 10, {"id": 1, "note": MARK}))}],
        models=("log", "state"),
    ),
]

SCHEMA = pa.schema(
    [
        ("region", pa.string()),
        ("id", pa.int32()),  # narrower than the table's
        ("note", pa.string()),
        ("total", pa.decimal128(12, 2)),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("local", pa.timestamp("us")),
        ("raw", pa.binary()),
        ("ratio", pa.float64()),
    ]
)


def row(number: int, region: str | None = "eu", note: str | None = 'a,"b"\n', **changes: Any) -> dict[str, Any]:
    """A row as the database has it."""
    at = datetime.datetime(2024, 5, 1, 12, 0, 0, 123456)
    values: dict[str, Any] = {
        "region": region,
        "id": number,
        "note": note,
        "total": Decimal("1.10"),
        "day": datetime.date(2024, 5, 1),
        "at": at.replace(tzinfo=datetime.timezone.utc),
        "local": at,
        "raw": b"\x00\xff",
        "ratio": 0.1,
    }
    return values | changes


ROWS = [row(1), row(2, None, None), row(3, note="")]


def reconcile(project: Project, dump: str, form: str, model: str = MODEL, **more: Any) -> Outcome:
    arguments = {"model": model, "dump": dump, "format": form} | more
    return project.dbt("run-operation", "reconcile", "--args", json.dumps(arguments))


def parquet(folder: Path, *rows: dict[str, Any]) -> str:
    path = folder / "dump.parquet"
    pq.write_table(pa.Table.from_pylist(list(rows), schema=SCHEMA), path)
    return str(path)


CSV_HEAD = "region,id,note,total,day,at,local,raw,ratio\n"
CSV_ROWS = (
    'eu,1,"a,""b""\n",1.10,2024-05-01,2024-05-01 12:00:00.123456+00,2024-05-01 12:00:00.123456,\\x00ff,0.1\n'
    ",2,,1.1,2024-05-01,2024-05-01 14:00:00.123456+02,2024-05-01 12:00:00.123456,\\x00ff,0.1\n"
    'eu,3,"",1.10,2024-05-01,2024-05-01 12:00:00.123456+00,2024-05-01 12:00:00.123456,\\x00ff,0.1\n'
)


@pytest.mark.parametrize("model", [MODEL, f"{MODEL}_state"])
def test_equal_parquet_passes(project: Project, tmp_path: Path, model: str) -> None:
    outcome = reconcile(project, parquet(tmp_path, *ROWS), "parquet", model)
    assert outcome.error == ""
    assert f"reconcile: pipe_silver.{model} has 3 rows, " in outcome.printed
    assert "has 3: all equal in 9 columns" in outcome.printed


def test_equal_csv_passes_as_postgresql_writes_it(project: Project, tmp_path: Path) -> None:
    path = tmp_path / "dump.csv"
    path.write_text(CSV_HEAD + CSV_ROWS, encoding="utf-8")
    outcome = reconcile(project, str(path), "csv")
    assert outcome.error == ""
    assert "all equal in 9 columns" in outcome.printed


def test_missing_extra_and_different_rows_are_shown(project: Project, tmp_path: Path) -> None:
    """Row 1 has other values, row 2 is gone from the source without an event, and a row 9 lives there."""
    changed = row(1, note=None, total=Decimal("1.11"), ratio=0.10000000000000002, raw=b"\x00")
    outcome = reconcile(project, parquet(tmp_path, changed, row(3, note=""), row(9, None)), "parquet")
    assert "1 rows are missing, 1 are there that the dump has not, 1 are different" in outcome.printed
    assert (
        'different region="eu", id=1 note: "a,"b"\n", in the dump NULL; total: 1.10, in the dump 1.11;'
        " raw: 00FF, in the dump 00; ratio: 0.1, in the dump 0.10000000000000002"
    ) in outcome.printed
    assert "extra region=NULL, id=2\n" in outcome.printed
    assert "missing region=NULL, id=9\n" in outcome.printed


def test_text_that_is_no_value_is_a_difference(project: Project, tmp_path: Path) -> None:
    """Spark would round the decimal, and read the date in another way, without a word."""
    path = tmp_path / "dump.csv"
    path.write_text(CSV_HEAD + CSV_ROWS.replace('eu,3,"",1.10,2024-05-01', 'eu,3,"",1.104,2024-05'), encoding="utf-8")
    outcome = reconcile(project, str(path), "csv")
    assert "0 are there that the dump has not, 1 are different" in outcome.printed
    assert "total: 1.10, in the dump 1.104; day: 2024-05-01, in the dump 2024-05" in outcome.printed


def test_rows_and_columns_can_be_chosen(project: Project, tmp_path: Path) -> None:
    dump = parquet(tmp_path, *(row(number, ratio=0.5) for number in (1, 4, 5, 6)))
    outcome = reconcile(project, dump, "parquet", columns=["ratio"], rows=1)
    assert "3 rows are missing, 2 are there that the dump has not, 1 are different" in outcome.printed
    assert outcome.error == "failed"
    assert outcome.printed.count("missing region=") == 1
    assert 'different region="eu", id=1 ratio: 0.1, in the dump 0.5\n' in outcome.printed


def test_cell_that_is_not_known_differs_from_null(project: Project) -> None:
    project.spark.sql("create or replace temporary view half_known as select 1 as id, cast(null as string) as note")
    outcome = reconcile(project, "half_known", "relation", "slv_pipe__half_known_state")
    assert "1 are different" in outcome.printed
    assert "note: not known, in the dump NULL" in outcome.printed


def test_dump_with_two_rows_of_a_key_is_refused(project: Project, tmp_path: Path) -> None:
    outcome = reconcile(project, parquet(tmp_path, *ROWS, row(1)), "parquet")
    assert "one row per region, id; this one has 4 rows of 3 keys" in outcome.printed
