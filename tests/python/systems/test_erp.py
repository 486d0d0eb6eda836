"""The table CUSTOMER of MariaDB: what the document's steps show, and the order of the binlog."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from .loads import SAMPLES, Loaded, expected_rows, loads

# Rows at each checkpoint of the recording, as its oracle counts them.
ROWS = [100, 287, 323, 405, 431]


def events(last: str) -> Iterator[dict[str, Any]]:
    """The events of all loads up to one."""
    for load in loads("erp")[: loads("erp").index(last) + 1]:
        for file in sorted((SAMPLES / "erp" / load).rglob("*.gz")):
            yield from (json.loads(line) for line in gzip.decompress(file.read_bytes()).decode().split("\n") if line)


def newest(found: list[dict[str, Any]], order: Callable[[dict[str, Any]], Any]) -> dict[int, dict[str, Any]]:
    """The newest event of each customer."""
    return {(event["after"] or event["before"])["id"]: event for event in sorted(found, key=order)}


def test_total_count_after_each_load() -> None:
    assert [len(expected_rows("erp", load, "slv_erp__customer")) for load in loads("erp")] == ROWS


def test_sample_has_inserts_updates_and_deletes() -> None:
    operations = [event["op"] for event in events(loads("erp")[-1])]
    assert {op: operations.count(op) for op in set(operations)} == {"r": 100, "c": 476, "u": 1048, "d": 145}


def test_newest_event_is_not_the_one_with_the_highest_position() -> None:
    """Positions begin anew with each file of the binlog: whoever orders by `pos` alone has the wrong event of a key."""
    found = list(events(loads("erp")[-1]))
    assert {event["source"]["file"] for event in found} == {f"binlog.{number:06d}" for number in range(1, 6)}
    by_file = newest(found, lambda event: [event["source"][name] for name in ("file", "pos", "row")])
    by_position = newest(found, lambda event: [event["source"][name] for name in ("pos", "row")])
    assert sum(by_file[key] is not by_position[key] for key in by_file) == 255
    living = {str(key) for key, event in by_file.items() if event["op"] != "d"}
    assert living == {row["id"] for row in expected_rows("erp", loads("erp")[-1], "slv_erp__customer")}


@pytest.mark.slow
def test_a_run_reads_new_files_only(loaded: Callable[[str], Loaded]) -> None:
    """What the job's bookmark was for: each load is a batch of its own, and a run without new files adds none."""
    system = loaded("erp").system

    def ledger() -> list[tuple[int, str, int]]:
        rows = system.rows("silver.cdc_file_ledger", ("change_log", "batch", "file_path", "line_count"))
        return sorted(
            (row["batch"], row["file_path"].rpartition("/")[2], row["line_count"])
            for row in rows
            if row["change_log"].endswith("stg_erp__customer")
        )

    files = [
        (batch, file.name.replace("+", "%2B"), gzip.decompress(file.read_bytes()).count(b"\n"))
        for batch, load in enumerate(loads("erp"), 1)
        for file in (SAMPLES / "erp" / load).rglob("*.gz")
    ]
    before = ledger()
    assert [(batch, name.replace("+", "%2B"), lines) for batch, name, lines in before] == sorted(files)
    messages = system.build("run")
    assert ledger() == before
    assert len(system.rows("stg_erp__customer", ("id",))) == sum(lines for _, _, lines in files)
    assert messages
