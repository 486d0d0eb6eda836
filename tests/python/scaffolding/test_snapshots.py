"""A table that was emptied before a snapshot was taken anew has no event of it: the files do not say that it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sqlfluff.core import FluffConfig, Linter

from alluvium.inspection import Sampling, inspect

from .project import SOURCES, kinds, read, scaffolded, table_of

REPOSITORY = Path(__file__).parents[3]
STATE = "models/silver/shop/slv_shop__{}_state.sql"
HISTORY = "models/silver/shop/slv_shop__{}_history.sql"


def event(op: str, table: str, id_: int, at: int, *, snapshot: Any = "false", name: str | None = "shop") -> str:
    source = {"connector": "postgresql", "table": table, "lsn": at, "ts_ms": 1714564800000 + at, "snapshot": snapshot}
    return json.dumps({"before": None, "after": {"id": id_}, "source": {**source, "name": name}, "op": op})


def rows(table: str, at: int, **said: Any) -> list[str]:
    return [event("r", table, id_, at, snapshot="true", **said) for id_ in (1, 2)]


def land(root: Path, events: dict[str, list[str]]) -> None:
    for table, lines in events.items():
        file = root / "shops" / table / f"shop.public.{table}+0+0.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join([*lines, ""]), encoding="utf-8")


EMPTIED = {
    "orders": [*rows("orders", 10), *rows("orders", 90)],
    "items": [*rows("items", 10), *rows("items", 90)],
    "carts": rows("carts", 10),
}


@pytest.mark.parametrize(
    ("events", "asked"),
    [
        pytest.param(EMPTIED, {"carts"}, id="emptied"),
        pytest.param({**EMPTIED, "carts": [event("c", "carts", 1, 20)]}, {"carts"}, id="empty in both"),
        pytest.param(
            {**EMPTIED, "carts": [*rows("carts", 10), event("c", "carts", 3, 95)]}, {"carts"}, id="filled again"
        ),
        pytest.param({**EMPTIED, "carts": [*rows("carts", 10), *rows("carts", 90)]}, set(), id="has rows"),
        pytest.param({**EMPTIED, "carts": [event("c", "carts", 1, 95)]}, set(), id="younger"),
        pytest.param(
            {**EMPTIED, "items": rows("items", 10), "lines": rows("lines", 10)}, set(), id="snapshot of one table"
        ),
        pytest.param(
            {**EMPTIED, "orders": [*rows("orders", 10), event("r", "orders", 1, 90, snapshot="incremental")]},
            {"carts", "orders"},
            id="an incremental one",
        ),
        pytest.param({**EMPTIED, "carts": rows("carts", 10, name="other")}, set(), id="of another connector"),
        pytest.param(
            {
                table: [line.replace('"name": "shop"', '"name": null') for line in lines]
                for table, lines in EMPTIED.items()
            },
            {"carts"},
            id="of a connector without a name",
        ),
    ],
)
def test_missed_snapshots(tmp_path: Path, events: dict[str, list[str]], asked: set[str]) -> None:
    land(tmp_path, events)
    found = {entity.name: entity for entity in inspect(str(tmp_path / "shops")).entities}
    assert {name for name, entity in found.items() if entity.snapshots.missed} == asked
    for name in asked:
        assert "was it empty (snapshots: complete)" in found[name].questions[-1]


def test_snapshot_that_was_not_read_is_not_missed(tmp_path: Path) -> None:
    land(tmp_path, EMPTIED)
    (tmp_path / "shops/carts/shop.public.carts+0+2.json").write_text("", encoding="utf-8")
    found = {entity.name: entity for entity in inspect(str(tmp_path / "shops"), Sampling(objects=1)).entities}
    assert found["carts"].snapshots.missed is None


def test_question_is_answered_in_one_line(root: Path) -> None:
    land(root, EMPTIED)
    scaffold = scaffolded(root, "shops", history=True)
    others = 'snapshotted_with=[\n        ref("stg_shop__items"),\n        ref("stg_shop__orders"),\n    ],'
    for path in (STATE, HISTORY):
        assert others in read(root, path.format("carts"))
        assert "snapshotted_with" not in read(root, path.format("orders"))
    assert table_of(root, "carts")["config"]["meta"]["cdc"]["snapshots"] is None, "dbt refuses it"
    assert any("was it empty" in question for feed in scaffold.feeds for question in feed.questions)
    sources = read(root, SOURCES)
    for answer in ("complete", "partial"):
        (root / "project" / SOURCES).write_text(sources.replace("snapshots: null", f"snapshots: {answer}"), "utf-8")
        again = scaffolded(root, "shops", history=True)
        assert not any("was it empty" in question for feed in again.feeds for question in feed.questions)
        assert {kind for path, kind in kinds(again).items() if path != SOURCES} == {"same"}


def test_table_that_is_there_is_asked_about_and_left_until_it_is_answered(root: Path) -> None:
    land(root, {table: lines[:2] for table, lines in EMPTIED.items()})
    scaffolded(root, "shops")
    land(root, EMPTIED)
    asked = scaffolded(root, "shops")
    assert any("was it empty" in question for feed in asked.feeds for question in feed.questions)
    assert set(kinds(asked).values()) == {"same"}
    sources = read(root, SOURCES)
    place = sources.index("name: carts")
    answered = sources[place:].replace("key: [id]", "key: [id]\n              snapshots: complete", 1)
    (root / "project" / SOURCES).write_text(sources[:place] + answered, encoding="utf-8")
    changed = {path: kind for path, kind in kinds(scaffolded(root, "shops")).items() if kind != "same"}
    assert changed == {STATE.format("carts"): "replaced"}


def test_models_are_in_the_house_style(root: Path) -> None:
    (root / "project" / "dbt_project.yml").write_text("name: alluvium\n", encoding="utf-8")
    land(root, EMPTIED)
    scaffolded(root, "shops", history=True)
    linter = Linter(config=FluffConfig.from_path(str(REPOSITORY)))
    for path in (STATE, HISTORY):
        assert linter.lint_string(read(root, path.format("carts"))).get_violations() == []


@pytest.mark.parametrize(
    ("marks", "positions", "asked"),
    [
        pytest.param(["first", "true", "true", "last"], [10, 11, 12, 13], True, id="a position each"),
        pytest.param(["first", "true", "true", "last"], [10, 10, 10, 10], False, id="one snapshot"),
        pytest.param(["first", "first", "true", "last"], [10, 11, 13, 13], False, id="two that failed"),
        pytest.param(["true", "true", "true", "true"], [10, 11, 12, 13], False, id="none ends"),
        pytest.param(["last", "last", "last", "last"], [10, 11, 12, 13], False, id="a table of one row"),
        pytest.param(["incremental"] * 3 + ["last"], [10, 11, 12, 13], False, id="incremental"),
    ],
)
def test_rows_of_a_snapshot_with_a_position_each(
    root: Path, marks: list[str], positions: list[int], asked: bool
) -> None:
    """The last one would begin the table anew, and the others would be deleted."""
    lines = [
        event("r", "orders", id_, at, snapshot=mark)
        for id_, (mark, at) in enumerate(zip(marks, positions, strict=True))
    ]
    land(root, {"orders": lines})
    questions = scaffolded(root, "shops").feeds[0].questions
    assert any("have a position each" in question for question in questions) == asked
    assert ("snapshots: null" in read(root, SOURCES)) == asked
    answered = read(root, SOURCES).replace("snapshots: null", "snapshots: partial")
    (root / "project" / SOURCES).write_text(answered, encoding="utf-8")
    assert not any("position each" in question for question in scaffolded(root, "shops").feeds[0].questions)
