"""Columns of a source whose names a table cannot have here."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from alluvium.inspection import inspect
from alluvium.inspection.reserved_names import is_invalid_name, is_reserved_name
from alluvium.scaffolding import plan

MACRO = Path(__file__).resolve().parents[3] / "macros/lib/columns.sql"


def test_names_are_those_that_the_macros_refuse() -> None:
    refused = re.search(r"macro _is_own_column\(name\).*? in \[(.*?)\]", MACRO.read_text(encoding="utf-8"), re.DOTALL)
    assert refused
    names = [*json.loads(f"[{refused[1]}]"), "_cdc_x"]
    assert len(names) == 12
    assert all(is_reserved_name(name) for name in names)
    assert all(is_reserved_name(name.upper()) for name in names)
    assert not any(is_reserved_name(name) for name in ("cdc_x", "_is_current_", "metadata"))


def test_they_are_asked_about(tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_text('{"id": 1, "_is_deleted": false, "_cdc_op": "x"}\n', encoding="utf-8")
    (entity,) = inspect(str(tmp_path)).entities
    asked = [question.partition(" ")[0] for question in entity.questions if "is a name that this project" in question]
    assert asked == ["_is_deleted", "_cdc_op"]


LINE_ENDS = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"


@pytest.mark.parametrize("end", LINE_ENDS, ids=ascii)
def test_name_with_the_end_of_a_line_is_asked_about_and_written_as_it_is(tmp_path: Path, end: str) -> None:
    """SQL is indented: the name would be another one, and its lines be rejected as unknown_column."""
    names = [f"a{end}b", f"a{end}"]
    rows = "".join(json.dumps({"id": number, **dict.fromkeys(names, "x")}) + "\n" for number in (1, 2))
    (tmp_path / "items.json").write_text(rows, encoding="utf-8")
    found = inspect(str(tmp_path))
    asked = [question for question in found.entities[0].questions if "cannot be built" in question]
    assert [question.partition(" cannot")[0] for question in asked] == [f"column {name!r}" for name in names]
    project = tmp_path / "p"
    project.mkdir()
    (project / "dbt_project.yml").write_text("name: p\n", encoding="utf-8")
    for except_column_list in ([], names):
        path = project / "models/bronze/shop/_shop__sources.yml"
        if except_column_list:
            answered = yaml.safe_load(path.read_text(encoding="utf-8"))
            answered["sources"][0]["tables"][0]["config"]["meta"]["cdc"]["except_column_list"] = except_column_list
            path.write_text(yaml.safe_dump(answered, sort_keys=False), encoding="utf-8")
        plan(inspect(str(tmp_path)), "shop", project).write(project)
        text = path.read_text(encoding="utf-8")
        assert text.count("cannot be built") == (0 if except_column_list else 2)
        (table,) = yaml.safe_load(text)["sources"][0]["tables"]
        assert [column["name"] for column in table["columns"]] == ["id", *names]
        for model in project.rglob("silver/**/*.yml"):
            assert not {
                column["name"] for column in yaml.safe_load(model.read_text("utf-8"))["models"][0]["columns"]
            } & {*names}


def test_which_names_are_unfit() -> None:
    assert is_invalid_name("#")
    assert is_invalid_name("_cdc_op")
    controls = map(chr, [*range(32), 127, *range(128, 160)])
    assert not any(is_invalid_name(f"a{control}b") for control in controls if control not in LINE_ENDS)
    assert not any(is_invalid_name(name) for name in ("a b", "a#", "größe", "a.b", "", " "))
