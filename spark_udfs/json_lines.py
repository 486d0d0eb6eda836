"""Records of a gzip file of JSON lines."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from alluvium.spark_udfs.record import FileError, Opened, Rejected, Values

if TYPE_CHECKING:
    from collections.abc import Iterator

MAGIC = b"\x1f\x8b"

# 31 = gzip framing with the largest window (zlib manual, inflateInit2).
_GZIP_FRAMING = 31
_CHUNK = 64 * 1024


def open_json_lines(content: bytes) -> Opened:
    r"""Read gzip JSON lines.

    Args:
        content: the whole file; several gzip members are read as one text, zero padding after the last is allowed.

    Returns:
        No semantic types, and the lines without their ending ``\n`` or ``\r\n``. An empty line is a record ``''``; a
        last line without ``\n`` is a record too, unless the file is torn.
    """
    return None, _without_mark(_lines(content))


def _lines(content: bytes) -> Values:
    rest: list[bytes] = []
    for chunk in _inflate(content):
        *complete, last = chunk.split(b"\n")
        for line in complete:
            yield _decode(b"".join([*rest, line]))
            rest.clear()
        if last:
            rest.append(last)
    if rest:
        yield _decode(b"".join(rest))


def _without_mark(lines: Values) -> Values:
    """Takes a byte order mark off the text, as Spark's text source does for a plain file."""
    for first in lines:
        yield first.removeprefix("\ufeff") if isinstance(first, str) else first
        yield from lines


def _decode(line: bytes) -> str | Rejected:
    try:
        return line.removesuffix(b"\r").decode("utf-8")
    except UnicodeDecodeError as error:
        return Rejected(f"invalid_utf8: byte 0x{line[error.start]:02x} at {error.start}, {error.reason}")


def _inflate(content: bytes) -> Iterator[bytes]:
    """Give the text of all members in pieces; whatever is sound before a break is given before the break is raised.

    A member that is cut off is sound as far as it goes. One that is damaged is not: zlib gives text of it, with other
    digits in it, until it meets a code that is none or the checksum at its end.
    """
    if not content:
        raise FileError("truncated", "no bytes")
    data = memoryview(content)
    end, damage = _sound_members(data)
    for text, _ in _members(data[:end]):
        yield text
    if damage:
        raise damage


def _sound_members(data: memoryview) -> tuple[int, FileError | None]:
    """Where the damaged member begins and what is wrong with it; else the end of the data."""
    begin = 0
    try:
        for _, member in _members(data):
            begin = member
    except zlib.error as error:
        return begin, FileError("corrupt", f"gzip, {error}")
    except FileError:
        pass  # cut off, which is said once what is there has been read
    return len(data), None


def _members(data: memoryview) -> Iterator[tuple[bytes, int]]:
    """Pieces of text, each with where its member begins; an empty one at the beginning of each."""
    position = 0
    while position < len(data):
        begin = position
        yield b"", begin
        member = zlib.decompressobj(_GZIP_FRAMING)
        while not member.eof:
            if position >= len(data):
                raise FileError("truncated", f"gzip stream ends in the middle, after {len(data)} bytes")
            chunk = data[position : position + _CHUNK]
            position += len(chunk)
            yield member.decompress(chunk), begin
        position -= len(member.unused_data)
        while position < len(data) and data[position] == 0:
            position += 1
