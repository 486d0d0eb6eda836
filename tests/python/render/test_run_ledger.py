from __future__ import annotations

import json
import re
from types import SimpleNamespace
from typing import Any

import pytest

from .feeds import shop
from .harness import Renderer, assert_parses, fold, relation

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


def result(unique_id: str, status: str = "success") -> SimpleNamespace:
    """dbt's result of one model."""
    return SimpleNamespace(node=SimpleNamespace(unique_id=unique_id), status=status, execution_time=1.5)


def run(**answers: Any) -> Renderer:
    """The shop after a run that has appended batch 3 and merged it, and whose ledger has batch 2."""
    renderer = shop()
    for name, config in {
        "model.stg": {"post-hook": [{"sql": "{{ alluvium.record_applied_files() }}"}], "meta": {}},
        "model.state": {"post-hook": [], "meta": {"cdc": {"merge_guard": "_cdc_position"}}},
        "model.slv": {"post-hook": [], "meta": {}},
    }.items():
        renderer.nodes[name]["config"] = config
    renderer.answers = {
        "set " + renderer.render("setting", "newest_batch", LOG): [{"value": "3"}],
        "set " + renderer.render("setting", "pending_batch.stg_shop__orders", STATE): [{"value": "3"}],
        "select table_name, max_by(batch": [
            {"table_name": LOG.render(), "batch": 2, "table_version": -1},
            {"table_name": STATE.render(), "batch": 2, "table_version": 5},
        ],
        "describe history": [MERGE],
        "insert into": [],
        "select * from " + LEDGER: [],
        "set": [],
    } | answers
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


def test_run_ledger(macros: Renderer) -> None:
    assert macros.render("run_ledger").render() == LEDGER


def test_create_run_ledger(macros: Renderer) -> None:
    macros.answers = {"create": []}
    (ran,) = macros.does("create_run_ledger")
    assert ran.startswith(f"create table if not exists {LEDGER} using delta ")
    assert_parses(macros.render("create_run_ledger_sql", relation("cdc_run_ledger")))
    for which, execute in (("test", True), ("compile", True), ("run", False)):
        assert Renderer(which=which, execute=execute).does("create_run_ledger") == []


def test_record_run_writes_one_insert_and_shows_it() -> None:
    renderer = run()
    ran = renderer.does("record_run", ALL)
    (insert,) = [sql for sql in ran if sql.startswith("insert")]
    assert insert.count("union all") == 1
    assert "values ('silver.stg_shop__orders', 3, cast(1.5 as double))) as moved" in insert
    assert "values ('silver.slv_shop__orders_state', 3, 7, 1, 4, 2, cast(1.5 as double))) as moved" in insert
    assert renderer.messages[0].split() == [
        "table",
        "lines",
        "changes",
        "rejected",
        "inserted",
        "updated",
        "deleted",
        "stale",
        "unresolved",
        "seconds",
    ]


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
    run_id = renderer.render("run_id")
    renderer.answers |= {
        "set": [{"key": f"alluvium.warning.{of}.{n}", "value": "1"} for n, of in enumerate((run_id, run_id, "other"))],
        "limit 3": [{"reason": "malformed_json", "detail": "", "path": "/a.json", "line": 5}],
    }
    metadata = SimpleNamespace(name="rejected_within_threshold")
    node = SimpleNamespace(unique_id="test.t", test_metadata=metadata, attached_node="model.stg")
    tests = [SimpleNamespace(node=node, status=status, failures=2) for status in ("pass", "warn")]
    renderer.does("record_run", tests)
    rejected = "silver.stg_shop__orders: rejected lines: 2. The first: malformed_json at /a.json line 5"
    counted = "Warnings of models and hooks above, not counted in WARN= below: 2"
    assert renderer.messages == [counted] * (which == "build") + [rejected]
    assert len(renderer.does("announce_warnings")) == len(renderer.does("announce_rejected_logs", tests)) == 1


def test_record_run_is_for_runs() -> None:
    for changes in ({"which": "test"}, {"execute": False}, {"empty": True}):
        renderer = Renderer(**changes)
        assert renderer.does("record_run", ALL) == []


def test_tables_to_record() -> None:
    tables = run().render("tables_to_record", ALL)
    assert [(entry["role"], entry["after"], entry["until"], entry["after_version"]) for entry in tables] == [
        ("change_log", 2, 3, -1),
        ("state", 2, 3, 5),
    ]
    # A state whose model failed has not applied what it was about to.
    tables = run().render("tables_to_record", [result("model.stg", "error"), result("model.state", "error")])
    assert [entry["role"] for entry in tables] == ["change_log"]


def test_tables_to_record_has_a_state_that_a_reset_of_another_table_has_changed() -> None:
    renderer = run()
    renderer.answers["select table_name, max_by(batch"] = [
        {"table_name": name, "batch": 3, "table_version": 7} for name in (LOG.render(), STATE.render())
    ]
    assert renderer.render("tables_to_record", ALL) == []
    renderer.answers = {"set " + renderer.render("setting", "written", STATE): [{"value": "true"}]} | renderer.answers
    assert [entry["role"] for entry in renderer.render("tables_to_record", ALL)] == ["state"]


def test_table_of_run() -> None:
    renderer = run()
    node = renderer.nodes["model.stg"]
    found = renderer.render("table_of_run", node, result("model.stg"))
    assert (found["role"], found["until"], found["seconds"]) == ("change_log", 3, 1.5)
    assert renderer.render("table_of_run", renderer.nodes["model.slv"], result("model.slv")) is None
    skipped = run()
    skipped.answers = {}
    assert skipped.render("table_of_run", node, result("model.stg", "skipped")) is None


def test_post_hooks_of() -> None:
    assert run().render("post_hooks_of", {"config": {"post-hook": [{"sql": "a"}, {"sql": "b"}]}}) == "a b"
    assert run().render("post_hooks_of", {"config": {}}) == ""


def test_recorded_tables() -> None:
    assert run().render("recorded_tables")[STATE.render()] == {"after": 2, "after_version": 5}
    assert_parses(run().render("recorded_tables_sql", relation("cdc_run_ledger")))


def test_record_tables_sql() -> None:
    both = [table("change_log"), table("state"), table("change_log", relation=relation("stg_shop__carts"))]
    sql = run().render("record_tables_sql", both)
    assert sql.count("from silver.cdc_file_ledger") == 2
    for made in (sql, run().render("record_tables_sql", both[:1]), run().render("record_tables_sql", both[1:2])):
        assert_parses(made)
    created = fold(run().render("create_run_ledger_sql", relation("cdc_run_ledger"))).replace("(", " ")
    for part in (run().render("change_log_records_sql", both[:1]), run().render("state_records_sql", both[1:2])):
        # Positions count in an insert.
        order = [created.index(f" {name} ") for name in names_of(part)]
        assert len(order) == 19
        assert order == sorted(order)


def names_of(select: str) -> list[str]:
    """Names of the columns of the outer select list."""
    lines = select.partition("select\n")[2].partition("\n    from (")[0].splitlines()
    return [re.split(r" as |\.", line.strip().rstrip(","))[-1] for line in lines]


def test_is_of_new_batch() -> None:
    logs = [table("change_log"), table("change_log", relation=relation("stg_shop__carts"), after=4, until=5)]
    assert run().render("is_of_new_batch", logs[0], "b") == "b > 2 and b <= 3"
    assert run().sql("is_entry_of_new_batches", logs) == (
        "(change_log = 'silver.stg_shop__orders' and batch > 2 and batch <= 3"
        " or change_log = 'silver.stg_shop__carts' and batch > 4 and batch <= 5)"
    )


def test_queries_of_change_logs() -> None:
    logs = [table("change_log"), table("change_log", relation=relation("stg_shop__carts"))]
    assert_parses(run().render("files_read_sql", logs))
    assert_parses(run().render("offsets_read_sql", logs))
    events = run().render("events_read_sql", logs)
    assert events.count("_cdc_batch > 2 and _cdc_batch <= 3") == 2
    assert_parses(events)


@pytest.mark.parametrize(("operation", "after"), [("CREATE OR REPLACE TABLE AS SELECT", 0), ("MERGE", 2)])
def test_state_that_was_built_anew_is_counted_whole(operation: str, after: int) -> None:
    metrics = json.loads(MERGE["operationMetrics"]) | {"numOutputRows": "9"}
    commit = {"version": 7, "operation": operation, "operationMetrics": json.dumps(metrics)}
    renderer = run(**{"describe history": [commit]})
    assert f"_cdc_batch > {after} and _cdc_batch <= 3" in renderer.sql("state_records_sql", [table("state")])
    written = renderer.render("rows_written_sql", [table("state"), table("state", has_key=False)])
    assert written.count("size(_cdc_unresolved_columns)") == 1
    assert "if((_cdc_row_count < 0 or _cdc_ambiguous_events > 0), 1, 0) as unresolved" in written
    assert_parses(written)


def test_rows_of_new_batches(macros: Renderer) -> None:
    sql = macros.render("rows_of_new_batches", [table("change_log"), table("state")], ["a", "b"])
    assert sql.count("union all") == 1
    assert "    a,\n    b\nfrom silver." in sql
    assert_parses(sql)


def test_unresolved_cells(macros: Renderer) -> None:
    assert "_cdc_unresolved_columns" in macros.render("unresolved_cells", table("state"))
    assert "_cdc_row_count" in macros.render("unresolved_cells", table("state", has_key=False))


def test_commit_figures() -> None:
    renderer = run()
    older = MERGE | {"version": 5}
    renderer.answers["describe history"] = [
        {"version": 8, "operation": "SET TBLPROPERTIES", "operationMetrics": "{}"},
        MERGE,
        MERGE | {"version": 6},
        older,
    ]
    figures = renderer.render("commit_figures", table("state"))
    assert figures == {"version": 8, "inserted": 2, "updated": 8, "stale": 4, "is_whole": False}
    # A table that was dropped and made anew counts its commits from 0.
    renderer.answers["describe history"] = [
        MERGE | {"version": 1},
        {"version": 0, "operation": "CREATE TABLE AS SELECT", "operationMetrics": '{"numOutputRows": "9"}'},
    ]
    figures = renderer.render("commit_figures", table("state"))
    assert (figures["version"], figures["inserted"], figures["is_whole"]) == (1, 10, True)


def test_added_figures() -> None:
    before = {"version": 7, "inserted": 0, "updated": 0, "stale": 0, "is_whole": False}
    renderer, metrics = run(), {"numOutputRows": "9"}
    assert renderer.render("added_figures", before, "OPTIMIZE", {}) == {}
    replaced = renderer.render("added_figures", before, "CREATE OR REPLACE TABLE AS SELECT", metrics)
    assert replaced == {"inserted": 9, "is_whole": True}
    # A purge.
    deleted = {"numTargetRowsDeleted": "2", "numSourceRows": "2", "numTargetRowsInserted": "0"}
    assert renderer.render("added_figures", before, "MERGE", deleted) == {}


def test_show_run(macros: Renderer) -> None:
    row = dict.fromkeys(("lines", "changes", "rejected", "inserted", "updated", "deleted", "stale", "unresolved"), None)
    macros.answers = {"select * from": [row | {"table_name": "silver.a", "lines": 12, "seconds": 0.25}]}
    macros.does("show_run")
    assert macros.messages[1].split() == ["silver.a", "12", "0.2"]
    assert len(macros.messages[0]) == len(macros.messages[1])


def test_run_rows_sql(macros: Renderer) -> None:
    assert_parses(macros.render("run_rows_sql", relation("cdc_run_ledger")))


def test_run_line(macros: Renderer) -> None:
    assert macros.render("run_line", ["a", 1]) == "a" + " " * 43 + " " * 10 + "1"
