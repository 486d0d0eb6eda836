"""What the tables hold after a load, as files that the tests read."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from scripts.samples.connect import Row


def text(value: Any) -> str | None:
    """A value as Spark casts it to text; a time is UTC and has no more digits of a second than it needs."""
    if value is None:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return f"{{{_joined(value.values())}}}"
    if isinstance(value, (list, tuple)):
        return f"[{_joined(value)}]"
    if isinstance(value, datetime):
        digits = f"{value.microsecond:06d}".rstrip("0")
        return f"{value:%Y-%m-%d %H:%M:%S}{'.' if digits else ''}{digits}"
    return str(value)


def _joined(values: Iterable[Any]) -> str:
    return ", ".join("null" if value is None else str(text(value)) for value in values)


def table(rows: Iterable[Row], key: Sequence[str]) -> bytes:
    """The rows as JSON lines of texts, in the order of the key."""
    return lines(sorted(rows, key=lambda row: tuple(row[name] for name in key)))


def lines(rows: Iterable[Row]) -> bytes:
    """The rows as JSON lines of texts, as they come."""
    texts = ({name: text(value) for name, value in row.items()} for row in rows)
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in texts).encode()


def tables(load: str, content: Mapping[str, tuple[Iterable[Row], Sequence[str]]]) -> dict[str, bytes]:
    """Files of a load's expected relations, gzip; `content` has rows and key by relation."""
    return {
        f"expected/{load}/{relation}.jsonl.gz": gzip.compress(table(rows, key), mtime=0)
        for relation, (rows, key) in content.items()
    }
