"""Placeholders for values that the source has not sent, without Spark."""

from __future__ import annotations

import pytest

from .feeds import column, feed
from .harness import Renderer, assert_expression_parses, assert_parses, fold

TYPES = ["string", "binary", "array<int>", "map<string,string>", "struct<a:int>", "decimal(10,2)", "int", "timestamp"]
LONG = feed(columns=[column("id", "string"), *[column(f"c{n}", data_type) for n, data_type in enumerate(TYPES)]])


ORACLE_FULL = {"connector": "oracle", "replica_identity": "full"}


def test_may_be_unavailable(macros: Renderer) -> None:
    names = macros.render("columns_of_unavailable_values", LONG)
    assert names == ["c0", "c1", "c2", "c3", "c4", "c5"], "not the key, nothing of a fixed width"
    assert macros.render("may_be_unavailable", column("note"), feed())
    for options in ({"connector": "mysql"}, {"connector": "mariadb"}, {"replica_identity": "full"}, ORACLE_FULL):
        assert macros.render("columns_of_unavailable_values", {**LONG, **options}) == []
        assert not macros.render("has_unavailable_values", {**LONG, **options})
    for identity in ("default", "index", "nothing"):
        assert macros.render("has_unavailable_values", feed(replica_identity=identity))
        assert macros.render("has_unavailable_values", feed(replica_identity=identity, connector="oracle"))
        # An update comes with a whole image before, or not at all.
        assert not macros.render("has_unavailable_values", feed(replica_identity=identity, key=[]))


def test_unavailable_columns(macros: Renderer) -> None:
    sql = macros.sql("unavailable_columns", LONG)
    assert sql.startswith("if(kind = 'change' and op in ('c', 'u'), nullif(filter(array(if(row_image['c0'] in (")
    assert_expression_parses(sql)
    assert macros.sql("unavailable_columns", feed(connector="mysql")) == "cast(null as array<string>)"


def test_is_placeholder(macros: Renderer) -> None:
    sql = macros.sql("is_placeholder", column("it's"), feed())
    assert sql.startswith(r"row_image['it\'s'] in ('__debezium_unavailable_value', ")
    assert macros.sql("is_unavailable", column("it's"), feed()).startswith(sql)
    assert_expression_parses(sql)


def test_is_unavailable(macros: Renderer) -> None:
    envelope = macros.sql("is_unavailable", column("it's"), feed())
    assert envelope.startswith(r"row_image['it\'s'] in ('__debezium_unavailable_value', ")
    assert envelope.endswith(r"and image_before['it\'s'] is null")
    flattened = macros.sql("is_unavailable", column("note"), feed(shape="flattened"))
    assert "image_before" not in flattened
    assert_expression_parses(envelope)


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


def test_placeholders_of_altered_table(macros: Renderer) -> None:
    """`replica_identity: full` was declared after the table was altered: an update from before has no image before."""
    columns = [column("id", "int"), column("body"), column("number", "int")]
    full = feed(columns=columns, replica_identity="full")
    sql = macros.sql("placeholders_of_altered_table", full)
    assert "row_image['body'] in ('__debezium_unavailable_value', " in sql
    assert "'number'" not in sql
    assert macros.render("types_out_of_line")
    reason = macros.sql("reject_reason", full)
    assert f"op = 'u' and image_before is null and size({sql}) > 0 then concat('missing_before: '" in reason
    for other in ({"replica_identity": "default"}, {"shape": "flattened"}, {"connector": "mysql"}):
        assert "missing_before" not in macros.sql("reject_reason", feed(columns=columns, **other))
