"""What the current rows are after each batch, computed from the source's events without any system under test.

A table is compared by a digest: the number of its rows and the sum of their hashes, so that the order of rows does not
matter and a batch costs the oracle only the keys that it names. A row's hash is the first 60 bits of the MD5 of its
values as text.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from hashlib import md5
from itertools import repeat
from multiprocessing import get_context
from os import cpu_count
from typing import NamedTuple

import pyarrow as pa

from benchmarks.generator import CHUNK, PARALLEL_FROM, Event, Shape, first_load_lsn, image, join, lsn_array

SEPARATOR = "|"
# A system's text of NULL, which no expected row has.
NULL = "\\N"
HEX_DIGITS = 15


class Digest(NamedTuple):
    """A table, whatever the order of its rows.

    Attributes:
        rows: their number.
        total: the sum of their hashes.
    """

    rows: int
    total: int


def row_hash(text: str) -> int:
    """Hash of a row whose values are joined by `SEPARATOR`."""
    return int(md5(text.encode(), usedforsecurity=False).hexdigest()[:HEX_DIGITS], 16)


def row_hashes(shape: Shape, keys: Sequence[int], lsns: Sequence[int], name_lsns: Sequence[int]) -> list[int]:
    """Hashes of expected rows.

    Args:
        shape: of the data.
        keys: of the rows.
        lsns: of the events that gave them their values.
        name_lsns: of the events that gave `name` its value.
    """
    arrays = (pa.array(numbers, pa.int64()) for numbers in (keys, lsns, name_lsns))
    parts: list[str | pa.Array] = []
    for values in image(shape, *arrays).values():
        parts += [SEPARATOR, values] if parts else [values]
    return [row_hash(text) for text in join(*parts).to_pylist()]


def _total_of_first_load(shape: Shape, first: int, last: int) -> int:
    lsns = [first_load_lsn(key, shape.rows) for key in range(first, last + 1)]
    return sum(row_hashes(shape, range(first, last + 1), lsns, lsns))


class Oracle:
    """The expected current rows.

    Args:
        shape: of the data; the first load has been delivered.
    """

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        # By key: LSN of the latest event, LSN of the latest one that has `name`, and whether the row exists.
        self._lsns = lsn_array(shape.rows)
        self._name_lsns = array("q", self._lsns)
        self._exists = bytearray(b"\0") + bytearray(b"\1") * shape.rows
        self._rows = shape.rows
        begins = range(1, shape.rows + 1, CHUNK)
        ends = [min(shape.rows, begin + CHUNK - 1) for begin in begins]
        if shape.rows < PARALLEL_FROM:
            self._total = sum(map(_total_of_first_load, repeat(shape), begins, ends))
        else:
            with ProcessPoolExecutor(cpu_count(), mp_context=get_context("spawn")) as pool:
                self._total = sum(pool.map(_total_of_first_load, repeat(shape), begins, ends))

    @property
    def digest(self) -> Digest:
        """Of the expected current rows."""
        return Digest(self._rows, self._total)

    def apply(self, events: Sequence[Event]) -> int:
        """Takes the events of a batch, in any order; returns how many rows they change, insert or delete."""
        keys = sorted({event[0] for event in events})
        missing = max(keys, default=0) + 1 - len(self._lsns)
        if missing > 0:
            self._lsns.extend(repeat(0, missing))
            self._name_lsns.extend(repeat(0, missing))
            self._exists.extend(bytes(missing))
        before = dict(self._hashes(keys))
        for key, lsn, op, has_name in events:
            if lsn > self._lsns[key]:
                self._lsns[key] = lsn
                self._exists[key] = op != "d"
            if has_name and op != "d" and lsn > self._name_lsns[key]:
                self._name_lsns[key] = lsn
        after = dict(self._hashes(keys))
        self._rows += len(after) - len(before)
        self._total += sum(after.values()) - sum(before.values())
        return sum(before.get(key) != after.get(key) for key in keys)

    def wrong_rows(self, found: Iterable[tuple[int | None, int]]) -> int:
        """Rows of a table that are missing, unexpected, repeated or have other values.

        Args:
            found: key and hash of each row of the table.
        """
        expected = dict(self._hashes(range(1, len(self._lsns))))
        seen = set[int]()
        wrong = 0
        for key, hashed in found:
            if key is None or key in seen or expected.get(key) != hashed:
                wrong += 1
            if key in expected:
                seen.add(key)
        return wrong + len(expected.keys() - seen)

    def _hashes(self, keys: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Key and hash of the rows that exist."""
        for begin in range(0, len(keys), CHUNK):
            own = [key for key in keys[begin : begin + CHUNK] if self._exists[key]]
            lsns, name_lsns = ([numbers[key] for key in own] for numbers in (self._lsns, self._name_lsns))
            yield from zip(own, row_hashes(self.shape, own, lsns, name_lsns), strict=True)


class Dialect(NamedTuple):
    """How a SQL engine writes what the digest needs.

    Attributes:
        texts: by Spark type, the text of a column; `{}` is its name.
        row_hash: hash of a row; `{}` is its text.
        total: type of the sum.
    """

    texts: Mapping[str, str]
    row_hash: str
    total: str


SPARK = Dialect(
    {"timestamp_ntz": "cast(unix_micros(cast({} as timestamp)) as string)"},
    f"cast(conv(left(md5({{}}), {HEX_DIGITS}), 16, 10) as bigint)",
    "decimal(38, 0)",
)
DUCKDB = Dialect(
    {"timestamp_ntz": "cast(epoch_us({}) as varchar)"},
    f"cast('0x' || left(md5({{}}), {HEX_DIGITS}) as bigint)",
    "hugeint",
)


def row_hash_sql(dialect: Dialect, types: Mapping[str, str]) -> str:
    """An expression for the hash of a row.

    Args:
        dialect: of the engine.
        types: Spark types by column.
    """
    texts = []
    for name, data_type in types.items():
        text = dialect.texts.get(data_type, "cast({} as string)").format(name)
        texts.append(f"coalesce({text}, '{NULL.replace(chr(92), chr(92) * 2) if dialect is SPARK else NULL}')")
    return dialect.row_hash.format(f"concat_ws('{SEPARATOR}', {', '.join(texts)})")


def digest_sql(dialect: Dialect, types: Mapping[str, str], relation: str) -> str:
    """A query with number of rows and sum of their hashes.

    Args:
        dialect: of the engine.
        types: Spark types by column.
        relation: table, view, or query in parentheses.
    """
    hashed = row_hash_sql(dialect, types)
    return f"select count(*), coalesce(sum(cast({hashed} as {dialect.total})), 0) from {relation}"
