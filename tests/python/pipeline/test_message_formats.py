"""SQL and Python recognise the same messages of other tools."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from inspection.test_messages import MESSAGES, ROWS
from render.feeds import feed
from render.harness import Renderer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("shape", ["envelope", "row"])
def test_formats_are_recognised_in_sql(spark: SparkSession, shape: str) -> None:
    macros = Renderer()
    format_of_line = macros.sql("_format_of_message", feed(shape=shape), macros.render("_forms_of_messages"))
    lines = [(name, message) for name, messages in MESSAGES.items() for message in messages]
    lines += [(name, {"schema": None, "payload": message}) for name, message in lines]
    lines += [("", row) for row in ROWS]
    table = spark.createDataFrame([(name, json.dumps(line)) for name, line in lines], "name string, value string")
    record = "if(value like '{\"schema\": null, %', get_json_object(value, '$.payload'), value)"
    rows = table.selectExpr("*", f"from_json({record}, 'map<string,string>') as row_image")
    found = rows.selectExpr("name", "value", f"coalesce({format_of_line}, '') as found").collect()
    assert [row for row in found if row.found != row.name] == []
