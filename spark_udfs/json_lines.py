"""Records of a text of JSON: one a line, or put together in another way."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from alluvium.spark_udfs.record import FileError, Rejected, Values

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# What may stand between records that are not one a line: an array's commas and brackets, the separator of RFC 7464.
_BETWEEN = re.compile(r"[ \t\r\n,\x1e\[\]]*")
_BLANKS = b" \t\r\n"
_NO_RECORDS = (b"", b"null")
_TEXT_OR_BLANKS = re.compile(r'("(?:[^"\\]|\\.)*")|\s+')


def json_records(chunks: Iterable[bytes]) -> Values:
    r"""Read the records of a text.

    The first line that is not blank decides. If it is one record, or nothing that can be read, each line is given as it
    is, without its ending ``\n`` or ``\r\n``: an empty line is a record ``''``, a last line without ``\n`` is one, too.
    If it is more or less than one record (records without line breaks between them, an array, a record over several
    lines), the records are given.

    Args:
        chunks: of the text, in UTF-8, UTF-16 or UTF-32; the first has 4 bytes or all.
    """
    lines = _lines(_in_utf8(chunks))
    for line in lines:
        is_empty = line.strip(_BLANKS) in _NO_RECORDS
        is_sequence = False if is_empty else _is_sequence(line.decode("utf-8", "surrogateescape"))
        if is_sequence is not False:
            yield from _records_or_lines(line, lines, is_sequence=is_sequence)
            return
        yield _decode(line.removesuffix(b"\r"))
        if not is_empty:
            break
    for line in lines:
        yield _decode(line.removesuffix(b"\r"))


def _is_sequence(text: str) -> bool | None:
    """Whether records begin here that are more or less than a line each; None where no complete record begins."""
    begin, line_end = _after(_BETWEEN, text, 0), _end_of_line(text, 0)
    value, end = _value(text, begin)
    if not isinstance(value, dict):
        return None
    line = text[:line_end].strip(" \t\r")
    behind = _after(_BETWEEN, text, end)
    is_record_first = line.startswith("{") and end <= line_end
    # What is behind a record and begins none is for the reader of the line to reject.
    return line != text[begin:end] and not (is_record_first and text[behind : behind + 1] not in ("", "{"))


def _in_utf8(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Takes a byte order mark off the text, as Spark's text source does for a plain file."""
    rest = iter(chunks)
    start = next(rest, b"")
    encoding = json.detect_encoding(start[:4])
    if encoding in ("utf-8", "utf-8-sig"):
        yield start.removeprefix(b"\xef\xbb\xbf")
        yield from rest
        return
    try:
        yield b"".join([start, *rest]).decode(encoding).encode("utf-8")
    except UnicodeDecodeError as error:
        raise FileError("corrupt", f"{encoding}, {error.reason} at byte {error.start}") from error


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    rest: list[bytes] = []
    for chunk in chunks:
        *complete, last = chunk.split(b"\n")
        for line in complete:
            yield b"".join([*rest, line])
            rest.clear()
        if last:
            rest.append(last)
    if rest:
        yield b"".join(rest)


def _decode(line: bytes) -> str | Rejected:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        return Rejected(f"invalid_utf8: byte 0x{line[error.start]:02x} at {error.start}, {error.reason}")


def _record(text: str) -> str | Rejected:
    return text if text.isascii() else _decode(text.encode("utf-8", "surrogateescape"))


def _records_or_lines(first: bytes, more: Iterator[bytes], *, is_sequence: bool | None) -> Values:
    lines, broken = [first], None
    try:
        lines.extend(more)
    except FileError as error:
        broken = error
    text = b"\n".join(lines).decode("utf-8", "surrogateescape")
    if is_sequence or _is_sequence(text) or ("[" in text and _BETWEEN.fullmatch(text)):
        yield from _sequence(text, is_torn=broken is not None)
    else:
        for line in lines:
            yield _decode(line.removesuffix(b"\r"))
    if broken:
        raise broken


def _sequence(text: str, *, is_torn: bool) -> Values:
    position = depth = 0
    is_whole = not is_torn
    while True:
        begin = _after(_BETWEEN, text, position)
        between = text[position:begin]
        depth += between.count("[") - between.count("]")
        if begin >= len(text):
            break
        value, position = _value(text, begin)
        record = text[begin:position]
        if not isinstance(value, dict) and record != "null":
            # The array's end may be in it.
            position, is_whole = max(position, _end_of_line(text, begin)), False
            record = text[begin:position].strip()
        elif "\n" in record:
            record = _TEXT_OR_BLANKS.sub(r"\1", record)
        yield _record(record)
    if depth > 0 and is_whole:
        raise FileError("truncated", "the file ends before its JSON array")


def _value(text: str, begin: int) -> tuple[object, int]:
    """The JSON value that begins here and its end; None and the end of what is none."""
    try:
        # Not one of the module: it cannot be sent to the workers. Python refuses integers of over 4,300 digits.
        value, end = json.JSONDecoder(parse_int=float).raw_decode(text, begin)
    except json.JSONDecodeError as error:
        is_cut_off = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
        return None, len(text) if is_cut_off else _end_of_line(text, begin)
    except RecursionError:
        return None, _end_of_line(text, begin)
    return value, end


def _after(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return match.end() if match else position


def _end_of_line(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end
