"""The values of seeds as dbt-spark's statements get them, exact."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any


def text(value: Any) -> str | None:
    """A value of a seed as the text that what stands around it casts; NULL stays."""
    if value is None:
        return None
    if isinstance(value, datetime.datetime):
        return f"{value:%Y-%m-%d %H:%M:%S.%f}"
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def literal(value: Any) -> str:
    """A value of a seed in Spark SQL; what stands around it casts it to the column's type."""
    written = text(value)
    if written is None:
        return "null"
    escaped = written.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
