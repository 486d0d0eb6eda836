"""A run that is killed with SIGKILL at any of its statements, and run again, equals one that nobody disturbed.

Each round lands files of the same make, builds until the n-th statement that writes, and is killed there: before the
statement, or in its midst, once it has put a file into the warehouse. The next process builds again, and the tables are
compared with what the events say; at the end all tables with those of a run over the same files that nobody killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import yaml
from pipeline.events import Event, lines, postgresql
from pipeline.project import REPOSITORY, Feed, Project

pytestmark = pytest.mark.slow

MARK = "__debezium_unavailable_value"
COLUMNS = {"id": "int", "body": "string", "size": "int"}
MODELS = ("log", "state", "living", "quarantine")
FEEDS = [
    Feed("orders", COLUMNS, models=MODELS, cdc={"snapshots": "partial"}, recorded=True),
    Feed("notes", COLUMNS, models=MODELS, cdc={"snapshots": "partial"}, recorded=True),
]
MART = "agg_pipe__sizes"
MART_SQL = """
select
    orders.id,
    orders.size as order_size,
    notes.size as note_size,
    notes.body
from {{ ref("slv_pipe__orders") }} as orders
left join {{ ref("slv_pipe__notes") }} as notes on orders.id = notes.id
"""
STATES = ("slv_pipe__orders_state", "slv_pipe__notes_state")
LOGS = ("stg_pipe__orders", "stg_pipe__notes")
TABLES = [
    *(f"silver.{name}" for name in (*LOGS, *STATES, "slv_pipe__orders", "slv_pipe__notes")),
    "silver.cdc_file_ledger",
    "silver.cdc_run_ledger",
    f"gold.{MART}",
]
# Differ from run to run: clocks, ids, dbt's seconds; `stale` counts the rows again that a killed run had merged, and
# what the batch that it had appended was decoded with is not known (`declaration`).
CLOCKS = {"recorded_at", "file_modified_at", "_cdc_file_modified_at", "seconds"}
VOLATILE = CLOCKS | {"run_id", "table_version", "stale", "declaration"}
SECONDS_OF_A_STEP = 300
SAMPLE = os.environ.get("KILL_AT")
# Of states and marts (`--file-format`).
FILE_FORMAT = os.environ["ALLUVIUM_FILE_FORMAT"]
# Statements that a complete suite has to have met, by that.
MERGE = {"delta": "merge", "hudi": "insert"}
WANTED = (
    "insert into silver.stg_pipe__orders",
    "insert into silver.cdc_file_ledger",
    "{merge} into silver.slv_pipe__orders_state",
    "alter table silver.slv_pipe__orders_state",
    "insert into silver.slv_pipe__notes_state__moves",
    "{merge} into silver.slv_pipe__notes_state",
    "insert overwrite gold.agg_pipe__sizes",
    "insert into silver.cdc_run_ledger",
)
CREATE = {"delta": "create or replace table {0} ", "hudi": "create table {0}__rebuilt_"}
WANTED_OF_A_FIRST_BUILD = (
    "create table if not exists silver.cdc_file_ledger",
    "create table if not exists silver.cdc_run_ledger",
    "create or replace table silver.stg_pipe__orders",
)
MADE = ("silver.slv_pipe__orders_state", "gold.agg_pipe__sizes")
# A table of Hudi's that is there is overwritten.
REFRESH = {"delta": CREATE["delta"], "hudi": "insert overwrite {0} "}


def row(op: str, lsn: int, number: int, body: str | None) -> Event:
    return postgresql(op, lsn, {"id": number, "body": body, "size": lsn})


def round_files(number: int) -> dict[str, bytes]:
    """Files of a round: orders are created, updated and deleted, notes move to another key with a value left out.

    The delete that is the other half of a move lies in a file of its own, and an event of the round before comes again.
    """
    lsn, key = 1000 * (number + 1), 10 * number
    orders = [row("c", lsn, key, "new"), row("c", lsn + 1, key + 1, "short"), row("u", lsn + 2, key, "changed")]
    if number:
        orders += [
            row("d", lsn + 3, key - 9, None),
            row("u", lsn + 4, key - 10, "later"),
            row("u", lsn - 998, key - 10, "changed"),
        ]
    first = [row("c", lsn + 10, key + 5, f"body {number}"), row("c", lsn + 20, key, MARK)]
    second = [row("d", lsn + 20, key + 5, None), row("u", lsn + 30, key, MARK)]
    return {
        f"orders/orders+0+{10 * number}.json": lines(*orders, b"torn"),
        f"notes/notes+0+{10 * number}.json": lines(*first),
        f"notes/notes+0+{10 * number + 2}.json": lines(*second),
    }


def expected_rows(rounds: int) -> dict[str, list[dict[str, Any]]]:
    """The living rows after so many rounds, from the events by hand."""
    orders: dict[int, dict[str, Any]] = {}
    notes: dict[int, dict[str, Any]] = {}
    for number in range(rounds):
        lsn, key = 1000 * (number + 1), 10 * number
        orders[key] = {"id": key, "body": "changed", "size": lsn + 2}
        orders[key + 1] = {"id": key + 1, "body": "short", "size": lsn + 1}
        if number:
            del orders[key - 9]
            orders[key - 10] = {"id": key - 10, "body": "later", "size": lsn + 4}
        notes[key] = {"id": key, "body": f"body {number}", "size": lsn + 30}
    sizes = [
        {"id": id_, "order_size": order["size"]}
        | ({"note_size": notes[id_]["size"], "body": notes[id_]["body"]} if id_ in notes else {})
        for id_, order in orders.items()
    ]
    return {"orders": list(orders.values()), "notes": list(notes.values()), "sizes": sizes}


def write_project(home: Path, variables: dict[str, str]) -> Project:
    """The feeds, a mart over them, and the repository's profile with one thread: statements keep their order."""
    profile = (REPOSITORY / "profiles.yml").read_text(encoding="utf-8").replace("threads: 2", "threads: 1")
    project = Project(home, None, FEEDS, {}, variables)  # type: ignore[arg-type] # only the children have a session
    (project.folder / "profiles.yml").write_text(profile, encoding="utf-8")
    # In the schemas of the repository, which no other session of these children has.
    document = yaml.safe_load((project.folder / "dbt_project.yml").read_text(encoding="utf-8"))
    document["models"]["alluvium"]["silver"]["+schema"] = "silver"
    document["models"]["alluvium"]["gold"]["+schema"] = "gold"
    document["vars"] = {"alluvium_ledger_schema": "silver"}
    (project.folder / "dbt_project.yml").write_text(yaml.safe_dump(document), encoding="utf-8")
    folder = project.folder / "models" / "gold" / "pipe"
    folder.mkdir(parents=True)
    (folder / f"{MART}.sql").write_text(MART_SQL, encoding="utf-8")
    columns = [{"name": name, "data_type": "int"} for name in ("id", "order_size", "note_size")]
    model = {"name": MART, "columns": [*columns, {"name": "body", "data_type": "string"}]}
    (folder / f"{MART}.yml").write_text(yaml.safe_dump({"version": 2, "models": [model]}), encoding="utf-8")
    return project


@dataclass
class Runs:
    """Child processes over one project and one home.

    Attributes:
        home: folder of everything.
        project: the dbt project.
        rounds: rounds that have landed.
        killed: statements that a child was killed at.
    """

    home: Path
    project: Project
    rounds: int = 0
    killed: list[str] = field(default_factory=list)

    def files_of(self, number: int) -> Path:
        """The folder with the files of a round."""
        folder = self.home / "rounds" / str(number)
        for name, content in round_files(number).items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return folder

    def child(self, *steps: dict[str, Any]) -> int:
        """Run a child; returns its exit status, negative for a signal. The status of a whole run has to be 0."""
        plan = self.home / "plan.json"
        plan.write_text(
            json.dumps(
                {
                    "project": str(self.project.folder),
                    "variables": self.project.variables,
                    "warehouse": str(self.home / "home" / "warehouse"),
                    "landing": str(self.project.landing),
                    "tables": TABLES,
                    "dump": str(self.home / "dump.json"),
                    "steps": steps,
                }
            ),
            encoding="utf-8",
        )
        output = self.home / "output.txt"
        environment = {
            **os.environ,
            "ALLUVIUM_HOME": str(self.home / "home"),
            "ALLUVIUM_CODEGEN": "false",
            "PYTHONPATH": os.pathsep.join([str(REPOSITORY), str(REPOSITORY / "tests" / "python")]),
        }
        with output.open("wb") as sink:
            child = subprocess.Popen(
                [sys.executable, "-m", "kills.child", str(plan)],
                cwd=self.home,
                env=environment,
                stdout=sink,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                status = child.wait(SECONDS_OF_A_STEP * len(steps))
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
        assert status in (0, -signal.SIGKILL), output.read_text(errors="replace")[-4000:]
        return status

    def whole(self, land: bool = False) -> dict[str, Any]:
        """A step that builds to the end."""
        land_from = self._next() if land else None
        return {"land": land_from, "options": [], "at": 0, "moment": "before", "journal": None}

    def killed_at(self, at: int, moment: str, *options: str, land: bool = True) -> dict[str, Any]:
        """A step that lands the next round and kills at a statement."""
        journal = self.home / "journal.txt"
        journal.unlink(missing_ok=True)
        land_from = self._next() if land else None
        return {"land": land_from, "options": options, "at": at, "moment": moment, "journal": str(journal)}

    def _next(self) -> str:
        folder = self.files_of(self.rounds)
        self.rounds += 1
        return str(folder)

    def journal(self) -> list[str]:
        """The statements of the killed step, the one it was killed at last."""
        return [json.loads(line) for line in (self.home / "journal.txt").read_text(encoding="utf-8").splitlines()]

    def dump(self) -> dict[str, list[dict[str, Any]]]:
        """The rows of the tables after the last whole build."""
        rows = json.loads((self.home / "dump.json").read_text(encoding="utf-8"))["rows"]
        return {table: [json.loads(text) for text in texts] for table, texts in rows.items()}

    def left(self) -> set[str]:
        """Names of the tables in silver."""
        return set(json.loads((self.home / "dump.json").read_text(encoding="utf-8"))["silver"])


def values(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows without lineage, by id."""
    kept = [{key: row[key] for key in row if not key.startswith("_")} for row in rows]
    return sorted(kept, key=lambda row: row["id"])


def check(runs: Runs, rounds: int, said: str) -> None:
    """The tables are those of `rounds` rounds, each event applied once, and so says the ledger of runs."""
    check_rows(runs, rounds, said)
    tables = runs.dump()
    sums = run_sums(tables)
    assert sums["silver.stg_pipe__orders"]["lines"] == len(tables["silver.stg_pipe__orders"]), said
    for state in STATES:
        assert sums[f"silver.{state}"]["inserted"] == len(tables[f"silver.{state}"]), said


def check_rows(runs: Runs, rounds: int, said: str) -> None:
    """The rows are those of `rounds` rounds, and nothing is left beside the tables."""
    tables = runs.dump()
    expected = expected_rows(rounds)
    for name, table in (
        ("orders", "silver.slv_pipe__orders"),
        ("notes", "silver.slv_pipe__notes"),
        ("sizes", f"gold.{MART}"),
    ):
        assert values(tables[table]) == values(expected[name]), (said, table)
    lengths = {name: content for number in range(rounds) for name, content in round_files(number).items()}
    for log in LOGS:
        lines_of = sorted(
            (row["_cdc_file_path"].rpartition("/")[2], row["_cdc_line"]) for row in tables[f"silver.{log}"]
        )
        assert lines_of == sorted(
            (name.rpartition("/")[2], line + 1)
            for name, content in lengths.items()
            if name.startswith(log.removeprefix("stg_pipe__"))
            for line in range(content.count(b"\n"))
        ), said
    ledger = {row["file_path"].rpartition("/")[2]: row for row in tables["silver.cdc_file_ledger"]}
    assert len(tables["silver.cdc_file_ledger"]) == len(ledger) == len(lengths), said
    for name, content in lengths.items():
        entry = ledger[name.rpartition("/")[2]]
        assert entry["line_count"] == content.count(b"\n"), (said, name)
        assert entry["rejected_count"] == name.startswith("orders"), (said, name)
    beside = ("__moves", "__moved_values", "__rebuilt_", "__replaced_")
    assert not [name for name in runs.left() if any(part in name for part in beside)], said


def run_sums(tables: dict[str, list[dict[str, Any]]]) -> dict[str, dict[str, int]]:
    """Figures of the ledger of runs, summed by table; not those that count again what is merged again."""
    sums: dict[str, dict[str, int]] = {}
    for row in tables["silver.cdc_run_ledger"]:
        figures = sums.setdefault(row["table_name"], {})
        for name in ("files", "lines", "changes", "rejected", "control", "inserted"):
            figures[name] = figures.get(name, 0) + row.get(name, 0)
    return sums


def stable(rows: list[dict[str, Any]], root: Path) -> list[str]:
    """Rows as texts without what differs from run to run."""
    kept = [{key: value for key, value in row.items() if key not in VOLATILE} for row in rows]
    texts = [json.dumps(row, sort_keys=True).replace(str(root), "") for row in kept]
    # A position has the time and a hash of the file, and each run has files of its own.
    return sorted(re.sub(r"[.][0-9A-Z]{16}([.][0-9]{12})", r"\1", text) for text in texts)


def places() -> Iterable[int]:
    """The statements to kill at: every one that writes, until there is none; a sample with KILL_AT=<n>,<n>,..."""
    return [int(at) for at in SAMPLE.split(",")] if SAMPLE else count(1)


def require_met(begins: Iterable[str], killed: list[str]) -> None:
    """A complete suite has killed at a statement of each beginning."""
    for begin in () if SAMPLE else begins:
        assert any(statement.startswith(begin) for statement in killed), begin


@pytest.mark.parametrize("moment", ["before", "during"])
def test_killed_runs_equal_undisturbed_ones(tmp_path: Path, moment: str, format_variables: dict[str, str]) -> None:
    runs = Runs(tmp_path / "killed", write_project(tmp_path / "killed", format_variables))
    first = [runs.whole(land=True)]
    status, killed = -signal.SIGKILL, "nothing yet"
    for at in places():
        # The build that ends what the last kill has left, then the next kill, in one process.
        finished = runs.rounds
        status = runs.child(*first, runs.killed_at(at, moment))
        check(runs, finished, f"killed, {moment}: {killed}")
        if status == 0:
            break  # the run has no such statement any more
        killed = runs.journal()[-1]
        runs.killed.append(killed)
        first = [runs.whole()]
    assert runs.child(runs.whole()) == 0
    check(runs, runs.rounds, f"killed, {moment}: {killed}")
    require_met([wanted.format(merge=MERGE[FILE_FORMAT]) for wanted in WANTED], runs.killed)
    calm = Runs(tmp_path / "calm", write_project(tmp_path / "calm", format_variables))
    assert calm.child(*[calm.whole(land=True) for _ in range(runs.rounds)]) == 0
    killed_tables, calm_tables = runs.dump(), calm.dump()
    for table in TABLES:
        if table == "silver.cdc_run_ledger":
            assert run_sums(killed_tables) == run_sums(calm_tables)
        else:
            assert stable(killed_tables[table], runs.home) == stable(calm_tables[table], calm.home), table


@pytest.mark.parametrize("moment", ["before", "during", "committed"])
def test_killed_first_build_equals_an_undisturbed_one(
    tmp_path: Path, moment: str, format_variables: dict[str, str]
) -> None:
    met: list[str] = []
    for at in places():
        home = tmp_path / str(at)
        runs = Runs(home, write_project(home, format_variables))
        status = runs.child(runs.killed_at(at, moment))
        killed = runs.journal()[-1] if status else "nothing"
        assert runs.child(runs.whole()) == 0, killed
        check(runs, 1, f"killed, {moment}: {killed}")
        if status == 0:
            break
        met.append(killed)
    require_met((*WANTED_OF_A_FIRST_BUILD, *(CREATE[FILE_FORMAT].format(table) for table in MADE)), met)


@pytest.mark.parametrize("moment", ["before", "during"])
def test_killed_full_refresh_equals_an_undisturbed_one(
    tmp_path: Path, moment: str, format_variables: dict[str, str]
) -> None:
    """Each kill is followed by a build without the option, and comes upon what the ones before have left."""
    runs = Runs(tmp_path, write_project(tmp_path, format_variables))
    first, met = [runs.whole(land=True)], []
    for at in places():
        status = runs.child(*first, runs.killed_at(at, moment, "--full-refresh", land=False))
        killed = runs.journal()[-1] if status else "nothing"
        assert runs.child(runs.whole()) == 0, killed
        check_rows(runs, 1, f"killed, {moment}: {killed}")
        if status == 0:
            break
        met.append(killed)
        first = []
    require_met([REFRESH[FILE_FORMAT].format(table) for table in MADE], met)
