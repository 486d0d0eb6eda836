"""A failing history is made small without Spark: what fails is said by a function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, cast

import pytest

from . import database
from .cases import Case
from .database import Epoch, History, Reset, Table, play
from .generator import Shape, history
from .shrinking import shrink, size
from .suite import Suite

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLE = Table(resets=(Reset("snapshot"), Reset("truncate")))


def moved_and_delivered_again(candidates: Sequence[History]) -> set[int]:
    """As if a create of a row that has moved were wrong when it is delivered twice."""
    failing = set()
    for candidate in candidates:
        records = play(TABLE, [candidate]).records
        deleted = {
            record.event["source"]["lsn"]
            for record in records
            if isinstance(record.event, dict) and record.event.get("op") == "d"
        }
        if any(
            isinstance(record.event, dict)
            and record.event.get("op") == "c"
            and record.event["source"]["lsn"] in deleted
            and len(record.arrivals) > 1
            for record in records
        ):
            failing.add(candidate.number)
    return failing


def failing_history() -> History:
    histories = (history(Random(seed), Shape(TABLE, rounds=4), 1) for seed in range(10_000))
    return next(found for found in histories if moved_and_delivered_again([found]) and size(found)[0] > 15)


def test_failing_history_becomes_as_small_as_can_be() -> None:
    shrunk = shrink(failing_history(), moved_and_delivered_again)
    assert shrunk is not None
    assert shrunk.is_minimal
    commands = [
        command
        for epoch in shrunk.history.epochs
        for transaction in epoch.transactions
        for command in transaction.commands
    ]
    kinds = [command.kind for epoch in shrunk.history.epochs for command in epoch.unseen]
    kinds += [command.kind for command in commands]
    assert kinds == ["insert", "move"]
    assert sum(len(rounds) > 1 for command in commands for rounds in command.arrivals) == 1


def test_history_that_does_not_fail_alone_is_said_to() -> None:
    assert shrink(failing_history(), lambda candidates: set()) is None


def test_report_has_the_seed_and_a_history_that_can_be_played_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    failing = replace(failing_history(), number=1)
    innocent = History(2, (Epoch(), Epoch()), "at once")
    case = Case("broken", Shape(TABLE, rounds=4), (failing, innocent))
    monkeypatch.setattr(Suite, "_built", lambda suite, folder, cases: None)
    monkeypatch.setattr(
        Case,
        "differences",
        lambda case, project: {number: ["a difference"] for number in moved_and_delivered_again(case.histories)},
    )
    cases = {"broken": case}
    report = Suite(tmp_path, cast("SparkSession", None), {}, {}, cases, seed=7).report("broken").split("\n")
    assert report[0] == "1 of 2 histories of broken differ, --property-seed=7"
    assert report[2] == "a difference"
    assert report[3].startswith("The smallest history that fails, after ")
    smallest = eval(report[4], vars(database))
    assert moved_and_delivered_again([smallest]) == {smallest.number}
    assert sum("'op': 'd'" in line for line in report) == 1
    assert report[-1] == "a difference"
