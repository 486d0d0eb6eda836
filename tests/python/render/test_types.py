from __future__ import annotations

from .feeds import column, feed
from .harness import Renderer


def test_refuse_json_numbers(macros: Renderer) -> None:
    """Where Spark would read a JSON number as a double."""
    numbers = feed(decimal_format="numeric")
    said = 'change_log: source shop.orders: data_type of column a is "{}"; allowed: decimal(precision, scale) where'
    array = column("a", "array<decimal(6,2)>")
    assert macros.refusal("_decode_array", array, numbers, "x").startswith(said.format("array<decimal(6,2)>"))
    text = column("a", "string", semantic_type="decimal")
    assert macros.refusal("_column_text", text, numbers).startswith(said.format("string"))
    assert macros.refusal("_require_no_json_numbers", text, numbers).endswith("or decimal_format base64.")


def test_decimals_in_an_array_of_texts_are_refused(macros: Renderer) -> None:
    declared = column("a", "array<string>", semantic_type="io.debezium.data.VariableScaleDecimal")
    refusal = macros.refusal("_decode_array", declared, feed(), "x")
    assert "data_type of column a" in refusal
    assert "array<string>" in refusal
    assert "array<decimal(precision, scale)>" in refusal
    assert macros.sql("_decode_array", column("a", "array<string>", semantic_type="decimal"), feed(), "x")
