"""More orders of arrival, and hard deletes: truncates, swaps of keys and moved values. A slow suite.

test_table_resets, test_unavailable_values and properties/test_silver have a part of each in `make test`.
"""

from __future__ import annotations

import pytest

from . import test_contested_keys as swaps
from . import test_table_resets as resets
from . import test_unavailable_values as values
from .events import Event, rounds_of
from .project import Feed, Project

pytestmark = pytest.mark.slow

SLOW = [order for order in resets.ORDERS if order not in resets.FAST]
MOVE_ORDERS = {
    "at_once": [0] * 11,
    "in_order": [0, 0, 1, 1, 1, 2, 2, 2, 2, 2, 2],
    "newest_first": [2, 2, 1, 1, 1, 0, 0, 0, 0, 0, 0],
    "create_before_delete": [0, 0, 2, 1, 1, 2, 1, 0, 2, 1, 1],
    "value_last": [2, 0, 0, 0, 1, 1, 1, 1, 0, 0, 1],
}
MOVE_BASE = {order: 100 * number for number, order in enumerate(MOVE_ORDERS)}


def rounds_of_moves() -> list[dict[str, bytes]]:
    arriving: list[list[Event]] = [[], [], []]
    for order, arrivals in MOVE_ORDERS.items():
        for event, number in zip(values.moves(MOVE_BASE[order]), arrivals, strict=True):
            arriving[number].append(event)
    return rounds_of(arriving)


FEEDS = [
    *[
        Feed(
            f"truncate_{order}",
            resets.COLUMNS,
            resets.rounds(resets.ORDERS[order]),
            models=("log", "state", "hard", "history")[: 4 if order == "first_truncate_last" else 3],
        )
        for order in SLOW
    ],
    Feed("moved_rows", values.COLUMNS, rounds_of_moves(), models=("log", "state")),
    Feed("held_hard", values.COLUMNS, values.rounds(), models=("log", "hard")),
    Feed("swap_hard", swaps.COLUMNS, swaps.rounds(), cdc={"replica_identity": "full"}, models=("log", "hard")),
]


@pytest.mark.parametrize("order", SLOW)
def test_truncates_delete_what_lies_below_in_any_order_of_arrival(project: Project, order: str) -> None:
    resets.assert_truncated(project, order, ("state", "hard"))


def test_versions_end_at_a_truncate_that_comes_after_a_later_one(project: Project) -> None:
    """Also that of 2, which has no event then. A delete behind the truncate, as that of 7, ends nothing any more."""
    ends = {version["id"]: version["_valid_to"] for version in project.history("truncate_first_truncate_last")}
    at = {key: end and f"2024-05-01 12:00:{end}" for key, (_, _, end) in resets.AT_TRUNCATES.items()}
    assert ends == at | {7: "2024-05-01 12:00:00.02"}


@pytest.mark.parametrize("order", swaps.ORDERS)
def test_rows_under_contested_keys_live_with_hard_deletes(project: Project, order: str) -> None:
    rows = swaps.of_order(project.state("swap_hard", role="hard"), order)
    assert {key: row["name"] for key, row in rows.items()} == dict.fromkeys((1, 3, 8)) | swaps.LIVING


@pytest.mark.parametrize("history", values.HISTORIES)
@pytest.mark.parametrize("arrival", values.ARRIVALS, ids=lambda arrival: "".join(map(str, arrival)))
def test_hard_delete_leaves_no_held_value(project: Project, history: str, arrival: tuple[int, ...]) -> None:
    row = values.state_of(project, "held_hard", values.key_of(history, arrival), "hard")
    expected = (None, None, None) if row["_is_deleted"] else values.HISTORIES[history][1]
    assert (row["body"], row["size"], row["_cdc_unresolved_columns"]) == expected


@pytest.mark.parametrize("order", MOVE_ORDERS)
def test_value_of_a_moved_row_is_the_one_under_its_old_key(project: Project, order: str) -> None:
    values.assert_moved(project, "moved_rows", MOVE_BASE[order])
