"""A source's columns change in the middle: added, dropped, widened, renamed."""

from __future__ import annotations

import os
from decimal import Decimal

import pytest

from .events import Event, lines, postgresql, unscaled
from .project import Feed, Project, Row

pytestmark = pytest.mark.slow

BEFORE = {"id": "int", "quantity": "int", "gone": "string"}
PRICED = {"id": "int", "net": "array<decimal(10,2)>", "gross": "array<decimal(20,5)>"}
PRICES = {"net": [unscaled(125)], "gross": [unscaled(250_000)]}
# More fields than Spark shows of a struct by default.
DOCUMENT = {f"field_{number}": number for number in range(28)}
AFTER = {"id": "int", "quantity": "bigint", "gone": "string", "channel": "string"}


def row(op: str, lsn: int, key: int, quantity: int, **more: str | None) -> Event:
    return postgresql(op, lsn, {"id": key, "quantity": quantity, **more})


def wide(*fields: str) -> dict[str, str]:
    """Columns of a document, with these fields after the others."""
    return {"id": "int", "document": f"struct<{','.join([*(f'{name}:int' for name in DOCUMENT), *fields])}>"}


def snapshot(lsn: int, key: int, quantity: int, place: str = "true") -> Event:
    return postgresql("r", lsn, {"id": key, "quantity": quantity, "gone": "x"}, snapshot=place)


# The first file holds lines of before and of after the change, the second none of after.
FIRST = {
    "t+0+0.json": lines(
        row("c", 10, 1, 1, gone="x"),
        row("c", 20, 2, 2, gone="y"),
        row("u", 40, 2, 2, channel="web"),
        row("c", 50, 4, 3_000_000_000, gone="z"),
    ),
    "t+0+4.json": lines(row("c", 30, 3, 3, gone="z")),
}
# A delete may have the key alone.
THEN = {"t+0+9.json": lines(row("u", 60, 1, 1, channel="shop"), postgresql("d", 65, {"id": 4}))}
# The column has another name from here on, of which nobody was told; another one has a value that does not fit.
RENAMED = {
    "t+0+11.json": lines(row("u", 70, 3, 3, label="web"), postgresql("c", 71, {"id": 5, "quantity": "much"})),
    "t+0+10.json": lines(row("u", 80, 3, 3, label="shop")),
}


TORN = '{"before":null,"after":{"id":2,"quantity":1},"sour'
# More than an hour in the milliseconds that an lsn is here.
MUCH_LATER = 4_000_000


def leave_out(project: Project) -> None:
    for role in ("state", "history"):
        project.edit(project.feeds["left_out"].nodes[role], ("config(", 'config(on_schema_change="ignore", '))
    project.redeclare("left_out", {"id": "int", "note": "string"})


FEEDS = [
    Feed(
        "evolved",
        BEFORE,
        [FIRST, THEN, RENAMED],
        models=("log", "state"),
        before={1: lambda project: project.redeclare("evolved", AFTER, except_column_list=["gone"])},
        on_schema_change="sync_all_columns",
    ),
    Feed(
        "kept",
        BEFORE,
        [FIRST, THEN],
        models=("log", "state", "history"),
        before={1: lambda project: project.redeclare("kept", AFTER | {"quantity": "int"}, except_column_list=["gone"])},
    ),
    Feed(
        "timed",
        {"id": "int"},
        [
            {"t+0+0.json": lines(postgresql("c", 10, {"id": 1}))},
            {"t+0+3.json": lines(postgresql("u", 20, {"id": 1, "at": 1_714_564_800_000_000}))},
        ],
        models=("log", "state", "living", "history"),
        before={1: lambda project: project.redeclare("timed", {"id": "int", "at": "timestamp_ntz"})},
    ),
    # The state and the history leave new columns out, the log takes them.
    Feed(
        "left_out",
        {"id": "int"},
        [
            {"t+0+0.json": lines(postgresql("c", 10, {"id": 1}))},
            {"t+0+3.json": lines(postgresql("u", 20, {"id": 1, "note": "web"}))},
        ],
        models=("log", "state", "living", "history"),
        before={1: leave_out},
    ),
    Feed(
        "cased",
        {"id": "int", "customername": "string"},
        [{"t+0+0.json": lines(*(postgresql("c", 10 + key, {"id": key, "customerName": "x"}) for key in (1, 2)))}],
        models=("log", "state"),
    ),
    # PostgreSQL's `numeric(10, 2)[]` and `numeric(20, 5)[]`, which stay readable in Hudi.
    Feed(
        "priced",
        PRICED,
        [
            {"t+0+0.json": lines(*(postgresql("c", key, {"id": key, **PRICES}) for key in (1, 2)))},
            {"t+0+3.json": lines(postgresql("u", 20, {"id": 1, "note": "web", **PRICES}))},
            {
                "t+0+4.json": lines(
                    postgresql("u", 30, {"id": 1, "note": "shop", **PRICES}),
                    postgresql("c", 31, {"id": 3, "note": "web", **PRICES}),
                )
            },
        ],
        models=("log", "state", "living", "history"),
        before={1: lambda project: project.redeclare("priced", PRICED | {"note": "string"})},
    ),
    Feed(
        "documents",
        wide("price:decimal(10,2)", "rank:int"),
        [{"t+0+0.json": lines(postgresql("c", 10, {"id": 1, "document": DOCUMENT | {"price": 1.25, "rank": 7}}))}],
        models=("log", "state", "history"),
    ),
    Feed(
        "late_mended",
        BEFORE,
        [
            {"t+0+0.json": lines(*(snapshot(10, key, 1) for key in (1, 2)), snapshot(10, 3, 1, "last"))},
            # 2 has gone; so, as far as the run can tell, may 1 have.
            {"t+0+3.json": lines(snapshot(100, 1, 3_000_000_000)), "t+0+4.json": lines(snapshot(100, 3, 1, "last"))},
            {},
        ],
        models=("log", "state", "history"),
        before={2: lambda project: project.redeclare("late_mended", BEFORE | {"quantity": "bigint"})},
        on_schema_change="sync_all_columns",
    ),
    Feed(
        "torn",
        BEFORE,
        [
            {"t+0+0.json": lines(*(row("c", key, key, 1, gone="x") for key in (1, 2, 3)))},
            # The row of 2 is in the line that nobody can read; the file with the end of the snapshot is read again.
            {
                "t+0+3.json": lines(snapshot(100, 1, 1), TORN),
                "t+0+5.json": lines(snapshot(100, 3, 3_000_000_000), snapshot(100, 4, 1, "last")),
            },
            {},
        ],
        models=("log", "state", "history"),
        before={2: lambda project: project.redeclare("torn", BEFORE | {"quantity": "bigint"})},
        on_schema_change="sync_all_columns",
    ),
    Feed(
        "torn_before",
        BEFORE,
        [
            {"t+0+0.json@old": lines(*(row("c", key, key, 1, gone="x") for key in (1, 2, 3)), TORN)},
            {"t+0+4.json": lines(snapshot(MUCH_LATER, 1, 1), snapshot(MUCH_LATER, 3, 1, "last"))},
        ],
        models=("log", "state", "history"),
    ),
    Feed(
        "torn_in_an_upload",
        BEFORE,
        [
            # S3 dates it by its first line; its others say that it was not written before the snapshot.
            {"t+0+0.json@old": lines(*(row("c", key, key, 1, gone="x") for key in (1, 2, 3)), TORN)},
            {"t+0+4.json": lines(snapshot(100, 1, 1), snapshot(100, 3, 1, "last"))},
        ],
        models=("log", "state", "history"),
    ),
]


def test_first_time_without_a_zone_of_a_table(project: Project) -> None:
    """Delta (3.3.3) refuses such a column in a table that was created without one."""
    assert not {name for name in project.outcomes[1].failed if "timed" in name}
    assert [row["at"] for row in project.rows("pipe_silver.slv_pipe__timed")] == ["2024-05-01 12:00:00"]
    assert [row["at"] for row in project.history("timed")] == [None, "2024-05-01 12:00:00"]


def test_column_beside_arrays_of_two_precisions(project: Project) -> None:
    """Hudi (1.2.0) would read the older files no more."""
    assert not {name for outcome in project.outcomes for name in outcome.failed if "priced" in name}
    notes = {1: ("shop",), 2: (None,), 3: ("web",)}
    assert by_id(project.state("priced"), "note") == by_id(project.current_rows("priced"), "note") == notes
    assert [row["note"] for row in project.history("priced") if row["id"] == 1] == [None, "web", "shop"]
    (prices,) = {str((row["net"], row["gross"])) for row in project.state("priced")}
    assert prices == "([Decimal('1.25')], [Decimal('2.50000')])"


def by_id(rows: list[Row], *columns: str) -> dict[int, tuple[object, ...]]:
    return {found["id"]: tuple(found[column] for column in columns) for found in rows}


def drift(project: Project, feed: str) -> dict[tuple[str, str], Row]:
    rows = project.rows("pipe_silver.cdc_schema_drift")
    log = f"pipe_silver.{project.feeds[feed].nodes['log']}"
    return {(found["difference"], found["column_name"]): found for found in rows if found["change_log"] == log}


def test_view_over_a_state_that_leaves_a_column_out_has_it_neither(project: Project) -> None:
    assert [row["note"] for row in project.log("left_out", 1)] == [None, "web"]
    assert [set(row) & {"id", "note"} for row in project.living("left_out")] == [{"id"}]


def test_column_that_was_left_out_comes_with_a_full_refresh(project: Project) -> None:
    """Added in place it would be NULL where events that are applied have brought a value."""
    feed = project.feeds["left_out"]
    merged = [feed.nodes[role] for role in ("state", "history")]
    for node in merged:
        project.edit(node, ('on_schema_change="ignore"', 'on_schema_change="append_new_columns"'))
    project.land(feed, {"t+0+4.json": lines(postgresql("c", 30, {"id": 2, "note": "shop"}))})
    outcome = project.dbt("run", "--select", *feed.nodes.values())
    assert outcome.failed == {*merged, feed.nodes["living"]}
    for node in merged:
        said = 'new columns is "note"; allowed: columns without values in batches that the table has applied'
        assert said in outcome.messages[node]
    assert not project.dbt("run", "--full-refresh", "--select", *merged).failed
    assert not project.dbt("run", "--select", *feed.nodes.values()).failed
    for rows in (project.state("left_out"), project.living("left_out"), project.current_versions("left_out")):
        assert {row["id"]: row["note"] for row in rows} == {1: "web", 2: "shop"}


def test_column_whose_name_has_another_case_is_renamed_when_asked_for(project: Project) -> None:
    feed = project.feeds["cased"]
    assert {row["_cdc_reject_reason"] for row in project.log("cased")} == {"unknown_column"}
    project.redeclare("cased", {"id": "int", "customerName": "string"})
    outcome = project.dbt("run", "--select", *feed.nodes.values())
    assert "which has customerName in another case" in outcome.messages[feed.nodes["log"]]
    for node in feed.nodes.values():
        project.edit(node, ("config(", 'config(on_schema_change="sync_all_columns", '))
    assert not project.dbt("run", "--select", *feed.nodes.values()).failed
    assert {row["id"]: row["customerName"] for row in project.state("cased")} == {1: "x", 2: "x"}


def test_lines_that_a_declaration_rejected_are_read_again_when_it_has_changed(project: Project) -> None:
    assert [row["_cdc_reject_reason"] for row in project.log("evolved", 0) if row["_cdc_kind"] == "rejected"] == [
        "unknown_column",
        "type_misfit",
    ]
    log = project.log("evolved", 1)
    assert [(row["_cdc_line"], row["_cdc_reject_reason"], row["_cdc_batch"]) for row in log] == [
        (1, None, 2),
        (2, None, 2),
        (3, None, 2),
        (4, None, 2),
        (1, None, 1),
        (1, None, 2),
        (2, None, 2),
    ]
    assert "pipe.evolved: 2 new files, " in project.outcomes[1].printed
    assert "1 of them read again: columns are declared otherwise since" in project.outcomes[1].printed


def test_ledger_has_a_file_that_was_read_again_once(project: Project) -> None:
    assert [(row["batch"], row["line_count"], row["rejected_count"]) for row in project.ledger("evolved", 1)] == [
        (1, 1, 0),
        (2, 4, 0),
        (2, 2, 0),
    ]


def test_columns_of_the_table_are_the_declared_ones_and_values_are_exact(project: Project) -> None:
    assert by_id(project.state("evolved", 1), "quantity", "channel") == {
        1: (1, "shop"),
        2: (2, "web"),
        3: (3, None),
        4: (3_000_000_000, None),
    }
    assert "gone" not in project.state("evolved")[0]
    assert "gone" not in project.log("evolved")[0]


@pytest.mark.parametrize("feed", ["evolved", "kept"])
def test_newest_batch_is_known_without_a_scan_afterwards(project: Project, feed: str) -> None:
    newest = project.spark.sql(f"select max(_cdc_batch) from pipe_silver.stg_pipe__{feed}")
    assert "LocalRelation" in newest._jdf.queryExecution().optimizedPlan().toString()


def test_drift_is_reported_and_a_new_name_is_proposed(project: Project) -> None:
    found = drift(project, "evolved")
    # What the first round rejected has been declared since.
    assert {key: (row["first_batch"], row["last_batch"], row["file_count"]) for key, row in found.items()} == {
        ("unknown", "label"): (3, 3, 2),
        ("absent", "channel"): (3, 3, 2),
        ("misfit", "quantity"): (3, 3, 1),
    }
    assert found["unknown", "label"]["declared_as"] == "quarantine"
    assert found["unknown", "label"]["may_be_renamed_from"] == ["channel"]
    first, second, third = (outcome.printed for outcome in project.outcomes[:3])
    said = "stg_pipe__evolved: declared columns that the newest events do not have: "
    assert said not in first + second
    assert f"{said}channel. Dropped, renamed or misspelt?" in third


def test_drift_begins_with_the_oldest_event_that_shows_it(project: Project) -> None:
    assert drift(project, "evolved")["unknown", "label"]["first_file_path"].endswith("t+0+11.json")


def test_column_that_is_no_longer_declared_keeps_its_last_values(project: Project) -> None:
    assert by_id(project.state("kept"), "quantity", "channel", "gone") == {
        1: (1, "shop", "x"),
        2: (2, "web", "y"),
        3: (3, None, "z"),
        4: (None, None, None),
    }


def test_misfit_is_reported_with_the_type_that_was_declared(project: Project) -> None:
    (found,) = drift(project, "kept").items()
    assert (found[0], found[1]["declared_as"]) == (("misfit", "quantity"), "int")


def test_snapshot_deletes_once_its_rejected_row_is_mended(project: Project) -> None:
    assert by_id(project.state("late_mended", 1), "quantity", "_is_deleted") == {
        1: (1, False),
        2: (1, False),
        3: (1, False),
    }
    assert by_id(project.state("late_mended", 2), "quantity", "_is_deleted") == {
        1: (3_000_000_000, False),
        2: (1, True),
        3: (1, False),
    }
    current = [row["id"] for row in project.current_versions("late_mended")]
    assert sorted(current) == [1, 3]


def test_snapshot_that_is_read_again_deletes_nothing_that_a_torn_line_may_have(project: Project) -> None:
    living = by_id(project.current_rows("torn"), "quantity")
    current = by_id(project.current_versions("torn"), "quantity")
    assert living == current == {1: (1,), 2: (1,), 3: (3_000_000_000,), 4: (1,)}


def test_line_that_was_torn_before_a_snapshot_was_taken_is_none_of_its_rows(project: Project) -> None:
    living = by_id(project.current_rows("torn_before"), "quantity")
    current = by_id(project.current_versions("torn_before"), "quantity")
    assert living == current == {1: (1,), 3: (1,)}


def test_file_with_changes_of_just_before_a_snapshot_is_not_older(project: Project) -> None:
    living = by_id(project.current_rows("torn_in_an_upload"), "quantity")
    current = by_id(project.current_versions("torn_in_an_upload"), "quantity")
    assert living == current == {1: (1,), 2: (1,), 3: (1,)}


@pytest.mark.parametrize(
    "fields", [("price:decimal(10,4)", "rank:int"), ("rank:int", "price:decimal(10,2)")], ids=["finer", "swapped"]
)
def test_last_fields_of_a_wide_struct_are_compared(project: Project, fields: tuple[str, ...]) -> None:
    """Spark would round the one, and put the other's value into its neighbour."""
    feed = project.feeds["documents"]
    before = project.log("documents")
    assert by_id(before, "document") == by_id(project.state("documents"), "document")
    assert before[0]["document"] == DOCUMENT | {"price": Decimal("1.25"), "rank": 7}
    project.redeclare("documents", wide(*fields))
    document = DOCUMENT | {"price": 1.2567, "rank": 9}
    project.land(feed, {"t+0+5.json": lines(postgresql("u", 20, {"id": 1, "document": document}))})
    outcome = project.dbt("run", "--select", *feed.nodes.values())
    assert 'type of column document is "struct<field_0:int,' in outcome.messages[feed.nodes["log"]]
    assert "as the table has it; another one needs" in outcome.messages[feed.nodes["log"]]
    assert project.log("documents") == before


def test_history_goes_on_over_the_change(project: Project) -> None:
    versions = [
        (row["quantity"], row["channel"], row["_is_current"]) for row in project.history("kept") if row["id"] == 2
    ]
    assert versions == [(2, None, False), (2, "web", True)]


def test_rows_are_those_of_a_full_refresh(project: Project) -> None:
    before = by_id(project.state("evolved"), "quantity", "channel")
    feed = project.feeds["evolved"]
    outcome = project.dbt("build", "--full-refresh", "--select", *feed.nodes.values())
    assert not outcome.failed
    assert by_id(project.state("evolved"), "quantity", "channel") == before


def test_time_of_another_clock_is_built_with_the_views_over_it(project: Project) -> None:
    """Spark (3.5) would cast it in the old view, by the clock of the session's zone, and say nothing."""
    nodes, view = project.feeds["timed"].nodes, "pipe_silver.slv_pipe__timed"
    project.redeclare("timed", {"id": "int", "at": "timestamp"})
    project.land(
        project.feeds["timed"], {"t+0+5.json": lines(postgresql("u", 30, {"id": 1, "at": "2024-05-01T12:00:00Z"}))}
    )
    alone = project.dbt("run", "--full-refresh", "--select", nodes["log"], nodes["state"])
    is_hudi = os.environ["ALLUVIUM_FILE_FORMAT"] == "hudi"
    assert alone.failed == (set() if is_hudi else {nodes["state"]})
    if not is_hudi:
        said = 'type of column at is "timestamp"; allowed: another one than its table has where the views over it are'
        assert said in alone.messages[nodes["state"]]
        assert project.rows(view)[0]["at"] == "2024-05-01 12:00:00"
    assert not project.dbt("run", "--full-refresh", "--select", f"{nodes['log']}+").failed
    (row,) = project.spark.sql(f"select unix_seconds(at) as at from {view}").collect()
    assert row.at == 1_714_564_800
