"""The licensed source data, as it lies beside the project."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator
from pathlib import Path


def rows(path: Path, *, delimiter: str = ",") -> Iterator[dict[str, str]]:
    """The rows of a CSV file, plain or gzip, as texts; an empty field is an empty text."""
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    yield from csv.DictReader(io.StringIO(content.decode()), delimiter=delimiter)
