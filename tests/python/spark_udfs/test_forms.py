"""Compressions, and texts of JSON that are not one record a line; whatever the file is called."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import zlib
from collections.abc import Callable

import fastavro
import pyarrow as pa
import pytest

from alluvium.spark_udfs import read_records

RECORDS = ['{"id":1,"t":"x}{y"}', '{"a":[{"b":1},{"b":2}]}', '{"name":"Zürich"}']
INDENTED = [json.dumps(json.loads(record), indent=2, ensure_ascii=False) for record in RECORDS]


def snappy(text: bytes) -> bytes:
    return bytes(pa.compress(text, "snappy", asbytes=True))


def xerial(text: bytes) -> bytes:
    block = snappy(text)
    return b"\x82SNAPPY\x00" + bytes(8) + len(block).to_bytes(4, "big") + block


def framed(text: bytes) -> bytes:
    block = bytes(4) + snappy(text)
    stored = bytes(4) + b"\n"
    chunks = [(b"\x00", block), (b"\xfe", b"padding"), (b"\x01", stored)]
    return b"\xff\x06\x00\x00sNaPpY" + b"".join(kind + len(data).to_bytes(3, "little") + data for kind, data in chunks)


def hadoop(text: bytes) -> bytes:
    block = snappy(text)
    return len(text).to_bytes(4, "big") + len(block).to_bytes(4, "big") + block


COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "none": bytes,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "deflate": zlib.compress,
    "zstd": lambda text: bytes(pa.compress(text, "zstd", asbytes=True)),
    "lz4": lambda text: bytes(pa.compress(text, "lz4", asbytes=True)),
    "xerial": xerial,
    "framed": framed,
    "hadoop": hadoop,
}


def read(content: bytes, path: str = "x") -> list[tuple[str | None, str | None]]:
    records = list(read_records(content, path))
    assert [record.line for record in records] == list(range(1, len(records) + 1))
    return [(record.value, record.error and record.error.partition(":")[0]) for record in records]


@pytest.mark.parametrize("compress", COMPRESSIONS.values(), ids=COMPRESSIONS)
@pytest.mark.parametrize("path", ["x", "x.json", "x.gz", "x.avro", "x.parquet"])
def test_compressions(compress: Callable[[bytes], bytes], path: str) -> None:
    text = "\n".join(RECORDS).encode()
    assert read(compress(text), path) == [(record, None) for record in RECORDS]


@pytest.mark.parametrize("name", ["gzip", "bzip2", "xz", "deflate", "zstd", "lz4", "xerial", "framed", "hadoop"])
def test_what_is_cut_off_or_damaged_gives_no_other_record(name: str) -> None:
    text = ("\n".join(RECORDS) + "\n").encode()
    content = COMPRESSIONS[name](text)
    for end in range(1, len(content)):
        *given, last = read_records(content[:end], "x")
        # Between two blocks of Snappy nothing shows that there was another.
        assert last.error is not None or name in ("framed", "xerial"), end
        assert [record.value for record in given] == RECORDS[: len(given)], end


@pytest.mark.parametrize(
    "text",
    [
        "".join(RECORDS),
        " ".join(RECORDS),
        "\r".join(RECORDS),
        "\t".join(RECORDS),
        ", ".join(RECORDS),
        "\x1e".join(RECORDS),
        f"[{','.join(RECORDS)}]",
        "[\n" + ",\n".join(RECORDS) + "\n]\n",
        "\n".join(f"[{record}]" for record in RECORDS),
        ",\n".join(RECORDS),
        "".join(f"\x1e{record}\n" for record in RECORDS),
        "\n".join(INDENTED),
        f"[{', '.join(INDENTED)}]",
        "\ufeff" + "".join(RECORDS),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be"])
def test_records_that_are_not_one_a_line(text: str, encoding: str) -> None:
    expected = [(record, None) for record in RECORDS]
    if encoding != "utf-8" and not text.startswith("{"):
        text = "\ufeff" + text.removeprefix("\ufeff")
    assert read(text.encode(encoding)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Lines of their own keep their numbers, whatever is among them.
        ('{"a":1}\n\nERROR\n{"a":2}\n{"a":', ['{"a":1}', "", "ERROR", '{"a":2}', '{"a":']),
        ('ERROR\n{"a":1}', ["ERROR", '{"a":1}']),
        ('{"a":1}\n{"a":2}{"a":3}\n[{"a":4}]', ['{"a":1}', '{"a":2}{"a":3}', '[{"a":4}]']),
        ('null\n{"a":2}{"a":3}', ["null", '{"a":2}', '{"a":3}']),
        ("[1,2,3]", ["[1,2,3]"]),
        (f'{{"a":{"9" * 5000}}}\n5', [f'{{"a":{"9" * 5000}}}', "5"]),
        ('{"a":1}5{"a":2}\n{"a":3}', ['{"a":1}5{"a":2}', '{"a":3}']),
        ('{"a":1}{"b":2}5\n{"a":3}', ['{"a":1}', '{"b":2}', "5", '{"a":3}']),
        ('{"a":1}{"a":\n', ['{"a":1}', '{"a":']),
        ("null\n[null]\n", ["null", "[null]"]),
        ("id,name\n1,lamp\n", ["id,name", "1,lamp"]),
    ],
)
def test_what_is_no_record_is_given_as_it_is(text: str, expected: list[str]) -> None:
    assert [value for value, _ in read(text.encode())] == expected


def test_array_that_does_not_end() -> None:
    assert read(b'[{"a":1},\n{"a":2}') == [('{"a":1}', None), ('{"a":2}', None), (None, "truncated")]
    assert [tuple(record) for record in read_records(b"[]", None)] == [(0, None, None, None)]


def test_record_that_is_not_utf8_among_others() -> None:
    assert read(b'{"a":1}{"a":"\xff"}{"a":3}') == [('{"a":1}', None), (None, "invalid_utf8"), ('{"a":3}', None)]


def container(codec: str) -> bytes:
    """Two blocks of Avro; codecs for which fastavro lacks a package are written here."""
    schema = {"type": "record", "name": "r", "fields": [{"name": "id", "type": "long"}]}
    out = io.BytesIO()
    fastavro.writer(out, schema, ({"id": number} for number in range(3000)), codec="null", sync_interval=2000)
    content, inside = out.getvalue(), []
    from alluvium.spark_udfs import avro

    header = avro.read_header(content)
    position = header.end
    while position < len(content):
        count, start = avro._read_long(content, position)
        size, start = avro._read_long(content, start)
        text = content[start : start + size]
        data = {
            "snappy": snappy(text) + zlib.crc32(text).to_bytes(4, "big"),
            "zstandard": bytes(pa.compress(text, "zstd", asbytes=True)),
            "lz4": len(text).to_bytes(4, "little") + bytes(pa.compress(text, "lz4_raw", asbytes=True)),
        }[codec]
        inside += [avro._write_long(count), avro._write_long(len(data)), data, header.sync]
        position = start + size + 16
    return avro._write_header(header.schema, header._replace(codec=codec)) + b"".join(inside)


@pytest.mark.parametrize("codec", ["snappy", "zstandard", "lz4"])
@pytest.mark.parametrize("path", ["x.avro", "x.json", "x"])
def test_codecs_of_avro(codec: str, path: str) -> None:
    content = container(codec)
    assert [json.loads(value or "")["id"] for value, _ in read(content, path)] == list(range(3000))
    assert read(gzip.compress(content), path) == read(content, path)


def test_damaged_block_of_snappy_gives_no_record() -> None:
    content = bytearray(container("snappy"))
    content[-18] ^= 1  # of the last block's checksum
    given = read(bytes(content))
    assert given[-1] == (None, "corrupt")
    assert 0 < len(given) < 3000
