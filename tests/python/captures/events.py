"""A reader of change files in plain Python, independent of the project's macros.

It decodes the JSON layouts and keeps the last event of each key by delivery order, nothing more: no truncate, no
TOAST placeholder, no key swap, no second snapshot is handled. Comparing its result with the oracle tells which cells
a reader that orders rightly, but knows none of these, cannot have (see `not_equal_yet`), and checks the comparison
itself without Spark.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from .canonical import INFINITY, MICROSECONDS_PER_DAY, civil, days_from_civil, from_spark
from .comparison import Key, Row
from .corpora import Column, Corpus, Layout, Table, base_type, spark_type, type_arguments
from .landing import LandedFile, landed_files, tables_of

PLACEHOLDER = "__debezium_unavailable_value"
PLACEHOLDER_BASE64 = base64.b64encode(PLACEHOLDER.encode()).decode()
PLACEHOLDER_CODES = list(PLACEHOLDER.encode())
# java.util.UUID.nameUUIDFromBytes of the placeholder, as Debezium 3.6.3 sends it for uuid[].
PLACEHOLDER_UUID = "b68a35a7-17ad-35b3-af2a-ae46edb4545a"


@dataclass(frozen=True)
class Event:
    """One change event, decoded.

    Attributes:
        op: c, u, d, r or t.
        key: canonical texts of the key columns; empty for a truncate and for a table without key.
        values: of the after image (the before image for a delete), canonical text by column; absent columns are absent.
        placeholders: columns that carry the mark of a value that was not sent.
        snapshot: ``source.snapshot`` of an envelope; for a flattened event ``true`` if op is r.
        position: place in the database's log, which orders events of different partitions of one table.
        file: the file it came from.
    """

    op: str
    key: Key
    values: Row
    placeholders: frozenset[str]
    snapshot: str
    position: tuple[int, ...]
    file: LandedFile


def json_layout(corpus: Corpus, table: Table) -> Layout | None:
    """A layout that has the table in a form this module reads: the Lenses envelope last, since it is the longest."""
    readable = [layout for layout in corpus.layouts if layout.using == "json" and table in tables_of(corpus, layout)]
    return min(readable, key=lambda layout: (layout.store_envelope, layout.name), default=None)


def read(corpus: Corpus, layout: Layout, table: Table) -> list[Event]:
    """Every change event of a table, each partition in the order of its offsets."""
    files = [file for file in landed_files(corpus, layout) if file.topic == table.topic]
    files.sort(key=lambda file: (file.partition, file.offset))
    return [
        event
        for file in files
        for value in _values(file.path, layout)
        if (event := _event(corpus, table, file, value)) is not None
    ]


def last_per_key(events: list[Event], table: Table) -> dict[Key, list[Event]]:
    """For each key its events in order; the last one decides whether the row lives."""
    keys: dict[Key, list[Event]] = {}
    for event in events:
        if event.op != "t" and table.key:
            keys.setdefault(event.key, []).append(event)
    return keys


def current_rows(events: list[Event], table: Table) -> list[Row]:
    """Rows whose last event is not a delete. A column the event does not carry has the declared default, or NULL."""
    return [
        {column.name: _value_or_default(history[-1], column) for column in table.columns}
        for history in last_per_key(events, table).values()
        if history[-1].op != "d"
    ]


def _value_or_default(event: Event, column: Column) -> str | None:
    default = column.meta.get("default")
    return event.values.get(column.name, None if default is None else str(default))


def _values(path: Path, layout: Layout) -> Iterator[Any]:
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    # Lines end with \n only: str.splitlines would also split at U+2028, which JSON strings may hold unescaped.
    for line in data.decode("utf-8").split("\n"):
        if line:
            record = json.loads(line)
            if layout.store_envelope:
                record = record["value"]
            if isinstance(record, dict) and set(record) == {"schema", "payload"}:
                record = record["payload"]
            yield record


def _event(corpus: Corpus, table: Table, file: LandedFile, record: Any) -> Event | None:
    if not isinstance(record, dict):
        return None
    if corpus.shape == "envelope":
        source = record["source"]
        op, image = record["op"], record["after"] if record["op"] != "d" else record["before"]
        snapshot = str(source["snapshot"]).lower()
        if corpus.engine == "postgresql":
            # An incremental-snapshot row has no lsn; `sequence` is its watermark.
            position: tuple[int, ...] = (int(json.loads(source["sequence"])[1]),)
        else:
            position = (int(source["file"].rsplit(".", 1)[1]), int(source["pos"]), int(source["row"]))
    else:
        op, image = record["__op"], record
        snapshot = "true" if op == "r" else "false"
        position = (int(record["__lsn"]),)
        if op == "d":
            image = {name: record[name] for name in table.key}
    image = image or {}
    carried = [column for column in table.columns if column.name in image]
    values = {column.name: _canonical(corpus, column, image[column.name]) for column in carried}
    return Event(
        op=op,
        key=tuple(values[name] for name in table.key) if image else (),
        values=values,
        placeholders=frozenset(column.name for column in carried if _is_placeholder(image[column.name])),
        snapshot=snapshot,
        position=position,
        file=file,
    )


def _is_placeholder(value: Any) -> bool:
    return value in (
        PLACEHOLDER,
        PLACEHOLDER_BASE64,
        [PLACEHOLDER],
        PLACEHOLDER_CODES,
        [PLACEHOLDER_UUID],
        json.dumps({PLACEHOLDER: PLACEHOLDER}, separators=(",", ":")),
    )


def _canonical(corpus: Corpus, column: Column, value: Any) -> str | None:
    if _is_placeholder(value):
        return PLACEHOLDER
    decoded = _decode(corpus, column.database_type, value)
    return from_spark(corpus.engine, column.database_type, decoded)


def _decode(corpus: Corpus, database_type: str, value: Any) -> Any:
    """The value in the form that `canonical` documents for the declared Spark type."""
    if value is None:
        return None
    if database_type.endswith("[]"):
        return [_decode(corpus, database_type[:-2], element) for element in value]
    declared, base, arguments = spark_type(corpus.engine, database_type), *_type_parts(database_type)
    if base == "bigint unsigned":
        return str(value + 2**64 if value < 0 else value)
    if base in ("numeric", "decimal"):
        return _decimal(value, arguments[1] if len(arguments) > 1 else 0)
    if declared == "timestamp":
        return _zoned(value)
    if declared == "timestamp_ntz":
        return _local(value * 1000 if _in_milliseconds(corpus, base, arguments) else value)
    if base in ("time", "time without time zone"):
        return value * 1000 if _in_milliseconds(corpus, base, arguments) else value
    if base == "bit" and declared == "bigint":
        return int.from_bytes(base64.b64decode(value), "little")
    if declared == "binary":
        return base64.b64decode(value).hex()
    if declared in ("float", "double"):
        return float(value)
    return value


def _type_parts(database_type: str) -> tuple[str, tuple[int, ...]]:
    return base_type(database_type), type_arguments(database_type)


def _in_milliseconds(corpus: Corpus, base: str, arguments: tuple[int, ...]) -> bool:
    mode = corpus.time_precision_mode
    if mode == "connect":
        return True
    if base in ("time", "time without time zone"):
        return mode == "adaptive" and arguments != () and arguments[0] <= 3
    digits = (*arguments, 0 if corpus.engine == "mariadb" else 6)[0]
    return mode.startswith("adaptive") and digits <= 3


def _decimal(value: Any, scale: int) -> str:
    if isinstance(value, dict):
        value, scale = value["value"], value["scale"]
    elif not re.fullmatch(r"[A-Za-z0-9+/]+={0,2}", value) or re.fullmatch(r"-?\d+", value) or "." in value:
        return str(value)
    unscaled = int.from_bytes(base64.b64decode(value), "big", signed=True)
    digits = tuple(int(digit) for digit in str(abs(unscaled)))
    return format(Decimal((int(unscaled < 0), digits, -scale)), "f")


def _zoned(text: str) -> int:
    for instant, name in INFINITY.items():
        if text == name:
            return instant
    match = re.fullmatch(r"([+-]?\d{4,})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?Z", text)
    if match is None:
        raise ValueError(f"not a zoned timestamp: {text!r}")
    days = days_from_civil(int(match[1]), int(match[2]), int(match[3]))
    seconds = (int(match[4]) * 60 + int(match[5])) * 60 + int(match[6])
    return days * MICROSECONDS_PER_DAY + seconds * 1_000_000 + int((match[7] or "").ljust(6, "0"))


def _local(microseconds: int) -> str:
    days, rest = divmod(microseconds, MICROSECONDS_PER_DAY)
    year, month, day = civil(days)
    seconds, fraction = divmod(rest, 1_000_000)
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    time = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{sign}{abs(year):04d}-{month:02d}-{day:02d} {time}.{fraction:06d}"
