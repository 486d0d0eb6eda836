"""Debezium PostgreSQL envelopes of one table, the same bytes for the same seed."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator
from pathlib import Path

TOPIC = "bench.public.accounts"
PARTITIONS = 4
SEED = 20240501
LINES_PER_FILE = 62_500
# What the feed declares; the plain script names the same columns and types.
COLUMNS = {
    "id": "bigint",
    "name": "string",
    "status": "string",
    "balance": "decimal(12,2)",
    "updated_at": "timestamp_ntz",
}
START_MS = 1_714_521_600_000  # 2024-05-01 00:00:00 UTC
SNAPSHOT_LSN = 1_000_000
FIRST_LSN = 2_000_000
LSN_STEP = 256
STATUSES = ("active", "blocked", "closed", "new")

Line = tuple[int, str]


def initial_lines(rows: int, seed: int) -> Iterator[Line]:
    """One event for each of the keys 1 to `rows`: a snapshot row for the first half, a create for the rest.

    Yields:
        Kafka partition and line, without a line ending.
    """
    rng = random.Random(seed)
    snapshot = rows // 2
    for key in range(1, rows + 1):
        if key <= snapshot:
            yield key % PARTITIONS, envelope("r", key, SNAPSHOT_LSN, None, rng)
        else:
            lsn = FIRST_LSN + LSN_STEP * key
            yield key % PARTITIONS, envelope("c", key, lsn, lsn - LSN_STEP, rng)


def changed_lines(rows: int, changed: int, seed: int) -> Iterator[Line]:
    """Events of `changed` scattered keys out of `rows`: of 20 keys 2 are deleted, 1 is updated twice, the others once.

    The first of two updates is delivered a second time, after everything else: an older event after a newer one.

    Yields:
        Kafka partition and line, without a line ending.
    """
    rng = random.Random(seed + 1)
    lsn = FIRST_LSN + LSN_STEP * (rows + 1)
    again: list[Line] = []
    for number, key in enumerate(rng.sample(range(1, rows + 1), changed)):
        for turn, op in enumerate({0: "d", 1: "d", 2: "uu"}.get(number % 20, "u")):
            line = key % PARTITIONS, envelope(op, key, lsn, lsn - LSN_STEP, rng)
            yield line
            lsn += LSN_STEP
            if number % 20 == 2 and turn == 0:
                again.append(line)
    yield from again


def envelope(op: str, key: int, lsn: int, commit: int | None, rng: random.Random) -> str:
    """One change event as JsonConverter writes it with ``schemas.enable=false``, 350 to 420 bytes.

    Args:
        op: c, u, d or r.
        key: primary key.
        lsn: the event's own log sequence number.
        commit: end of the transaction that was committed before; None for a snapshot row.
        rng: source of the values.
    """
    millis = START_MS + lsn // 64
    # `before` of a delete is the key alone: replica identity DEFAULT.
    row = {
        "id": key,
        "name": f"account {key} of {rng.randrange(10**9)}",
        "status": rng.choice(STATUSES),
        "balance": f"{rng.randrange(-(10**8), 10**8) / 100:.2f}",
        "updated_at": millis * 1000 + rng.randrange(1000),
    }
    before = {"id": key, "name": "", "status": None, "balance": None, "updated_at": None} if op == "d" else None
    event = {
        "before": before,
        "after": None if op == "d" else row,
        "source": {
            "version": "3.6.3.Final",
            "connector": "postgresql",
            "name": "bench",
            "ts_ms": millis,
            "snapshot": "true" if op == "r" else "false",
            "db": "bench",
            "sequence": json.dumps([None if commit is None else str(commit), str(lsn)], separators=(",", ":")),
            "schema": "public",
            "table": "accounts",
            "txId": lsn // LSN_STEP,
            "lsn": lsn,
        },
        "op": op,
        "ts_ms": millis + 40,
    }
    return json.dumps(event, separators=(",", ":"))


def steps(rows: int) -> dict[str, Iterable[Line]]:
    """What lands before each build of a benchmark, by the name of the step.

    Args:
        rows: keys of the first load.
    """
    return {
        "first load": initial_lines(rows, SEED),
        "1 % changes": changed_lines(rows, max(1, rows // 100), SEED),
        "nothing new": (),
    }


def land(folder: Path, lines: Iterable[Line], offsets: dict[int, int]) -> tuple[int, int, int]:
    """Writes lines as files of the Confluent sink: ``<topic>+<partition>+<first offset>.json``.

    Args:
        folder: location of the topic; made when it is not there.
        lines: Kafka partition and line.
        offsets: next offset of each partition, moved on.

    Returns:
        files, lines, bytes.
    """
    queues: dict[int, list[str]] = {}
    files = count = size = 0
    for partition, line in lines:
        queue = queues.setdefault(partition, [])
        queue.append(line)
        count += 1
        if len(queue) == LINES_PER_FILE:
            size += _write(folder, partition, queue, offsets)
            files += 1
    for partition, queue in queues.items():
        if queue:
            size += _write(folder, partition, queue, offsets)
            files += 1
    return files, count, size


def _write(folder: Path, partition: int, lines: list[str], offsets: dict[int, int]) -> int:
    first = offsets.get(partition, 0)
    path = folder / f"partition={partition}" / f"{TOPIC}+{partition}+{first:010d}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    content = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(content)
    offsets[partition] = first + len(lines)
    lines.clear()
    return len(content)


def land_tiny(folder: Path, count: int) -> None:
    """Adds `count` files of one line each, which nobody reads: they are for the listing alone."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        (folder / f"{TOPIC}+9+{number:010d}.json").write_bytes(b'{"ts_ms":1714521600000}\n')
