"""What becomes of tables whose declaration has changed since they were built."""

from __future__ import annotations

import pytest

from .events import lines, postgresql
from .project import SILVER, Feed, Project

COLUMNS = {"id": "int", "name": "string"}
LATER = COLUMNS | {"paid": ("int", {"default": "0"})}
WARNED = "pipe.defaulted: default is declared otherwise than when files were read that the log has"


def delete_hard_from_now_on(project: Project) -> None:
    (model,) = (project.folder / "models").rglob("slv_pipe__turned_state.sql")
    sql = model.read_text(encoding="utf-8")
    assert '"soft"' in sql
    model.write_text(sql.replace('"soft"', '"hard"'), encoding="utf-8")


FEEDS = [
    Feed(
        "turned",
        COLUMNS,
        [
            {
                "t+0+0.json": lines(
                    postgresql("c", 1, {"id": 1, "name": "kept"}),
                    postgresql("c", 2, {"id": 2, "name": "gone"}),
                    postgresql("d", 3, {"id": 2, "name": "gone"}),
                )
            },
            {},
            {},
        ],
        models=("log", "state"),
        before={1: delete_hard_from_now_on},
        slow=True,
    ),
    Feed(
        "defaulted",
        COLUMNS,
        [
            {"t+0+0.json": lines(postgresql("c", 1, {"id": 1, "name": "before"}))},
            {"t+0+1.json": lines(postgresql("c", 2, {"id": 2, "name": "after"}))},
            {},
        ],
        before={1: lambda project: project.redeclare("defaulted", LATER)},
    ),
]


@pytest.mark.slow
def test_state_is_built_anew_once_where_its_delete_policy_has_changed(project: Project) -> None:
    """Else the values of rows that were deleted before would stay."""
    state = "slv_pipe__turned_state"
    said = f"{state}: built anew, since delete_policy is declared otherwise than when it was built"
    assert [said in outcome.printed for outcome in project.outcomes[:3]] == [False, True, False]
    rows = {row["id"]: (row["name"], row["_is_deleted"]) for row in project.rows(f"{SILVER}.{state}")}
    assert rows == {1: ("kept", False), 2: (None, True)}


def test_lines_that_were_decoded_with_other_options_are_warned_of(project: Project) -> None:
    """In each run, as long as they are there."""
    assert [WARNED in outcome.printed for outcome in project.outcomes[:3]] == [False, True, True]
    assert {row["id"]: row["paid"] for row in project.log("defaulted", after_round=2)} == {1: None, 2: 0}


@pytest.mark.slow
def test_full_refresh_decodes_all_lines_with_the_options_declared(project: Project) -> None:
    log = "stg_pipe__defaulted"
    for _ in range(2):
        outcome = project.dbt("run", "--full-refresh", "--select", log)
        assert (outcome.failed, outcome.error, WARNED in outcome.printed) == (set(), "", False)
    assert {row["id"]: row["paid"] for row in project.log("defaulted")} == {1: 0, 2: 0}
    assert WARNED not in project.dbt("run", "--select", log).printed
