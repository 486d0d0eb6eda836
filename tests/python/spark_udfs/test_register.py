"""The function in SQL: its name, its types, several files, files that break."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from made_files import ENVELOPE, avro, envelope, gz, parquet
from pyspark import cloudpickle
from pyspark.serializers import CloudPickleSerializer

from alluvium import spark_udfs
from alluvium.spark_udfs.reader import ReadRecords

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

LATERAL = """
    select files.name, record.line, record.value, record.semantic_types, record.error
    from {source} as files, lateral read_records(files.content, files.path) as record
    order by files.name, record.line
"""


@pytest.fixture(scope="module")
def files(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    spark_udfs.register(spark)
    folder = tmp_path_factory.mktemp("bronze")
    (folder / "a.avro").write_bytes(avro(ENVELOPE, [envelope(number) for number in range(3)]))
    (folder / "b.parquet").write_bytes(parquet(pa.table({"n": pa.array([2**63 - 1, None])})))
    (folder / "c.json.gz").write_bytes(gz('{"имя":"王"}\n\n{"n":12345678901234567890}\n'.encode()))
    (folder / "d.avro").write_bytes(avro(ENVELOPE, [envelope(number) for number in range(4)], per_block=2)[:-1])
    (folder / "e.avro").write_bytes(avro(ENVELOPE, []))
    (folder / "f.json.gz").write_bytes(gz(b'{"a":1}\n{"a":2}\n')[:-3])
    spark.read.format("binaryFile").load(str(folder)).createOrReplaceTempView("raw_files")
    spark.sql("select *, substring_index(path, '/', -1) as name from raw_files").createOrReplaceTempView("some_files")
    yield "some_files"
    spark.catalog.dropTempView("some_files")
    spark.catalog.dropTempView("raw_files")


def test_return_type(spark: SparkSession, files: str) -> None:
    result = spark.sql(
        f"select record.* from {files} as files, lateral read_records(files.content, files.path) as record"
    )
    assert [(field.name, field.dataType.simpleString()) for field in result.schema] == [
        ("line", "bigint"),
        ("value", "string"),
        ("semantic_types", "map<string,string>"),
        ("error", "string"),
    ]


def test_files_that_break_do_not_touch_the_others(spark: SparkSession, files: str) -> None:
    rows = spark.sql(LATERAL.format(source=files)).collect()
    by_file: dict[str, list[tuple[int, bool, str | None]]] = {}
    for row in rows:
        by_file.setdefault(row["name"], []).append((row["line"], row["value"] is not None, row["error"]))
    torn = by_file["d.avro"].pop()
    cut = by_file["f.json.gz"].pop()
    assert by_file == {
        "a.avro": [(1, True, None), (2, True, None), (3, True, None)],
        "b.parquet": [(1, True, None), (2, True, None)],
        "c.json.gz": [(1, True, None), (2, True, None), (3, True, None)],
        "d.avro": [(1, True, None), (2, True, None)],
        "e.avro": [(0, False, None)],
        "f.json.gz": [(1, True, None), (2, True, None)],
    }
    assert torn[:2] == (3, False)
    assert (torn[2] or "").startswith("truncated: ")
    assert cut[:2] == (3, False)
    assert (cut[2] or "").startswith("truncated: ")


def test_values_and_types_arrive_as_the_function_gives_them(spark: SparkSession, files: str) -> None:
    rows = {(row["name"], row["line"]): row for row in spark.sql(LATERAL.format(source=files)).collect()}
    assert rows["b.parquet", 1]["value"] == '{"n":9223372036854775807}'
    assert rows["c.json.gz", 1]["value"] == '{"имя":"王"}'
    assert rows["c.json.gz", 2]["value"] == ""
    assert rows["c.json.gz", 3]["value"] == '{"n":12345678901234567890}'
    assert rows["c.json.gz", 1]["semantic_types"] is None
    assert rows["b.parquet", 1]["semantic_types"] == {}
    assert rows["a.avro", 1]["semantic_types"] == {
        "balance": "org.apache.kafka.connect.data.Decimal:2",
        "birth": "org.apache.kafka.connect.data.Date",
        "local_ts": "io.debezium.time.MicroTimestamp",
    }


@pytest.mark.usefixtures("files")
def test_null_content_is_one_error_row(spark: SparkSession) -> None:
    source = "(select 'x' as name, cast(null as binary) as content, cast(null as string) as path)"
    (row,) = spark.sql(LATERAL.format(source=source)).collect()
    assert (row["line"], row["value"], row["semantic_types"]) == (1, None, None)
    assert row["error"] == "no_content: the file's content is NULL"


def test_workers_do_not_need_the_package(tmp_path: Path) -> None:
    """A cluster's workers have the libraries, not this checkout."""
    cloudpickle.register_pickle_by_value(spark_udfs)  # type: ignore[no-untyped-call]  # cloudpickle and PySpark have no annotations here
    (tmp_path / "handler").write_bytes(CloudPickleSerializer().dumps(ReadRecords))  # type: ignore[no-untyped-call]
    (tmp_path / "x.avro").write_bytes(avro(ENVELOPE, [envelope(1)]))
    script = (
        "import importlib.abc, pathlib, pickle, sys\n"
        "class Hidden(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name.partition('.')[0] in ('alluvium', 'spark_udfs'): raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Hidden())\n"
        "handler = pickle.loads(pathlib.Path('handler').read_bytes())\n"
        "for content in (pathlib.Path('x.avro').read_bytes(), b''):\n"
        "    print([tuple(row)[3] for row in handler().eval(content, 'x.avro')])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["[None]", "['truncated: Avro header ends after 0 bytes']"]
