"""Twenty columns of a kind are decoded as one set: each as it is where it has no like."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from render.feeds import column, feed
from render.harness import Renderer

from .events import mysql, postgresql, unscaled
from .test_absent_fields import log_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from pyspark.sql import SparkSession

COPIES = 20
PLACEHOLDER = "__debezium_unavailable_value"
DEBEZIUM, DEBEZIUM_DATA = "io.debezium.time.", "io.debezium.data."
# Type, semantic type, and values: those that fit, then those that do not, are not there, or are ambiguous.
KINDS: dict[str, tuple[str, str | None, list[Any]]] = {
    "number": ("bigint", None, [7, 2**63 - 1, "x", 2**63, None]),
    "flag": ("boolean", None, [True, False, "x", 2, None]),
    "share": ("float", None, [0.5, "Infinity", 1e300, 0.123456789012, None]),
    "text": ("string", None, ["a", "", PLACEHOLDER, "\ufffd", None]),
    "bytes": ("binary", None, ["AAE=", "", "AAE", PLACEHOLDER, None]),
    "price": ("decimal(6,2)", "decimal", ["1.50", "-1234.5", "1.555", "12345.6", PLACEHOLDER]),
    "amount": (
        "decimal(6,2)",
        "org.apache.kafka.connect.data.Decimal:2",
        [unscaled(150), unscaled(-99999), "1.5", unscaled(10**7), None],
    ),
    "digits": (
        "string",
        DEBEZIUM_DATA + "VariableScaleDecimal",
        [{"scale": 2, "value": unscaled(256)}, {"scale": 0, "value": unscaled(-(10**39))}, "1.5", PLACEHOLDER, None],
    ),
    "day": ("date", None, [19844, -1, "x", -3_000_000, None]),
    "moment": ("timestamp_ntz", None, [1710055800000001, 0, "x", 1710055800001, None]),
    "instant": (
        "timestamp",
        DEBEZIUM + "ZonedTimestamp",
        ["2024-05-01T10:00:00Z", "2024-05-01T10:00+02:00", "2024-05-01", "infinity", None],
    ),
    "numbers": ("array<int>", None, [[1, None], [], [1, "x"], "x", None]),
}
FAST = ("number", "text", "price", "moment", "digits")


def columns(kinds: Collection[str], copies: int) -> list[dict[str, Any]]:
    """Each kind's column, as often as said; the same kinds lie apart."""
    return [column("id", "int")] + [
        column(named(kind, copy), type_, **({"semantic_type": said} if said else {}))
        for copy in range(copies)
        for kind, (type_, said, _) in KINDS.items()
        if kind in kinds
    ]


def named(kind: str, copy: int) -> str:
    return f"{kind}_{copy}"


def rows(kinds: Collection[str], copies: int) -> list[dict[str, Any]]:
    """Rows with one odd kind each; then one that lacks a kind, and one in another order."""
    good = {kind: KINDS[kind][2][0] for kind in kinds}
    made = [good | {kind: value} for kind in kinds for value in KINDS[kind][2]]
    made.append({kind: value for kind, value in good.items() if kind != "price"})
    made.append(good | {"another": "x"})
    whole = [{named(kind, copy): value for copy in range(copies) for kind, value in row.items()} for row in made]
    return [{"id": number} | row for number, row in enumerate([*whole, dict(reversed(whole[0].items()))])]


def of_postgresql(op: str, number: int, row: dict[str, Any]) -> dict[str, Any]:
    return postgresql(op, 100 + number, row)


def of_mysql(op: str, number: int, row: dict[str, Any]) -> dict[str, Any]:
    return mysql(op, "binlog.000009", 100 + number, row)


@pytest.mark.parametrize(
    ("event", "kinds"),
    [
        (of_postgresql, FAST),
        pytest.param(of_postgresql, KINDS, marks=pytest.mark.slow),
        pytest.param(of_mysql, KINDS, marks=pytest.mark.slow),
    ],
)
def test_column_is_decoded_in_a_set_as_alone(
    spark: SparkSession, event: Callable[..., dict[str, Any]], kinds: Collection[str]
) -> None:
    logs = []
    for copies in (1, COPIES):
        made = feed(connector=event.__name__.removeprefix("of_"), columns=columns(kinds, copies))
        assert bool(Renderer().render("_columns_alike", made)["sets"]) == (copies > 1)
        lines = [
            json.dumps(event(op, 10 * row["id"] + place, row))
            for row in rows(kinds, copies)
            for place, op in enumerate(("c", "u", "d"))
        ]
        log = log_of(spark, made, lines)
        # Python has no day before the year 1.
        as_text = [f"cast({name} as string) as {name}" for name in log.columns if not name.startswith("_cdc_")]
        logs.append(log.selectExpr(*as_text, *(name for name in log.columns if name.startswith("_cdc_"))).collect())
    alone, together = logs
    assert {row["_cdc_reject_reason"] for row in alone} >= {None, "type_misfit", "ambiguous_unit"}
    for one, many in zip(alone, together, strict=True):
        said = (one, many)
        assert (many["_cdc_kind"], many["_cdc_reject_reason"]) == (one["_cdc_kind"], one["_cdc_reject_reason"]), said
        assert names(many["_cdc_reject_detail"]) == names(one["_cdc_reject_detail"], COPIES), said
        for list_ in ("unavailable", "unknown", "absent"):
            found, expected = many[f"_cdc_{list_}_columns"], one[f"_cdc_{list_}_columns"]
            assert names(", ".join(found or [])) == names(", ".join(expected or []), COPIES), said
        if one["_cdc_kind"] == "change":
            for kind in kinds:
                assert {many[named(kind, copy)] for copy in range(COPIES)} == {one[named(kind, 0)]}, said


def names(listed: str | None, copies: int = 0) -> set[str]:
    """Names of a list; of each that has one copy, all of its copies."""
    found = set(filter(None, (listed or "").split(", ")))
    return {named(name.rpartition("_")[0], copy) for name in found for copy in range(copies)} if copies else found
