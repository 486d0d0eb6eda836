"""The licensed source data, as it lies beside the project."""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_FIELD: Final = re.compile(r'(?:"((?:[^"]|"")*)"|([^",\n]*))(,|\n|\Z)')


def rows(path: Path, *, delimiter: str = ",") -> Iterator[dict[str, str]]:
    """The rows of a CSV file, plain or gzip, as texts; an empty field is an empty text."""
    yield from csv.DictReader(io.StringIO(_text(path)), delimiter=delimiter)


def copied_rows(path: Path) -> Iterator[dict[str, str | None]]:
    """The rows of a CSV file that PostgreSQL's COPY has written: nothing is NULL, `""` an empty text."""
    records = _records(_text(path))
    names = [name or "" for name in next(records)]
    for record in records:
        yield dict(zip(names, record, strict=True))


def _records(text: str) -> Iterator[list[str | None]]:
    # Python's csv tells the two empty fields apart from 3.12 on only.
    record: list[str | None] = []
    place = 0
    while place < len(text):
        match = _FIELD.match(text, place)
        assert match is not None, text[place : place + 80]
        quoted, plain, end = match.groups()
        record.append(quoted.replace('""', '"') if quoted is not None else plain or None)
        if end != ",":
            yield record
            record = []
        place = match.end()


def _text(path: Path) -> str:
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return content.decode()
