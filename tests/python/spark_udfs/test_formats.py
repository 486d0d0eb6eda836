"""How a file's format is found, and what a file that is none of them gives."""

from __future__ import annotations

import pyarrow as pa
import pytest
from made_files import ENVELOPE, avro, envelope, gz, parquet

from alluvium.spark_udfs import Record, read_records

AVRO = avro(ENVELOPE, [envelope(1)])
PARQUET = parquet(pa.table({"a": [1]}))
GZIP = gz(b'{"a":1}\n')


@pytest.mark.parametrize("content", [AVRO, PARQUET, GZIP], ids=["avro", "parquet", "gzip"])
@pytest.mark.parametrize("path", ["s3://b/x+0+0000000000.avro", "x.parquet", "x.json.gz", "x", "", None])
def test_the_first_bytes_decide_and_not_the_extension(content: bytes, path: str | None) -> None:
    (record,) = read_records(content, path)
    assert (record.line, record.error) == (1, None)
    assert record.value is not None


@pytest.mark.parametrize("path", ["x.json", "x", "", None, "avro"])
@pytest.mark.parametrize("content", [b"PK\x03\x04", b"ORC\x08\x03", b"\x00\x01\x02\x03"])
def test_any_other_file_is_one_error_row(content: bytes, path: str | None) -> None:
    (record,) = read_records(content, path)
    assert record[:3] == (1, None, None)
    assert record.error is not None
    assert record.error.startswith("unknown_format: ")


@pytest.mark.parametrize(
    ("content", "path", "code"),
    [
        (b"", "x.avro", "truncated"),
        (b"Obj", "x.AVRO", "truncated"),
        (b"text", "x.avro", "corrupt"),
        (b"Ob", "x", "truncated"),
        (b"", "x", "truncated"),
        (b"", "x.parquet", "truncated"),
        (b"text", "x.parquet", "truncated"),
        (b"PAR1" + bytes(20) + b"PAR1", "x", "corrupt"),
        (b"", "x.gz", "truncated"),
        (b"\x1f", "x", "truncated"),
        (b"text", "x.json.gz", "unknown_format"),
        (b"text", "x.ZST", "unknown_format"),
    ],
)
def test_a_file_without_a_whole_beginning_is_judged_by_what_there_is(content: bytes, path: str, code: str) -> None:
    (record,) = read_records(content, path)
    assert record[:3] == (1, None, None)
    assert record.error is not None
    assert record.error.startswith(f"{code}: ")


def test_null_content_is_one_error_row() -> None:
    assert list(read_records(None, "x.avro")) == [Record(1, None, None, "no_content: the file's content is NULL")]


@pytest.mark.parametrize(
    "content", [avro(ENVELOPE, []), parquet(pa.table({"a": pa.array([], pa.int32())})), gz(b"")], ids=str.__class__
)
def test_a_file_without_records_is_one_row_at_line_0(content: bytes) -> None:
    assert list(read_records(content, "x")) == [Record(0, None, None, None)]


def test_a_bytearray_is_read_as_bytes_are() -> None:
    for content in (AVRO, PARQUET, GZIP):
        assert list(read_records(bytearray(content), None)) == list(read_records(content, None))


def test_a_file_with_more_text_than_allowed_ends_in_an_error_row() -> None:
    content = gz("ä2345\nä2345\nä2345\n".encode())
    assert [record.value for record in read_records(content, None, max_text_bytes=18)] == ["ä2345"] * 3
    assert list(read_records(content, None, max_text_bytes=17)) == [
        Record(1, "ä2345", None, None),
        Record(2, "ä2345", None, None),
        Record(3, None, None, "too_large: more than 17 bytes of text"),
    ]
