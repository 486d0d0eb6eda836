"""What a table of many columns takes to render: macros are called for each column, not for each pair of columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from dbt_common.clients.jinja import BaseMacroGenerator

from .feeds import column, feed
from .harness import Renderer, relation

LOG, STATE, HISTORY = map(relation, ("stg_shop__orders", "slv_shop__orders_state", "slv_shop__orders_history"))
BATCH = {"number": 5, "after": 4, "runs": None}
RENDERED: dict[str, Callable[[Renderer, dict[str, Any], list[str]], Any]] = {
    "log": lambda macros, wide, names: macros.render("_decode_records_sql", wide, BATCH),
    "state": lambda macros, wide, names: macros.render("_current_state_sql", LOG, wide, "hard", None, []),
    "merge of a state": lambda macros, wide, names: macros.render(
        "_guarded_merge_sql", STATE, relation("tmp"), wide, [*names, "_cdc_position"], "hard", []
    ),
    "history": lambda macros, wide, names: macros.render("_versions_sql", LOG, wide, names[1:], None, []),
    "merge of a history": lambda macros, wide, names: macros.render(
        "_history_merge_sql", HISTORY, relation("tmp"), wide, [*names, "_valid_from"]
    ),
}


@pytest.mark.parametrize("file_format", ["delta", "hudi"])
@pytest.mark.parametrize("rendered", RENDERED)
def test_calls_of_macros_grow_with_the_columns(
    monkeypatch: pytest.MonkeyPatch, rendered: str, file_format: str
) -> None:
    calls = 0
    call_macro = BaseMacroGenerator.call_macro

    def counted(self: BaseMacroGenerator, *arguments: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        return call_macro(self, *arguments, **named)

    monkeypatch.setattr(BaseMacroGenerator, "call_macro", counted)
    counts = []
    for width in (20, 40, 60):
        names = ["id", *(f"column_{number}" for number in range(width))]
        wide = feed(columns=[column("id", "int"), *map(column, names[1:])], columns_left_out=names[1:])
        macros = Renderer(file_format=file_format)
        calls = 0
        RENDERED[rendered](macros, wide, names)
        counts.append(calls)
    assert counts[0] > 20
    assert counts[2] - counts[1] == counts[1] - counts[0], counts


@pytest.mark.parametrize("width", [1, 20])
def test_column_that_the_table_leaves_out_is_never_unavailable(width: int) -> None:
    """Twenty are a set, of another than those of the same kind that the table has."""
    unlisted = [column(f"unlisted_{number}") for number in range(width)]
    listed = [column("id", "int"), *(column(f"listed_{number}") for number in range(width))]
    made = feed(columns=listed, unlisted_columns=unlisted)
    macros = Renderer()
    unavailable = macros.render("_unavailable_columns", made)
    sets = macros.render("_columns_alike", made)["sets"]
    assert [len({name.partition("_")[0] for name in one["names"]}) for one in sets] == [1, 1] * (width == 20)
    assert unavailable.count("case") == 1
    if width == 20:
        assert f"places__{sets[0]['number']}" in unavailable
        assert sets[0]["names"][0] == "listed_0"
    else:
        assert "'listed_0'" in unavailable
        assert "unlisted" not in unavailable
