"""Runs of some of the models, in odd orders: the tables are those that one build of all of them makes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from .events import Event, lines, postgresql
from .project import SILVER, Feed, MakeProject, Project, Row

pytestmark = pytest.mark.slow

KEYS = range(1, 13)
FEED = Feed(
    "part",
    {"id": "int", "city": "string", "amount": "int"},
    models=("log", "state", "hard", "living", "history"),
)
RENAMED = Feed("renamed", FEED.columns, models=("log", "state", "living"))
NODES = FEED.nodes
MERGED, WHOLE = "fct_part", "agg_part"


def merged_sql(feed: Feed) -> str:
    return f"""{{{{ incremental_mart("id", deleted_with="{feed.nodes["state"]}") }}}}
select id, upper(city) as city, amount
from {{{{ ref("{feed.nodes["living"]}") }}}}
where id in (
    {{{{ changed_keys(ref("{feed.nodes["state"]}"), ["id"]) }}}}
)
"""


WHOLE_SQL = f"""{{{{ config(
    materialized="incremental", incremental_strategy="insert_overwrite", meta={{"alluvium_model": "mart"}},
    pre_hook="{{{{ alluvium.note_inputs() }}}}", post_hook="{{{{ alluvium.record_inputs() }}}}",
) }}}}
select city, count(*) as row_count, sum(amount) as amount from {{{{ ref("{NODES["living"]}") }}}} group by city
"""
LOG, STATE, LIVING, HISTORY = (NODES[role] for role in ("log", "state", "living", "history"))
# A file lands before each of them.
RUNS = (
    ("run",),
    ("run", "--select", LOG),
    ("run", "--select", STATE, WHOLE),
    ("run", "--full-refresh", "--select", STATE),
    ("run", "--select", LOG, MERGED),
    ("run", "--select", HISTORY, LIVING),
    ("run", "--full-refresh", "--select", LOG),
    ("run", "--select", WHOLE, MERGED),
    ("run", "--exclude", LOG, MERGED),
    ("run", "--full-refresh", "--select", HISTORY),
    ("run", "--select", f"+{HISTORY}"),
    ("run", "--full-refresh", "--select", NODES["hard"], WHOLE),
    ("run", "--select", f"{LOG}+", "--exclude", STATE),
    ("run",),
)
# What a full refresh gives anew in any case.
OWN = {"_cdc_batch", "_cdc_file_modified_at"}


def events() -> Iterator[tuple[int, Event]]:
    """Positions and changes without an end: rows of twelve keys come, change, go and come again."""
    chance = random.Random(39)
    living: dict[int, dict[str, Any]] = {}
    lsn = 100
    while True:
        lsn += chance.randrange(1, 9)
        key = chance.choice(KEYS)
        row = {"id": key, "city": chance.choice("ab"), "amount": chance.randrange(100)}
        if key in living and chance.random() < 0.3:
            yield lsn, postgresql("d", lsn, living.pop(key))
        else:
            yield lsn, postgresql("u" if key in living else "c", lsn, row)
            living[key] = row


def tables(project: Project) -> dict[str, list[Row]]:
    """All rows in one order, without what a full refresh numbers anew."""
    names = [*NODES.values(), MERGED, WHOLE]
    return {name: sorted(map(without_own, project.rows(f"{SILVER}.{name}")), key=repr) for name in names}


def without_own(row: Row) -> Row:
    return {name: value for name, value in row.items() if name not in OWN}


def test_runs_of_a_part(make_project: MakeProject) -> None:
    project = make_project("parts", [FEED])
    for name, sql in ((MERGED, merged_sql(FEED)), (WHOLE, WHOLE_SQL)):
        (project.folder / "models" / "silver" / f"{name}.sql").write_text(sql, encoding="utf-8")
    made = events()
    chance = random.Random(7)
    came: list[tuple[int, Event]] = []
    late: list[tuple[int, Event]] = []
    for number, arguments in enumerate(RUNS):
        news = [next(made) for _ in range(12)]
        held = [event for event in news if chance.random() < 0.25]
        arriving = [*(event for event in news if event not in held), *late]
        late = held if number + 1 < len(RUNS) else []
        chance.shuffle(arriving)
        came += arriving
        project.land(FEED, {f"t+0+{number}.json": lines(*(event for _, event in arriving))})
        outcome = project.dbt(*arguments)
        assert not outcome.failed, (arguments, outcome.messages)
    newest: dict[int, Event | None] = {}
    for _, event in sorted(came, key=lambda one: one[0]):
        newest[(event["after"] or event["before"])["id"]] = event["after"]
    expected = sorted((key, row["city"]) for key, row in newest.items() if row)
    assert sorted((row["id"], row["city"]) for row in project.living("part")) == expected
    assert sorted((row["id"], row["city"].lower()) for row in project.rows(f"{SILVER}.{MERGED}")) == expected
    found = tables(project)
    assert not project.dbt("run", "--full-refresh").failed
    anew = tables(project)
    assert found == anew


def test_log_of_another_name(make_project: MakeProject) -> None:
    """Its batches begin at 1 again, which a mart that merges what changed had read of the log before."""
    project = make_project("renamed", [RENAMED])
    folder = project.folder / "models" / "silver"
    (folder / f"{MERGED}.sql").write_text(merged_sql(RENAMED), encoding="utf-8")
    log, state = (folder / RENAMED.name / f"{RENAMED.nodes[role]}.sql" for role in ("log", "state"))
    made = events()
    newest: dict[int, Event | None] = {}
    for number in range(5):
        if number == 3:
            log.rename(log.with_name("stg_pipe__other.sql"))
            sql = state.read_text(encoding="utf-8")
            state.write_text(sql.replace(RENAMED.nodes["log"], "stg_pipe__other"), encoding="utf-8")
        news = [event for _, event in (next(made) for _ in range(12))]
        newest |= {(event["after"] or event["before"])["id"]: event["after"] for event in news}
        project.land(RENAMED, {f"t+0+{number}.json": lines(*news)})
        outcome = project.dbt("build")
        assert not outcome.failed, outcome.messages
        expected = sorted((key, row["city"].upper(), row["amount"]) for key, row in newest.items() if row)
        found = project.rows(f"{SILVER}.{MERGED}")
        assert sorted((row["id"], row["city"], row["amount"]) for row in found) == expected
