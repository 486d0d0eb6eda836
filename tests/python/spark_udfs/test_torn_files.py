"""A file cut at any byte gives the first of its records and one error row, or is a shorter file in its own right."""

from __future__ import annotations

import gzip

import pyarrow as pa
import pytest
from made_files import ENVELOPE, SYNC, avro, envelope, gz, parquet

from alluvium.spark_udfs import Record, read_records

LINES = b"".join(b'{"id":%d,"name":"\xd0\x94"}\n' % number for number in range(40))
FLIPS = (0x01, 0x80, 0xFF)

FILES = {
    "avro": (avro(ENVELOPE, [envelope(number) for number in range(6)], per_block=2), "x.avro"),
    "avro-deflate": (avro(ENVELOPE, [envelope(number) for number in range(6)], "deflate", per_block=2), "x.avro"),
    # 70 records in a block: its count takes two bytes, and a tear between them looks like an end to fastavro 1.13.
    "avro-two-byte-count": (avro({"type": "record", "name": "R", "fields": []}, [{}] * 140, per_block=70), "x.avro"),
    "parquet": (parquet(pa.table({"a": list(range(20))}), row_group_size=5), "x.parquet"),
    "gzip": (gz(LINES), "x.json.gz"),
    "gzip-members": (gz(LINES[:300]) + gz(LINES[300:]), "x.json.gz"),
    "gzip-stored": (gzip.compress(LINES, compresslevel=0, mtime=0), "x.json.gz"),
}


def whole_shorter_files(name: str, content: bytes) -> set[int]:
    """Where a cut leaves a file that nothing tells from a whole one."""
    if name.startswith("avro"):
        return {start + len(SYNC) for start in range(len(content)) if content.startswith(SYNC, start)}
    if name == "gzip-members":
        return {len(gz(LINES[:300])), len(content)}
    return {len(content)}


@pytest.mark.parametrize("name", FILES)
def test_every_cut(name: str) -> None:
    content, path = FILES[name]
    records = list(read_records(content, path))
    assert [record.error for record in records] == [None] * len(records)
    assert [record.line for record in records] == list(range(1, len(records) + 1))
    whole = whole_shorter_files(name, content)
    for length in range(len(content)):
        cut = list(read_records(content[:length], path))
        if length in whole and name == "gzip-members":
            # The first member ends inside a line, which is the last line of the shorter file.
            assert cut[:-1] == records[: len(cut) - 1]
            assert (records[len(cut) - 1].value or "").startswith(cut[-1].value or "-")
        elif length in whole:
            assert cut in (records[: len(cut)], [Record(0, None, None, None)])
        else:
            *before, error = cut
            assert before == records[: len(before)]
            assert error[:3] == (len(before) + 1, None, None)
            assert error.error is not None
            assert error.error.split(":")[0] in ("truncated", "corrupt")


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("flip", FLIPS)
def test_damage_at_any_byte_is_a_row(name: str, flip: int) -> None:
    content, path = FILES[name]
    intact = [record.value for record in read_records(content, path)]
    for position in range(len(content)):
        damaged = bytearray(content)
        damaged[position] ^= flip
        got = list(read_records(damaged, path))
        errors = [record for record in got if record.error is not None]
        assert [record.line for record in got] in (list(range(1, len(got) + 1)), [0])
        assert all(record.value is None for record in errors)
        if name.startswith("gzip"):
            # Only gzip has a checksum over all of its text, and nothing of a member that does not keep it is given. One
            # that its damage makes look cut off has none.
            values = [record.value for record in got if record.error is None]
            is_cut_off = any((record.error or "").startswith("truncated") for record in errors)
            assert is_cut_off or values == intact[: len(values)]
            assert errors or values == intact


def test_complete_avro_blocks_before_a_tear_survive() -> None:
    content, path = FILES["avro"]
    *records, error = read_records(content[:-1], path)
    assert len(records) == 4
    assert error.line == 5
    assert error.error is not None
    assert error.error.startswith("truncated: Avro block at byte")


@pytest.mark.parametrize("level", [0, 1, 9])
def test_lines_of_a_gzip_member_that_its_checksum_refutes_are_not_given(level: int) -> None:
    """Up to where zlib notices damage, its text is JSON with other digits. The member before is sound."""
    sound, damaged = gzip.compress(b'{"id":-1}\n', mtime=0), bytearray(gzip.compress(LINES, level, mtime=0))
    damaged[-4] ^= 1
    first, error = read_records(sound + bytes(damaged), "x.gz")
    assert (first.line, first.value) == (1, '{"id":-1}')
    assert (error.line, error.value) == (2, None)
    assert error.error is not None
    assert error.error.startswith("corrupt: gzip, ")


def test_no_row_is_left_out_where_a_parquet_footer_is_damaged() -> None:
    """It has no checksum. Whatever else it says, the rows that it counts are there, or it is not read to its end."""
    content = parquet(pa.table({"id": list(range(6))}), row_group_size=2, write_page_checksum=True)
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    errors = set()
    for position in range(footer, len(content) - 8):
        for bit in range(8):
            damaged = bytearray(content)
            damaged[position] ^= 1 << bit
            records = list(read_records(damaged, "x.parquet"))
            errors |= {(record.error or "")[:35] for record in records}
            assert any(record.error for record in records) or len(records) == 6, (position, bit)
    assert {"corrupt: the Parquet footer counts ", "corrupt: a Parquet row group counts"} <= errors


def test_a_row_group_that_breaks_leaves_the_row_groups_before_it() -> None:
    table = pa.table({"a": pa.array([f"text {number}" for number in range(10_000)])})
    content = bytearray(
        parquet(table, row_group_size=5_000, write_page_checksum=True, use_dictionary=False, compression="none")
    )
    content[content.index(b"text 7500")] ^= 1
    *records, error = read_records(content, "x")
    assert len(records) == 5_000
    assert (error.line, error.value) == (5_001, None)
    assert error.error is not None
    assert error.error.startswith("corrupt: ")
