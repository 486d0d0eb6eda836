"""gzip JSON lines: the text goes through unchanged."""

from __future__ import annotations

import pytest
from made_files import gz

from alluvium.spark_udfs import Record, read_records


def values(content: bytes) -> list[str | None]:
    records = list(read_records(content, "x.json.gz"))
    assert [record.error for record in records] == [None] * len(records)
    return [record.value for record in records]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b'{"a":1}\n{"a":2}\n', ['{"a":1}', '{"a":2}']),
        (b'{"a":1}\n{"a":2}', ['{"a":1}', '{"a":2}']),
        (b'{"a":1}\r\n\r\n{"a":2}\r\n', ['{"a":1}', "", '{"a":2}']),
        (b"\n\n\n", ["", "", ""]),
        (b"\n", [""]),
        (b'\xef\xbb\xbf{"a":1}\n\xef\xbb\xbf\n', ['{"a":1}', "\ufeff"]),
        (b' {"a":1} \t\n', [' {"a":1} \t']),
        # What str.splitlines and Spark's text source take for line ends are characters of a JSON string here.
        ('"\u2028\u2029\x85\x0b\x0c\x1c\r"\n'.encode(), ['"\u2028\u2029\x85\x0b\x0c\x1c\r"']),
        (
            b'{"n":123456789012345678901234567890,"e":1e400,"d":1.10}',
            ['{"n":123456789012345678901234567890,"e":1e400,"d":1.10}'],
        ),
        (b"not JSON {\x00\n", ["not JSON {\x00"]),
    ],
)
def test_lines(text: bytes, expected: list[str]) -> None:
    assert values(gz(text)) == expected


def test_members_and_zero_padding_are_one_text() -> None:
    assert values(gz(b'{"a":') + gz(b"1}\n") + gz(b"") + gz(b"2") + bytes(512)) == ['{"a":1}', "2"]


def test_a_line_longer_than_any_chunk() -> None:
    long = "x" * 3_000_000
    assert values(gz(f"{long}\n{long}".encode())) == [long, long]


def test_there_are_no_semantic_types() -> None:
    assert [record.semantic_types for record in read_records(gz(b"{}\n"), None)] == [None]


@pytest.mark.parametrize("bad", [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xc0\x80", b"\xf5\x80\x80\x80"])
def test_a_line_that_is_not_utf8_is_an_error_row_in_its_place(bad: bytes) -> None:
    first, error, last = read_records(gz(b'{"a":1}\n{"a":"' + bad + b'"}\n{"a":3}'), "x.gz")
    assert (first, last) == (Record(1, '{"a":1}', None, None), Record(3, '{"a":3}', None, None))
    assert error[:3] == (2, None, None)
    assert error.error is not None
    assert error.error.startswith(f"invalid_utf8: byte 0x{bad[0]:02x} at 6, ")
