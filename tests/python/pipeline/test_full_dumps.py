"""Feeds without deletes that have them from full dumps among their files."""

from __future__ import annotations

import datetime as dt
import gzip
import re

import pytest

from .events import Event, lines
from .project import SILVER, Feed, Project

pytestmark = pytest.mark.slow

COLUMNS = {"id": "int", "note": "string", "updated_at": "timestamp_ntz"}
# Points in time; the paths of the dumps are in UTC then.
IN_KOLKATA = {**COLUMNS, "updated_at": "timestamp"}
DELAY = 30
CDC = {
    "connector": "table",
    "shape": "row",
    "sequence_by": "updated_at",
    "full_dumps": {"path": "/full/([^/]+)/", "delay_seconds": DELAY},
}


def moment(second: int) -> dt.datetime:
    return dt.datetime(2024, 5, 1, 12) + dt.timedelta(seconds=second)


def row(key: int, second: int, note: str = "") -> Event:
    return {"id": key, "note": note or f"{key} of {second}", "updated_at": moment(second).isoformat(sep=" ")}


def in_kolkata(content: bytes) -> bytes:
    """The same with an offset."""
    shift = dt.timedelta(hours=5, minutes=30)
    for at in {int(number) for number in re.findall(rb"of (\d+)", content)} | {11}:
        content = content.replace(str(moment(at)).encode(), f"{moment(at) + shift}+05:30".encode())
    return content


CHANGES = {
    "changes/t+0+0.json": lines(row(1, 1), row(2, 2), row(3, 3), row(4, 10), row(7, 40)),
    # 3 comes again under its old key; 6 is committed after the dump of second 120, though it is of less than that.
    "changes/t+0+5.json": lines(row(3, 70), row(5, 80), row(6, 100)),
    # Late, and below what dumps say.
    "changes/t+0+8.json": lines(row(2, 15), row(8, 16), row(3, 65)),
}
DUMPS = {
    # In two files; 3 is gone, the change that made 9 was never delivered, 7 is younger than the delay.
    "full/2024-05-01T12%3A01%3A00/a.json": lines(row(1, 1), row(2, 15)),
    "full/2024-05-01T12%3A01%3A00/b.json": lines(row(4, 10), row(9, 20), row(7, 40)),
    "full/2024-05-01 12:02:00/a.json": lines(row(1, 1), row(3, 70), row(4, 10), row(9, 20), row(7, 40)),
    # Nothing has changed in between but a delete.
    "full/20240501120201/a.json": lines(row(3, 70), row(4, 10), row(9, 20), row(7, 40)),
    # A line that nobody can read may be the row that is missing.
    "full/2024-05-01-12-05/a.json": lines(row(4, 10)) + b'{"id": 3, "no\n',
    # Not a time: no changes either.
    "full/latest/a.json": lines(row(4, 11, "of no time")),
}
C, D = list(CHANGES), list(DUMPS)
FILES = CHANGES | DUMPS
ORDERS = {
    "dumps": [[C[0]], [D[0], D[1]], [C[1]], [D[2]], [D[3]], [D[4], D[5]], [C[2]]],
    "dumps_late": [[D[3], D[4]], [C[1], C[2]], [D[2], D[5]], [D[1]], [C[0]], [D[0]]],
    "dumps_at_once": [list(FILES)],
}
FEEDS = [
    Feed(
        name,
        IN_KOLKATA if name == "dumps_at_once" else COLUMNS,
        [
            {path: in_kolkata(FILES[path]) if name == "dumps_at_once" else FILES[path] for path in paths}
            for paths in order
        ],
        cdc=CDC,
        models=("log", "state", "living", "quarantine", "history")
        if name != "dumps_late"
        else ("log", "state", "living", "history", "hard"),
    )
    for name, order in ORDERS.items()
]


def torn(*events: Event) -> bytes:
    """A file whose last line nobody can read."""
    return lines(*events) + b'{"id": 3, "no\n'


OLD, MIDDLE, NEW, NEWEST = (f"full/2024-05-01T12:{minute}/" for minute in ("00:40", "01:00", "02:00", "03:00"))
ZIPPED = gzip.compress(lines(row(3, 3), row(4, 5)), mtime=0)
# Dumps whose files break and are landed anew; the rounds that are refused by their index.
MENDED = [
    {"changes/a.json": lines(row(1, 1), row(2, 2), row(3, 3)), MIDDLE + "a.json": lines(row(1, 1))},
    {MIDDLE + "b.json": torn(row(2, 2))},
    {MIDDLE + "b.json": lines(row(2, 2), row(3, 3))},
    # Late, and of none of its files were rows deleted.
    {OLD + "a.json": torn(row(1, 1))},
    {OLD + "a.json": lines(row(1, 1), row(3, 3)), NEW + "a.json": lines(row(1, 1), row(2, 2))},
    # What it deleted is gone with the newer dump in any case.
    {MIDDLE + "b.json": torn(row(2, 2), row(3, 3))},
    {NEW + "b.json.gz": ZIPPED[:-9]},
    {NEW + "b.json.gz": ZIPPED},
    # A newer dump comes with the break.
    {NEW + "a.json": torn(row(1, 1), row(2, 2)), NEWEST + "a.json": lines(row(1, 1), row(2, 2))},
]
REFUSED = {1: MIDDLE + "b.json", 6: NEW + "b.json.gz"}
# Ids of the living rows after each round; a refused one leaves the tables as they were.
LIVING_WHILE_MENDED = [{1}, {1}, {1, 2, 3}, {1, 2, 3}, {1, 2}, {1, 2}, {1, 2}, {1, 2, 3, 4}, {1, 2}]
OF_DELETES = [
    # 7 is of the very place of the next dump: a second column orders it behind.
    {
        "changes/a.json": lines(
            *(row(key, second) | {"op": "I"} for key, second in ((1, 1), (2, 2), (3, 3), (7, 60 - DELAY)))
        )
    },
    {MIDDLE + "a.json": lines(*(row(key, key) | {"op": "D"} for key in (1, 2)))},
    {
        "changes/b.json": lines(row(5, 70), row(6, 70)),
        NEW + "a.json": lines(row(5, 70)),
        NEW + "b.json": torn(),
    },
    # Mended by a file without a row.
    {NEW + "b.json": b"\n"},
]
# A dump whose first version had a row too much; the one of 2, and the file that 3 moved to, lack nothing.
CUT = [
    {MIDDLE + "a.json": lines(row(1, 1), row(2, 2), row(3, 3), row(4, 4)), NEW + "a.json": lines(row(2, 2))},
    {
        MIDDLE + "a.json": lines(row(1, 1), row(2, 2)),
        MIDDLE + "b.json": lines(row(3, 3)),
        NEW + "a.json": lines(row(2, 20)),
    },
]
FEEDS += [
    Feed("dumps_cut", COLUMNS, CUT, cdc=CDC, models=("log",)),
    Feed(
        "dumps_mended",
        COLUMNS,
        MENDED,
        cdc=CDC,
        models=("log", "state", "history"),
        fails=("slv_pipe__dumps_mended_state", "slv_pipe__dumps_mended_history"),
    ),
    Feed(
        "dumps_mended_at_once",
        COLUMNS,
        [{path: content for landed in MENDED for path, content in landed.items()}],
        cdc=CDC,
        models=("log", "state", "history"),
    ),
    Feed(
        "dumps_of_deletes",
        {**COLUMNS, "op": "string"},
        OF_DELETES,
        cdc={**CDC, "sequence_by": ["updated_at", "id"], "apply_as_deletes": "op = 'D'"},
        models=("log", "state", "history"),
    ),
]
LIVING = {3: 70, 4: 10, 6: 100, 7: 40, 9: 20}
# Key -> when it was gone: the moment of the first dump without it, less the delay. 8 was never in a dump.
GONE = {1: 121 - DELAY, 2: 120 - DELAY, 5: 120 - DELAY, 8: 60 - DELAY}
VERSIONS = {
    1: [(1, 121 - DELAY)],
    2: [(2, 15), (15, 120 - DELAY)],
    3: [(3, 60 - DELAY), (65, 70), (70, None)],
    4: [(10, None)],
    5: [(80, 120 - DELAY)],
    6: [(100, None)],
    # Changed within the delay of the first dump, which has it: shown from there.
    7: [(60 - DELAY, None)],
    8: [(16, 60 - DELAY)],
    9: [(60 - DELAY, None)],
}


def second(text: str | None) -> int | None:
    return (
        None
        if text is None
        else int((dt.datetime.fromisoformat(text).replace(tzinfo=None) - moment(0)).total_seconds())
    )


@pytest.mark.parametrize("name", ORDERS)
def test_rows_that_a_full_dump_lacks_are_deleted_in_any_order_of_arrival(project: Project, name: str) -> None:
    living = project.rows(f"{SILVER}.slv_pipe__{name}")
    assert {found["id"]: found["note"] for found in living} == {key: f"{key} of {at}" for key, at in LIVING.items()}
    state = project.rows(f"{SILVER}.slv_pipe__{name}_state")
    assert {found["id"]: second(found["_deleted_at"]) for found in state if found["_is_deleted"]} == GONE


@pytest.mark.parametrize("name", ORDERS)
def test_history_has_one_version_over_the_dumps_that_have_its_row(project: Project, name: str) -> None:
    versions: dict[int, list[tuple[int | None, int | None]]] = {}
    for found in sorted(project.rows(f"{SILVER}.slv_pipe__{name}_history"), key=lambda found: found["_cdc_position"]):
        versions.setdefault(found["id"], []).append((second(found["_valid_from"]), second(found["_valid_to"])))
    assert versions == VERSIONS


def test_hard_deletes_leave_no_value(project: Project) -> None:
    hard = project.rows(f"{SILVER}.slv_pipe__dumps_late_hard_state")
    assert {found["id"] for found in hard if not found["_is_deleted"]} == set(LIVING)
    assert all(found["note"] is None for found in hard if found["_is_deleted"])


def test_dump_of_no_time_is_rejected(project: Project) -> None:
    rejected = project.rows(f"{SILVER}.qrn_pipe__dumps")
    assert {found["_cdc_file_path"].split("/")[-2]: found["_cdc_reject_reason"] for found in rejected} == {
        "2024-05-01-12-05": "malformed_json",
        "latest": "missing_position",
    }


def living(project: Project, name: str, after_round: int | None = None) -> set[int]:
    return {found["id"] for found in project.current_rows(name, after_round)}


def opened(project: Project, name: str, after_round: int | None = None) -> set[int]:
    return {found["id"] for found in project.current_versions(name, after_round)}


def test_broken_dump_is_refused_where_its_rows_are_deleted_and_goes_on_once_it_is_mended(project: Project) -> None:
    for number, expected in enumerate(LIVING_WHILE_MENDED):
        outcome = project.outcomes[number]
        for kind in ("state", "history"):
            node = f"slv_pipe__dumps_mended_{kind}"
            assert (outcome.status[node] == "error") is (number in REFUSED), (number, outcome.messages[node])
            if number in REFUSED:
                assert "full dump is" in outcome.messages[node]
                assert REFUSED[number] in outcome.messages[node]
        assert living(project, "dumps_mended", number) == expected, number
        assert opened(project, "dumps_mended", number) == expected, number


def test_mended_dumps_give_the_tables_that_their_files_give_at_once(project: Project) -> None:
    tables = []
    for name in ("dumps_mended", "dumps_mended_at_once"):
        state = {found["id"]: (found["note"], found["_is_deleted"]) for found in project.state(name)}
        versions = {(v["id"], v["_valid_from"], v["_valid_to"], v["note"]) for v in project.history(name)}
        tables.append((state, versions))
    assert tables[0] == tables[1]
    assert {key for key, (_, is_deleted) in tables[0][0].items() if not is_deleted} == LIVING_WHILE_MENDED[-1]


def test_dump_that_has_deletes_alone_deletes_what_it_lacks(project: Project) -> None:
    for number, expected in enumerate([{1, 2, 3, 7}, {7}, {5, 6, 7}, {5}]):
        assert living(project, "dumps_of_deletes", number) == expected, number
        assert opened(project, "dumps_of_deletes", number) == expected, number
    gone = {found["id"]: second(found["_deleted_at"]) for found in project.state("dumps_of_deletes")}
    assert gone == {1: 60 - DELAY, 2: 60 - DELAY, 3: 60 - DELAY, 5: None, 6: 120 - DELAY, 7: 120 - DELAY}


def test_rows_that_a_dump_has_lost_are_warned_of(project: Project) -> None:
    printed = "".join(outcome.printed for outcome in project.outcomes)
    warned = re.findall(r"stg_pipe__(\w+): full dumps that were landed anew lack (\d+) rows", printed)
    assert set(warned) == {("dumps_cut", "1")}


def test_full_refresh_without_rows_that_a_dump_has_lost_is_not_refused(project: Project) -> None:
    """They are not in the table: the newer version of their dump lacks them."""
    outcome = project.dbt("run", "--full-refresh", "--select", "stg_pipe__dumps_cut")
    assert (outcome.failed, outcome.error) == (set(), "")
