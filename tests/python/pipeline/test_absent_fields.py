"""Each field that a position, a key or an operation depends on: absent, NULL, empty, and of another type.

For every connector and shape, a history per field and value: a create, the event with the odd field, and one after it.
The odd event is a change with a position and a key, or it is rejected; the row is right after the last event. One query
per feed over the SQL of the decoder, and one over that of the state.
"""

from __future__ import annotations

import copy
import itertools
import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from render.feeds import column, feed
from render.harness import Renderer

from alluvium import rules

from .events import NOON_MS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

Event = dict[str, Any]
ABSENT = object()
ODD_VALUES: tuple[Any, ...] = (ABSENT, None, "", "x", "-1", -1, 0, 1.5, True, [], ["1"], {}, {"a": 1})
STEPS = ("create", "odd", "later")
OPERATIONS = (("c", "u", "u"), ("c", "d", "c"), ("c", "u", "d"), ("c", "r", "u"))
BATCH = {"number": 1, "after": None, "runs": None}


def place(connector: str, number: int) -> dict[str, Any]:
    """The fields of ``source`` that say where the n-th change lies, each in a transaction of its own."""
    lsn = f"{1:08x}:{number:08x}:0001"
    places: dict[str, dict[str, Any]] = {
        "postgresql": {"lsn": number * 10 + 5, "sequence": json.dumps([str(number * 10), str(number * 10 + 5)])},
        "mysql": {"file": "binlog.000009", "pos": number * 10, "row": 0},
        "mariadb": {"file": "binlog.000009", "pos": number * 10, "row": 0},
        "sqlserver": {"commit_lsn": lsn, "change_lsn": lsn, "event_serial_no": 1},
        "oracle": {
            "commit_scn": str(number + 1),
            "scn": str(number),
            "rs_id": "0x000001.00000001.0010",
            "ssn": 0,
            "txSeq": 1,
        },
        "mongodb": {
            "ts_ms": (1_700_000_000 + number) * 1000,
            "ord": 1,
            "wallTime": (1_700_000_000 + number) * 1000 + 7,
            "version": "3.3.0.Final",
        },
        # An order that the feed declares.
        "other": {"ts_ms": NOON_MS + number},
        "jdbc": {"ts_ms": NOON_MS + number},
        "table": {"ts_ms": NOON_MS + number},
    }
    return places[connector]


def changed(value: Event, path: tuple[str, ...], odd: Any) -> Event:
    """An event with another value of one field."""
    result = copy.deepcopy(value)
    inner = result
    for name in path[:-1]:
        inner = inner[name]
    if odd is ABSENT:
        inner.pop(path[-1], None)
    else:
        inner[path[-1]] = odd
    return result


def envelope(connector: str, number: int, op: str, key: int, note: str) -> Event:
    source = {"connector": connector, "db": "shop", "snapshot": "false", "ts_ms": NOON_MS, **place(connector, number)}
    row = {"_id" if connector == "mongodb" else "id": key, "note": note}
    image, other = ("before", "after") if op == "d" else ("after", "before")
    before = {**row, "note": "before"} if op == "u" else None
    return {image: row, other: before, "source": source, "op": op, "ts_ms": NOON_MS, "transaction": None}


def flattened(connector: str, number: int, op: str, key: int, note: str) -> Event:
    added = {
        f"__source_{name}" if name == "ts_ms" else f"__{name}": item for name, item in place(connector, number).items()
    }
    row = {"_id" if connector == "mongodb" else "id": key, "note": note}
    return {**row, "__op": op, "__deleted": str(op == "d").lower(), **added}


def row_of_table(connector: str, number: int, op: str, key: int, note: str) -> Event:
    return {
        "id": key,
        "note": note,
        "op": op,
        "ver": number,
        "changed_at": f"2024-01-01T{number // 60:02}:{number % 60:02}:00.000001",
    }


def text_of(connector: str, shape: str, event: Event) -> str:
    """The line; MongoDB's images are texts of JSON."""
    if connector == "mongodb" and shape == "envelope":
        event = {
            name: json.dumps(item) if name in ("before", "after") and isinstance(item, dict) else item
            for name, item in event.items()
        }
    return json.dumps(event)


class Histories:
    """The histories of one feed: its lines, with what each is of."""

    def __init__(self, connector: str, shape: str, made: dict[str, Any]) -> None:
        self.connector, self.shape, self.feed = connector, shape, made
        self.lines: list[str] = []
        self.odd: dict[int, tuple[str, Any]] = {}
        self.living: set[int] = set()
        for key, (path, odd, ops) in enumerate(itertools.product(self.paths(), ODD_VALUES, OPERATIONS), start=1):
            if "r" not in ops or shape != "row":
                self.add(key, path, odd, ops)

    def add(self, key: int, path: tuple[str, ...], odd: Any, ops: Sequence[str]) -> None:
        """Add a history of one key."""
        writer = {"envelope": envelope, "flattened": flattened, "row": row_of_table}[self.shape]
        for op, step in zip(ops, STEPS, strict=True):
            event = writer(self.connector, len(self.lines) + 1, op, key, step)
            if step == "odd":
                # Another key must be that of no other history.
                value = 1_000_000 + key if path[-1] in self.feed["key"] and type(odd) is int else odd
                where = ("before", *path[1:]) if path[0] == "after" and op == "d" else path
                event = changed(event, where, value)
                self.odd[len(self.lines)] = (".".join(path), "absent" if odd is ABSENT else odd)
            self.lines.append(text_of(self.connector, self.shape, event))
        if ops[-1] != "d":
            self.living.add(key)

    def paths(self) -> Iterator[tuple[str, ...]]:
        """The fields that a position, a key or an operation depends on."""
        fields = list(Renderer().render("_source_fields", self.feed))
        keys = self.feed["key"] or ["note"]
        if self.shape == "envelope":
            yield from [("op",), ("source",), ("after",), *(("after", name) for name in keys)]
            yield from (("source", name) for name in fields)
        elif self.shape == "flattened":
            yield from [("__op",), ("__deleted",), *((name,) for name in keys)]
            yield from ((f"__source_{name}" if name in ("ts_ms", "ts_us") else f"__{name}",) for name in fields)
        else:
            yield from [(name,) for name in ("id", "ver", "changed_at")]


def feeds() -> dict[str, tuple[str, str, dict[str, Any]]]:
    """Every connector with a position in both shapes, the declared orders, rows, and a table without a key."""
    made: dict[str, tuple[str, str, dict[str, Any]]] = {}
    for connector, rule in rules.load("connectors").items():
        key = "_id" if connector == "mongodb" else "id"
        columns = [column(key, "int"), column("note")]
        for shape in ("envelope", "flattened"):
            if "position" in rule:
                made[f"{connector}-{shape}"] = (
                    connector,
                    shape,
                    feed(connector=connector, shape=shape, key=[key], columns=columns),
                )
    plain = [column("id", "int"), column("note")]
    timed = [
        *plain,
        column("op"),
        column("ver", "bigint"),
        column("changed_at", "timestamp_ntz", semantic_type="io.debezium.time.IsoTimestamp"),
    ]
    for order in ("offset", "timestamp"):
        made[f"by-{order}"] = ("mysql", "envelope", feed(connector="mysql", order_by=order, columns=plain))
    for name, names in (("time", ["changed_at", "ver"]), ("number", ["ver"])):
        made[f"rows-by-{name}"] = (
            "table",
            "row",
            feed(connector="table", shape="row", columns=timed, sequence_by=names, apply_as_deletes="op = 'd'"),
        )
    made["without-key"] = ("postgresql", "envelope", feed(key=[], replica_identity="full", columns=plain))
    return made


# The others take a minute, and have no macro of their own.
FAST = ("mysql-flattened", "mongodb-envelope", "rows-by-time")


@pytest.mark.parametrize(
    "name", [name if name in FAST else pytest.param(name, marks=pytest.mark.slow) for name in feeds()]
)
def test_odd_event_is_a_whole_change_or_rejected(spark: SparkSession, name: str) -> None:
    connector, shape, made = feeds()[name]
    histories = Histories(connector, shape, made)
    log = decoded(spark, made, histories.lines)
    for row in log:
        said = (name, histories.odd.get(row["_cdc_line"] - 1), histories.lines[row["_cdc_line"] - 1], row)
        is_odd = row["_cdc_line"] - 1 in histories.odd
        assert row["_cdc_kind"] == "change" or (is_odd and row["_cdc_kind"] in ("rejected", "truncate")), said
        assert (row["_cdc_reject_reason"] is None) == (row["_cdc_kind"] != "rejected"), said
        if row["_cdc_kind"] != "rejected":
            assert row["_cdc_position"] is not None, said
            assert all(row[key] is not None for key in made["key"]), said
            length = Renderer().render("_source_position_length", made)
            assert not length or re.fullmatch(rf"[0-9a-f:.]{{{length}}}[.].*", row["_cdc_position"]), said
    if made["key"]:
        renderer = Renderer(meta={"alluvium_model": "state"})
        state = spark.sql(renderer.render("_current_state_sql", "made_log", made, "soft", None, []))
        rows = [row.asDict() for row in state.collect()]
        own = {row[made["key"][0]]: row for row in rows if 0 < row[made["key"][0]] < 1_000_000}
        assert {key for key, row in own.items() if not row["_is_deleted"]} == histories.living, name
        assert {row["note"] for key, row in own.items() if key in histories.living} == {"later"}


def decoded(spark: SparkSession, made: dict[str, Any], lines: list[str]) -> list[dict[str, Any]]:
    """The rows of the change log, which is left as the view ``made_log``."""
    return [row.asDict() for row in log_of(spark, made, lines).collect()]


def log_of(spark: SparkSession, made: dict[str, Any], lines: list[str]) -> DataFrame:
    """The change log of a feed."""
    values = [(number + 1, line) for number, line in enumerate(lines)]
    spark.createDataFrame(values, "record_order bigint, value string").createOrReplaceTempView("made_lines")
    renderer = Renderer()
    sql = f"""
    with
    records as (
        select
            *,
            cast(null as map<string, string>) as semantic_types,
            cast(null as string) as read_error,
            '/t+0+0.json' as file_path,
            1L as file_length,
            timestamp '2024-01-01 00:00:00Z' as file_modified_at,
            0L as file_block_start
        from made_lines
    ),
    {renderer.render("_numbered_lines", made, renderer.render("_line_number", made), None)}
    {"," + renderer.render("_before_image", made) if renderer.render("_keeps_before_images", made) else ""}
    select {renderer.render("_change_log_columns", made, BATCH)}
    from {"joined" if renderer.render("_keeps_before_images", made) else "numbered"}
    """
    log = spark.sql(sql).cache()
    log.createOrReplaceTempView("made_log")
    return log


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            '{"a": -Infinity, "NaN": [NaN,Infinity ], "b": -1}',
            '{"a": "-Infinity", "NaN": ["NaN","Infinity" ], "b": -1}',
        ),
        (r'{"a": "x\" NaN", "b": " -Infinity, ", "c": NaN}', r'{"a": "x\" NaN", "b": " -Infinity, ", "c": "NaN"}'),
        ('{"a": {"b": NaN}}', '{"a": {"b": "NaN"}}'),
        ('{"Infinity": "NaN"}', '{"Infinity": "NaN"}'),
    ],
)
def test_number_that_is_not_finite_is_quoted(spark: SparkSession, text: str, expected: str) -> None:
    lines = spark.createDataFrame([(text,)], "json string")
    (row,) = lines.selectExpr(Renderer().render("_with_quoted_constants", "json") + " as quoted").collect()
    assert row["quoted"] == expected
