from __future__ import annotations

import json
import re
from types import SimpleNamespace
from typing import Any

import pytest

from .feeds import shop
from .harness import Renderer, assert_parses, relation

LEDGER = "silver.cdc_run_ledger"
LOG, STATE = relation("stg_shop__orders"), relation("slv_shop__orders_state")
MERGE: dict[str, Any] = {
    "version": 7,
    "operation": "MERGE",
    "operationMetrics": json.dumps(
        {
            "numTargetRowsInserted": "1",
            "numTargetRowsUpdated": "4",
            "numTargetRowsMatchedUpdated": "3",
            "numSourceRows": "6",
        }
    ),
}

COUNTS: list[tuple[Any, dict[str, Any]]] = [
    (LOG, {"files": 1, "lines": 3, "changes": 3, "rejected": 0, "control": 0, "offsets": {"kafka_partition": 10}}),
    (LOG, {"files": 2, "lines": 4, "changes": 1, "rejected": 2, "control": 1, "offsets": {"kafka_partition": 9}}),
    (LOG, {"op": "u", "row_count": 4}),
    (LOG, {"reason": "malformed_json", "row_count": 2}),
    (LOG, {"row_count": 1}),
    (STATE, {"deleted": 1, "unresolved": 0}),
]
for _, counts in COUNTS[:2]:
    counts["offsets"] |= {"kafka_topic": "t", "first_offset": 1, "last_offset": 2}
RECORDS: list[dict[str, Any]] = [
    {
        "table_name": STATE.render(),
        "batch": 3,
        "seconds": 1.5,
        "table_version": 7,
        "inserted": 1,
        "updated": 4,
        "stale": 2,
        "deleted": 1,
        "unresolved": 0,
    },
    {
        "table_name": LOG.render(),
        "batch": 3,
        "seconds": 1.5,
        "files": 3,
        "lines": 7,
        "changes": 4,
        "rejected": 2,
        "control": 1,
        "offsets": [COUNTS[1][1]["offsets"], COUNTS[0][1]["offsets"]],
        "changes_by_op": {"u": 4},
        "rejected_by_reason": {"malformed_json": 2},
    },
]


def result(unique_id: str, status: str = "success") -> SimpleNamespace:
    """dbt's result of one model."""
    return SimpleNamespace(node=SimpleNamespace(unique_id=unique_id), status=status, execution_time=1.5)


def run(**answers: Any) -> Renderer:
    """The shop after a run that has appended batch 3 and merged it, and whose ledger has batch 2."""
    renderer = shop()
    renderer.answers = {
        "select table_name, max_by(batch": [
            {"table_name": LOG.render(), "batch": 2, "table_version": -1},
            {"table_name": STATE.render(), "batch": 2, "table_version": 5},
        ],
        "describe history": [MERGE],
        "to_json(struct(": [{"table_name": of.render(), "counts": json.dumps(counts)} for of, counts in COUNTS],
        "insert into": [],
    } | answers
    renderer.run_state |= {f"newest_batch of {LOG}": 3, f"pending_batch.stg_shop__orders of {STATE}": 3}
    return renderer


def table(role: str, **changes: Any) -> dict[str, Any]:
    """A table as tables_to_record gives it."""
    of = LOG if role == "change_log" else STATE
    made = {
        "relation": of,
        "role": role,
        "until": 3,
        "after": 2,
        "after_version": 5,
        "seconds": 1.5,
        "is_written": False,
        "has_key": True,
    }
    return made | changes


ALL = [result("model.stg"), result("model.state"), result("model.slv"), result("test.x")]


def test_create_run_ledger(macros: Renderer) -> None:
    assert macros.does("create_run_ledger") == []
    macros.absent = ["cdc_run_ledger"]
    macros.answers = {"create": [], "describe schema": []}
    *_, ran = macros.does("create_run_ledger")
    assert ran.startswith(f"create table if not exists {LEDGER} using delta ")
    assert_parses(macros.render("_create_run_ledger_sql", relation("cdc_run_ledger")))
    for which, execute in (("test", True), ("compile", True), ("run", False)):
        assert Renderer(which=which, execute=execute).does("create_run_ledger") == []


def written(renderer: Renderer) -> list[dict[str, Any]]:
    """The records that a run has written."""
    (insert,) = [sql for sql in renderer.does("record_run", ALL) if sql.startswith(f"insert into {LEDGER} ")]
    assert " comment " not in insert
    assert_parses(insert)
    return [json.loads(record) for record in re.findall(r"\('(\{.*?\})'\)", insert)]


def test_record_run_counts_once_and_writes_and_shows_that() -> None:
    renderer = run()
    assert written(renderer) == RECORDS
    (query,) = [sql for sql in renderer.queries if "to_json(struct(" in sql]
    assert query.count("union all") == 2
    assert "where _cdc_batch > 2 and _cdc_batch <= 3" in query
    assert_parses(query)
    headings, state, log = (message.split() for message in renderer.messages)
    assert " ".join(headings) == "table lines changes rejected inserted updated deleted stale unresolved seconds"
    assert state == [STATE.render(), "1", "4", "1", "2", "0", "1.5"]
    assert log == [LOG.render(), "7", "4", "2", "1.5"]


def test_record_run_counts_all_commits_of_a_table_that_was_made_again() -> None:
    made = {"version": 0, "operation": "CREATE TABLE AS SELECT", "operationMetrics": json.dumps({"numOutputRows": "2"})}
    renderer = run(**{"describe history": [MERGE | {"version": 1}, made]})
    state, _ = written(renderer)
    assert (state["table_version"], state["inserted"], state["updated"], state["stale"]) == (1, 3, 4, 2)
    assert any("where _cdc_batch > 0 and _cdc_batch <= 3" in sql for sql in renderer.queries)


def test_record_run_writes_nothing_where_nothing_is_new() -> None:
    renderer = run()
    renderer.answers["select table_name, max_by(batch"] = [
        {"table_name": name, "batch": 3, "table_version": 7} for name in (LOG.render(), STATE.render())
    ]
    assert [sql for sql in renderer.does("record_run", ALL) if not sql.startswith(("set", "select table_name"))] == []


@pytest.mark.parametrize("which", ["build", "test"])
def test_record_run_ends_with_what_is_not_green(which: str) -> None:
    renderer = run()
    renderer.which = which
    renderer.absent = ("cdc_released_lines",)
    renderer.answers |= {"limit 3": [{"reason": "malformed_json", "detail": "", "path": "/a.json", "line": 5}]}
    for message in ("a", "b", "a"):
        renderer.does("_warn", message)
    metadata = SimpleNamespace(name="rejected_within_threshold")
    node = SimpleNamespace(unique_id="test.t", test_metadata=metadata, attached_node="model.stg")
    tests = [SimpleNamespace(node=node, status=status, failures=2) for status in ("pass", "warn")]
    renderer.does("record_run", tests)
    rejected = "silver.stg_shop__orders: rejected lines: 2. The first: malformed_json at /a.json line 5"
    counted = "Warnings of models and hooks above, not counted in WARN= below: 2"
    assert renderer.messages == [counted] * (which == "build") + [rejected]
    assert len(renderer.does("_announce_rejected_logs", tests)) == 1


def test_record_run_is_for_runs() -> None:
    for changes in ({"which": "test"}, {"execute": False}, {"empty": True}):
        renderer = Renderer(**changes)
        assert renderer.does("record_run", ALL) == []
