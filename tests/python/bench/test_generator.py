"""The change files of the benchmark: equal for equal seeds, and of the shapes that they should have."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections import Counter
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import fastavro
import pyarrow.parquet as pq
import pytest

from benchmarks.generator import (
    COLUMNS,
    FORMATS,
    KEYS,
    PLACEHOLDER,
    Landed,
    Shape,
    Source,
    Stream,
    steps,
)

FAULTY = Shape(400, churn=0.25, deletes=0.2, inserts=0.1, duplicates=0.1, late=0.2, placeholders=0.2, lines_per_file=30)


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def land(shape: Shape, folder: Path, batches: int = 3) -> list[Landed]:
    stream = Stream(shape, folder)
    return [stream.land() for _ in range(batches)]


def read(path: Path) -> list[dict[str, Any]]:
    content = path.read_bytes()
    if path.suffix == ".avro":
        # The stubs of fastavro know records that are no mappings.
        return [dict(record) for record in fastavro.reader(BytesIO(content))]  # type: ignore[arg-type]
    if path.suffix == ".parquet":
        rows: list[dict[str, Any]] = pq.ParquetFile(BytesIO(content)).read().to_pylist()
        return rows
    text = gzip.decompress(content) if path.suffix == ".gz" else content
    return [json.loads(line) for line in text.splitlines()]


def records(folder: Path) -> list[dict[str, Any]]:
    return [record for path in sorted(folder.rglob("*.*")) for record in read(path)]


@pytest.mark.parametrize("name", FORMATS)
def test_equal_seeds_give_equal_files(name: str, tmp_path: Path) -> None:
    shape = replace(FAULTY, format=name)
    assert land(shape, tmp_path / "first") == land(shape, tmp_path / "second")
    assert files(tmp_path / "first") == files(tmp_path / "second")
    land(replace(shape, seed=1), tmp_path / "third")
    assert files(tmp_path / "first") != files(tmp_path / "third")


def test_bytes_stay_what_they_were(tmp_path: Path) -> None:
    land(FAULTY, tmp_path)
    content = b"".join(content for _, content in sorted(files(tmp_path).items()))
    assert hashlib.sha256(content).hexdigest()[:16] == "87aab218483d4715"


@pytest.mark.parametrize("name", FORMATS)
def test_each_format_has_the_same_events(name: str, tmp_path: Path) -> None:
    land(FAULTY, tmp_path / "json")
    land(replace(FAULTY, format=name), tmp_path / name)
    expected = records(tmp_path / "json")
    found = records(tmp_path / name)
    if FORMATS[name].has_schema:
        assert all(record["schema"]["type"] == "struct" for record in found)
        found = [record["payload"] for record in found]
    if FORMATS[name].is_flattened:
        flat = [
            (record["after"] or record["before"])
            | {
                "__op": record["op"],
                "__source_lsn": record["source"]["lsn"],
                "__source_sequence": record["source"]["sequence"],
                "__deleted": "true" if record["op"] == "d" else "false",
            }
            for record in expected
        ]
        assert found == flat
    else:
        assert found == expected


def test_files_are_those_of_a_sink(tmp_path: Path) -> None:
    landed = land(FAULTY, tmp_path)
    found = files(tmp_path)
    assert len(found) == sum(one.files for one in landed)
    assert sum(map(len, found.values())) == sum(one.size for one in landed)
    following = Counter[str]()
    for name in sorted(found):
        topic, partition, rest = name.split("/")[-1].split("+")
        assert (topic, name.split("/")[0]) == ("bench.public.accounts", f"partition={partition}")
        assert int(rest.split(".")[0]) == following[partition], "offsets without a gap"
        lines = found[name].splitlines()
        assert len(lines) <= FAULTY.lines_per_file
        following[partition] += len(lines)


def test_a_file_of_several_chunks_is_one_container(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.generator.CHUNK", 7)
    for name in FORMATS:
        shape = Shape(30, format=name, partitions=1)
        land(shape, tmp_path / name, batches=1)
        (path,) = (tmp_path / name).rglob("*.*")
        assert len(read(path)) == 30


def test_shares_are_what_the_shape_asks_for() -> None:
    shape = replace(FAULTY, rows=20_000)
    source = Source(shape)
    first, second = source.batch(), source.batch()
    changed = shape.changed
    assert changed == 5000
    # The keys that were there: of them the duplicates have two events and a copy, and the late ones miss theirs.
    old = changed * 0.9
    assert len({event[0] for event in first}) == changed
    assert sum(count > 1 for count in Counter(first).values()) == pytest.approx(old * 0.1, rel=0.15)
    assert sum(op == "d" for _, _, op, _ in first) == pytest.approx(old * (0.2 + 0.1), rel=0.15)
    assert sum(op == "c" for _, _, op, _ in first) == 500
    updates = [has_name for _, _, op, has_name in first if op == "u"]
    assert 1 - sum(updates) / len(updates) == pytest.approx(0.2, abs=0.03)
    last_lsn = max(lsn for _, lsn, _, _ in first)
    late = [event for event in second if event[1] < last_lsn]
    assert len(late) == pytest.approx(old * 0.2, rel=0.15)
    newest = {key: lsn for key, lsn, _, _ in first}
    assert all(newest[key] > lsn for key, lsn, _, _ in late)


def test_a_batch_without_churn_lands_nothing(tmp_path: Path) -> None:
    stream = Stream(FAULTY, tmp_path)
    stream.land()
    before = files(tmp_path)
    assert stream.land(replace(FAULTY, churn=0)) == Landed()
    assert files(tmp_path) == before


@pytest.mark.parametrize("keys", KEYS)
def test_keys_of_each_distribution(keys: str) -> None:
    shape = Shape(10_000, churn=0.02, keys=keys, duplicates=0)
    found = Counter(event[0] for event in Source(shape).batch())
    assert found.total() == 200
    assert set(found) <= set(range(1, 10_001))
    if keys == "zipf":
        assert found.most_common(1)[0][1] >= 10, "a hot key"
    else:
        assert len(found) == 200
    if keys == "recent":
        assert min(found) > 8_000


def test_wide_rows_have_their_columns(tmp_path: Path) -> None:
    shape = Shape(3, columns=50, partitions=1)
    land(shape, tmp_path, batches=1)
    for record in records(tmp_path):
        assert list(record["after"]) == list(shape.types)
    assert len(shape.types) == 50
    assert len(set(shape.types.values())) == len(set(COLUMNS.values()))


def test_a_placeholder_is_in_the_file(tmp_path: Path) -> None:
    land(replace(FAULTY, placeholders=1), tmp_path)
    updates = [record["after"] for record in records(tmp_path) if record["op"] == "u"]
    assert updates
    assert {row["name"] for row in updates} == {PLACEHOLDER}


def test_steps_land_before_they_are_named(tmp_path: Path) -> None:
    stream = Stream(Shape(100, churn=0.02), tmp_path)
    found = [(name, landed.events, len(files(tmp_path))) for name, landed in steps(stream)]
    assert [(name, events) for name, events, _ in found] == [
        ("first load", 100),
        ("2 % changes", len(stream.events)),
        ("nothing new", 0),
    ]
    assert found[0][2] < found[1][2] == found[2][2]


@pytest.mark.parametrize(
    ("option", "value"), [("format", "xml"), ("keys", "all"), ("late", 1.5), ("rows", 0), ("columns", 3)]
)
def test_a_shape_rejects_what_it_does_not_know(option: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{option} is {value!r}; allowed: "):
        Shape(**({"rows": 10} | {option: value}))
