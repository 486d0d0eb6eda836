"""The operations of macros/operations: what they say and change, and that a build after one equals a full refresh."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from dbt.adapters.spark.session import Cursor

from .events import Event, lines, postgresql
from .project import GOLD, SILVER, Feed, Outcome, Project, Row

pytestmark = pytest.mark.slow

COLUMNS = {"id": "int", "name": "string"}
TABLES = {
    "started_anew": ("log", "state", "living", "history"),
    "replayed": ("log", "state", "living", "history"),
    "released": ("log", "state", "living", "quarantine"),
    "compacted": ("log", "state"),
}
LEDGER, RUNS, RELEASED = (f"{SILVER}.cdc_{name}" for name in ("file_ledger", "run_ledger", "released_lines"))
MERGED, COUNTED = "fct_pipe__replayed", "agg_pipe__replayed"
# What two builds of the same files may differ in: numbers of batches, clocks.
VOLATILE = {"_cdc_batch", "_cdc_file_modified_at"}


def row(op: str, lsn: int, key: int, name: str | None) -> Event:
    return postgresql(op, lsn, {"id": key, "name": name})


def files(name: str) -> list[dict[str, bytes]]:
    """Two rounds; one file has a line that is torn, and one with a column that nobody declared."""
    unknown = postgresql("c", 40, {"id": 4, "name": "n", "shoe_size": 38})
    return [
        {
            f"p=0/{name}+0+0.json": lines(row("c", 10, 1, "one"), row("c", 20, 2, "two"), row("c", 25, 7, "tmp")),
            f"p=0/{name}+0+3.json": lines(row("c", 30, 3, "new"), '{"before":null,"af' + "x" * 90, unknown),
        },
        {f"p=0/{name}+0+6.json": lines(row("u", 50, 1, "uno"), row("d", 60, 2, None))},
    ]


FEEDS = [
    Feed(name, COLUMNS, files(name), models=models, recorded=True, cdc={"quarantine": {"fail_above": 0}})
    for name, models in TABLES.items()
]


def prepare(project: Project, *, slow: bool) -> None:
    """A mart that merges changed keys, and one that is computed whole."""
    gold = project.folder / "models" / "gold"
    gold.mkdir(exist_ok=True)
    config = 'contract={"enforced": false}'
    state = 'ref("slv_pipe__replayed_state"), ["id"]'
    (gold / f"{MERGED}.sql").write_text(
        f"{{{{ config({config}) }}}}\n{{{{ incremental_mart('id', deleted_with='slv_pipe__replayed_state') }}}}\n"
        "select living.id, living.name\nfrom {{ ref('slv_pipe__replayed') }} as living\n"
        f"inner join ({{{{ changed_keys({state}) }}}}) as changed on living.id = changed.id\n",
        encoding="utf-8",
    )
    (gold / f"{COUNTED}.sql").write_text(
        f"{{{{ config({config}) }}}}\nselect count(*) as row_count\nfrom {{{{ ref('slv_pipe__replayed') }}}}\n",
        encoding="utf-8",
    )
    project.more_models = [*project.more_models, MERGED, COUNTED]
    project.more_files = project.more_files or [{}, {}]


def operation(project: Project, name: str, **arguments: Any) -> Outcome:
    """Runs an operation, which has to end well."""
    outcome = project.dbt("run-operation", name, "--args", json.dumps(arguments))
    assert outcome.error == "", outcome.printed
    return outcome


def refused(project: Project, name: str, **arguments: Any) -> str:
    """What an operation prints that fails."""
    outcome = project.dbt("run-operation", name, "--args", json.dumps(arguments))
    assert outcome.error
    return re.sub(r"\s+", " ", outcome.printed)


def build(project: Project, *models: str) -> Outcome:
    """A run of models, all of which have to end well."""
    outcome = project.dbt("run", "--select", *models)
    assert (outcome.failed, outcome.error) == (set(), ""), outcome.messages
    return outcome


class StoppedError(Exception):
    """The run ends here."""


@contextlib.contextmanager
def stopped_before(statement: str) -> Iterator[None]:
    """As if the run were killed before its first statement of this form."""
    original = Cursor.execute

    def execute(cursor: Cursor, sql: str, *parameters: Any) -> None:
        if re.match(statement, re.sub(r"\s+", " ", re.sub(r"/\*.*?\*/", "", sql, flags=re.DOTALL)).strip()):
            raise StoppedError(statement)
        original(cursor, sql, *parameters)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Cursor, "execute", execute)
        yield


def tables(project: Project, feed: str) -> dict[str, list[tuple[tuple[str, str], ...]]]:
    """The rows of all tables of a feed, without what two builds of the same files differ in."""
    return {
        role: sorted(
            tuple((name, str(value)) for name, value in found.items() if name not in VOLATILE)
            for found in project.rows(f"{SILVER}.{name}")
        )
        for role, name in project.feeds[feed].nodes.items()
    }


def versions(project: Project) -> dict[str, int | None]:
    """The newest version of every table."""
    names = [name for feed in FEEDS for name in feed.nodes.values()]
    return {name: project.version(name) for name in [*names, MERGED, COUNTED, "cdc_file_ledger", "cdc_run_ledger"]}


def names(project: Project, feed: str) -> dict[int, str]:
    return {found["id"]: found["name"] for found in project.living(feed)}


def check_equal_to_full_refresh(project: Project, feed: str, *more: str) -> None:
    incremental = tables(project, feed)
    outcome = project.dbt("run", "--full-refresh", "--select", *project.feeds[feed].nodes.values(), *more)
    assert (outcome.failed, outcome.error) == (set(), "")
    assert tables(project, feed) == incremental


def spoil(project: Project, feed: str) -> None:
    """What only a table that is built anew does not have."""
    for role in ("log", "state", "history"):
        table = f"{SILVER}.{project.feeds[feed].nodes[role]}"
        project.spark.sql(f"update {table} set name = 'spoilt' where name = 'uno'")


def test_reset_then_a_build_equals_a_full_refresh_wherever_that_is_stopped(project: Project) -> None:
    feed = "started_anew"
    log = project.feeds[feed].nodes["log"]
    before = tables(project, feed)
    spoil(project, feed)
    at_first = versions(project)
    said = operation(project, "reset_entity", source="pipe", entity=feed).printed
    assert (
        f"reset_entity: `dbt build --select {log}+` builds anew slv_pipe__{feed}_history, slv_pipe__{feed}_state, {log}"
        in said
    )
    assert "nothing is changed" in said
    assert versions(project) == at_first
    operation(project, "reset_entity", source="pipe", entity=feed, dry_run=False)
    assert names(project, feed) == {1: "spoilt", 3: "new", 7: "tmp"}
    models = list(project.feeds[feed].nodes.values())
    for statement in (
        rf"create or replace table {SILVER}.{log} ",
        rf"alter table {SILVER}.{log} set",
        rf"create or replace table {SILVER}.slv_pipe__{feed}_state ",
        rf"alter table {SILVER}.slv_pipe__{feed}_state set",
    ):
        with stopped_before(statement):
            outcome = project.dbt("run", "--threads", "1", "--select", *models)
        assert outcome.failed, f"nothing like {statement}"
        assert len(project.rows(f"{SILVER}.{log}")) == 8
    build(project, *models)
    assert tables(project, feed) == before
    others = {name: version for name, version in at_first.items() if feed not in name and not name.startswith("cdc_")}
    assert {name: version for name, version in versions(project).items() if name in others} == others
    at_last = versions(project)
    build(project, *models)
    assert versions(project) == at_last
    check_equal_to_full_refresh(project, feed)


def replace(project: Project) -> None:
    """The first file has other content of the same length: another name, and no row 7 but a row 8."""
    path = project.landing / "replayed" / "p=0" / "replayed+0+0.json"
    content = (
        path.read_bytes().replace(b'"two"', b'"TWO"').replace(b'"id": 7', b'"id": 8').replace(b'"id":7', b'"id":8')
    )
    assert len(content) == path.stat().st_size
    assert content != path.read_bytes()
    path.write_bytes(content)


def test_replay_then_a_build_equals_a_full_refresh_wherever_that_is_stopped(project: Project) -> None:
    feed = "replayed"
    log = project.feeds[feed].nodes["log"]
    replace(project)
    models = [*project.feeds[feed].nodes.values(), MERGED, COUNTED]
    build(project, *models)
    assert set(names(project, feed)) == {1, 3, 7}
    at_first = versions(project)
    given = {"source": "pipe", "entity": feed, "files": ["replayed+0+0.json"]}
    said = operation(project, "replay_files", **given).printed
    assert "replay_files: replayed+0+0.json: 1 files, 3 lines are read again" in said
    assert f"`dbt build --select {log}+` builds anew {COUNTED}, {MERGED}, " in said
    assert versions(project) == at_first
    assert 'files is "replayed+0+9*"; allowed: files that pipe_silver.stg_pipe__replayed was read from' in refused(
        project, "replay_files", **given | {"files": ["replayed+0+0.json", "replayed+0+9*"]}
    )
    operation(project, "replay_files", **given, dry_run=False)
    assert set(names(project, feed)) == {1, 3, 7}
    for statement in (
        rf"insert into {SILVER}.{log} ",
        rf"insert into {LEDGER} ",
        rf"alter table {SILVER}.{log} set",
        rf"merge into {SILVER}.{log} ",
        rf"merge into {LEDGER} ",
        rf"create or replace table {SILVER}.slv_pipe__{feed}_state ",
        rf"alter table {SILVER}.slv_pipe__{feed}_state set",
        rf"create or replace table {GOLD}.{MERGED} ",
    ):
        with stopped_before(statement):
            outcome = project.dbt("run", "--threads", "1", "--select", *models)
        assert outcome.failed, f"nothing like {statement}"
    build(project, *models)
    assert names(project, feed) == {1: "uno", 3: "new", 8: "tmp"}
    assert {found["id"]: found["name"] for found in project.rows(f"{GOLD}.{MERGED}")} == names(project, feed)
    assert {found["name"] for found in project.history(feed)} == {"one", "uno", "TWO", "new", "tmp"}
    assert len(project.rows(f"{SILVER}.{log}")) == 8
    at_last = versions(project)
    build(project, *models)
    assert versions(project) == at_last
    check_equal_to_full_refresh(project, feed, MERGED)
    (project.landing / feed / "p=0" / "replayed+0+6.json").unlink()
    assert "allowed: files that still lie at" in refused(project, "replay_files", **given | {"files": ["*+6.json"]})


def test_compaction_and_vacuum_leave_rows_marts_and_ledgers_as_they_are(project: Project) -> None:
    every = [name for feed in FEEDS for name in feed.nodes.values()]
    chosen = [*project.feeds["compacted"].nodes.values(), *project.feeds["replayed"].nodes.values()]
    built = [name for name in chosen if project.version(name) is not None]
    # Whatever the tests before have left, there is a merge since a table was built whole: two files.
    project.land(project.feeds["replayed"], {"p=0/replayed+0+8.json": lines(row("c", 80, 10, "ten"))})
    build(project, *every, MERGED, COUNTED)
    at_first = versions(project)
    runs = project.rows(RUNS)
    rows = tables(project, "compacted")
    assert "stg_pipe__compacted" in operation(project, "compact_tables", models=built).printed
    assert "nothing is changed" in operation(project, "vacuum_tables", models=built).printed
    assert versions(project) == at_first
    said = operation(project, "compact_tables", models=[*built, "cdc_file_ledger"], dry_run=False).printed
    assert re.search(rf"{SILVER}\.stg_pipe__compacted +[2-9] +\d+ +1\n", said), said
    assert "DELTA_CONCURRENT" in said
    after = versions(project)
    assert after["stg_pipe__compacted"] == (at_first["stg_pipe__compacted"] or 0) + 1
    assert after["slv_pipe__replayed_state"] != at_first["slv_pipe__replayed_state"]
    operation(project, "vacuum_tables", models=built, dry_run=False)
    assert "retention_hours is 1; allowed: a number of hours from 168 on" in refused(
        project, "vacuum_tables", models=built, retention_hours=1
    )
    operation(project, "vacuum_tables", models=built, retention_hours=0, allow_short_retention=True, dry_run=False)
    marts = versions(project)
    build(project, *every, MERGED, COUNTED)
    assert {name: versions(project)[name] for name in (MERGED, COUNTED)} == {
        name: at_first[name] for name in (MERGED, COUNTED)
    }
    assert versions(project) == marts
    assert project.rows(RUNS) == runs
    assert tables(project, "compacted") == rows
    project.land(project.feeds["replayed"], {"p=0/replayed+0+9.json": lines(row("c", 90, 9, "nine"))})
    build(project, *every, MERGED, COUNTED)
    assert versions(project)[COUNTED] != at_first[COUNTED]
    assert project.rows(f"{GOLD}.{COUNTED}") == [{"row_count": len(names(project, "replayed"))}]
    (recorded,) = [
        found for found in project.rows(RUNS) if found not in runs and found["table_name"].endswith("replayed_state")
    ]
    assert (recorded["inserted"], recorded["updated"], recorded["stale"]) == (1, 0, 0)


def test_reports_say_what_the_ledgers_and_the_quarantine_hold(project: Project) -> None:
    at_first = versions(project)
    said = operation(project, "ledger_report", source="pipe", entity="compacted", runs=2).printed
    assert re.search(rf"{SILVER}\.stg_pipe__compacted +3 +8 +6 +0 +2 +2 +\d", said), said
    assert re.search(rf"{SILVER}\.stg_pipe__compacted +2 +1 +2 +2 +0 ", said), said
    assert re.search(rf"{SILVER}\.slv_pipe__compacted_state +2 ", said), said
    assert "stg_pipe__released" not in said
    said = operation(project, "quarantine_report", source="pipe", entity="compacted").printed
    torn = '{"before":null,"af' + "x" * 59 + "..."
    assert re.search(rf"malformed_json +1 +0 +1 +\S+compacted\+0\+3\.json +2 +{re.escape(torn)}\n", said), said
    assert re.search(r"unknown_column +1 +0 +1 +\S+compacted\+0\+3\.json +3 +shoe_size +\{", said), said
    assert versions(project) == at_first
    assert 'source is "pips"; allowed: pipe' in refused(project, "quarantine_report", source="pips")
    assert "runs is 0; allowed: a number from 1 on" in refused(project, "ledger_report", runs=0)


def released(project: Project) -> list[Row]:
    return project.rows(RELEASED) if project.spark.catalog.tableExists(RELEASED) else []


def within_threshold(project: Project) -> str:
    """What the test of the threshold says."""
    status = project.dbt("test", "--select", "stg_pipe__released").status
    (found,) = [said for name, said in status.items() if name.startswith("rejected_within_threshold")]
    return found


def test_released_lines_are_not_counted_any_more_and_stay_released(project: Project) -> None:
    feed = "released"
    log = project.feeds[feed].nodes["log"]
    path = project.folder / "models" / "silver" / feed / f"{log}.yml"
    path.write_text(json.dumps({"version": 2, "models": [{"name": log, "data_tests": ["rejected_within_threshold"]}]}))
    assert within_threshold(project) == "fail"
    given = {"source": "pipe", "entity": feed, "note": "torn upload"}
    rows = tables(project, feed)
    both = ["malformed_json", "unknown_column"]
    assert "2 rejected lines released" in operation(project, "release_rejected_lines", **given, reasons=both).printed
    assert released(project) == []
    correction = {"p=0/released+0+8.json": lines(row("c", 45, 5, "mended"))}
    project.land(project.feeds[feed], correction)
    build(project, *project.feeds[feed].nodes.values())
    operation(
        project,
        "release_rejected_lines",
        **given | {"files": ["released+0+3.json"], "lines": [2], "corrected_in": "released+0+8.json", "dry_run": False},
    )
    (release,) = released(project)
    assert (release["line"], release["reject_reason"], release["note"]) == (2, "malformed_json", "torn upload")
    assert release["corrected_in"].endswith("/p=0/released+0+8.json")
    assert names(project, feed)[5] == "mended"
    assert within_threshold(project) == "fail"
    for _ in range(2):
        operation(project, "release_rejected_lines", **given, reasons=both, dry_run=False)
    assert len(released(project)) == 2
    assert within_threshold(project) == "pass"
    said = operation(project, "quarantine_report", source="pipe", entity=feed).printed
    assert re.search(r"malformed_json +1 +1 +1 ", said), said
    assert len(project.quarantine(feed)) == 2
    check_equal_to_full_refresh(project, feed)
    assert within_threshold(project) == "pass"
    assert rows["quarantine"] == tables(project, feed)["quarantine"]
    operation(project, "release_rejected_lines", **given, reasons=["unknown_column"], take_back=True, dry_run=False)
    assert [found["reject_reason"] for found in released(project)] == ["malformed_json"]
    assert within_threshold(project) == "fail"
    assert 'reasons is "type_misfit"; allowed: what rejected lines of pipe_silver.stg_pipe__released have' in refused(
        project, "release_rejected_lines", **given, reasons=["type_misfit"]
    )
