"""The row type, the error codes and the text encoder that every file format shares."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

SemanticTypes = dict[str, str]
"""Column name of the row to semantic type; columns without one are absent."""


class Record(NamedTuple):
    """One record of a file, or the error that ended or interrupted it.

    Attributes:
        line: 1-based number of the record in its file; 0 for the only row of a file without records.
        value: the record as JSON text; None on an error row and on the row of a file without records.
        semantic_types: semantic type per column; None where the file has no schema and on rows without a value.
        error: None, or ``<code>: <detail>``; the codes are listed in this package's README.
    """

    line: int
    value: str | None
    semantic_types: SemanticTypes | None
    error: str | None


class FileError(Exception):
    """A file cannot be read past this point.

    Args:
        code: one of the error codes listed in this package's README.
        detail: what was found, in a few words.
    """

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code


class Rejected(NamedTuple):
    """A record that cannot be given as text while the records after it can."""

    error: str


Values = Iterator[str | Rejected]
"""The records of one file in order. Raises FileError (or what a decoder raises) where the file breaks."""

Opened = tuple[SemanticTypes | None, Values]
"""What a format's ``open_*`` function returns: the semantic types of its rows and its records."""


def describe(error: BaseException) -> str:
    """Return the type and the first line of an exception's message, at most 200 characters."""
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:200]


def float_text(value: float) -> float | str:
    """Return a finite float as it is, any other as Kafka Connect writes it: NaN, Infinity, -Infinity."""
    if math.isfinite(value):
        return value
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _bytes_text(value: Any) -> str:
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(value).decode("ascii")
    raise TypeError(f"no JSON form for {type(value).__name__}")


# allow_nan=False: a float that no format module turned into text fails here; orjson would write null for it.
_encode: Callable[[Any], str] = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), check_circular=False, allow_nan=False, default=_bytes_text
).encode


def to_json(value: Any) -> str | Rejected:
    """Write a decoded record as JSON text.

    Args:
        value: dict, list, str, int, float, bool, None or bytes, nested at will. Bytes become base64. Undecodable
            bytes of a string must have been kept as surrogate escapes.

    Returns:
        The text, or Rejected with code ``invalid_utf8`` where a string is not valid UTF-8.
    """
    text = _encode(value)
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            around = text[max(0, error.start - 20) : error.start + 10].encode("ascii", "backslashreplace")
            return Rejected(f"invalid_utf8: undecodable byte in a string near {around.decode('ascii')}")
    return text
