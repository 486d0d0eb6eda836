"""Each item has its fixture, and every fixture says what its README asks for. Starts no Spark."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import pytest
import yaml
from pipeline.project import REPOSITORY

from .fixtures import FOLDER, Fixture, fixture_files, load_fixtures, read_fixtures, text_of

ITEMS: list[int] = yaml.safe_load((FOLDER / "items.yml").read_text(encoding="utf-8"))
CHECKLIST = REPOSITORY.parent / "shared" / "reference" / "cdc-semantics.md"
# Where the encoding of what an item is about differs.
IN_EVERY_ENCODING = (7, 28, 30, 31, 33, 38)
GOOD: dict[str, Any] = {
    "title": "One row",
    "cdc": {"connector": "postgresql"},
    "columns": {"id": "int", "at": "date"},
    "rounds": [{"files": {"t+0+0.json": '{"a":1}\n'}, "rows": [{"id": "1", "at": None}]}],
    "expected": {"rows": [{"id": "1", "at": "2024-05-01"}], "kinds": {"change": 1}},
}


def read(variant: str = "json", **changed: Any) -> Fixture:
    document = GOOD | changed | {"variants": {variant: None}}
    document["expected"] = GOOD["expected"] | changed.get("expected", {})
    (fixture,) = read_fixtures("21_words_of_it", yaml.safe_dump(document, sort_keys=False))
    return fixture


def test_each_item_has_a_fixture() -> None:
    assert [int(path.stem[:2]) for path in fixture_files()] == ITEMS


@pytest.mark.skipif(not CHECKLIST.is_file(), reason="the checklist is not beside the repository")
def test_items_are_those_that_the_checklist_marks() -> None:
    text = CHECKLIST.read_text(encoding="utf-8")
    items = re.findall(r"^(\d+)\. (.*?)(?=^\d+\. |^\*|\Z)", text, re.MULTILINE | re.DOTALL)
    assert len(items) == 45
    assert [int(number) for number, words in items if re.search(r"\[T( x\d)?\]", words)] == ITEMS


def test_each_fixture_is_well_formed() -> None:
    fixtures = load_fixtures()
    assert len({fixture.feed.name for fixture in fixtures}) == len(fixtures)
    for fixture in fixtures:
        assert all(content for files in fixture.feed.rounds for content in files.values()), fixture.name


@pytest.mark.parametrize("item", IN_EVERY_ENCODING)
def test_item_whose_encoding_differs_has_each(item: int) -> None:
    assert {fixture.feed.using for fixture in load_fixtures() if fixture.item == item} == {"json", "avro", "parquet"}


def test_fixture_is_read() -> None:
    fixture = read("odd-json", columns={"id": "int", "at": {"data_type": "date", "default": 0}})
    assert (fixture.name, fixture.item, fixture.feed.using) == ("21-words-of-it-odd-json", 21, "json")
    assert fixture.feed.columns == {"id": ("int", {}), "at": ("date", {"default": 0})}
    assert fixture.feed.rounds == [{"t+0+0.json": b'{"a":1}\n'}]
    assert fixture.rows_after == {0: [{"id": "1", "at": None}]}


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"variant": "odd"}, "does not end with its encoding"),
        ({"more": 1}, r"unknown \['more'\]"),
        ({"expected": {"more": 1}}, r"unknown \['more'\] in expected"),
        ({"expected": {"rows": [{"id": 1, "at": None}]}}, "id: 1 is not written as text"),
        ({"expected": {"deleted": [{"id": "1", "at": ["a", 2.0]}]}}, "at: .* is not written as text"),
        ({"expected": {"versions": [{"id": "1"}]}}, r"a row has \['id'\], declared are \['id', 'at'\]"),
        ({"expected": {"kinds": {"change": 2}}}, "1 lines, and kinds of"),
        ({"expected": {"rejected": ["unknown_op: x"]}}, "kinds and rejected do not agree"),
        ({"expected": {"source": "id,at"}}, "source and differences go together"),
    ],
)
def test_fixture_that_is_not_well_formed_is_refused(changed: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        read(**changed)


def test_name_that_stands_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="a name stands twice"):
        list(read_fixtures("21_words", "title: a\ntitle: b\n"))


def test_file_of_another_name_is_refused() -> None:
    with pytest.raises(ValueError, match="not named NN_words"):
        list(read_fixtures("resnapshot", yaml.safe_dump(GOOD)))


@pytest.mark.parametrize(
    ("value", "type_", "text"),
    [
        (True, "boolean", "true"),
        (2**63 - 1, "bigint", "9223372036854775807"),
        (0.1, "double", "0.1"),
        (Decimal("-100E-12"), "decimal(38,10)", "-0.0000000001"),
        (
            Decimal("12345678901234567890123456789012345.678"),
            "decimal(38,3)",
            "12345678901234567890123456789012345.678",
        ),
        ([Decimal(1), None], "array<decimal(6,2)>", ["1.00", None]),
        (b"\x00\xff", "binary", "00ff"),
        ([bytearray(b"\x01"), None], "array<binary>", ["01", None]),
        ({"a": "1", "b": None}, "map<string,string>", {"a": "1", "b": None}),
        ("2024-05-01", "date", "2024-05-01"),
        (None, "int", None),
    ],
)
def test_value_as_text(value: Any, type_: str, text: Any) -> None:
    assert text_of(value, type_) == text
