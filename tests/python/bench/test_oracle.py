"""The benchmark's oracle against a naive reading of the files, with random tables and deliveries."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.generator import COLUMNS, PLACEHOLDER, Event, Shape, Stream
from benchmarks.oracle import SEPARATOR, Digest, Oracle, row_hash

SHARES = st.sampled_from((0.0, 0.2, 0.5))
SHAPES = st.builds(
    Shape,
    rows=st.integers(1, 60),
    churn=st.sampled_from((0.0, 0.1, 0.5, 1.0)),
    keys=st.sampled_from(("uniform", "zipf", "recent")),
    deletes=SHARES,
    inserts=SHARES,
    duplicates=SHARES,
    late=SHARES,
    placeholders=SHARES,
    columns=st.sampled_from((5, 8)),
    lines_per_file=st.integers(1, 40),
    seed=st.integers(0, 2**40),
)


def naive_rows(folder: Path) -> dict[int, str]:
    """Texts of the current rows by key: of each key all landed events, sorted."""
    events: dict[int, list[dict[str, Any]]] = {}
    for path in folder.rglob("*.json"):
        for line in path.read_text(encoding="utf-8").splitlines():
            event = json.loads(line)
            events.setdefault((event["after"] or event["before"])["id"], []).append(event)
    found = {}
    for key, own in events.items():
        own.sort(key=lambda event: event["source"]["lsn"])
        row = own[-1]["after"]
        if row:
            names = [event["after"]["name"] for event in own if event["after"]]
            row["name"] = [name for name in names if name != PLACEHOLDER][-1]
            found[key] = SEPARATOR.join(str(value) for value in row.values())
    return found


def digest_of(rows: dict[int, str]) -> Digest:
    return Digest(len(rows), sum(map(row_hash, rows.values())))


@settings(max_examples=20, deadline=None)
@given(shape=SHAPES, batches=st.integers(0, 4))
def test_expected_rows_are_those_of_a_naive_reading(
    shape: Shape, batches: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("landing")
    stream = Stream(shape, folder)
    stream.land()
    oracle = Oracle(shape)
    before = naive_rows(folder)
    assert oracle.digest == digest_of(before)
    for _ in range(batches):
        stream.land()
        changed = oracle.apply(stream.events)
        after = naive_rows(folder)
        assert oracle.digest == digest_of(after)
        assert changed == sum(before.get(key) != after.get(key) for key in before.keys() | after.keys())
        before = after


@given(order=st.permutations(range(8)))
@settings(max_examples=30, deadline=None)
def test_delivery_order_does_not_matter(order: list[int]) -> None:
    base = 10_000_000
    events: list[Event] = [
        (1, base + 1, "u", True),
        (1, base + 2, "u", False),
        (2, base + 3, "d", True),
        (2, base + 4, "c", True),
        (3, base + 5, "u", True),
        (3, base + 6, "d", True),
        (11, base + 7, "c", True),
        (11, base + 8, "u", False),
    ]
    expected, found = Oracle(Shape(10)), Oracle(Shape(10))
    assert expected.apply(events) == 4
    found.apply([events[number] for number in order[:4]])
    found.apply([events[number] for number in order[4:]])
    assert found.digest == expected.digest
    assert found.digest.rows == 10


def test_wrong_rows_are_counted() -> None:
    oracle = Oracle(Shape(10))
    right = dict(oracle._hashes(range(1, 11)))
    assert oracle.wrong_rows(right.items()) == 0
    assert oracle.wrong_rows([*right.items()][1:]) == 1, "missing"
    assert oracle.wrong_rows([*right.items(), (11, 5)]) == 1, "unexpected"
    assert oracle.wrong_rows([*right.items(), (3, right[3])]) == 1, "repeated"
    assert oracle.wrong_rows((right | {3: 5}).items()) == 1, "other values"
    assert oracle.wrong_rows([*right.items(), (None, 5)]) == 1, "without a key"
    assert oracle.wrong_rows([]) == 10


def test_a_large_first_load_is_computed_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    shape = Shape(50)
    expected = Oracle(shape).digest
    monkeypatch.setattr("benchmarks.oracle.CHUNK", 7)
    assert Oracle(shape).digest == expected
    monkeypatch.setattr("benchmarks.oracle.PARALLEL_FROM", 10)
    assert Oracle(shape).digest == expected


def test_columns_of_a_row_are_in_its_hash() -> None:
    assert len(COLUMNS) == 5
    texts = ["1|a|new|1.00|7", "1|a|new|1.00|8", "1|a|new|1.01|7", "1|b|new|1.00|7", "2|a|new|1.00|7"]
    assert len({row_hash(text) for text in texts}) == len(texts)
