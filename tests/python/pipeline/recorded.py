"""Lines of real streams, as sinks wrote them.

They are in tests/fixtures/facts/<corpus>/<layout>/<topic>/, named by the fact of the captures' FACTS.md that they show;
captures/test_recorded_lines.py holds them against the captures.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from .events import Event, lines
from .project import REPOSITORY, Row

FIXTURES = REPOSITORY / "tests" / "fixtures" / "facts"

VARIABLE = {"semantic_type": "io.debezium.data.VariableScaleDecimal"}
# The columns of the recorded table of orders before columns were added to it.
ORDERS = {
    "region": "string",
    "order_no": "int",
    "customer_id": "int",
    "status": "string",
    "total": "decimal(14,2)",
    "placed_at": "timestamp",
    "due": "date",
    "remark": "string",
}


def fixtures() -> Iterator[Path]:
    """Every file of recorded lines, and every recorded object that is kept whole."""
    yield from sorted(FIXTURES.glob("*/*/*/*"))


def lines_of(path: Path) -> list[bytes]:
    """The lines of a file, gzipped or not, without their ends."""
    content = path.read_bytes()
    return (gzip.decompress(content) if path.suffix == ".gz" else content).split(b"\n")[:-1]


def recorded(name: str) -> list[bytes]:
    """The lines of the fixture of that name, in the order of partition and offset."""
    (path,) = FIXTURES.glob(f"*/*/*/{name}.jsonl*")
    return lines_of(path)


def payload(line: bytes) -> Any:
    """The record itself, out of the store envelope and of JsonConverter's schema; None is a tombstone."""
    record = json.loads(line)
    if "metadata" in record:
        record = record["value"]
    return record["payload"] if record and record.keys() == {"schema", "payload"} else record


def image(line: bytes) -> Event:
    """The row after the event, of a delete the one before it, of a truncate or a tombstone none."""
    event = payload(line) or {}
    return event.get("after") or event.get("before") or {}


def where(recorded_lines: Iterable[bytes], holds: Callable[[Event], bool]) -> list[bytes]:
    """The lines whose record is one, of those that are none tombstones. Raises AssertionError if there is none."""
    found = [line for line in recorded_lines if payload(line) is not None and holds(payload(line))]
    assert found
    return found


def landed(*rounds: Sequence[bytes | str]) -> list[dict[str, bytes]]:
    """One object for each round; none where nothing arrives."""
    return [
        {f"t+0+{100 * number}.json": lines(*arriving)} if arriving else {} for number, arriving in enumerate(rounds)
    ]


def landed_by_lenses(*rounds: Sequence[bytes | str]) -> list[dict[str, bytes]]:
    """The same, named as the Lenses sink does."""
    return [
        {f"t(0_{100 * number + 99}).json": lines(*arriving)} if arriving else {}
        for number, arriving in enumerate(rounds)
    ]


def by_id(rows: list[Row], key: str = "id") -> dict[Any, Row]:
    """The rows by a column that no two of them share."""
    assert len({row[key] for row in rows}) == len(rows)
    return {row[key]: row for row in rows}
