"""A state in partitions by a text: rows move between them, and what a partition cannot hold stops it."""

from __future__ import annotations

import os

import pytest

from alluvium.runtime import jars

from .events import lines, postgresql
from .project import SILVER, Feed, Project

COUNTRIES = ["Nederland", None, "", "Saint Pierre & Miquelon/50%"]
FRANCE = {"country": "France", "region": 1}

MOVED: dict[str, dict[str, str]] = {"moved_parts": {}}
# Indexes of Hudi's that may be chosen.
MOVED_IN_HUDI: dict[str, dict[str, str]] = {
    "moved_parts_bloom": {"hoodie.index.type": "GLOBAL_BLOOM"},
    "moved_parts_record_index": (
        # As Hudi 1.0 calls it.
        {
            "hoodie.index.type": "RECORD_INDEX",
            "hoodie.metadata.record.index.enable": "true",
            "hoodie.metadata.enable": "true",
        }
        if jars.LOCK.name == "jars-emr.lock"
        else {
            "hoodie.index.type": "GLOBAL_RECORD_LEVEL_INDEX",
            "hoodie.metadata.global.record.level.index.enable": "true",
        }
    ),
}
if os.environ["ALLUVIUM_FILE_FORMAT"] == "hudi":
    MOVED |= MOVED_IN_HUDI

FEEDS = [
    Feed(
        "parts",
        {"id": "int", "country": "string"},
        [
            {
                "t+0+0.json": lines(
                    *(postgresql("c", 10 + n, {"id": n, "country": country}) for n, country in enumerate(COUNTRIES))
                )
            },
            # The empty text goes before any state has it.
            {"t+0+4.json": lines(postgresql("u", 20, {"id": 2, "country": "Nederland"}))},
        ],
        models=("log", "state"),
        partition_by="country",
        fails=["slv_pipe__parts_state"],
    ),
    *(
        Feed(
            name,
            # In another order than that of the partitions.
            {"id": "int", "country": "string", "region": "int"},
            [
                {"t+0+0.json": lines(*(postgresql("c", 10 + n, {"id": n, **FRANCE}) for n in range(3)))},
                {
                    "t+0+3.json": lines(
                        postgresql("u", 20, {"id": 0, "country": "Saint Pierre & Miquelon/50%", "region": 2}),
                        postgresql("u", 21, {"id": 1, "country": None, "region": 1}),
                    )
                },
            ],
            models=("log", "state"),
            partition_by=["region", "country"],
            slow=True,
            properties=properties,
        )
        for name, properties in MOVED.items()
    ),
]


def test_an_empty_text_stops_a_state_in_partitions(project: Project) -> None:
    assert "slv_pipe__parts_state" in project.outcomes[0].failed
    assert (
        "slv_pipe__parts_state: partition_by names country, which is an empty text, or"
        in project.outcomes[0].messages["slv_pipe__parts_state"]
    )


def test_other_texts_are_as_they_were(project: Project) -> None:
    rows = {row["id"]: row["country"] for row in project.state("parts")}
    assert rows == {0: "Nederland", 1: None, 2: "Nederland", 3: "Saint Pierre & Miquelon/50%"}


@pytest.mark.slow
@pytest.mark.parametrize("name", MOVED)
def test_row_that_moves_to_another_partition_is_there_once(project: Project, name: str) -> None:
    rows = sorted(((row["id"], row["country"], row["region"]) for row in project.state(name)), key=str)
    assert rows == [(0, "Saint Pierre & Miquelon/50%", 2), (1, None, 1), (2, "France", 1)]
    found = project.spark.sql(f"select id from {SILVER}.slv_pipe__{name}_state where country is null").collect()
    assert [row.id for row in found] == [1]
