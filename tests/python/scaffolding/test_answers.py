"""Questions that were answered in sources.yml are asked no more, there or on the terminal; those that were not, are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .project import SOURCES, landed, read, scaffolded, table_of

MARK = "# Answer before the first build: "


def rows(root: Path, *lines: dict[str, Any], folder: str = "rows") -> None:
    """Bare rows with offsets, so that their order is no question."""
    path = root / folder / "shop.public.orders" / "shop.public.orders+0+0.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")


def asked(root: Path, folder: str = "rows") -> list[str]:
    """What is printed, after it was seen that as much stands in the YAML."""
    (feed,) = scaffolded(root, folder).feeds
    assert len(comments(root)) == len(feed.questions)
    return list(feed.questions)


def comments(root: Path) -> list[str]:
    return [line.strip() for line in read(root, SOURCES).splitlines() if line.strip().startswith(MARK)]


def edited(root: Path, old: str, new: str) -> None:
    text = read(root, SOURCES)
    assert old in text
    (root / "project" / SOURCES).write_text(text.replace(old, new, 1), encoding="utf-8")


def without_comment(root: Path, words: str) -> None:
    (line,) = [line for line in read(root, SOURCES).splitlines() if MARK in line and words in line]
    edited(root, f"{line}\n", "")


def test_numbers_that_are_none(root: Path) -> None:
    rows(root, {"id": 1, "due": 400, "stock": 500, "day": 7}, {"id": 2, "due": 401, "stock": 501, "day": 7})
    assert [question[:22] for question in asked(root)] == ["which of due, stock, day"[:22]]
    edited(root, "__due') }}\"\n            data_type: bigint", "__due') }}\"\n            data_type: date")
    (question,) = asked(root)
    assert question.startswith("which of stock, day count days")
    edited(root, "__day') }}\"\n            data_type: bigint", "__day') }}\"\n            data_type: smallint")
    (question,) = asked(root)
    assert question.startswith("which of stock count days")
    without_comment(root, "which of stock")
    before = read(root, SOURCES)
    assert asked(root) == []
    assert read(root, SOURCES) == before
    rows(root, {"id": 1, "due": 400, "stock": 500, "day": 7, "count": 8}, {"id": 2, "due": 1, "stock": 2, "day": 3})
    assert any(question.startswith("which of count count days") for question in asked(root))
    assert "which of count count days" in read(root, SOURCES).partition("- name: count")[0].splitlines()[-2]


@pytest.mark.parametrize("name", ["a, b", "a: b?", "größe"])
def test_number_of_any_name_is_asked_about_until_it_is_answered(root: Path, name: str) -> None:
    rows(root, {"id": 1, name: 400}, {"id": 2, name: 500})
    for _ in range(2):
        assert [question.partition(" ")[0] for question in asked(root)] == ["which"]
    without_comment(root, "which of")
    assert asked(root) == []


@pytest.mark.parametrize("answer", ["default", "comment"])
def test_default_that_is_said(root: Path, answer: str) -> None:
    landed(root / "landing", "shop.public.orders", {"order_id": 3, "note": "a", "channel": "web"}, offset=2)
    asks = "channel was added later: which default"
    assert [question[: len(asks)] for question in asked(root, "landing")] == [asks]
    assert [question[: len(asks)] for question in asked(root, "landing")] == [asks], "nothing was answered"
    if answer == "default":
        channel = "__channel') }}\"\n            data_type: string"
        edited(root, channel, f"{channel}\n            config: {{meta: {{cdc: {{default: shop}}}}}}")
    else:
        without_comment(root, asks)
    assert asked(root, "landing") == []
    assert comments(root) == []


def test_key_that_is_likely_is_asked_for(root: Path) -> None:
    rows(root, {"order_id": 1, "x": "a"}, {"order_id": 1, "x": "b"})
    assert [question[:21] for question in asked(root)] == ["is the key order_id? "]
    rows(root, *({"order_id": 1, "x": "a"} for _ in range(3)))
    assert len(asked(root)) == 1, "it is the same question, of more rows"
    said = table_of(root).get("config", {})
    assert "key" not in str(said), "no key is written that is only likely"
    edited(root, "        columns:\n", "        meta: {cdc: {key: [order_id]}}\n        columns:\n")
    assert asked(root) == []


@pytest.mark.parametrize("answer", ["[]", "[x]"])
def test_key_that_is_another_one(root: Path, answer: str) -> None:
    landed(root / "keyless", "shop.public.orders", {"x": "a"}, {"x": "a"})
    assert asked(root, "keyless") == ["has the table a key? Say `key: [column, ...]`, or `key: []` if it has none."]
    edited(root, "        columns:\n", f"        config: {{meta: {{cdc: {{key: {answer}}}}}}}\n        columns:\n")
    assert asked(root, "keyless") == []


def test_fractions_that_are_doubles(root: Path) -> None:
    rows(root, {"id": 1, "price1": 1.5, "price2": 1.5}, {"id": 2, "price1": 1.5, "price2": 1.5})
    assert [question.partition(" ")[0] for question in asked(root)] == ["price1", "price2"]
    without_comment(root, "price1 has fractions")
    assert [question.partition(" ")[0] for question in asked(root)] == ["price2"]
    edited(
        root, "__price2') }}\"\n            data_type: double", "__price2') }}\"\n            data_type: decimal(9,2)"
    )
    assert asked(root) == []


def test_comments_of_the_user_stay(root: Path) -> None:
    rows(root, {"id": 1, "price": 1.5}, {"id": 2, "price": 1.5})
    asked(root)
    own = f"        # mine: {MARK}\n        {MARK}is it ours?\n        # Answer it\n        columns: # end\n"
    edited(root, "        columns:\n", own)
    edited(root, "data_type: double", "data_type: decimal(9,2)")
    text = read(root, SOURCES)
    (line,) = [line for line in text.splitlines(keepends=True) if "price has fractions" in line]
    change = next(change for change in scaffolded(root, "rows").changes if change.path == SOURCES)
    assert (change.kind, change.text) == ("added", text.replace(line, ""))
    assert f"\n-{line}" in change.difference


def test_comment_of_a_column_with_a_blank(root: Path) -> None:
    scaffolded(root)
    added = {"unit price": "BNI=", "it": "BNI=", "scale": "x"}
    landed(root / "landing", "shop.public.orders", {"order_id": 3, "note": "a", **added}, offset=2)
    scaffolded(root)
    lines = read(root, SOURCES).splitlines()
    above = {
        line.strip(): [other.strip() for other in lines[:number] if MARK in other]
        for number, line in enumerate(lines)
        if line.strip().startswith("- name:")
    }
    assert [comment.removeprefix(MARK).partition(" looks")[0] for comment in above["- name: unit price"]][:1] == [
        "unit price"
    ]
    about = [comment.removeprefix(MARK) for comment in comments(root)]
    assert [comment[:9] for comment in about] == ["unit pric", "unit pric", "it looks ", "it was ad", "scale was"]


def test_location_is_asked_until_it_is_said(root: Path) -> None:
    landed(root / "made", "shop.public.items", {"id": 1}, {"id": 2})
    (root / "flat").mkdir()
    (root / "made").rename(root / "flat" / "below")
    (root / "flat" / "part-1.json").write_text('{"id": 1, "x": "a"}\n', encoding="utf-8")
    for _ in range(2):
        assert any(
            "which files below" in question for feed in scaffolded(root, "flat").feeds for question in feed.questions
        )
    using = "        external:\n          using: json\n"
    edited(root, using, f"        external:\n          location: {root / 'flat'}\n          using: json\n")
    assert not any(
        "which files below" in question for feed in scaffolded(root, "flat").feeds for question in feed.questions
    )
    assert not any("which files below" in comment for comment in comments(root))


@pytest.mark.parametrize(("code", "mode"), [("33.85", "string"), ("1234", None)])
def test_mode_of_decimals(root: Path, code: str, mode: str | None) -> None:
    """Where the files do not show it, dbt refuses the table until it is said."""
    landed(root / "landing", "shop.public.prices", {"id": 1, "code": code, "raw": "AQ=="}, {"id": 2, "code": code})
    scaffold = scaffolded(root, entities=["prices"])
    assert table_of(root, "prices")["config"]["meta"]["cdc"]["decimal_handling_mode"] == mode
    assert any("are its decimals texts" in text for text in scaffold.feeds[0].questions) == (mode is None)
    text = read(root, SOURCES).replace("decimal_handling_mode: null", "decimal_handling_mode: precise")
    (root / "project" / SOURCES).write_text(text, encoding="utf-8")
    again = scaffolded(root, entities=["prices"])
    assert not any("are its decimals texts" in text for text in again.feeds[0].questions)


def test_unit_of_times_stands_beside_the_type_that_is_to_be_said(root: Path) -> None:
    """So one line answers: without the unit the values would be rejected, or taken for another one."""
    landed(root / "landing", "shop.public.times", *({"id": n, "changed_at": 1714564800000 + n} for n in range(9)))
    scaffold = scaffolded(root, entities=["times"])
    column = next(column for column in table_of(root, "times")["columns"] if column["name"] == "changed_at")
    assert "data_type" not in column
    assert column["config"]["meta"]["cdc"] == {"semantic_type": "io.debezium.time.Timestamp"}
    assert any("say data_type: timestamp_ntz, else data_type: bigint" in text for text in scaffold.feeds[0].questions)


def test_replica_identity_that_was_altered(root: Path) -> None:
    """With `full` a delete that has the key alone would be compared as a whole image."""
    source: dict[str, Any] = {"connector": "postgresql", "table": "orders", "schema": "public"}
    row = {"id": 1, "note": "a"}
    changes: list[dict[str, Any]] = [
        {"op": "c", "before": None, "after": row},
        {"op": "u", "before": row, "after": {**row, "note": "b"}},
        {"op": "d", "before": {"id": 1, "note": None}, "after": None},
    ]
    rows(root, *({**change, "source": {**source, "lsn": lsn}} for lsn, change in enumerate(changes, start=7)))
    asks = "what is its REPLICA IDENTITY?"
    for _ in range(2):
        assert [question[: len(asks)] for question in asked(root)] == [asks]
    assert "replica_identity:" not in "".join(line for line in read(root, SOURCES).splitlines() if MARK not in line)
    edited(root, "shape: envelope", "shape: envelope\n          replica_identity: default")
    assert asked(root) == []


def test_local_time_with_a_z_is_asked_about_once_and_leaves_no_notice(root: Path) -> None:
    landed(root / "times", "shop.public.plans", *({"id": number, "at": "2024-02-29T12:00:00.5Z"} for number in (1, 2)))
    assert [question.partition(":")[0] for question in asked(root, "times")] == ["at"]
    edited(
        root,
        "data_type: timestamp\n",
        "data_type: timestamp_ntz\n            config: {meta: {cdc: {semantic_type: io.debezium.time.IsoTimestamp}}}\n",
    )
    scaffold = scaffolded(root, "times")
    assert (scaffold.feeds[0].questions, list(scaffold.notices)) == ((), [])
