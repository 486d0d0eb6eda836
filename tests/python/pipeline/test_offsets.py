"""Offsets that no file accounts for, and offsets that two files share: found, said, and no harm to the rows."""

from __future__ import annotations

import gzip
import json
import re
import shlex
from typing import Any

import pytest

from .events import Event, lines, postgresql, stored
from .project import Feed, Project, Row

pytestmark = pytest.mark.slow

COLUMNS = {"scenario": "string", "id": "int", "name": "string"}
KEY = ("scenario", "id")


def event(op: str, scenario: str, number: int, name: str = "first", lsn: int | None = None) -> Event:
    return postgresql(op, lsn or 100 + number, {"scenario": scenario, "id": number, "name": name})


def created(scenario: str, *numbers: int) -> bytes:
    return lines(*(event("c", scenario, number) for number in numbers))


def deleted(scenario: str, number: int) -> bytes:
    return lines(event("d", scenario, number, lsn=200 + number))


WHOLE = created("growing_zipped", 0, 1, 2)
# Scenario -> (files of the first round, files of the second); a file's name starts with the scenario, its topic.
CONFLUENT: dict[str, tuple[dict[str, bytes], dict[str, bytes]]] = {
    "contiguous": ({"+0+0": created("contiguous", 0, 1), "+0+2": created("contiguous", 2)}, {}),
    "tombstone_left_out": (
        {
            "+0+0": created("tombstone_left_out", 0)
            + deleted("tombstone_left_out", 0)
            + created("tombstone_left_out", 3)
        },
        {"+0+4": created("tombstone_left_out", 4)},
    ),
    "tombstone_written": (
        {"+0+0": created("tombstone_written", 0) + deleted("tombstone_written", 0) + b"null\n"},
        {"+0+4": created("tombstone_written", 4)},
    ),
    # An older change than the table has. Of events that come again the file's name says which delivery holds.
    "lost": (
        {"+0+0": created("lost", 0, 1)},
        {"+0+5": created("lost", 5) + lines(event("u", "lost", 0, "older", lsn=50))},
    ),
    "lost_after_delete": (
        {"+0+0": created("lost_after_delete", 0) + deleted("lost_after_delete", 0)},
        {"+0+4": created("lost_after_delete", 4)},
    ),
    "rejected": ({"+0+0": created("rejected", 0) + b'{"op"\n', "+0+2": created("rejected", 2)}, {}),
    "partitions": ({"+0+0": created("partitions", 0), "+1+7": created("partitions", 7)}, {}),
    "late": (
        {"+0+0": created("late", 0), "+0+2": created("late", 2)},
        {"+0+1": created("late", 1)},
    ),
    "renamed": (
        {"+0+0": lines(event("c", "renamed", 0), event("u", "renamed", 0, "second", lsn=150))},
        {"+0+0@copy": lines(event("c", "renamed", 0), event("u", "renamed", 0, "second", lsn=150))},
    ),
    "overlap": (
        {
            "+0+0": lines(
                event("c", "overlap", 0),
                event("u", "overlap", 0, "second", lsn=150),
                event("d", "overlap", 0, "second", lsn=160),
            )
        },
        {
            "+0+1": lines(event("u", "overlap", 0, "second", lsn=150), event("d", "overlap", 0, "second", lsn=160))
            + created("overlap", 4)
        },
    ),
    # Two files inside of one, of which the second lies behind the first; and one without a record.
    "within": ({"+0+0": created("within", 0, 1, 2, 3), "+0+1": created("within", 1), "+0+3": created("within", 3)}, {}),
    "no_record": ({"+0+0": created("no_record", 0, 1), "+0+1": b'{"op"\n'}, {}),
    # A file comes late before one that is there.
    "gap_behind": ({"+0+5": created("gap_behind", 5)}, {"+0+2": created("gap_behind", 2)}),
    "longer": ({"+0+0": created("longer", 0)}, {"+0+0": created("longer", 0, 1)}),
    "shorter": ({"+0+0": created("shorter", 0, 1)}, {"+0+0": created("shorter", 0)}),
    "growing": (
        {"+0+0": created("growing", 0, 1)[:-20]},
        {"+0+0": created("growing", 0, 1, 2)},
    ),
    "growing_zipped": (
        {"+0+0.gz": gzip.compress(WHOLE, mtime=0)[:-12]},
        {"+0+0.gz": gzip.compress(WHOLE, mtime=0)},
    ),
}


def confluent(number: int) -> dict[str, bytes]:
    """The files of one round."""
    files = {}
    for scenario, rounds in CONFLUENT.items():
        for name, content in rounds[number].items():
            folder = "copy/" if name.endswith("@copy") else ""
            name, _, zipped = name.removesuffix("@copy").partition(".")
            files[f"{folder}{scenario}{name}.json{'.' + zipped if zipped else ''}"] = content
    return files


LENSES = {
    "even(0_1).json": created("even", 0, 1),
    "even(0_3).json": created("even", 2, 3),
    "tombstone_between(0_1).json": created("tombstone_between", 0) + deleted("tombstone_between", 0),
    "tombstone_between(0_3).json": created("tombstone_between", 3),
    "tombstone_within(0_1).json": created("tombstone_within", 0, 1),
    "tombstone_within(0_5).json": (
        created("tombstone_within", 2) + deleted("tombstone_within", 2) + created("tombstone_within", 5)
    ),
    "lost(0_1).json": created("lost", 0, 1),
    "lost(0_5).json": created("lost", 4, 5),
    "shared(0_9).json": created("shared", 8, 9),
    "shared(0_10).json": created("shared", 9, 10),
    # As the sink names them where nothing is said of partitions.
    "even_folder/3/000000000001.json": created("even_folder", 0, 1),
    "even_folder/3/000000000003_1700000000000_1700000001000.json": created("even_folder", 2, 3),
    "lost_folder/3/000000000001.json": created("lost_folder", 0, 1),
    "lost_folder/3/000000000005_1700000000000_1700000001000.json": created("lost_folder", 4, 5),
}


def held(*offsets: int) -> bytes:
    return lines(*(stored(event("c", "held", offset), offset) for offset in offsets))


WARN = {"on_gap": "warn", "on_overlap": "warn"}
FEEDS = [
    Feed(
        "offsets", COLUMNS, [confluent(0), confluent(1), {}], key=KEY, cdc=WARN, models=("log", "state"), recorded=True
    ),
    Feed(
        "offsets_lenses",
        COLUMNS,
        [LENSES],
        key=KEY,
        cdc={**WARN, "layout": "lenses", "on_gap": "ignore"},
    ),
    Feed(
        "offsets_stored",
        COLUMNS,
        [
            {"held(0_1).json": held(0, 1), "held(0_7).json": held(4, 5, 7)},
            {},
            {"held(0_3).json": held(2, 3), "held(0_7).json": held(4, 5, 6, 7)},
        ],
        key=KEY,
        cdc={**WARN, "layout": "lenses", "store_envelope": True, "on_gap": "fail"},
        fails=("stg_pipe__offsets_stored",),
    ),
]


def findings(project: Project, feed: str) -> dict[str, list[Row]]:
    """What offset_findings shows, by topic, lowest offsets first."""
    from render.harness import Renderer, relation

    renderer = Renderer(variables={"alluvium_ledger_schema": "pipe_silver"})
    sql = renderer.render("offset_findings", relation(f"stg_pipe__{feed}", "pipe_silver"))
    rows = [row.asDict() for row in project.spark.sql(sql).collect()]
    by_topic: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: (row["kafka_topic"], row["from_offset"])):
        by_topic.setdefault(row["kafka_topic"], []).append(row)
    return by_topic


def short(rows: list[Row]) -> list[tuple[Any, ...]]:
    return [(row["finding"], row["from_offset"], row["until_offset"], row["offset_count"]) for row in rows]


def test_gaps_and_overlaps_of_first_offsets(project: Project) -> None:
    found = {topic: short(rows) for topic, rows in findings(project, "offsets").items()}
    assert found == {
        "tombstone_written": [("gap", 3, 3, 1)],
        "lost": [("gap", 2, 4, 3)],
        # The delete's tombstone is one of the two.
        "lost_after_delete": [("gap", 2, 3, 1)],
        "renamed": [("overlap", 0, 1, 2)],
        "overlap": [("overlap", 1, 2, 2)],
        "within": [("overlap", 1, 1, 1), ("overlap", 3, 3, 1)],
        "gap_behind": [("gap", 3, 4, 2)],
        "longer": [("rewritten", 0, 0, 1)],
        "shorter": [("rewritten", 0, 0, 1)],
        "growing": [("rewritten", 0, 0, 1)],
        "growing_zipped": [("rewritten", 0, 1, 2)],
    }


def test_gaps_and_overlaps_of_last_offsets(project: Project) -> None:
    found = {topic: short(rows) for topic, rows in findings(project, "offsets_lenses").items()}
    assert found == {
        "lost": [("gap", 2, 3, 2)],
        "shared": [("overlap", 9, 9, 1)],
        "lost_folder": [("gap", 2, 3, 2)],
    }
    in_folders = {
        (row["_cdc_kafka_partition"], row["_cdc_file_offset"])
        for row in project.log("offsets_lenses")
        if "_folder/" in row["_cdc_file_path"]
    }
    assert in_folders == {(3, 1), (3, 3), (3, 5)}


def test_run_warns_of_what_new_files_bring_and_not_again(project: Project) -> None:
    first, second, third = (outcome.printed for outcome in project.outcomes[:3])
    said = "pipe.offsets: offsets missing before a file, or in it, "
    assert f"{said}1 times (on_gap: warn), first late partition 0 offsets 1 to 1 at" in first
    # The late file has filled the first gap.
    assert f"{said}4 times (on_gap: warn)" in second
    assert "pipe.offsets: files share offsets with one before, 2 times (on_overlap: warn)" in second
    assert "pipe.offsets: files landed anew with another length, 4 times (on_overlap: warn)" in second
    assert "pipe.offsets: offsets" not in third
    assert "pipe.offsets: files" not in third


def test_command_of_the_warning_shows_all(project: Project) -> None:
    said = re.search(
        r"pipe\.offsets: offsets missing.*?all with\s+`(dbt show .*?)`", project.outcomes[1].printed, re.DOTALL
    )
    assert said is not None
    _, *arguments = shlex.split(said[1])
    outcome = project.dbt(*arguments)
    assert outcome.error == ""
    shown = re.findall(r"^\| (gap|overlap|rewritten) ", outcome.printed, re.MULTILINE)
    assert [shown.count(kind) for kind in ("gap", "overlap", "rewritten")] == [4, 4, 4]


def test_ignored_gap_is_not_warned_of(project: Project) -> None:
    printed = project.outcomes[0].printed
    assert "pipe.offsets_lenses: offsets missing" not in printed
    assert "pipe.offsets_lenses: files share offsets with one before, 1 times" in printed


def test_gap_fails_every_run_until_it_is_filled(project: Project) -> None:
    first, second, third = (outcome.status["stg_pipe__offsets_stored"] for outcome in project.outcomes[:3])
    assert (first, second, third) == ("error", "error", "success")
    message = project.outcomes[1].messages["stg_pipe__offsets_stored"]
    assert "pipe.offsets_stored: offsets missing before a file, or in it, 2 times (on_gap: fail)" in message


def test_gap_inside_of_a_file_is_seen_in_the_store_envelope(project: Project) -> None:
    rows = [row for row in project.ledgers[0] if row["change_log"] == "pipe_silver.stg_pipe__offsets_stored"]
    assert sorted((row["first_offset"], row["last_offset"], row["missing_inside"]) for row in rows) == [
        (0, 1, 0),
        (4, 7, 1),
    ]


@pytest.mark.parametrize("scenario", CONFLUENT)
def test_rows_are_those_of_each_event_once(project: Project, scenario: str) -> None:
    """Whatever lies in two files, or was read half-written before."""
    rows = {row["id"]: row for row in project.state("offsets", 2) if row["scenario"] == scenario}
    files = [content for part in CONFLUENT[scenario] for content in part.values()]
    if scenario == "growing_zipped":
        files = [WHOLE]
    if scenario == "growing":
        files = files[1:]
    expected: dict[int, tuple[int, str, bool]] = {}
    for content in files:
        for line in content.splitlines():
            if not line.startswith(b'{"before"'):
                continue
            record = json.loads(line)
            image = record["after"] or record["before"]
            newest = (record["source"]["lsn"], image["name"], record["op"] == "d")
            expected[image["id"]] = max(newest, expected.get(image["id"], newest))
    assert {number: (row["name"], row["_is_deleted"]) for number, row in rows.items()} == {
        number: newest[1:] for number, newest in expected.items()
    }


def test_half_written_line_stays_in_the_log_beside_the_whole_file(project: Project) -> None:
    rejected = [row for row in project.log("offsets") if row["_cdc_kind"] == "rejected"]
    assert sorted((row["_cdc_file_path"].rpartition("/")[2], row["_cdc_reject_reason"]) for row in rejected) == [
        ("growing+0+0.json", "malformed_json"),
        ("growing_zipped+0+0.json.gz", "unreadable_file"),
        ("no_record+0+1.json", "malformed_json"),
        ("rejected+0+0.json", "malformed_json"),
    ]


def run_rows(project: Project, table: str) -> list[Row]:
    rows = [row for row in project.rows("pipe_silver.cdc_run_ledger") if row["table_name"] == f"pipe_silver.{table}"]
    return sorted(rows, key=lambda row: row["recorded_at"])


def test_run_ledger_counts_what_each_run_read(project: Project) -> None:
    log = project.log("offsets")
    rows = run_rows(project, "stg_pipe__offsets")
    assert [row["batch"] for row in rows] == [1, 2]
    for row in rows:
        batch = [line for line in log if line["_cdc_batch"] == row["batch"]]
        kinds = [line["_cdc_kind"] for line in batch]
        assert (row["files"], row["lines"], row["changes"], row["rejected"], row["control"]) == (
            len({(line["_cdc_file_path"], line["_cdc_file_length"]) for line in batch}),
            len(batch),
            kinds.count("change"),
            kinds.count("rejected"),
            kinds.count("tombstone"),
        )
        ops = [line["_cdc_op"] for line in batch if line["_cdc_kind"] == "change"]
        assert row["changes_by_op"] == {op: ops.count(op) for op in set(ops)}
        assert row["seconds"] > 0
    assert rows[0]["rejected_by_reason"] == {"malformed_json": 3, "unreadable_file": 1}
    assert rows[1]["rejected_by_reason"] == {}
    spans = {(span["kafka_topic"], span["kafka_partition"]): span for span in rows[0]["offsets"]}
    assert (spans["partitions", 1]["first_offset"], spans["partitions", 1]["last_offset"]) == (7, 7)
    assert (spans["late", 0]["first_offset"], spans["late", 0]["last_offset"]) == (0, 2)


def test_run_ledger_counts_what_each_run_wrote(project: Project) -> None:
    rows = run_rows(project, "slv_pipe__offsets_state")
    assert [row["batch"] for row in rows] == [1, 2]
    states = [project.state("offsets", number) for number in (0, 1)]
    assert rows[0]["inserted"] == len(states[0])
    assert rows[1]["inserted"] == len(states[1]) - len(states[0])
    # The delete that comes again, in the overlap, writes its row again.
    assert [row["deleted"] for row in rows] == [4, 1]
    assert rows[0]["stale"] == 0
    named = {(line["scenario"], line["id"]) for line in project.log("offsets") if line["_cdc_batch"] == 2}
    named.discard((None, None))
    assert rows[1]["stale"] + rows[1]["inserted"] + rows[1]["updated"] == len(named)
    assert rows[1]["stale"] > 0


def test_run_ledger_is_shown_and_a_run_without_news_adds_nothing(project: Project) -> None:
    line = re.compile(r"pipe_silver\.slv_pipe__offsets_state( +\d+){5} +\d+\.\d\n")
    assert line.search(project.outcomes[1].printed)
    assert not line.search(project.outcomes[2].printed)
    assert len(run_rows(project, "slv_pipe__offsets_state")) == 2
