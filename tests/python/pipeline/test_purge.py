"""Keys that were purged: out of every table, and kept out by builds, late files, files landed again, full refreshes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

import pyarrow.parquet as pq
import pytest

from .events import Event, Line, lines, postgresql, stored, unscaled
from .project import SILVER, Feed, MakeProject, Outcome, Project, Row, folder_of_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow

# In every value of the one who is purged, and in nobody else's.
SECRET = "Ada"
MARK = "__debezium_unavailable_value"
COLUMNS = {"id": "int", "name": "string"}
PURGED = 1001


def row(key: int, name: str | None) -> Event:
    return {"id": key, "name": name}


ADA = row(PURGED, SECRET)
SNAPSHOT = [
    postgresql("r", 10, row(1, "Bo")),
    postgresql("r", 10, row(9, "gone")),
    postgresql("r", 10, ADA, snapshot="last"),
]
CHANGES: list[Line] = [
    postgresql("u", 20, row(PURGED, "Ada II"), before=ADA),
    # Rejected: an unknown column, another operation, no record any more.
    postgresql("u", 22, {**ADA, "phone": "Ada's"}),
    postgresql("u", 23, ADA) | {"op": "x"},
    '{"before":null,"after":{"id":1001,"name":"Ada torn","sour',
    # The key of a row changes in one event, in both directions.
    postgresql("u", 24, row(7, "was Ada"), before=ADA),
    postgresql("c", 25, row(8, "Dan")),
    postgresql("u", 26, row(PURGED, "Ada again"), before=row(8, "Dan")),
    postgresql("c", 30, row(2, "Cy")),
    postgresql("d", 31, row(PURGED, "Ada's last")),
]
# A second snapshot, whose last row is hers and which no longer has row 9.
TAKEN_ANEW = [postgresql("r", 50, row(key, name)) for key, name in ((1, "Bo"), (2, "Cy"), (7, "G"), (8, "Dan"))] + [
    postgresql("r", 50, row(PURGED, "Ada anew"), snapshot="last")
]
LATE_FILE = "late/t+0+90.json"
AFTER = {
    LATE_FILE: lines(postgresql("u", 21, row(PURGED, "Ada late")), postgresql("u", 60, row(2, "Cyn"))),
    "later/t+0+91.json": lines(postgresql("u", 61, row(PURGED, "Ada again")), postgresql("u", 62, row(1, "Bob"))),
    # Landed again.
    "again/t+0+10.json": lines(*CHANGES),
}


def move(lsn: int, old: int, new: int) -> list[Event]:
    """The two events of a row that moves to another key, with a value that is out of line."""
    return [postgresql("d", lsn, row(old, None)), postgresql("c", lsn, row(new, MARK))]


def kept(event: Event | None, offset: int, key: int) -> Event:
    return stored(event, offset) | {"key": {"id": key}}


def dumped(key: int, name: str, second: int, region: str | None = None) -> Event:
    return {"region": region, "id": key, "name": name, "at": f"2024-05-01 12:00:{second:02}"}


def typed(name: str, lsn: int, total: int = 110, day: int = 19844, **more: Any) -> Event:
    values = {"at": "2024-05-01T12:00:00.5Z", "code": "x'y", "rate": 0.0, **more}
    return postgresql("c", lsn, {"total": unscaled(total), "day": day, **values, "name": name})


FULL = {"path": "/full/([^/]+)/", "delay_seconds": 0}
ROWS = {"connector": "table", "shape": "row", "sequence_by": "at", "full_dumps": FULL}
TYPED_KEY = {"total": "decimal(12,2)", "day": "date", "at": "timestamp", "code": "string", "rate": "double"}
ALL_MODELS = ("log", "state", "hard", "living", "quarantine", "tracked")
FEEDS = [
    Feed("purged", COLUMNS, models=ALL_MODELS, tracked='track_history_column_list=["name"]', tests=True, recorded=True),
    Feed("purged_moves", COLUMNS, models=("log", "state", "history")),
    Feed("purged_swap", COLUMNS, cdc={"replica_identity": "full"}, models=("log", "state")),
    Feed("purged_stored", COLUMNS, cdc={"store_envelope": True}, models=("log", "state")),
    Feed(
        "purged_dumps",
        {"region": ("string", {"nullable": True}), "id": "int", "name": "string", "at": "timestamp_ntz"},
        key=("region", "id"),
        cdc=ROWS,
        models=("log", "state"),
    ),
    Feed("purged_typed", {**TYPED_KEY, "name": "string"}, key=tuple(TYPED_KEY), models=("log", "state")),
    Feed("purged_until", COLUMNS, models=("log", "state")),
    Feed("purged_flattened", COLUMNS, cdc={"shape": "flattened"}, models=("log", "state")),
]


def flat(key: int, name: str, lsn: int, op: str = "u") -> Event:
    return {"id": key, "name": name, "__op": op, "__lsn": lsn, "__deleted": "true" if op == "d" else "false"}


LANDED: dict[str, dict[str, bytes]] = {
    "purged": {"t+0+0.json": lines(*SNAPSHOT), "t+0+10.json": lines(*CHANGES), "t+0+30.json": lines(*TAKEN_ANEW)},
    "purged_moves": {
        "t+0+0.json": lines(
            *(postgresql("c", key, row(key, f"{SECRET if key == 5 else 'Bo'} {key}")) for key in (5, 15)),
            *move(30, 5, 6),
            *move(31, 15, 16),
            *move(40, 6, 7),
        )
    },
    "purged_swap": {
        "t+0+0.json": lines(
            *(postgresql("c", 10 + key, row(key, name)) for key, name in ((1, SECRET), (2, "Bo"))),
            postgresql("c", 30, row(2, "Ada moved"), commit=20),
            postgresql("d", 31, row(1, SECRET), commit=20),
            postgresql("c", 32, row(1, "Bo"), commit=20),
            postgresql("d", 33, row(2, "Bo"), commit=20),
        )
    },
    "purged_stored": {
        "t+0+0.json": lines(
            kept(postgresql("c", 10, ADA), 0, PURGED),
            kept(postgresql("d", 20, ADA), 1, PURGED),
            kept(None, 2, PURGED),
            kept(None, 3, 5),
            kept(postgresql("c", 30, row(5, "Bo")), 4, 5),
        )
    },
    "purged_dumps": {
        "changes/a.json": lines(dumped(1, SECRET, 1), dumped(1, "Bo", 1, "eu"), dumped(2, "Cy", 1, "eu")),
        # 2 is gone, the one row that is left is hers.
        "full/2024-05-01T12:00:10/a.json": lines(dumped(1, "Ada again", 5)),
        "changes/b.json": lines(dumped(1, "Bo", 30, "eu")),
    },
    "purged_typed": {
        "t+0+0.json": lines(
            # One key to Spark, with two texts.
            typed(SECRET, 10, rate=-0.0),
            typed(SECRET, 11),
            typed("Bo", 20, total=111),
            typed("Bo", 21, day=1),
            typed("Bo", 22, at="2024-05-01T12:00:00.6Z"),
        )
    },
    "purged_until": {"t+0+0.json": lines(postgresql("c", 10, ADA), postgresql("c", 20, row(1, "Bo")))},
    "purged_flattened": {
        "t+0+0.json": lines(
            flat(PURGED, SECRET, 10),
            flat(1, "Bo", 11),
            flat(PURGED, "Ada", 12, "d"),
            '{"id":1001,"name":"Ada',
            '{"id":10',
        )
    },
}
LATE: dict[str, dict[str, bytes]] = {
    # Landed once: a full refresh takes the time of a copy for that of a newer version.
    "purged": {name: content for name, content in AFTER.items() if name != LATE_FILE},
    "purged_dumps": {
        "full/2024-05-01T12:00:40/a.json": lines(dumped(1, SECRET, 1), dumped(1, "Bo", 30, "eu")),
        # Without her: that is no event of hers either.
        "full/2024-05-01T12:00:50/a.json": lines(dumped(1, "Bo", 30, "eu")),
    },
    "purged_until": {
        "t+0+2.json": lines(
            postgresql("u", 15, row(PURGED, "Ada late")), postgresql("c", 30, row(PURGED, "signed up again"))
        ),
        # The newest event of the time of the purge, delivered again in another file.
        "t+0+9.json": lines(postgresql("c", 10, ADA)),
    },
}
KEYS: dict[str, list[dict[str, Any]]] = {
    "purged": [{"id": PURGED}],
    "purged_moves": [{"id": 5}],
    "purged_swap": [{"id": "1"}],
    "purged_stored": [{"id": PURGED}, {"id": 77}],
    "purged_dumps": [{"region": None, "id": 1}],
    "purged_typed": [
        {"total": "1.1", "day": "2024-05-01", "at": "2024-05-01T14:00:00.5+02:00", "code": "x'y", "rate": "0.0"}
    ],
    "purged_until": [{"id": PURGED}],
    "purged_flattened": [{"id": PURGED}],
}
MERGED, WHOLE = "fct_purged", "agg_purged"
MERGED_SQL = """{{ incremental_mart("id") }}
select id, name from {{ ref("slv_pipe__purged_state") }}
where not _is_deleted and id in (
    {{ changed_keys(ref("slv_pipe__purged_state"), ["id"]) }}
)
"""
WHOLE_SQL = """{{ config(
    materialized="incremental", incremental_strategy="insert_overwrite", meta={"alluvium_model": "mart"},
    pre_hook="{{ alluvium.note_inputs() }}", post_hook="{{ alluvium.record_inputs() }}",
) }}
select count(*) as row_count, max(name) as name from {{ ref("slv_pipe__purged") }} where name like 'Ada%'
"""
VACUUMED = ("stg_pipe__purged", "slv_pipe__purged_state")
# What a full refresh gives anew in any case.
OWN = {"_cdc_batch", "_cdc_file_modified_at"}


def purge(project: Project, entity: str, **more: Any) -> Outcome:
    arguments = {"source": "pipe", "entity": entity, "keys": KEYS[entity], "dry_run": False} | more
    return project.dbt("run-operation", "purge_rows", "--args", json.dumps(arguments))


def build(project: Project, *options: str) -> Outcome:
    return project.dbt("build", *options)


def tables(project: Project) -> dict[str, list[Row]]:
    """The rows of all tables in one order, without what a full refresh numbers anew."""
    names = [name for feed in project.feeds.values() for name in feed.nodes.values()]
    return {name: sorted(map(without_own, project.rows(f"{SILVER}.{name}")), key=repr) for name in names}


def without_own(row: Row) -> Row:
    return {name: value for name, value in row.items() if name not in OWN}


def holding(project: Project) -> set[str]:
    """The tables that have a value of hers in any column."""
    return {name for name, rows in tables(project).items() if SECRET in repr(rows)}


def killed_purge(project: Project, entity: str, at: str) -> Outcome:
    """A purge that ends before it runs a statement."""
    macro = project.folder / "macros" / "purge" / "purge_rows.sql"
    whole = macro.read_text(encoding="utf-8")
    statement = f"{{%- do run_query(alluvium._{at}("
    assert whole.count(statement) == 1
    macro.write_text(whole.replace(statement, "{{ exceptions.raise_compiler_error('killed') }}" + statement), "utf-8")
    outcome = purge(project, entity)
    macro.write_text(whole, encoding="utf-8")
    return outcome


def has_her_name(path: Path) -> bool:
    """Whether a file has her name, in rows of Parquet, which may be compressed, or in a log file of Hudi's."""
    content = str(pq.ParquetFile(path).read().to_pylist()).encode() if path.suffix == ".parquet" else path.read_bytes()
    return SECRET.encode() in content


def files_with_her_name(project: Project, table: str) -> list[Path]:
    """Files of a table, those of older versions too."""
    folder = folder_of_table(project.spark, SILVER, table)
    files = [path for path in folder.rglob("*") if path.suffix == ".parquet" or ".log." in path.name]
    return [path for path in files if ".hoodie" not in path.parts and has_her_name(path)]


class Story:
    """What was seen at each step."""

    def __init__(self, project: Project) -> None:
        """Builds, purges, builds on, and builds anew."""
        self.project = project
        for feed in project.feeds.values():
            project.land(feed, LANDED[feed.name])
        self.first = build(project)
        self.before = tables(project)
        self.held_before = holding(project)
        self.dry = purge(project, "purged", dry_run=True)
        self.after_dry = tables(project)
        self.kill = killed_purge(project, "purged", "empty_purged_lines_sql")
        project.land(project.feeds["purged"], {LATE_FILE: AFTER[LATE_FILE]})
        self.after_kill = build(project, "--select", *project.feeds["purged"].nodes.values())
        self.held_after_kill = holding(project)
        self.log_after_kill = project.log("purged")
        self.purges = {
            name: purge(project, name, later_events="keep" if name == "purged_until" else "purge", reason="art. 17")
            for name in project.feeds
        }
        self.purged = tables(project)
        self.held_after = holding(project)
        for feed in project.feeds.values():
            project.land(feed, LATE.get(feed.name, {}))
        self.next = build(project)
        self.held_after_build = holding(project)
        self.refreshed_marts = build(project, "--full-refresh", "--select", MERGED)
        self.marts = {name: project.rows(f"{SILVER}.{name}") for name in (MERGED, WHOLE)}
        self.incremental = tables(project)
        self.ledger = project.rows(f"{SILVER}.cdc_file_ledger")
        self.runs = project.rows(f"{SILVER}.cdc_run_ledger")
        # All projects of a session have one; another module has purged, too.
        ledger = project.rows(f"{SILVER}.cdc_purge_ledger")
        self.purge_ledger = [entry for entry in ledger if entry["entity"] in KEYS]
        self.files_before_vacuum = {name: files_with_her_name(project, name) for name in VACUUMED}
        self.vacuum = purge(project, "purged", keys=[], vacuum_hours=0)
        self.files_after_vacuum = {name: files_with_her_name(project, name) for name in VACUUMED}
        self.anew = build(project, "--full-refresh")
        self.full = tables(project)
        self.full_ledger = project.rows(f"{SILVER}.cdc_file_ledger")


@pytest.fixture(scope="module")
def story(make_project: MakeProject) -> Story:
    project = make_project("purges", FEEDS)
    for name, sql in ((MERGED, MERGED_SQL), (WHOLE, WHOLE_SQL)):
        (project.folder / "models" / "silver" / f"{name}.sql").write_text(sql, encoding="utf-8")
    return Story(project)


def test_nothing_failed_but_the_mart_that_merges(story: Story) -> None:
    for outcome in (story.first, story.refreshed_marts, story.anew):
        assert not outcome.error, outcome.error
        assert not outcome.failed, outcome.messages
    assert story.next.failed == {MERGED}
    assert "needs `dbt build --full-refresh --select fct_purged+`" in story.next.messages[MERGED]
    for name, outcome in story.purges.items():
        assert not outcome.error, (name, outcome.printed)


def test_dry_run_shows_and_changes_nothing(story: Story) -> None:
    assert story.after_dry == story.before
    printed = " ".join(story.dry.printed.split())
    assert "pipe.purged, keys: 1 (dry run: nothing is changed)" in printed
    assert "pipe_silver.stg_pipe__purged 9 lines in 3 files" in printed
    assert "pipe_silver.slv_pipe__purged_state 1 rows" in printed
    assert "files of the source that hold these keys, to be deleted or rewritten by you: 3" in printed
    assert "dbt build --full-refresh --select fct_purged" in printed
    assert "vacuum_hours: 168" in printed


def test_build_after_a_killed_purge_brings_nothing_back(story: Story) -> None:
    assert "killed" in story.kill.printed
    assert not story.after_kill.failed, story.after_kill.messages
    assert "pipe.purged: a purge of 1 keys has not come to its end" in story.after_kill.printed
    states = {
        "slv_pipe__purged_state",
        "slv_pipe__purged_hard_state",
        "slv_pipe__purged_tracked_history",
        "slv_pipe__purged",
    }
    assert not states & story.held_after_kill
    (late,) = [row for row in story.log_after_kill if LATE_FILE in row["_cdc_file_path"] and row["_cdc_line"] == 1]
    assert (late["_cdc_kind"], late["id"], late["name"], late["_cdc_raw"]) == ("purged", None, None, None)


def test_no_table_has_a_value_of_hers(story: Story) -> None:
    assert len(story.held_before) == 21
    # Row 7 of `purged_moves` and row 2 of `purged_swap` are hers under other keys, which nobody asked to purge.
    others = {name for name in story.held_before if name.startswith(("stg_pipe__purged_swap", "slv_pipe__purged_swap"))}
    assert story.held_after == story.held_after_build == others


def test_full_refresh_gives_the_same_rows(story: Story) -> None:
    for name, rows in story.incremental.items():
        assert story.full[name] == rows, name


def test_ledger_counts_the_same(story: Story) -> None:
    def counts(rows: list[Row]) -> list[Any]:
        names = (
            "change_log",
            "file_path",
            "file_length",
            "line_count",
            "change_count",
            "rejected_count",
            "control_count",
        )
        offsets = (
            "first_offset",
            "last_offset",
            "unwritten_before",
            "unwritten_after",
            "missing_inside",
            "last_position",
        )
        return sorted(
            tuple(str(row[name]) for name in names + offsets) for row in rows if "purged" in row["change_log"]
        )

    # A file that was landed anew is in the ledger under its newer length alone, once the log was built anew.
    kept = {(row["change_log"], row["file_path"], row["file_length"]) for row in story.full_ledger}
    rows = [row for row in story.ledger if (row["change_log"], row["file_path"], row["file_length"]) in kept]
    assert counts(rows) == counts(story.full_ledger)
    for row in story.ledger:
        assert row["line_count"] == row["change_count"] + row["rejected_count"] + row["control_count"]


def test_snapshots_and_dumps_delete_what_they_deleted(story: Story) -> None:
    """Their last or only row was hers; and a row of hers that was rejected keeps none from deleting any more."""

    def living(model: str) -> set[Any]:
        return {row["id"] for row in story.incremental[model] if not row["_is_deleted"]}

    assert 9 in {row["id"] for row in story.before["slv_pipe__purged_state"] if not row["_is_deleted"]}
    assert living("slv_pipe__purged_state") == {1, 2, 7, 8}
    assert [(row["region"], row["id"]) for row in story.incremental["slv_pipe__purged_dumps_state"]] == [
        ("eu", 1),
        ("eu", 2),
    ]
    assert living("slv_pipe__purged_dumps_state") == {1}


def test_value_that_moved_from_a_purged_key_is_not_known(story: Story) -> None:
    rows = {row["id"]: row for row in story.incremental["slv_pipe__purged_moves_state"]}
    assert {key: (row["name"], row["_cdc_unresolved_columns"]) for key, row in rows.items()} == {
        6: (None, ["name"]),
        7: (None, ["name"]),
        15: ("Bo 15", None),
        16: ("Bo 15", None),
    }


def test_tombstone_is_purged_by_its_key(story: Story) -> None:
    kinds = [
        row["_cdc_kind"] for row in sorted(story.incremental["stg_pipe__purged_stored"], key=lambda r: r["_cdc_line"])
    ]
    assert kinds == ["purged", "purged", "purged", "tombstone", "change"]


def test_other_keys_stay(story: Story) -> None:
    assert [row["name"] for row in story.incremental["slv_pipe__purged_typed_state"]] == ["Bo"] * 3
    assert [row["id"] for row in story.incremental["slv_pipe__purged_swap_state"]] == [2]
    kinds = [
        row["_cdc_kind"]
        for row in sorted(story.incremental["stg_pipe__purged_flattened"], key=lambda r: r["_cdc_line"])
    ]
    assert kinds == ["purged", "change", "purged", "purged", "rejected"]


def test_events_after_a_bound_come_in(story: Story) -> None:
    rows = {row["id"]: row["name"] for row in story.incremental["slv_pipe__purged_until_state"]}
    assert rows == {1: "Bo", PURGED: "signed up again"}
    (entry,) = [row for row in story.purge_ledger if row["entity"] == "purged_until"]
    assert entry["until_position"] == "0" * 18 + "19." + "0" * 18 + "20"


def test_marts(story: Story) -> None:
    assert story.marts[WHOLE] == [{"row_count": 0, "name": None}]
    assert {row["id"] for row in story.marts[MERGED]} == {1, 2, 7, 8}


def test_ledger_of_purges_has_no_value(story: Story) -> None:
    assert len(story.purge_ledger) == sum(map(len, KEYS.values()))
    for entry in story.purge_ledger:
        # A digest or a time may have these digits by chance.
        said = {name: value for name, value in entry.items() if name != "key_hash" and not name.endswith("_at")}
        assert str(PURGED) not in repr(said)
        assert len(entry["key_hash"]) == 64
        assert entry["completed_at"] is not None
        assert entry["reason"] in ("art. 17", None)


def is_of_hudi(spark: SparkSession, table: str) -> bool:
    return "_hoodie_file_name" in spark.table(f"{SILVER}.{table}").columns


def test_files_that_are_still_read_have_no_value_of_hers(story: Story) -> None:
    """What is left is for the vacuum: files of older versions."""
    spark = story.project.spark
    for name in ("stg_pipe__purged", "slv_pipe__purged_state", "slv_pipe__purged_tracked_history"):
        if is_of_hudi(spark, name):
            folder = folder_of_table(spark, SILVER, name)
            read = spark.sql(f"select distinct _hoodie_file_name as file from {SILVER}.{name}").collect()
            files = [next(folder.rglob(f"{file['file'].removesuffix('.parquet')}*")) for file in read]
        else:
            read = spark.sql(f"select distinct input_file_name() as file from {SILVER}.{name}").collect()
            files = [Path(unquote(urlparse(file["file"]).path)) for file in read]
        assert files
        assert not [path for path in files if has_her_name(path)], name


def test_no_commit_names_a_key(story: Story) -> None:
    spark = story.project.spark
    for name in ("stg_pipe__purged", "slv_pipe__purged_state", "slv_pipe__purged_tracked_history", "cdc_purge_ledger"):
        if is_of_hudi(spark, name):
            timeline = folder_of_table(spark, SILVER, name) / ".hoodie" / "timeline"
            commits = [path.read_bytes() for path in timeline.rglob("*") if path.is_file()]
        else:
            history = spark.sql(f"describe history {SILVER}.{name}").collect()
            commits = [str(commit["operationParameters"]).encode() for commit in history]
        assert commits
        assert not [commit for commit in commits if str(PURGED).encode() in commit], name


def test_vacuum(story: Story) -> None:
    assert all(story.files_before_vacuum.values()), "older versions have it"
    assert not story.vacuum.error, story.vacuum.printed
    _, _, vacuumed = story.vacuum.printed.partition("vacuumed")
    for table in VACUUMED:
        assert f"{SILVER}.{table}\n" in vacuumed
    assert not any(story.files_after_vacuum.values())
