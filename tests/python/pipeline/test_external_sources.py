"""External tables follow their declaration, and a wrong one is refused in words that help."""

from __future__ import annotations

from typing import Any

import pytest

from .events import lines, postgresql
from .project import BRONZE, Feed, Project

COLUMNS = {"id": "int"}
# Signs that Hadoop takes for a pattern, and others that an address has escaped.
MOVED = "moved [a]{b,c}*?!^\\ %20+#=:,'ö"


def created(number: int) -> bytes:
    return lines(postgresql("c", number, {"id": number}))


def move(project: Project) -> None:
    project.landing.joinpath(MOVED).mkdir()
    project.landing.joinpath(MOVED, "t+0+1.json").write_bytes(created(2))
    project.landing.joinpath(MOVED, "t+0+2.jsonl").write_bytes(created(3))
    project.declare(moved={"location": str(project.landing / MOVED), "options": {"pathGlobFilter": "*.json"}})


def widen(project: Project) -> None:
    project.declare(moved={"location": str(project.landing / MOVED), "options": {"pathGlobFilter": "*.json*"}})


# name -> columns, and what else of the declaration is wrong.
WRONG: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "wrong_option": (COLUMNS, {"cdc": {"conector": "mysql"}}),
    "wrong_value": (COLUMNS, {"cdc": {"time_precision_mode": "adaptiv"}}),
    "wrong_key": (COLUMNS, {"key": ("ident",)}),
    "no_key": (COLUMNS, {"cdc": {"key": None}}),
    "wrong_semantic_type": ({"id": ("int", {"semantic_type": "io.debezium.time.Datum"})}, {}),
    "wrong_column_option": ({"id": ("int", {"nulable": True})}, {}),
    "no_data_type": ({"id": ""}, {}),
    # Spark would hand these over as doubles.
    "numbers_in_an_array": (COLUMNS | {"amounts": "array<decimal(6,2)>"}, {"cdc": {"decimal_format": "numeric"}}),
    "numbers_as_text": (
        COLUMNS | {"amount": ("string", {"semantic_type": "decimal"})},
        {"cdc": {"decimal_format": "numeric"}},
    ),
    "no_columns": ({}, {"key": ()}),
}
FEEDS = [
    Feed("moved", COLUMNS, [{"t+0+0.json": created(1)}, {}, {}], before={1: move, 2: widen}, slow=True),
    Feed("unselected", COLUMNS, built=False),
    Feed("wrong_using", COLUMNS, using="csv", built=False),
    *(
        Feed(name, columns, [{}], **declared, fails=[f"stg_pipe__{name}"], slow=True)
        for name, (columns, declared) in WRONG.items()
    ),
    Feed(
        "no_key_but_state", COLUMNS, [{}], (), models=("log", "state"), fails=["slv_pipe__no_key_but_state"], slow=True
    ),
]
ERRORS = {
    "stg_pipe__numbers_in_an_array": ["pipe.numbers_in_an_array", "column amounts", '"array<decimal(6,2)>"', "base64"],
    "stg_pipe__numbers_as_text": ["pipe.numbers_as_text", "column amount", '"string"', "decimal(precision, scale)"],
    "stg_pipe__wrong_option": [
        "change_log",
        "pipe.wrong_option",
        '"conector"',
        "connector, shape, reads_envelopes, layout",
    ],
    "stg_pipe__wrong_value": [
        "change_log",
        "meta.cdc.time_precision_mode",
        '"adaptiv"',
        "adaptive, ",
        "isostring",
    ],
    "stg_pipe__wrong_key": ["change_log", "meta.cdc.key", '"ident"', "allowed: id"],
    "stg_pipe__no_key": ["change_log", "pipe.no_key", "meta.cdc.key is not given", "[] for a table without a key"],
    "stg_pipe__wrong_semantic_type": [
        "pipe.wrong_semantic_type",
        "column id",
        '"io.debezium.time.Datum"',
        "io.debezium.time.Date,",
    ],
    "stg_pipe__wrong_column_option": [
        "change_log",
        "column id",
        '"nulable"',
        "semantic_type, nullable, default, unsigned",
    ],
    "stg_pipe__no_data_type": ["change_log", "data_type of column id", "a Spark SQL type"],
    "stg_pipe__no_columns": ["change_log", "columns is not given"],
    "slv_pipe__no_key_but_state_state": [
        "current_state",
        "pipe.no_key_but_state",
        "meta.cdc.replica_identity of a table without a key",
        "full, default, index, nothing",
    ],
}


def tables(project: Project) -> set[str]:
    return {row["tableName"] for row in project.spark.sql(f"show tables in {BRONZE}").collect()}


def staged(printed: str) -> list[str]:
    return [
        line.rpartition("source ")[2].strip() for line in printed.splitlines() if "STAGED external source pipe." in line
    ]


def test_only_the_selected_sources_are_staged(project: Project) -> None:
    expected = {f"pipe.{feed.name}" for feed in project.feeds.values() if feed.built}
    assert sorted(staged(project.outcomes[0].printed)) == sorted(expected)
    assert {"pipe__landed", "pipe__landed__files"} <= tables(project)


@pytest.mark.slow
def test_source_is_staged_again_when_its_declaration_changes(project: Project) -> None:
    assert staged(project.outcomes[1].printed) == ["pipe.moved"]
    assert staged(project.outcomes[2].printed) == ["pipe.moved"]


@pytest.mark.slow
def test_new_location_and_options_are_read_and_nothing_twice(project: Project) -> None:
    read = [
        [row["id"] for row in sorted(project.log("moved", number), key=lambda row: row["id"])] for number in range(3)
    ]
    assert read == [[1], [1, 2], [1, 2, 3]]


def test_run_operation_stages_what_is_asked_for(project: Project) -> None:
    assert "pipe__unselected" not in tables(project)
    outcome = project.dbt("run-operation", "stage_external_sources", "--args", "{select: pipe.unselected}")
    assert staged(outcome.printed) == ["pipe.unselected"], outcome
    assert {"pipe__unselected", "pipe__unselected__files"} <= tables(project)
    again = project.dbt("run-operation", "stage_external_sources", "--args", "{select: pipe.unselected}")
    assert staged(again.printed) == []


@pytest.mark.parametrize(
    ("select", "words"),
    [
        ("pipe.wrong_using", ["stage_external_sources", "external.using", '"csv"', "json, avro, parquet"]),
        ("pipe.nothing", ["stage_external_sources", "select", '"pipe.nothing"', "landed"]),
    ],
)
def test_run_operation_refuses(project: Project, select: str, words: list[str]) -> None:
    outcome = project.dbt("run-operation", "stage_external_sources", "--args", f"{{select: {select}}}")
    said = outcome.error + outcome.printed + "".join(outcome.messages.values())
    assert [word for word in words if word not in said] == [], said


@pytest.mark.slow
@pytest.mark.parametrize("model", ERRORS)
def test_wrong_declaration_is_refused_with_caller_value_and_allowed_values(project: Project, model: str) -> None:
    said = project.outcomes[0].messages.get(model, "nothing")
    assert [word for word in ERRORS[model] if word not in said] == [], said
