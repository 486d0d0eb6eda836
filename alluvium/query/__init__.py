"""Looks at the tables with SQL: the command ``alluvium sql``."""

from __future__ import annotations

from enum import Enum

from alluvium import AlluviumError

ROWS_ON_A_TERMINAL = 200


class Format(str, Enum):
    """Values of ``--format``."""

    table = "table"
    csv = "csv"
    jsonl = "jsonl"
    parquet = "parquet"


class QueryError(AlluviumError):
    """A statement that cannot be run, or a result that cannot be written."""
