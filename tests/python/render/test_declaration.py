"""What a table's rows were decoded and computed with, and what is said where that has changed."""

from __future__ import annotations

from typing import Any

import pytest

from .feeds import column, feed, shop
from .harness import Renderer, relation

LOG = relation("stg_shop__orders")
LATER = column("paid", "int") | {"cdc": {"default": "0"}}


def declared(macros: Renderer, **options: Any) -> str:
    made: str = macros.render("declared", macros.render("meaning_of_log", feed(**options)))
    return made


@pytest.mark.parametrize(
    ("options", "changed"),
    [
        ({}, []),
        ({"key": ["name"], "quarantine": {"fail_above": 3}}, []),
        ({"decimal_handling_mode": "string"}, ["decimal_handling_mode"]),
        ({"apply_as_deletes": "op = 'D'", "full_dumps": {"a": "b"}}, ["apply_as_deletes", "full_dumps"]),
        ({"columns": [*feed()["columns"], LATER]}, ["default"]),
        ({"replica_identity": "default"}, []),
        ({"replica_identity": "full"}, ["replica_identity"]),
        ({"columns": [*feed()["columns"], column("paid", "int")]}, []),
    ],
)
def test_options_that_make_other_rows_of_the_same_lines(
    macros: Renderer, options: dict[str, Any], changed: list[str]
) -> None:
    now = macros.render("meaning_of_log", feed(**options))
    assert macros.render("changed_options", now, [declared(macros), "", declared(macros, **options)]) == changed


def test_option_that_was_not_written_down_is_not_compared(macros: Renderer) -> None:
    now = macros.render("meaning_of_log", feed(decimal_handling_mode="string"))
    older = " ".join(entry for entry in declared(macros).split() if not entry.startswith("decimal_handling_mode="))
    assert macros.render("changed_options", now, [older]) == []
    assert macros.render("said_of_changed_options", now, [older]) is None
    two = macros.render("meaning_of_log", feed(decimal_handling_mode="string", decimal_format="numeric"))
    said = macros.render("said_of_changed_options", two, [declared(macros)])
    assert said == "decimal_handling_mode, decimal_format are declared otherwise"


def test_files_that_were_decoded_otherwise_are_warned_of(macros: Renderer) -> None:
    of_before = {"declarations": declared(macros) + "|" + declared(macros, decimal_format="numeric")}
    macros.render(
        "warn_of_other_declaration", feed(), LOG, [{"declarations": None}, {"declarations": declared(macros)}]
    )
    assert macros.warnings == []
    macros.render("warn_of_other_declaration", feed(), LOG, [of_before])
    assert macros.warnings == [
        "shop.orders: decimal_format is declared otherwise than when files were read that the log has. Their lines "
        "stay as they were decoded; `dbt build --full-refresh --select stg_shop__orders+` decodes all of them as they "
        "are declared now"
    ]


def test_meaning_of_state() -> None:
    renderer = Renderer(meta={"cdc": {"delete_policy": "hard"}})
    assert renderer.render("meaning_of_state", feed(snapshots="partial")) == {
        "delete_policy": "hard",
        "snapshots": "partial",
        "replica_identity": "undeclared",
    }
    assert Renderer().render("meaning_of_state", feed())["delete_policy"] == "soft"


def test_meaning_of_model() -> None:
    renderer = shop()
    renderer.parents = ["model.stg"]
    assert renderer.render("meaning_of_model")["snapshots"] == "complete"


def test_declaration_column(macros: Renderer) -> None:
    assert macros.render("declaration_column").strip().startswith("declaration string comment ")
