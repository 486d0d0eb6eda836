"""The line of each build."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from types import SimpleNamespace
from typing import Any

import pytest

from alluvium.builds.outcome import Outcome, Watch, as_json, status_line

NOW = datetime(2026, 11, 30, 7, 0, 3, tzinfo=timezone.utc)
SOME = Outcome(True, changed=("a", "b"), unchanged=("c",))


def test_line() -> None:
    assert status_line(12, SOME, 0, 1.24, 296.9, NOW) == (
        "2026-11-30 07:00:03 UTC  build 12: 2 changed, 1 unchanged, 0 failed, 1.2 s; next at 07:04:59 UTC"
    )


def test_line_of_a_failed_build() -> None:
    outcome = Outcome(False, failed=("a",), skipped=("b", "c"), warnings=1)
    assert status_line(3, outcome, 2, 1, 0, NOW) == (
        "2026-11-30 07:00:03 UTC  build 3: 0 changed, 0 unchanged, 1 failed, 2 skipped, 1 warning in logs/dbt.log, "
        "1.0 s; failed builds in a row: 2; next now"
    )


def test_line_of_a_build_that_came_to_no_model() -> None:
    assert status_line(1, Outcome(False, error="Compilation Error in x"), 1, 1, None, NOW) == (
        "2026-11-30 07:00:03 UTC  build 1: failed: Compilation Error in x, 1.0 s; failed builds in a row: 1"
    )


def test_json() -> None:
    assert json.loads(as_json(12, SOME, 0, 1.24, 296.9, NOW)) == {
        "ended_at": "2026-11-30T07:00:03+00:00",
        "build": 12,
        "has_passed": True,
        "changed": ["a", "b"],
        "unchanged": ["c"],
        "failed": [],
        "skipped": [],
        "warnings": 0,
        "error": "",
        "failed_in_a_row": 0,
        "seconds": 1.2,
        "next_at": "2026-11-30T07:04:59+00:00",
    }
    text = as_json(1, Outcome(False, error="zwei\nZeilen"), 1, 1, None, NOW)
    assert "\n" not in text
    assert json.loads(text)["next_at"] is None


def statement(sql: str, node: str = "model.p.a") -> Any:
    """dbt's event of a statement."""
    data = SimpleNamespace(sql=sql, node_info=SimpleNamespace(unique_id=node))
    return SimpleNamespace(info=SimpleNamespace(name="SQLQuery", msg=""), data=data)


def result(name: str, status: str, kind: str = "model") -> Any:
    """dbt's result of a node."""
    return SimpleNamespace(
        status=status, node=SimpleNamespace(name=name, unique_id=f"{kind}.p.{name}", resource_type=kind)
    )


@pytest.mark.parametrize(
    "sql",
    [
        "insert into a select 1",
        "/* {} */\nMERGE into a",
        "/* x */ -- back compat for old kwarg name\n  \n  merge into a",
        "create table a using delta as select 1",
        "create or replace table a as select 1",
    ],
)
def test_written_tables_are_changed(sql: str) -> None:
    watch = Watch()
    watch.note(statement(sql))
    done = SimpleNamespace(success=True, exception=None, result=SimpleNamespace(results=[result("a", "success")]))
    assert watch.outcome(done).changed == ("a",)
    watch.clear()
    assert watch.outcome(done).unchanged == ("a",)


@pytest.mark.parametrize(
    "sql",
    [
        "-- back compat for old kwarg name\nselect 'nothing new' as applied",
        "create or replace view a as select 1",
        "create or replace temporary view a__dbt_tmp as select 1",
        "describe extended a",
        "/* insert into a */ select 1",
    ],
)
def test_other_statements_change_nothing(sql: str) -> None:
    watch = Watch()
    watch.note(statement(sql))
    assert not watch.written


def test_results_are_counted_by_what_they_are() -> None:
    watch = Watch()
    for message in ("twice", "twice", "once"):
        watch.note(SimpleNamespace(info=SimpleNamespace(name="JinjaLogWarning", msg=message)))
    results = [
        result("a", "success"),
        result("s", "success", "seed"),
        result("b", "error"),
        result("c", "skipped"),
        result("t", "fail", "test"),
        result("u", "warn", "test"),
        result("v", "pass", "test"),
        result("h", "success", "operation"),
    ]
    done = SimpleNamespace(success=False, exception=None, result=SimpleNamespace(results=results))
    assert watch.outcome(done) == Outcome(
        False, unchanged=("a", "s"), failed=("b", "t"), skipped=("c",), warnings=3, error=""
    )


def test_error_without_results_is_one_line() -> None:
    done = SimpleNamespace(success=False, exception=ValueError("no\n  such thing"), result=None)
    assert Watch().outcome(done) == Outcome(False, error="no such thing")
    stopped = SimpleNamespace(success=False, exception=KeyboardInterrupt(), result=None)
    assert Watch().outcome(stopped).error == "KeyboardInterrupt"
