"""The systems under test, by name; their modules are imported where they run.

Spark AUTO CDC is not among them; `NOT_RUN` says why.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.systems.base import System

_CLASSES = {
    "alluvium": "dbt_builds.Alluvium",
    "alluvium_hudi_mor": "dbt_builds.AlluviumOnHudi",
    "merge": "merge.Merge",
    "merge_guarded": "merge.MergeGuarded",
    "merge_tombstones": "merge.MergeTombstones",
    "merge_log": "merge.MergeLog",
    "rebuild": "merge.Rebuild",
    "dbt_merge": "dbt_builds.StockDbt",
    "hudi_upsert": "hudi.HudiUpsert",
    "duckdb_delta": "duckdb_delta.DuckDbDelta",
    "decode": "merge.Decode",
}
NAMES = tuple(_CLASSES)
# They run in an environment without Spark, of `requirements-bench.lock`.
WITHOUT_SPARK = frozenset({"duckdb_delta"})
# They keep every event: nothing to compare.
WITHOUT_CURRENT_ROWS = frozenset({"decode"})
# DuckDB reads Avro only with an extension that it downloads.
UNREADABLE = {"duckdb_delta": frozenset({"avro"})}
NOT_RUN = {
    "Spark AUTO CDC": "It needs Spark 4.2 or later with Iceberg. On 2026-11-30 PyPI had PySpark 4.3.0, but Maven"
    " Central had Iceberg runtimes only up to Spark 4.1 (iceberg-spark-runtime-4.1_2.13 1.12.0)."
}


def system(name: str) -> type[System]:
    """The class of a system.

    Args:
        name: one of `NAMES`.

    Raises:
        KeyError: there is no such system.
    """
    module, class_name = _CLASSES[name].split(".")
    found: type[System] = getattr(import_module(f"{__name__}.{module}"), class_name)
    return found
