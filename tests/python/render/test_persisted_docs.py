"""Comments of tables, views and their columns (``persist_docs``)."""

from __future__ import annotations

import pytest

from .harness import Renderer, assert_parses, relation

TABLE = relation("orders_state")
ODD = "it's a \\path\\"
ODD_LITERAL = r"'it\'s a \\path\\'"


@pytest.mark.parametrize("name", ["größe", "a b", "a.b", "a`b", "select", "#", "it's", "Ab"])
def test_comment_of_any_column_of_a_table(name: str) -> None:
    macros = Renderer(answers={"describe": [{"col_name": name.upper(), "comment": None}], "alter table": []})
    _, statement = macros.does("spark__alter_column_comment", TABLE, {name: {"description": ODD}})
    quoted = name.replace("`", "``")
    assert statement == f"alter table silver.orders_state alter column `{quoted}` comment {ODD_LITERAL}"
    assert_parses(statement)


def test_comment_that_is_there_is_not_committed_again() -> None:
    described = [("Id", "key"), ("note", None), ("new", "old"), ("", ""), ("# Partitioning", ""), ("id", None)]
    macros = Renderer(
        answers={
            "describe": [{"col_name": name, "comment": comment} for name, comment in described],
            "alter table": [],
        }
    )
    columns = {"id": {"description": "key"}, "note": {"description": ""}, "new": {"description": "new"}}
    ran = macros.does("spark__alter_column_comment", TABLE, columns)
    assert [sql for sql in ran if "alter" in sql] == [
        "alter table silver.orders_state alter column `new` comment 'new'"
    ]


def test_other_formats_have_no_comments_of_columns() -> None:
    macros = Renderer(file_format="parquet")
    assert macros.does("spark__alter_column_comment", TABLE, {"id": {"description": "key"}}) == []


def test_column_of_a_view() -> None:
    macros = Renderer()
    columns = {"a`b": {"description": ODD}, "id": {"description": ""}}
    assert macros.render("get_column_comment_sql", "a`b", columns) == f"`a``b` comment {ODD_LITERAL}"
    assert macros.render("get_column_comment_sql", "id", columns) == "`id`"
    assert macros.render("get_column_comment_sql", "none of them", columns) == "`none of them`"


def test_comment_clause() -> None:
    assert Renderer(description="x").render("spark__comment_clause").strip() == ""
    macros = Renderer(description=ODD, persist_docs={"relation": True})
    assert macros.render("spark__comment_clause").strip() == f"comment {ODD_LITERAL}"
