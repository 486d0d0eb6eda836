"""Logs restored, rebuilt, or with an odd file, without what was noted of them. A slow suite beside test_files."""

from __future__ import annotations

import pytest

from .project import Feed, Project
from .test_files import COLUMNS, FIRST, LEDGER, SECOND, STATE, THIRD, lines_landed, lines_read, log_name, names

pytestmark = pytest.mark.slow


def restore_log(project: Project, feed: str = "restored") -> None:
    project.spark.sql(f"restore table {log_name(feed)} to version as of {project.versions[0][f'stg_pipe__{feed}']}")


def restore_log_to_before_a_full_refresh(project: Project) -> None:
    """Which has taken the entries of the batches that come back out of the ledger."""
    outcome = project.dbt("run", "--full-refresh", "--select", "stg_pipe__refreshed")
    assert (outcome.failed, outcome.error) == (set(), "")
    restore_log(project, "refreshed")


def rebuild_log_that_no_ledger_knows(project: Project) -> None:
    """The log is built anew, with one more file, after the ledger was lost: its batches start at 1 again."""
    project.land(project.feeds["rebuilt_without_ledger"], SECOND)
    project.spark.sql(f"delete from {LEDGER} where change_log = '{log_name('rebuilt_without_ledger')}'")
    outcome = project.dbt("run", "--full-refresh", "--select", "stg_pipe__rebuilt_without_ledger")
    assert (outcome.failed, outcome.error) == (set(), "")


def rebuild_log_without_a_file(project: Project) -> None:
    for file in (project.landing / "emptied").rglob("*.json"):
        file.unlink()
    outcome = project.dbt(
        "run", "--full-refresh", "--select", "stg_pipe__emptied+",
        "--vars", "alluvium_rebuild_without_missing_files: true",
    )  # fmt: skip
    assert (outcome.failed, outcome.error) == (set(), "")


FEEDS = [
    Feed("emptied", COLUMNS, [FIRST, SECOND], models=STATE, before={1: rebuild_log_without_a_file}),
    Feed("restored", COLUMNS, [FIRST, SECOND, THIRD], models=STATE, before={2: restore_log}),
    Feed("refreshed", COLUMNS, [FIRST, SECOND], models=STATE, before={1: restore_log_to_before_a_full_refresh}),
    # Listed with a length, read without a row: no batch is made of it, and none is taken for applied.
    Feed("only_a_mark", COLUMNS, [FIRST, {"t+0+1.json": b"\xef\xbb\xbf"}, THIRD], models=STATE),
    Feed("rebuilt_without_ledger", COLUMNS, [FIRST, {}], models=STATE, before={1: rebuild_log_that_no_ledger_knows}),
]


@pytest.mark.parametrize("feed", [feed.name for feed in FEEDS])
def test_no_line_of_a_file_is_read_twice_and_none_is_lost(project: Project, feed: str) -> None:
    late = [SECOND] if feed == "rebuilt_without_ledger" else []
    # What a full refresh without its files has given up.
    given_up = 1 if feed == "emptied" else 0
    assert lines_read(project, feed) == lines_landed([*project.feeds[feed].rounds[given_up:], *late])


def test_log_restored_to_an_older_version_then_a_build_gives_the_right_rows(project: Project) -> None:
    assert names(project, "restored") == {1: "third", 2: "first", 3: "first"}


def test_log_restored_to_before_a_full_refresh_then_a_build_gives_the_right_rows(project: Project) -> None:
    assert names(project, "refreshed") == {1: "second", 2: "first"}


def test_log_rebuilt_without_a_file_then_a_build_gives_the_right_rows(project: Project) -> None:
    assert names(project, "emptied") == {1: "second", 2: "first"}


def test_log_rebuilt_without_a_ledger_then_a_build_gives_the_right_rows(project: Project) -> None:
    assert names(project, "rebuilt_without_ledger") == {1: "second", 2: "first"}


def test_file_without_a_row_hides_no_later_batch(project: Project) -> None:
    assert names(project, "only_a_mark") == {1: "third", 3: "first"}
