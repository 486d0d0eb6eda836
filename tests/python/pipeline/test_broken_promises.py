"""Each promise is broken on purpose, in one line of a macro, and the test that holds it fails.

The same tests pass over the macros as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from . import test_current_state, test_files, test_moma, test_quarantine, test_unavailable_values
from .project import REPOSITORY, Feed, Project, Row

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Broken:
    """One promise.

    Attributes:
        module: has the feed.
        feed: what is built.
        holds: the test; fails where the promise does not hold.
        macro: file below ``macros``.
        said: a text that is in it once.
        says: what stands there instead.
    """

    module: ModuleType
    feed: str
    holds: Callable[[Project], None]
    macro: str
    said: str
    says: str


def rows_without_batch(project: Project, feed: str) -> list[Row]:
    rows = [{name: value for name, value in row.items() if name != "_cdc_batch"} for row in project.state(feed)]
    return sorted(rows, key=lambda row: int(row["id"]))


def every_order_gives_the_same_rows(project: Project) -> None:
    for history in test_current_state.HISTORIES:
        test_current_state.test_state_is_the_same_in_every_order_of_arrival(project, "state", history)


def full_refresh_gives_the_same_rows(project: Project) -> None:
    in_rounds = rows_without_batch(project, "held")
    outcome = project.dbt("run", "--full-refresh", "--select", *project.feeds["held"].nodes.values())
    assert (outcome.failed, outcome.error) == (set(), "")
    assert rows_without_batch(project, "held") == in_rounds


PROMISES = {
    "Converges": Broken(
        test_current_state,
        "arrivals",
        every_order_gives_the_same_rows,
        "state/latest_by_key.sql",
        "order by {{ order_by }} desc",
        "order by _cdc_file_path desc, _cdc_line desc",
    ),
    "Never wrong in silence": Broken(
        test_quarantine,
        "bad",
        lambda project: test_quarantine.test_bad_line_is_one_row_with_reason_text_and_place(
            project, "small out of range"
        ),
        "decode/reject_reason.sql",
        "_columns_to_decode(feed) if not alluvium._takes_any_text(column, feed) -%}",
        "_declared_columns(feed) if column.name in feed.key -%}",
    ),
    "Loses nothing": Broken(
        test_quarantine,
        "bad_avro",
        lambda project: test_quarantine.test_torn_avro_gives_its_whole_blocks_and_one_rejected_row(project, "text", []),
        "files/bronze_records.sql",
        "lateral read_records(files.content, files.path) as record",
        "lateral read_records(files.content, files.path) as record\nwhere record.error is null",
    ),
    "Each file is applied once": Broken(
        test_files,
        "landed",
        lambda project: test_files.test_no_line_of_a_file_is_read_twice_and_none_is_lost(project, "landed"),
        "files/new_files.sql",
        '"(batch is null or is_outdated)"',
        '"true"',
    ),
    "Incremental = full refresh": Broken(
        test_unavailable_values,
        "held",
        full_refresh_gives_the_same_rows,
        "state/merged_unavailable_column.sql",
        "then target.{{ column }}",
        "then null",
    ),
    "Cost follows change": Broken(
        test_files,
        "landed",
        test_files.test_second_build_appends_and_merges_nothing,
        "files/new_files.sql",
        "max(batch) as batch,",
        "cast(null as bigint) as batch,",
    ),
    "Traceable": Broken(
        test_moma,
        "moma_artists",
        lambda project: test_moma.test_every_row_names_the_file_and_record_that_made_it(project, "artists"),
        "models/change_log.sql",
        "line as _cdc_line,",
        "line + 1 as _cdc_line,",
    ),
}


def test_each_promise_of_the_readme_is_broken() -> None:
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^\d\. \*\*(.+?)\*\*", readme, re.MULTILINE) == list(PROMISES)


def project_of(folder: Path, spark: SparkSession, profile: Mapping[str, Any], names: Mapping[str, str]) -> Project:
    """A project over the feeds of some promises, which its tests find under their own names.

    Args:
        folder: for the project.
        spark: the shared session.
        profile: profiles.yml.
        names: promise by the prefix of its feed's tables, which other projects in the session may have, too.
    """
    feeds: dict[str, Feed] = {}
    for prefix, promise in names.items():
        broken = PROMISES[promise]
        (feed,) = [feed for feed in broken.module.FEEDS if feed.name == broken.feed]
        location = feed.location or feed.name
        renamed = replace(feed, name=f"{prefix}_{feed.name}", location=location, before={}, tests=False)
        feeds.setdefault(feed.name, renamed)
    project = Project(folder, spark, list(feeds.values()), profile)
    project.feeds = feeds
    return project


@pytest.fixture(scope="module")
def intact(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession, profile: dict[str, Any]) -> Project:
    """All feeds over the macros as they are."""
    names = {f"intact_{number}": promise for number, promise in enumerate(PROMISES)}
    project = project_of(tmp_path_factory.mktemp("intact"), spark, profile, names)
    project.build_rounds()
    return project


@pytest.mark.slow
@pytest.mark.parametrize("promise", PROMISES)
def test_promise_holds(intact: Project, promise: str) -> None:
    PROMISES[promise].holds(intact)


@pytest.mark.slow
@pytest.mark.parametrize("promise", PROMISES)
def test_broken_promise_is_found(tmp_path: Path, spark: SparkSession, profile: dict[str, Any], promise: str) -> None:
    broken = PROMISES[promise]
    project = project_of(tmp_path, spark, profile, {f"broken_{list(PROMISES).index(promise)}": promise})
    path = project.folder / "macros" / broken.macro
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(broken.said, broken.says), encoding="utf-8")
    project.build_rounds()
    with pytest.raises(AssertionError):
        broken.holds(project)
