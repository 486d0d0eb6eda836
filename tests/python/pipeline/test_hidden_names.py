"""Tables and columns with names that Spark does not show in settings and properties: it takes them for secrets.

A slow suite.
"""

from __future__ import annotations

import pytest

from .events import lines, postgresql
from .project import Feed, Project

pytestmark = pytest.mark.slow

FEED = "hourly_tokens"  # the first word has "url" in it
FEEDS = [
    Feed(
        FEED,
        {"access_key": "int", "password": "string"},
        [
            {"t+0+0.json": lines(*(postgresql("c", 10 * key, {"access_key": key, "password": "a"}) for key in (1, 2)))},
            {
                "t+0+2.json": lines(
                    postgresql("u", 30, {"access_key": 1, "password": "b"}),
                    postgresql("d", 40, {"access_key": 2, "password": "a"}),
                )
            },
            {},
        ],
        models=("log", "state", "living", "history"),
        key=("access_key",),
    ),
]


def test_rows_of_a_table_with_a_hidden_name(project: Project) -> None:
    assert {(row["access_key"], row["password"]) for row in project.current_rows(FEED, 0)} == {(1, "a"), (2, "a")}
    assert [(row["access_key"], row["password"]) for row in project.living(FEED)] == [(1, "b")]
    versions = {(row["access_key"], row["password"], row["_is_current"]) for row in project.history(FEED)}
    assert versions == {(1, "a", False), (1, "b", True), (2, "a", False)}


def test_table_with_a_hidden_name_is_level_without_news(project: Project) -> None:
    for role in ("log", "state", "history"):
        model = FEEDS[0].nodes[role]
        assert project.versions[2][model] == project.versions[1][model]
