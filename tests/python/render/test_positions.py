"""Positions of the connectors, and what the records of each carry."""

from __future__ import annotations

import re

import pytest

from alluvium import rules

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
    assert re.search(r"typed as \(select \*, concat\(.*\) as source_position, ", fold(sql))


@pytest.mark.parametrize("connector", CONNECTORS)
def test_position_of_each_connector(macros: Renderer, connector: str) -> None:
    made = feed(connector=connector)
    parts = macros.render("connectors")[connector]["position"]
    assert rules.load("connectors") == macros.render("connectors")
    assert macros.render("position_rules", made) == parts
    of_parts = [str(macros.render("position_part", part)) for part in parts]
    assert macros.render("source_position_parts", made) == of_parts
    # NULL where one of them is.
    assert macros.render("source_position", made) == "concat(" + ", '.', ".join(of_parts) + ")"
    assert_expression_parses(macros.render("source_position", made))
    lengths = {"postgresql": 41, "mysql": 42, "mariadb": 42, "sqlserver": 56, "oracle": 96, "mongodb": 31}
    assert macros.render("source_position_length", made) == lengths[connector]


def test_field_of_a_position(macros: Renderer) -> None:
    row = {"width": 10, "of": [{"field": "row", "pattern": "(.)"}], "default": "0"}
    assert macros.sql("position_part", row) == f"lpad({macros.sql('position_field', row, row['of'])}, 10, '0')"
    assert macros.sql("position_field", row, row["of"]) == (
        "coalesce(nullif(regexp_extract(source_row, '(.)', 1), ''), if(coalesce(source_row, '') = '', '0', null))"
    )
    assert macros.sql("position_part", {**row, "in_snapshots": "0"}).startswith("lpad(if(op = 'r', '0', coalesce(")


def test_connector_without_positions_has_none(macros: Renderer) -> None:
    for connector in ("db2", "other", "unheard of"):
        assert macros.render("position_rules", feed(connector=connector)) == []


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
