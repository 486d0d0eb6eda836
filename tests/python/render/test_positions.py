"""Positions of the connectors, and what the records of each carry."""

from __future__ import annotations

import pytest

from .feeds import column, feed
from .harness import Renderer, assert_expression_parses, assert_parses, fold

CONNECTORS = ("postgresql", "mysql", "mariadb", "sqlserver", "oracle", "mongodb")
BATCH = {"number": 1, "after": None, "runs": None}


@pytest.mark.parametrize("connector", CONNECTORS)
@pytest.mark.parametrize("shape", ["envelope", "flattened"])
def test_change_log_of_each_connector(macros: Renderer, connector: str, shape: str) -> None:
    made = feed(connector=connector, shape=shape, store_envelope=True)
    sql = macros.render("decode_records_sql", made, BATCH)
    for field in macros.render("source_fields", made):
        assert f" as source_{field}" in sql, field
    assert_parses(sql)
    assert_expression_parses(macros.sql("has_source_position", made))


def test_sqlserver_position(macros: Renderer) -> None:
    assert macros.sql("sqlserver_position").startswith(
        "lower(source_commit_lsn), if(op = 'r', '00000000:00000000:0000', "
    )
    assert "op = 'r' or source_change_lsn rlike" in macros.render("has_sqlserver_position")
    # Two LSNs of 22 characters, ten digits, two dots.
    assert macros.render("source_position_length", feed(connector="sqlserver")) == 56


def test_oracle_position(macros: Renderer) -> None:
    assert macros.sql("oracle_position").count("lpad(if(op = 'r', ") == 5
    assert "source_commit_scn rlike" in macros.render("has_oracle_position")
    assert macros.render("source_position_length", feed(connector="oracle")) == 3 * 24 + 2 * 10 + 4


def test_mongodb_position(macros: Renderer) -> None:
    assert macros.sql("mongodb_position") == "lpad(source_ts_ms div 1000, 20, '0'), lpad(source_ord, 10, '0')"
    assert "coalesce(source_wallTime, 0) <> source_ts_ms" in macros.sql("has_mongodb_position")


def test_flattened_source_field(macros: Renderer) -> None:
    assert macros.render("flattened_source_field", "lsn", "bigint", "__") == (
        "try_cast(coalesce(fields['__source_lsn'], fields['__lsn']) as bigint)"
    )
    assert (
        macros.render("flattened_source_field", "scn", "string", "_")
        == "coalesce(fields['_source_scn'], fields['_scn'])"
    )
    assert (
        macros.render("flattened_source_field", "ts_ms", "bigint", "__")
        == "try_cast(fields['__source_ts_ms'] as bigint)"
    )


def test_row_image_of_envelope(macros: Renderer) -> None:
    assert macros.sql("row_image_of_envelope", feed()) == "if(record_op = 'd', record_before, record_after)"
    stored = macros.sql("row_image_of_envelope", feed(connector="mongodb", store_envelope=True))
    assert macros.render("document_key") in stored
    assert_expression_parses(stored)
    assert macros.sql("row_image_of_envelope", feed(connector="mongodb")) == (
        macros.sql("document_fields", "if(record_op = 'd', record_before, record_after)")
    )


def test_update_without_its_document_is_no_change(macros: Renderer) -> None:
    said = "when kind = 'rejected' and op = 'u' then 'partial_document'"
    assert said in macros.sql("reject_reason", feed(connector="mongodb"))
    assert said not in macros.sql("reject_reason", feed())
    assert "when record_op = 'u' and record_after is null then 'rejected'" in (
        macros.sql("recognise_envelope", feed(connector="mongodb"))
    )


def test_lobs_of_oracle_may_be_unavailable(macros: Renderer) -> None:
    made = feed(connector="oracle", columns=[column("id", "int"), column("note"), column("pay", "decimal(9,2)")])
    assert macros.render("columns_of_unavailable_values", made) == ["note"]
    assert "image_before" not in macros.sql("is_unavailable", column("note"), made)


@pytest.mark.parametrize(
    ("connector", "semantic_type"),
    [
        ("mongodb", "io.debezium.time.Timestamp"),
        ("jdbc", "org.apache.kafka.connect.data.Timestamp"),
        ("table", "io.debezium.time.ZonedTimestamp"),
    ],
)
def test_semantic_type_of_a_point_in_time(macros: Renderer, connector: str, semantic_type: str) -> None:
    assert fold(macros.render("semantic_type", column("x", "timestamp"), feed(connector=connector))) == semantic_type
