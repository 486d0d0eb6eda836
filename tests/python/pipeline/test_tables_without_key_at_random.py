"""Tables without a key against a plain count of the same events, in random orders of arrival. A slow suite."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest

from .events import NOON_MS, Event, flattened, lines, mysql, postgresql
from .project import SILVER, Feed, Project

pytestmark = pytest.mark.slow

COLUMNS = {"what": "string", "number": "int"}
ROUNDS = 4
Image = tuple[str | None, int]


def image(row: Image) -> Event:
    return {"what": row[0], "number": row[1]}


@dataclass
class Table:
    """A table that changes at random, what is sent of it, and what it holds.

    Attributes:
        shape: ``postgresql``, ``mysql`` or ``flattened``.
        chance: the source of chance.
        rows: the rows of the table, equal ones repeated.
        sent: event and its copy when it is sent again.
    """

    shape: str
    chance: random.Random
    rows: list[Image] = field(default_factory=list)
    sent: list[tuple[Event, Event]] = field(default_factory=list)
    position: int = 100

    def run(self, changes: int) -> None:
        """Takes a snapshot, then that many changes."""
        self.rows = [self.any_row() for _ in range(6)]
        self.snapshot()
        if self.shape == "flattened":
            # Of a transaction that was open while the snapshot was taken: its lsn is lower.
            self.position -= 1
            self.insert()
            self.position += 1
        for number in range(changes):
            # What comes after the last reset is counted in every case.
            self.change(resets=number < changes // 2)

    def any_row(self) -> Image:
        return self.chance.choice(["a", "b", None]), self.chance.randrange(2)

    def change(self, *, resets: bool) -> None:
        self.position += self.chance.randrange(1, 4)
        choice = self.chance.random()
        if choice < 0.45 or not self.rows:
            self.insert()
        elif choice < 0.7:
            self.send("d", self.rows.pop(self.chance.randrange(len(self.rows))))
        elif choice < 0.9 and self.shape != "flattened":
            place = self.chance.randrange(len(self.rows))
            before, self.rows[place] = self.rows[place], self.any_row()
            self.send("u", self.rows[place], before)
        elif self.shape == "flattened" or not resets:
            self.insert()
        elif choice < 0.95:
            self.send("t", None)
            self.rows.clear()
        elif len(self.rows) > 1:
            # Rows vanish and come unseen; the snapshot says so.
            self.rows[0] = self.any_row()
            self.snapshot()

    def insert(self) -> None:
        """One row, or the equal and other rows of one COPY."""
        rows = [self.any_row() for _ in range(self.chance.choice([1, 1, 1, 4]) if self.shape == "postgresql" else 1)]
        self.rows += rows
        for place, row in enumerate(rows, 1):
            self.send("c", row, place=place)

    def snapshot(self) -> None:
        self.position += 1
        for index, row in enumerate(self.rows):
            last = index == len(self.rows) - 1
            self.send("r", row, snapshot="last_in_data_collection" if last else "true")

    def send(
        self, op: str, row: Image | None, before: Image | None = None, snapshot: str = "false", place: int = 1
    ) -> None:
        made = None if row is None else image(row)
        if self.shape == "flattened":
            # Without `source.snapshot` in add.fields nothing says where a snapshot ends.
            event = flattened(op, self.position, made or {})
            self.sent.append((event, event))
            return
        if self.shape == "mysql":
            event = mysql(op, "bin.000009", self.position, made, snapshot=snapshot)
            event["before"] = image(before) if before else event["before"]
        else:
            event = postgresql(op, self.position, made, before=image(before) if before else None, snapshot=snapshot)
            event["transaction"] = None if op == "r" else {"id": "1", "total_order": place}
        event["ts_ns"] = NOON_MS * 1_000_000 + len(self.sent)
        again = {**event, "ts_ns": event["ts_ns"] + 1_000_000_000}
        if self.shape == "postgresql" and op != "r":
            # The connector has passed over an empty transaction since.
            again["source"] = {**event["source"], "sequence": f'["{self.position - 2}","{self.position}"]'}
        # A snapshot is never sent again but as another one.
        self.sent.append((event, event if op == "r" else again))

    def rounds(self) -> list[dict[str, bytes]]:
        """The events in random files of random rounds; some again, some files as copies."""
        arriving: list[list[Event]] = [[] for _ in range(2 * ROUNDS)]
        keeps_order = self.chance.random() < 0.5
        for index, (event, again) in enumerate(self.sent):
            file = index * len(arriving) // len(self.sent) if keeps_order else self.chance.randrange(len(arriving))
            arriving[file].append(event)
            if self.chance.random() < 0.15 and self.shape != "flattened":
                arriving[self.chance.randrange(file, len(arriving))].append(again)
        files: list[dict[str, bytes]] = [{} for _ in range(ROUNDS)]
        for number, events in enumerate(arriving):
            if not keeps_order:
                self.chance.shuffle(events)
            content = lines(*events)
            files[number // 2][f"t+{number % 2}+{1000 * number}.json"] = content
            if self.chance.random() < 0.3:
                later = self.chance.randrange(number // 2, ROUNDS)
                files[later][f"again/t+{number % 2}+{1000 * number}.json"] = content
        return files


def table(shape: str, seed: int) -> Table:
    made = Table(shape, random.Random(f"{shape} {seed}"))
    made.run(60)
    return made


CASES = {
    f"counts_{shape}_{seed}": table(shape, seed) for shape in ("postgresql", "mysql", "flattened") for seed in (1, 2)
}
OPTIONS: dict[str, dict[str, Any]] = {
    "postgresql": {"replica_identity": "full"},
    "mysql": {"connector": "mysql"},
    "flattened": {"replica_identity": "full", "shape": "flattened"},
}
FEEDS = [
    Feed(name, COLUMNS, made.rounds(), (), cdc=OPTIONS[made.shape], models=("log", "state"))
    for name, made in CASES.items()
]


def held(project: Project, name: str) -> Counter[Image]:
    return Counter({(r["what"], r["number"]): r["_cdc_row_count"] for r in project.state(name) if r["_cdc_row_count"]})


@pytest.mark.parametrize("name", CASES)
def test_state_has_as_many_rows_as_the_table(project: Project, name: str) -> None:
    assert held(project, name) == Counter(CASES[name].rows)
    assert {r["_cdc_kind"] for r in project.log(name)} <= {"change", "truncate"}


def test_merge_that_a_killed_run_has_done_is_not_done_again(project: Project) -> None:
    names = [project.feeds[name].nodes["state"] for name in CASES]
    before = {name: rows(project, name) for name in names}
    for name in names:
        applied = f"alluvium.applied_batch.{name.replace('slv_', 'stg_').removesuffix('_state')}"
        project.spark.sql(f"alter table {SILVER}.{name} set tblproperties ('{applied}' = '{ROUNDS - 1}')")
    # A row that the log named before it was built anew by another declaration.
    unnamed = {
        "_cdc_row_hash": "'unnamed'",
        "_cdc_row_count": "3",
        "_is_deleted": "false",
        "_cdc_record_key": "'unnamed'",
    }
    state = f"{SILVER}.{names[0]}"
    columns = [name for name in project.spark.table(state).columns if not name.startswith("_hoodie_")]
    values = ", ".join(f"{unnamed.get(name, name)} as {name}" for name in columns)
    project.spark.sql(f"insert into {state} ({', '.join(columns)}) select {values} from {state} limit 1")
    assert not project.dbt("build", "--select", *names).failed
    left = [r for r in project.rows(state) if r["_cdc_row_hash"] == "unnamed"]
    assert [(r["_cdc_row_count"], r["_is_deleted"]) for r in left] == [(0, True)]
    assert {name: rows(project, name) for name in names} == before


def test_state_equals_one_that_is_built_anew(project: Project) -> None:
    names = [project.feeds[name].nodes["state"] for name in CASES]
    before = {name: rows(project, name) for name in names}
    assert not project.dbt("build", "--full-refresh", "--select", *names).failed
    assert {name: rows(project, name) for name in names} == before


def rows(project: Project, name: str) -> list[str]:
    """Every column but the batch that changed the row last, of the rows that the log names."""
    named = (row for row in project.rows(f"{SILVER}.{name}") if row["_cdc_row_hash"] != "unnamed")
    return sorted(str({**row, "_cdc_batch": None}) for row in named)
