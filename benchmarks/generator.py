"""Change files of one PostgreSQL table as Debezium and a Kafka Connect S3 sink write them; equal bytes for equal seeds.

Every value is a hash of its key and its event's log sequence number (LSN), so that a batch is computed column by column
and the expected rows need no copy of the events (`benchmarks.oracle`).
"""

from __future__ import annotations

import gzip
import json
import random
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from io import BytesIO
from itertools import repeat
from multiprocessing import get_context
from os import cpu_count
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc

SEED = 20240501
ENTITY = "accounts"
TOPIC = f"bench.public.{ENTITY}"
# What the feed declares; the other systems name the same columns and types.
COLUMNS = {
    "id": "bigint",
    "name": "string",
    "status": "string",
    "balance": "decimal(12,2)",
    "updated_at": "timestamp_ntz",
}
# Types of the columns that make a wide row.
FILLERS = ("string", "bigint", "decimal(12,2)")
START_MS = 1_714_521_600_000  # 2024-05-01 00:00:00 UTC
SNAPSHOT_LSN = 1_000_000
FIRST_LSN = 2_000_000
LSN_STEP = 256
STATUSES = ("active", "blocked", "closed", "new")
PLACEHOLDER = "__debezium_unavailable_value"
CHUNK = 250_000
# With fewer events the start of the processes takes longer than the work.
PARALLEL_FROM = 500_000
RECENT_KEYS_PER_CHANGE = 10

EVENTS = pa.schema([("key", pa.int64()), ("lsn", pa.int64()), ("op", pa.string()), ("has_name", pa.bool_())])
Event = tuple[int, int, str, bool]


@dataclass(frozen=True)
class Format:
    """How records are written.

    Attributes:
        suffix: of the files' names.
        reader: Spark's data source, and `using` of an external table.
        is_flattened: the records are those of ExtractNewRecordState, not envelopes.
        has_schema: JsonConverter's ``schemas.enable=true``: each line carries its schema.
    """

    suffix: str
    reader: str = "json"
    is_flattened: bool = False
    has_schema: bool = False


FORMATS = {
    "json": Format("json"),
    "json_schema": Format("json", has_schema=True),
    "json_gzip": Format("json.gz"),
    "flattened": Format("json", is_flattened=True),
    "avro": Format("avro", "avro"),
    "parquet": Format("parquet", "parquet"),
}


@dataclass(frozen=True)
class Shape:
    """What is generated. Shares are of the keys that a batch changes, from 0 to 1.

    Attributes:
        rows: keys of the first load: snapshot rows for the first half, creates for the rest.
        churn: keys that each later batch changes, as a share of `rows`; with 0 nothing lands.
        format: one of `FORMATS`.
        keys: one of `KEYS`: which keys a batch changes.
        deletes: share that is deleted. A deleted key that is changed later is created again.
        inserts: share that is new.
        duplicates: share that is updated twice and whose first update is redelivered at the end of the batch.
        late: share whose second event comes with this batch, and its first one, an update, with the next batch.
        placeholders: share of the updates that have Debezium's unavailable-value placeholder as `name`.
        columns: number of columns, at least 5.
        partitions: of the topic.
        lines_per_file: most records of a file.
        seed: equal seeds give equal files.
    """

    rows: int
    churn: float = 0.01
    format: str = "json"
    keys: str = "uniform"
    deletes: float = 0.1
    inserts: float = 0.0
    duplicates: float = 0.05
    late: float = 0.0
    placeholders: float = 0.0
    columns: int = len(COLUMNS)
    partitions: int = 4
    lines_per_file: int = 62_500
    seed: int = SEED

    def __post_init__(self) -> None:
        for name, allowed in (("format", FORMATS), ("keys", KEYS)):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} is {getattr(self, name)!r}; allowed: {', '.join(allowed)}")
        for name in ("churn", "deletes", "inserts", "duplicates", "late", "placeholders"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is {getattr(self, name)}; allowed: 0 to 1")
        for name, least in (("rows", 1), ("columns", len(COLUMNS)), ("partitions", 1), ("lines_per_file", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} is {getattr(self, name)}; allowed: {least} or more")

    @property
    def changed(self) -> int:
        """Keys that a batch changes."""
        return max(1, round(self.rows * self.churn)) if self.churn else 0

    @property
    def types(self) -> dict[str, str]:
        """Spark types by column."""
        fillers = range(len(COLUMNS) + 1, self.columns + 1)
        return COLUMNS | {f"c{number:04d}": FILLERS[number % len(FILLERS)] for number in fillers}


def _uniform(rng: random.Random, keys: int, changed: int) -> list[int]:
    return rng.sample(range(1, keys + 1), min(changed, keys))


def _zipf(rng: random.Random, keys: int, changed: int) -> list[int]:
    """With exponent 1 the logarithm of the rank is uniform; the ranks are scattered over the keys."""
    ranks = (int(keys ** rng.random()) for _ in repeat(None, changed))
    return [rank * 2_654_435_761 % keys + 1 for rank in ranks]


def _recent(rng: random.Random, keys: int, changed: int) -> list[int]:
    first = max(1, keys + 1 - RECENT_KEYS_PER_CHANGE * changed)
    return rng.sample(range(first, keys + 1), min(changed, keys + 1 - first))


KEYS: Mapping[str, Callable[[random.Random, int, int], list[int]]] = {
    "uniform": _uniform,
    "zipf": _zipf,
    "recent": _recent,
}


class Source:
    """The source table: what it commits, and when each of its events is delivered.

    Args:
        shape: of the data.
    """

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self._rng = random.Random(shape.seed)
        self._exists = bytearray(b"\1") * (shape.rows + 1)
        self._lsn = first_load_lsn(shape.rows, shape.rows) + LSN_STEP
        self._late: list[Event] = []

    def batch(self, shape: Shape | None = None) -> list[Event]:
        """The next batch, in the order of delivery: key, LSN, op, and whether `name` has its value.

        Args:
            shape: of this batch, where it has another churn, other keys or other shares.
        """
        shape, rng = shape or self.shape, self._rng
        if not shape.changed:
            return []
        late, self._late = self._late, []
        events: list[Event] = []
        duplicates: list[Event] = []
        inserted = round(shape.changed * shape.inserts)
        for key in KEYS[shape.keys](rng, len(self._exists) - 1, shape.changed - inserted):
            kind = rng.random()
            exists = bool(self._exists[key])
            if exists and kind < shape.duplicates:
                first, second = self._event(shape, key, "u"), self._event(shape, key, "u")
                events += [first, second]
                duplicates.append(first)
            elif exists and kind < shape.duplicates + shape.late:
                self._late.append(self._event(shape, key, "u"))
                events.append(self._event(shape, key, "d" if len(self._late) % 2 else "u"))
            elif exists and kind >= 1 - shape.deletes:
                events.append(self._event(shape, key, "d"))
            else:
                events.append(self._event(shape, key, "u" if exists else "c"))
        for _ in range(inserted):
            self._exists.append(0)
            events.append(self._event(shape, len(self._exists) - 1, "c"))
        return events + duplicates + late

    def _event(self, shape: Shape, key: int, op: str) -> Event:
        event = key, self._lsn, op, op != "u" or self._rng.random() >= shape.placeholders
        self._lsn += LSN_STEP
        self._exists[key] = op != "d"
        return event


def first_load_lsn(key: int, rows: int) -> int:
    """LSN of a key's event in the first load."""
    return SNAPSHOT_LSN if key <= rows // 2 else FIRST_LSN + LSN_STEP * key


def table_of(events: Sequence[Event]) -> pa.Table:
    """Events as columns, of the schema `EVENTS`."""
    columns = zip(*events, strict=True) if events else repeat((), len(EVENTS))
    return pa.table([pa.array(column, part.type) for column, part in zip(columns, EVENTS, strict=True)], schema=EVENTS)


def first_load(shape: Shape, partition: int, first: int, count: int) -> pa.Table:
    """Events of the first load, of the schema `EVENTS`.

    Args:
        shape: of the data.
        partition: of the topic; a key is in the partition ``key % partitions``.
        first: position in the partition, from 0.
        count: most events.
    """
    begin = (partition or shape.partitions) + first * shape.partitions
    keys = range(begin, min(shape.rows + 1, begin + count * shape.partitions), shape.partitions)
    lsns = [first_load_lsn(key, shape.rows) for key in keys]
    ops = ["r" if lsn == SNAPSHOT_LSN else "c" for lsn in lsns]
    return pa.table([keys, lsns, ops, [True] * len(keys)], schema=EVENTS)


def _uint(number: int) -> pa.Scalar:
    return pa.scalar(number % 2**64, pa.uint64())


def random_numbers(seed: int, column: int, keys: pa.Array, lsns: pa.Array, below: int) -> pa.Array:
    """Numbers from 0 to `below` - 1, as int64: SplitMix64 of seed, column, key and LSN."""
    salt = _uint(seed * 0x9E3779B97F4A7C15 + column * 0xD1B54A32D192ED03)
    mixed = pc.add(pc.multiply(keys.cast(pa.uint64()), _uint(0x8CB92BA72F3D8DD7)), salt)
    mixed = pc.bit_wise_xor(mixed, pc.multiply(lsns.cast(pa.uint64()), _uint(0xAAF3B2A75D8E1D4B)))
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = pc.multiply(pc.bit_wise_xor(mixed, pc.shift_right(mixed, _uint(shift))), _uint(factor))
    mixed = pc.shift_right(pc.bit_wise_xor(mixed, pc.shift_right(mixed, _uint(31))), _uint(1))
    return pc.subtract(mixed, pc.multiply(pc.divide(mixed, _uint(below)), _uint(below))).cast(pa.int64())


def join(*parts: str | pa.Array) -> pa.Array:
    """Concatenates texts and arrays row by row; numbers in decimal."""
    texts = [part if isinstance(part, str) else part.cast(pa.string()) for part in parts]
    return pc.binary_join_element_wise(*texts, "")


def _money(cents: pa.Array) -> pa.Array:
    absolute = pc.abs(cents)
    whole = pc.divide(absolute, 100)
    rest = pc.utf8_lpad(pc.subtract(absolute, pc.multiply(whole, 100)).cast(pa.string()), 2, "0")
    return join(pc.if_else(pc.less(cents, 0), "-", ""), whole, ".", rest)


def millis(lsns: pa.Array) -> pa.Array:
    """Commit time of an event, in milliseconds since 1970."""
    return pc.add(pc.divide(lsns, 64), START_MS)


def image(shape: Shape, keys: pa.Array, lsns: pa.Array, name_lsns: pa.Array) -> dict[str, pa.Array]:
    """The columns of rows, as the connector sends them: decimals as text, times in microseconds.

    Args:
        shape: of the data.
        keys: of the rows.
        lsns: of the events that gave the rows their values.
        name_lsns: of the events that gave `name` its value.
    """
    numbers = partial(random_numbers, shape.seed)
    statuses = pa.array(STATUSES).take(numbers(2, keys, lsns, len(STATUSES)))
    found = {
        "id": keys,
        "name": join("account ", keys, " of ", numbers(1, keys, name_lsns, 10**9)),
        "status": statuses,
        "balance": _money(pc.subtract(numbers(3, keys, lsns, 2 * 10**8), 10**8)),
        "updated_at": pc.add(pc.multiply(millis(lsns), 1000), numbers(4, keys, lsns, 1000)),
    }
    for number, (name, data_type) in enumerate(shape.types.items()):
        if number >= len(COLUMNS):
            drawn = numbers(number, keys, lsns, 10**9)
            is_text, is_money = data_type == "string", data_type.startswith("decimal")
            found[name] = join("v", drawn) if is_text else _money(drawn) if is_money else drawn
    return found


def records(shape: Shape, events: pa.Table, entity: str) -> pa.Table:
    """Events as columns of their records: envelopes, or flattened records.

    Args:
        shape: of the data.
        events: of the schema `EVENTS`.
        entity: name of the table.
    """
    events = events.combine_chunks()
    keys, lsns, ops = (pc.cast(events[name], events[name].type).combine_chunks() for name in ("key", "lsn", "op"))
    row = image(shape, keys, lsns, lsns)
    row["name"] = pc.if_else(events["has_name"].combine_chunks(), row["name"], PLACEHOLDER)
    deleted = pc.equal(ops, "d")
    # With the replica identity DEFAULT a delete's before image has only the key; a column NOT NULL is empty.
    blank = {name: pa.nulls(len(keys), values.type) for name, values in row.items()}
    before = blank | {"id": keys, "name": pa.array([""] * len(keys))}
    commits = pc.if_else(pc.equal(ops, "r"), "null", join('"', pc.subtract(lsns, LSN_STEP), '"'))
    sequence = join("[", commits, ',"', lsns, '"]')
    if FORMATS[shape.format].is_flattened:
        merged = {name: pc.if_else(deleted, before[name], values) for name, values in row.items()}
        added = {"__op": ops, "__source_lsn": lsns, "__source_sequence": sequence}
        return pa.table(merged | added | {"__deleted": pc.if_else(deleted, "true", "false")})

    def struct(columns: Mapping[str, pa.Array], absent: pa.Array | None = None) -> pa.Array:
        return pa.StructArray.from_arrays(list(columns.values()), list(columns), mask=absent)

    def constant(text: str) -> pa.Array:
        return pa.array([text] * len(keys))

    source = {
        "version": constant("3.6.3.Final"),
        "connector": constant("postgresql"),
        "name": constant("bench"),
        "ts_ms": millis(lsns),
        "snapshot": pc.if_else(pc.equal(ops, "r"), "true", "false"),
        "db": constant("bench"),
        "sequence": sequence,
        "schema": constant("public"),
        "table": constant(entity),
        "txId": pc.divide(lsns, LSN_STEP),
        "lsn": lsns,
    }
    return pa.table(
        {
            "before": struct(before, pc.invert(deleted)),
            "after": struct(row, deleted),
            "source": struct(source),
            "op": ops,
            "ts_ms": pc.add(millis(lsns), 40),
        }
    )


def _json(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Values as JSON texts, without blanks; NULL as ``null``."""
    values = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    if pa.types.is_struct(values.type):
        parts: list[str | pa.Array] = []
        for number, part in enumerate(values.type):
            parts += [f'{"," if number else "{"}"{part.name}":', _json(values.field(number))]
        text = join(*parts, "}")
        return text if not values.null_count else pc.if_else(values.is_valid(), text, "null")
    if pa.types.is_string(values.type):
        # Only a sequence has a character that JSON escapes.
        values = join('"', pc.replace_substring(values, '"', '\\"'), '"')
    return pc.fill_null(values.cast(pa.string()), "null")


def _lines(table: pa.Table, schema_text: str) -> bytes:
    whole = pa.StructArray.from_arrays([column.combine_chunks() for column in table.columns], table.column_names)
    text = _json(whole)
    lines = join(schema_text, text, "}\n") if schema_text else join(text, "\n")
    return bytes(lines.buffers()[2].to_pybytes())


def connect_schema(table: pa.Table, shape: Shape) -> dict[str, Any]:
    """The schema that JsonConverter sends with each record, with Debezium's names of types."""

    def of(name: str, data_type: pa.DataType, types: Mapping[str, str]) -> dict[str, Any]:
        found: dict[str, Any] = {"optional": True, "field": name}
        if pa.types.is_struct(data_type):
            inner = shape.types if name in ("before", "after") else {}
            return found | {"type": "struct", "fields": [of(part.name, part.type, inner) for part in data_type]}
        if types.get(name) == "timestamp_ntz":
            found |= {"name": "io.debezium.time.MicroTimestamp", "version": 1}
        return found | {"type": "string" if pa.types.is_string(data_type) else "int64"}

    types = shape.types if FORMATS[shape.format].is_flattened else {}
    return {"type": "struct", "fields": [of(part.name, part.type, types) for part in table.schema], "optional": False}


def avro_schema(table: pa.Table) -> dict[str, Any]:
    """Avro schema of records, as Confluent's AvroConverter makes one from a Connect schema."""

    def of(name: str, data_type: pa.DataType) -> Any:
        if pa.types.is_struct(data_type):
            fields = [{"name": part.name, "type": ["null", of(part.name, part.type)]} for part in data_type]
            return {"type": "record", "name": f"{name}_value", "fields": fields}
        return "string" if pa.types.is_string(data_type) else "long"

    whole = pa.struct(list(table.schema))
    return dict(of("envelope", whole))


def write_file(path: Path, shape: Shape, entity: str, chunks: Iterator[pa.Table]) -> int:
    """Writes one file and returns its bytes.

    Args:
        path: of the file; its folder is there.
        shape: of the data.
        entity: name of the table.
        chunks: events of the schema `EVENTS`.
    """
    tables = (records(shape, events, entity) for events in chunks)
    reader = FORMATS[shape.format].reader
    with path.open("wb") as file:
        {"json": _write_lines, "avro": _write_avro, "parquet": _write_parquet}[reader](file, shape, tables)
    return path.stat().st_size


def _write_lines(file: IO[bytes], shape: Shape, tables: Iterator[pa.Table]) -> None:
    kind = FORMATS[shape.format]
    is_gzip = kind.suffix.endswith(".gz")
    for table in tables:
        schema_text = ""
        if kind.has_schema:
            schema = json.dumps(connect_schema(table, shape), separators=(",", ":"))
            schema_text = f'{{"schema":{schema},"payload":'
        lines = _lines(table, schema_text)
        # A fixed time in the header: equal bytes for equal seeds.
        file.write(gzip.compress(lines, compresslevel=6, mtime=0) if is_gzip else lines)


def _write_avro(file: IO[bytes], _: Shape, tables: Iterator[pa.Table]) -> None:
    import fastavro

    for number, table in enumerate(tables):
        written = BytesIO()
        # A fixed marker, else it is random.
        fastavro.writer(
            file if not number else written,
            avro_schema(table),
            table.to_pylist(),
            codec="deflate",
            sync_interval=64_000,
            sync_marker=b"alluvium-bench-1",
        )
        if number:
            # A container goes on with the blocks that follow another header.
            header = BytesIO()
            fastavro.writer(header, avro_schema(table), (), codec="deflate", sync_marker=b"alluvium-bench-1")
            file.write(written.getvalue()[len(header.getvalue()) :])


def _write_parquet(file: IO[bytes], _: Shape, tables: Iterator[pa.Table]) -> None:
    import pyarrow.parquet as pq

    writer = None
    for table in tables:
        writer = writer or pq.ParquetWriter(file, table.schema, compression="snappy")
        writer.write_table(table)
    if writer:
        writer.close()


@dataclass
class Landed:
    """What one batch landed.

    Attributes:
        files: number of files.
        events: number of records, redelivered ones included.
        size: bytes.
        keys: number of keys that the events name.
    """

    files: int = 0
    events: int = 0
    size: int = 0
    keys: int = 0


@dataclass
class Stream:
    """Lands one batch after the other as a Confluent S3 sink does: ``<topic>+<partition>+<first offset>.<suffix>``.

    Attributes:
        shape: of the data.
        folder: location of the topic.
        entity: name of the table.
        batches: batches landed so far.
        events: those of the latest batch, in the order of delivery; none for the first load.
    """

    shape: Shape
    folder: Path
    entity: str = ENTITY
    batches: int = 0
    events: list[Event] = field(default_factory=list)
    _offsets: dict[int, int] = field(default_factory=dict)
    _source: Source | None = None

    def land(self, shape: Shape | None = None) -> Landed:
        """Lands the first load, at a later call the next batch.

        Args:
            shape: of this batch, where it has another churn, other keys or other shares.
        """
        self.batches += 1
        if self._source is None:
            self._source = Source(self.shape)
            return self._land_first_load()
        self.events = self._source.batch(shape)
        return self._land(self.events)

    def _land_first_load(self) -> Landed:
        shape = self.shape
        jobs = []
        for partition in range(shape.partitions):
            count = len(range(partition or shape.partitions, shape.rows + 1, shape.partitions))
            for first in range(0, count, shape.lines_per_file):
                lines = min(shape.lines_per_file, count - first)
                jobs.append((self._next_path(partition, lines), shape, self.entity, partition, first, lines))
        sizes = self._each(_write_first_load, jobs, shape.rows)
        return Landed(len(jobs), shape.rows, sum(sizes), shape.rows)

    def _land(self, events: Sequence[Event]) -> Landed:
        shape = self.shape
        jobs = []
        for partition in range(shape.partitions):
            own = [event for event in events if event[0] % shape.partitions == partition]
            for first in range(0, len(own), shape.lines_per_file):
                lines = own[first : first + shape.lines_per_file]
                jobs.append((self._next_path(partition, len(lines)), shape, self.entity, table_of(lines)))
        sizes = self._each(_write_batch, jobs, len(events))
        return Landed(len(jobs), len(events), sum(sizes), len({event[0] for event in events}))

    def _next_path(self, partition: int, lines: int) -> Path:
        first = self._offsets.get(partition, 0)
        self._offsets[partition] = first + lines
        topic = TOPIC.replace(ENTITY, self.entity)
        suffix = FORMATS[self.shape.format].suffix
        path = self.folder / f"partition={partition}" / f"{topic}+{partition}+{first:010d}.{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    @staticmethod
    def _each(write: Callable[..., int], jobs: Sequence[tuple[Any, ...]], events: int) -> list[int]:
        if events < PARALLEL_FROM or len(jobs) == 1:
            return [write(*job) for job in jobs]
        # `spawn`: pyarrow has threads, which a fork does not copy.
        with ProcessPoolExecutor(cpu_count(), mp_context=get_context("spawn")) as pool:
            return list(pool.map(write, *zip(*jobs, strict=True), chunksize=max(1, len(jobs) // 64)))


def _write_first_load(path: Path, shape: Shape, entity: str, partition: int, first: int, count: int) -> int:
    parts = range(first, first + count, CHUNK)
    chunks = (first_load(shape, partition, begin, min(CHUNK, first + count - begin)) for begin in parts)
    return write_file(path, shape, entity, chunks)


def _write_batch(path: Path, shape: Shape, entity: str, events: pa.Table) -> int:
    return write_file(path, shape, entity, iter([events]))


def steps(stream: Stream) -> Iterator[tuple[str, Landed]]:
    """Lands a first load, a batch with the churn of the stream's shape, and nothing; yields what each is called.

    Args:
        stream: that has landed nothing yet.
    """
    yield "first load", stream.land()
    yield f"{stream.shape.churn:.0%} changes".replace("%", " %"), stream.land()
    yield "nothing new", Landed()


def lsn_array(rows: int) -> array[int]:
    """LSN of each key in the first load, by key; 0 for key 0, which no row has."""
    half = rows // 2
    found = array("q", [0])
    found.extend(repeat(SNAPSHOT_LSN, half))
    found.extend(range(FIRST_LSN + LSN_STEP * (half + 1), FIRST_LSN + LSN_STEP * (rows + 1), LSN_STEP))
    return found
