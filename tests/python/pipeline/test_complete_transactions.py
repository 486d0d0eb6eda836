"""States of several tables that move from one complete transaction to the next, whatever part of one has landed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from .events import MARKER_COLUMNS, NOON_MS, Event, lines, postgresql
from .project import SILVER, Feed, Project, Row

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow

MARKERS, ORDERS, ITEMS = "cut_transaction", "cut_orders", "cut_items"
STATUS = "stg_pipe__cut_transaction_status"
COLLECTIONS = {ORDERS: "public.orders", ITEMS: "public.items"}
COLUMNS = {"id": "int", "note": "string"}


def event(op: str, transaction: int, order: int, key: int, note: str) -> Event:
    """The n-th event of a transaction; the n-th to commit is the one with the n-th number."""
    lsn = 1000 * transaction + order
    made = postgresql(op, lsn, {"id": key, "note": note}, commit=1000 * transaction, txId=transaction)
    return made | {"transaction": {"id": f"{transaction}:{lsn}", "total_order": order, "data_collection_order": 1}}


def begin(transaction: int) -> Event:
    return {
        "status": "BEGIN",
        "id": f"{transaction}:1",
        "event_count": None,
        "data_collections": None,
        "ts_ms": NOON_MS,
    }


def end(transaction: int, orders: int, items: int) -> Event:
    counts = [("public.orders", orders), ("public.items", items), ("public.others", 7)]
    counted = [{"data_collection": name, "event_count": count} for name, count in counts if count]
    all_events = sum(count for _, count in counts)
    return {
        "status": "END",
        "id": f"{transaction}:9",
        "event_count": all_events,
        "data_collections": counted,
        "ts_ms": NOON_MS,
    }


SNAPSHOT = postgresql("r", 10, {"id": 9, "note": "snapshot"}, snapshot="last")
TORN = '{"before":null,"after":{"id":7,"note":"S"},"sour'


def snapshot(key: int, place: str = "true", **more: str) -> Event:
    """A row of a snapshot that is taken anew, behind all transactions."""
    return postgresql("r", 50_000, {"id": key, "note": "S", **more}, snapshot=place)


# (orders, items, markers) that land before each round.
ROUNDS: list[dict[str, list[Event | str]]] = [
    # Of the first transaction one of two items is missing, of the second its item; the third is whole.
    {
        ORDERS: [SNAPSHOT, event("c", 1, 1, 1, "T1"), event("u", 2, 1, 1, "T2"), event("c", 3, 1, 3, "T3")],
        # The second of the items cannot be shown: it has come, and does not count.
        ITEMS: [event("c", 1, 2, 1, "T1"), event("c", 1, 3, 2, "T1") | {"op": "x"}],
        MARKERS: [begin(1), end(1, 1, 2), begin(2), end(2, 1, 1), begin(3), end(3, 1, 0)],
    },
    # The rest of the first.
    {ITEMS: [event("c", 1, 3, 2, "T1")]},
    # The rest of the second, part of the first again; of a fourth all events, and not yet its end.
    {
        ORDERS: [event("u", 4, 2, 3, "T4")],
        ITEMS: [event("d", 2, 2, 2, ""), event("c", 1, 3, 2, "T1"), event("c", 4, 1, 4, "T4")],
        MARKERS: [begin(4)],
    },
    # That; and a fifth, whose markers come before its events.
    {MARKERS: [end(4, 1, 1), begin(5), end(5, 1, 1)]},
    {ORDERS: [event("u", 5, 1, 1, "T5")]},
    # Late and incomplete: below what is shown already.
    {ITEMS: [event("u", 5, 2, 1, "T5"), event("c", 0, 1, 7, "T0")], MARKERS: []},
    {ITEMS: [event("c", 0, 2, 8, "T0")], MARKERS: [begin(0), end(0, 0, 2)]},
    # A snapshot above an incomplete transaction: of the orders a row is rejected, of the items a line is no record.
    {
        ORDERS: [event("u", 6, 1, 1, "T6"), snapshot(1), snapshot(3, extra="x"), snapshot(5, "last")],
        ITEMS: [snapshot(1), TORN, snapshot(4, "last")],
        MARKERS: [begin(6), end(6, 1, 1)],
    },
    {ITEMS: [event("u", 6, 2, 1, "T6")]},
    # The column of the rejected row is declared, and its file read again.
    {},
    {},
]
# The round before which it is.
DECLARED = 9
# What lives in (orders, items) after each.
T1 = ({9: "snapshot", 1: "T1"}, {1: "T1", 2: "T1"})
T3 = ({9: "snapshot", 1: "T2", 3: "T3"}, {1: "T1"})
T4 = ({9: "snapshot", 1: "T2", 3: "T4"}, {1: "T1", 4: "T4"})
T5 = ({9: "snapshot", 1: "T5", 3: "T4"}, {1: "T5", 4: "T4"})
LATE = (T5[0], T5[1] | {7: "T0", 8: "T0"})
REJECTED = ({9: "snapshot", 1: "S", 3: "T4", 5: "S"}, {1: "S", 4: "S", 7: "T0", 8: "T0"})
MENDED = ({1: "S", 3: "S", 5: "S"}, REJECTED[1])
EXPECTED = [({9: "snapshot"}, {}), T1, T3, T4, T4, T4, LATE, LATE, REJECTED, MENDED, MENDED]

STATUS_SQL = f"""
{{{{ transaction_status(ref('stg_pipe__{MARKERS}'), [ref('stg_pipe__{ORDERS}'), ref('stg_pipe__{ITEMS}')]) }}}}
"""
COMPLETE_SQL = f"""
{{{{ complete_transactions(ref('stg_pipe__{{log}}'), ref('{STATUS}')) }}}}
"""
FEEDS = [
    Feed(MARKERS, MARKER_COLUMNS, [{}], ("id", "status"), {"connector": "table", "shape": "row", "order_by": "offset"}),
    *(
        Feed(name, COLUMNS, [{}], cdc={"data_collection": COLLECTIONS[name]}, models=("log", "state"))
        for name in COLLECTIONS
    ),
]


def land(project: Project, number: int) -> None:
    for feed, events in ROUNDS[number].items():
        files = {f"{feed}+0+{number * 10}.json": lines(*events)} if events else {}
        project.land(project.feeds[feed], files)


def living(project: Project) -> tuple[dict[int, str], ...]:
    return tuple({row["id"]: row["note"] for row in project.current_rows(name)} for name in COLLECTIONS)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession, profile: dict[str, Any]) -> Project:
    """States over the complete transactions, not yet built."""
    made = Project(tmp_path_factory.mktemp("cuts"), spark, FEEDS, profile)
    folder = made.folder / "models" / "silver"
    (folder / f"{STATUS}.sql").write_text(STATUS_SQL, encoding="utf-8")
    for name in COLLECTIONS:
        (folder / f"stg_pipe__{name}_complete.sql").write_text(COMPLETE_SQL.replace("{log}", name), encoding="utf-8")
        state = folder / name / f"slv_pipe__{name}_state.sql"
        sql = state.read_text(encoding="utf-8")
        state.write_text(sql.replace(f"stg_pipe__{name}", f"stg_pipe__{name}_complete"), encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def rounds(project: Project) -> list[tuple[tuple[dict[int, str], ...], dict[str, Row], dict[str, int | None], Row]]:
    """The living rows, the status, the tables' versions and the cut of a log after each round."""
    found = []
    models = [STATUS, *(f"stg_pipe__{name}_complete" for name in COLLECTIONS), f"slv_pipe__{ORDERS}_state"]
    for number in range(len(ROUNDS)):
        land(project, number)
        if number == DECLARED:
            project.redeclare(ORDERS, COLUMNS | {"extra": "string"})
        outcome = project.dbt("build", "--exclude", "resource_type:test")
        assert (outcome.failed, outcome.error) == (set(), ""), outcome.messages
        status = {row["transaction_id"]: row for row in project.rows(f"{SILVER}.{STATUS}")}
        properties = {
            row["key"]: row["value"]
            for row in project.spark.sql(f"show tblproperties {SILVER}.stg_pipe__{ITEMS}_complete").collect()
            if row["key"].startswith("alluvium.cut_")
        }
        found.append((living(project), status, {model: project.version(model) for model in models}, properties))
    return found


@pytest.mark.parametrize("number", range(len(ROUNDS)))
def test_states_show_complete_transactions_alone(rounds: list[Any], number: int) -> None:
    assert rounds[number][0] == EXPECTED[number]


def test_status_says_what_is_missing(rounds: list[Any]) -> None:
    incomplete = [
        {name: row["missing_from"] for name, row in status.items() if not row["is_complete"]}
        for _, status, _, _ in rounds
    ]
    items = ["public.items"]
    assert incomplete[:3] == [{"1": items, "2": items}, {"2": items}, {"4": []}]
    assert incomplete[3:5] == [{"5": ["public.orders", "public.items"]}, {"5": items}]
    assert incomplete[5:] == [{"0": []}, {}, {"6": items}, {}, {}, {}]


def test_run_without_news_writes_nothing(rounds: list[Any]) -> None:
    assert rounds[-1][2] == rounds[-2][2]


def test_run_that_was_killed_before_it_recorded_its_cut_appends_nothing_twice(
    project: Project, rounds: list[Any]
) -> None:
    log = f"{SILVER}.stg_pipe__{ITEMS}_complete"
    before = Counter((row["_cdc_file_path"], row["_cdc_line"]) for row in project.rows(log))
    # As after the first round, which held back what the second has appended.
    properties = [f"'{name}' = '{value}'" for name, value in rounds[0][3].items()]
    assert len(properties) == 3
    project.spark.sql(f"alter table {log} set tblproperties ({', '.join(properties)})")
    outcome = project.dbt("build", "--exclude", "resource_type:test")
    assert (outcome.failed, outcome.error) == (set(), "")
    assert Counter((row["_cdc_file_path"], row["_cdc_line"]) for row in project.rows(log)) == before
    assert set(before.values()) == {1}
    assert living(project) == EXPECTED[-1]


def test_full_refresh_gives_the_same_rows(project: Project, rounds: list[Any]) -> None:
    outcome = project.dbt("build", "--full-refresh", "--exclude", "resource_type:test")
    assert (outcome.failed, outcome.error) == (set(), "")
    assert living(project) == EXPECTED[-1]


def test_log_that_was_restored_goes_on_above_what_was_read_of_it(project: Project, rounds: list[Any]) -> None:
    log = f"stg_pipe__{ORDERS}_complete"
    version = project.version(log)
    for transaction, note in ((60, "T60"), (61, "T61")):
        changes = {ORDERS: [event("u", transaction, 1, 1, note)], MARKERS: [begin(transaction), end(transaction, 1, 0)]}
        for feed, events in changes.items():
            project.land(project.feeds[feed], {f"{feed}+0+{transaction * 10}.json": lines(*events)})
        outcome = project.dbt("build", "--exclude", "resource_type:test")
        assert (outcome.failed, outcome.error) == (set(), "")
        assert living(project)[0] == MENDED[0] | {1: note}
        project.spark.sql(f"restore table {SILVER}.{log} to version as of {version}")
