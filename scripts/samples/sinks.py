"""Object names and contents as the S3 sinks of Confluent and Lenses write them, byte for byte the same on every run."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq

from scripts.samples.connect import Row, Schema, arrow_fields, avro_schema, json_schema, json_value

# fastavro draws one for each file otherwise, and no file would be the same twice.
SYNC_MARKER: Final = bytes(range(16))
Files = dict[str, bytes]


@dataclass(frozen=True)
class Record:
    """One message of a topic.

    Attributes:
        offset: in its Kafka partition.
        value: the fields of `schema`.
        schema: what the converter knows of it.
        kafka_partition: of the topic.
    """

    offset: int
    value: Row
    schema: Schema
    kafka_partition: int = 0


def json_lines(records: Iterable[Record], *, schemas: bool) -> bytes:
    """JsonFormat; with `schemas` each line is `{schema, payload}`."""

    def line(record: Record) -> str:
        payload = json_value(record.schema, record.value)
        value = {"schema": json_schema(record.schema), "payload": payload} if schemas else payload
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    return "".join(f"{line(record)}\n" for record in records).encode()


def gzip_json_lines(records: Iterable[Record], *, schemas: bool) -> bytes:
    """JsonFormat with `s3.compression.type=gzip`."""
    return gzip.compress(json_lines(records, schemas=schemas), mtime=0)


def avro_container(records: Sequence[Record]) -> bytes:
    """AvroFormat with its default codec, null."""
    buffer = io.BytesIO()
    schema = fastavro.parse_schema(avro_schema(records[0].schema))
    fastavro.writer(buffer, schema, [record.value for record in records], sync_marker=SYNC_MARKER)
    return buffer.getvalue()


def parquet(records: Sequence[Record]) -> bytes:
    """ParquetFormat with `parquet.codec=gzip`."""
    buffer = io.BytesIO()
    table = pa.Table.from_pylist([dict(record.value) for record in records], pa.schema(arrow_fields(records[0].schema)))
    pq.write_table(table, buffer, compression="gzip")
    return buffer.getvalue()


FORMATS: Final = {
    "json": lambda records: json_lines(records, schemas=False),
    "json_gzip": lambda records: gzip_json_lines(records, schemas=False),
    "json_with_schema": lambda records: json_lines(records, schemas=True),
    "json_with_schema_gzip": lambda records: gzip_json_lines(records, schemas=True),
    "avro": avro_container,
    "parquet": parquet,
}
EXTENSIONS: Final = {
    "json": "json",
    "json_gzip": "json.gz",
    "json_with_schema": "json",
    "json_with_schema_gzip": "json.gz",
    "avro": "avro",
    "parquet": "gz.parquet",
}


def confluent(
    topic: str, records: Sequence[Record], file_format: str, flush_size: int, partition_fields: Sequence[str] = ()
) -> Files:
    """Objects of the Confluent S3 sink: a file has up to `flush_size` records of one folder and one schema.

    Args:
        topic: with its prefix.
        records: in the order of their offsets.
        file_format: one of `FORMATS`.
        flush_size: records of a file; a file is ended early by another schema.
        partition_fields: FieldPartitioner's `partition.field.name`; without, DefaultPartitioner.

    Returns:
        key -> content; the number in a key is the file's first offset.
    """
    files: Files = {}
    for folder, group in _by_folder(records, partition_fields).items():
        for part in _flushed(group, flush_size):
            first = part[0]
            name = f"{topic}+{first.kafka_partition}+{first.offset:010d}.{EXTENSIONS[file_format]}"
            files[f"topics/{topic}/{folder}/{name}"] = FORMATS[file_format](part)
    return files


def lenses(
    prefix: str, topic: str, records: Sequence[Record], flush_count: int, partition_by: Sequence[str] = ()
) -> Files:
    """Objects of the Lenses S3 sink 3.0, `STOREAS json`: one value a line, the schema dropped.

    Returns:
        key -> content; the number in a key is the file's last offset.
    """
    files: Files = {}
    for folder, group in _by_folder(records, partition_by).items():
        for start in range(0, len(group), flush_count):
            part = group[start : start + flush_count]
            last = part[-1]
            name = f"{topic}({last.kafka_partition}_{last.offset}).json"
            key = (
                f"{prefix}/{folder}/{name}"
                if partition_by
                else f"{prefix}/{topic}/{last.kafka_partition}/{last.offset}.json"
            )
            files[key] = json_lines(part, schemas=False)
    return files


def _by_folder(records: Sequence[Record], fields: Sequence[str]) -> Mapping[str, list[Record]]:
    folders: dict[str, list[Record]] = {}
    for record in records:
        by_field = "/".join(f"{name}={record.value[name]}" for name in fields)
        folders.setdefault(by_field or f"partition={record.kafka_partition}", []).append(record)
    return folders


def _flushed(records: Sequence[Record], flush_size: int) -> Iterable[list[Record]]:
    part: list[Record] = []
    for record in records:
        if part and (len(part) == flush_size or record.schema != part[0].schema):
            yield part
            part = []
        part.append(record)
    if part:
        yield part


def copied(files: Mapping[str, Any], below: str) -> Files:
    """The same files in a folder of their own."""
    return {f"{below}/{key}": content for key, content in files.items()}
