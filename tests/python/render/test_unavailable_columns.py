"""Placeholders for values that the source has not sent, without Spark."""

from __future__ import annotations

from typing import Any

import pytest

from alluvium.rules import load

from .feeds import column, feed
from .harness import Renderer, assert_expression_parses, assert_parses, fold

TYPES = ["string", "binary", "array<int>", "map<string,string>", "struct<a:int>", "decimal(10,2)", "int", "timestamp"]
LONG = feed(columns=[column("id", "string"), *[column(f"c{n}", data_type) for n, data_type in enumerate(TYPES)]])


def test_may_be_unavailable(macros: Renderer) -> None:
    names = macros.render("columns_of_unavailable_values", LONG)
    assert names == ["c0", "c1", "c2", "c3", "c4", "c5"], "not the key, nothing of a fixed width"
    assert macros.render("may_be_unavailable", column("note"), feed())
    for connector in ("sqlserver", "oracle", "mysql", "mariadb"):
        assert macros.render("columns_of_unavailable_values", {**LONG, "connector": connector}) == ["c0", "c1"]
    lacking_none: tuple[dict[str, Any], ...] = ({"connector": "mongodb"}, {"key": []})
    for options in lacking_none:
        assert macros.render("columns_of_unavailable_values", {**LONG, **options}) == []
        assert not macros.render("has_unavailable_values", {**LONG, **options})
    for identity in ("default", "index", "nothing", "full"):
        assert macros.render("has_unavailable_values", feed(replica_identity=identity))


def test_unavailable_values_of(macros: Renderer) -> None:
    kept: dict[str, Any] = {"placeholder": None, "references": [], "types": []}
    for options in ({"connector": "mongodb"}, {"shape": "row"}, {"unavailable_values": kept}):
        assert macros.render("unavailable_values_of", feed(**options)) == kept
    mariadb = macros.render("unavailable_values_of", feed(connector="mariadb"))
    assert (mariadb["placeholder"], mariadb["types"]) == (None, ["string", "binary"])


def test_unavailable_values(macros: Renderer) -> None:
    table = macros.render("unavailable_values")
    assert table == load("unavailable_values")
    types = {"string", "binary", "array", "map", "struct", "decimal"}
    for rule in [*table["placeholders"].values(), *table["references"]]:
        assert set(rule["types"]) <= types
    assert set(table["placeholders"]) <= set(macros.render("feed_allowed_values")["connector"])


def test_unavailable_columns(macros: Renderer) -> None:
    sql = macros.sql("unavailable_columns", LONG)
    assert sql.startswith("if(kind = 'change', nullif(flatten(filter(array(case when startswith(row_image['c0'], ")
    assert_expression_parses(sql)
    assert macros.sql("unavailable_columns", feed(connector="mongodb")) == "cast(null as array<string>)"
    assert macros.sql("names_if_unavailable", column("note"), feed(connector="mariadb")) == (
        f"case when {reference('note')} then array('note', concat('note: ', row_image['note'])) end"
    )


def reference(name: str) -> str:
    text = f"row_image['{name}']"
    return f"startswith({text}, '__debezium:s3:ref:v1:') or startswith({text}, base64('__debezium:s3:ref:v1:'))"


def test_is_reference(macros: Renderer) -> None:
    assert macros.sql("is_reference", column("note"), feed()) == reference("note")
    assert macros.sql("is_reference", column("note"), feed(connector="mongodb")) == ""


def test_is_placeholder(macros: Renderer) -> None:
    sql = macros.sql("is_placeholder", column("it's"), feed())
    assert sql.startswith(r"row_image['it\'s'] in ('__debezium_unavailable_value', ")
    assert sql in macros.sql("is_unavailable", column("it's"), feed())
    assert_expression_parses(sql)


@pytest.mark.parametrize(
    ("options", "begins", "compares"),
    [
        ({}, "op in ('c', 'u') and ", True),
        ({"shape": "flattened"}, "op in ('c', 'u') and ", False),
        ({"replica_identity": "full"}, "", False),
        ({"connector": "sqlserver", "replica_identity": "full"}, "op in ('c', 'u', 'd') and ", False),
        ({"connector": "oracle", "replica_identity": "full"}, "op in ('c', 'u', 'd') and ", False),
        ({"connector": "mysql"}, "op in ('c', 'u', 'd') and ", False),
        ({"connector": "mariadb"}, "", False),
    ],
)
def test_is_unavailable(macros: Renderer, options: dict[str, Any], begins: str, compares: bool) -> None:
    sql = macros.sql("is_unavailable", column("it's"), feed(**options))
    assert sql.startswith(rf"{begins}row_image['it\'s'] in (" if begins else "")
    assert bool(sql) == bool(begins)
    assert sql.endswith(r"and image_before['it\'s'] is null") is compares
    if sql:
        assert_expression_parses(sql)


def test_bytes_of_placeholder(macros: Renderer) -> None:
    assert macros.render("bytes_of_placeholder", "hex:6162") == macros.render("bytes_of_placeholder", "ab") == b"ab"


@pytest.mark.parametrize(
    ("data_type", "texts"),
    [
        ("decimal(10,2)", ["'ab'"]),
        ("binary", ["'ab'", "base64(unhex('6162'))", "translate(base64(unhex('6162')), '+/', '-_')", "'6162'"]),
        ("map<string,string>", ["'ab'", "to_json(map('ab', 'ab'))"]),
        (
            "array<string>",
            [
                "'ab'",
                "to_json(array('ab'))",
                "to_json(array(base64(unhex('6162'))))",
                "'[97,98]'",
                "'[\"187ef443-6122-31cc-af40-dc2b92f0eba0\"]'",
            ],
        ),
    ],
)
def test_placeholders(macros: Renderer, data_type: str, texts: list[str]) -> None:
    assert macros.render("placeholders", data_type, "ab") == texts
    assert macros.render("placeholders", data_type, "hex:6162") == texts


def test_name_based_uuid(macros: Renderer) -> None:
    """As Debezium 3.6.3 sends it for uuid[] (shared/data/captures/FACTS.md, 1)."""
    assert macros.render("name_based_uuid", "__debezium_unavailable_value") == "b68a35a7-17ad-35b3-af2a-ae46edb4545a"


def test_sent_text(macros: Renderer) -> None:
    assert macros.render("sent_text", column("note"), feed(), "row_image['note']") == "row_image['note']"
    assert macros.render("column_text", column("note"), feed()) == (
        "if(array_contains(unavailable_columns, 'note'), null, row_image['note'])"
    )
    assert macros.render("column_text", column("size", "int"), feed()) == "row_image['size']"


def test_value_that_was_not_sent_is_no_misfit(macros: Renderer) -> None:
    options = feed(columns=[column("id", "int"), column("tags", "array<int>")])
    sql = fold(macros.render("misfit_columns", options))
    assert "and array_contains(unavailable_columns, 'tags') is not true" in sql
    assert_expression_parses(sql)


def test_typed_values(macros: Renderer) -> None:
    sql = macros.sql("typed_values", LONG)
    assert [part in sql for part in ("sent as (", "texts as (", "typed as (")] == [True] * 3
    assert_parses(f"with {macros.render('typed_values', LONG)} select 1")


def test_missing_values(macros: Renderer) -> None:
    """Nothing can be filled in."""
    columns = [column("id", "int"), column("body"), column("number", "int")]
    # It was declared after the table was altered: an update from before has no image before.
    full = feed(columns=columns, replica_identity="full")
    sql = macros.sql("missing_values", full)
    assert "if(op = 'u' and image_before is null and row_image['body'] in ('__debezium_unavailable_value', " in sql
    assert "'number'" not in sql
    assert f"when kind = 'change' and size({sql}) > 0 then concat('missing_before: '" in macros.sql(
        "reject_reason", full
    )
    for options in ({"replica_identity": "default"}, {"shape": "flattened"}, {"connector": "sqlserver"}):
        assert macros.render("missing_values", {**full, **options}) is None
        assert "missing_before" not in macros.sql("reject_reason", {**full, **options})
    keyless = macros.sql("missing_values", {**full, "key": []})
    assert f"if({reference('body')}, 'body', null)" in keyless
    of_sqlserver = macros.sql("missing_values", {**full, "key": [], "connector": "sqlserver"})
    assert f"if({reference('body')} or op in ('u', 'd') and row_image['body'] in (" in of_sqlserver
    assert_expression_parses(of_sqlserver)
