"""The rows that come out of each fixture of tests/fixtures/checklist are those that stand in it. A slow suite."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pipeline.project import SILVER, Project, Row

from .fixtures import UNSAID, ExpectedRow, Fixture, load_fixtures, text_of

pytestmark = pytest.mark.slow


def in_any_order(rows: list[ExpectedRow]) -> list[ExpectedRow]:
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))


def shown(rows: list[Row], expected: list[ExpectedRow], fixture: Fixture) -> list[ExpectedRow]:
    """Rows of a table as the fixture writes them: the declared columns, and what it says of them beside."""
    names = [*fixture.columns, *{name: None for row in [UNSAID, *expected] for name in row if name.startswith("_")}]
    return in_any_order(
        [{name: text_of(row.get(name), fixture.columns.get(name, "")) for name in names} for row in rows]
    )


def assert_rows(rows: list[Row], expected: list[ExpectedRow], fixture: Fixture) -> None:
    assert shown(rows, expected, fixture) == in_any_order([UNSAID | row for row in expected])


def reconciled(project: Project, fixture: Fixture, folder: Path) -> list[str]:
    """What `reconcile` prints of each row that differs from what the source has."""
    dump = folder / "source.csv"
    dump.write_text(fixture.expected.source or "", encoding="utf-8")
    arguments: dict[str, Any] = {"model": fixture.feed.nodes["living"], "dump": str(dump), "format": "csv"}
    outcome = project.dbt("run-operation", "reconcile", "--args", json.dumps(arguments))
    verdicts = ("missing ", "extra ", "different ")
    return [said for line in outcome.printed.splitlines() if (said := line.partition("  ")[2]).startswith(verdicts)]


@pytest.mark.parametrize("fixture", load_fixtures(), ids=lambda fixture: fixture.name)
def test_fixture(project: Project, fixture: Fixture, tmp_path: Path) -> None:
    name, expected = fixture.feed.name, fixture.expected
    living = project.spark.table(f"{SILVER}.{fixture.feed.nodes['living']}").dtypes
    assert dict(living[: len(fixture.columns)]) == fixture.columns
    for number, rows in fixture.rows_after.items():
        after = [row for row in project.state(name, number) if not row["_is_deleted"]]
        assert_rows(after, rows, fixture)
    assert_rows(project.living(name), expected.rows, fixture)
    assert_rows([row for row in project.state(name) if row["_is_deleted"]], expected.deleted, fixture)
    assert Counter(row["_cdc_kind"] for row in project.log(name)) == expected.kinds
    if expected.rejected:
        reasons = [(row["_cdc_reject_reason"], row["_cdc_reject_detail"]) for row in project.quarantine(name)]
        assert [": ".join(filter(None, reason)) for reason in reasons] == expected.rejected
    if expected.versions is not None:
        assert_rows(project.history(name), expected.versions, fixture)
    if fixture.feed.cdc.get("shape") == "flattened":
        is_lossy = bool(expected.kinds.get("tombstone")) and not expected.deleted
        log = fixture.feed.nodes["log"]
        assert any(f"{log}: 1 tombstones and no delete" in ran.printed for ran in project.outcomes) is is_lossy
    if expected.source is not None:
        assert reconciled(project, fixture, tmp_path) == expected.differences
