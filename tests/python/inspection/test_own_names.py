"""Columns of a source that are called like this project's own."""

from __future__ import annotations

import json
import re
from pathlib import Path

from alluvium.inspection import inspect
from alluvium.inspection.own_names import is_own_name

MACRO = Path(__file__).resolve().parents[3] / "macros/_internal/columns.sql"


def test_names_are_those_that_the_macros_refuse() -> None:
    refused = re.search(r"macro is_own_column\(name\).*? in \[(.*?)\]", MACRO.read_text(encoding="utf-8"), re.DOTALL)
    assert refused
    names = [*json.loads(f"[{refused[1]}]"), "_cdc_x"]
    assert len(names) == 12
    assert all(is_own_name(name) for name in names)
    assert all(is_own_name(name.upper()) for name in names)
    assert not any(is_own_name(name) for name in ("cdc_x", "_is_current_", "metadata"))


def test_they_are_asked_about(tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_text('{"id": 1, "_is_deleted": false, "_cdc_op": "x"}\n', encoding="utf-8")
    (entity,) = inspect(str(tmp_path)).entities
    asked = [question.partition(" ")[0] for question in entity.questions if "is a name that this project" in question]
    assert asked == ["_is_deleted", "_cdc_op"]
