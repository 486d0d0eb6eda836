"""What dbt's unit tests lack on Spark: the project's `graph`, and rows whose values are exact."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from dbt.artifacts.resources.v1.unit_test_definition import UnitTestFormat
from dbt.contracts.graph.manifest import Manifest
from dbt.contracts.graph.nodes import UnitTestDefinition
from dbt.parser.unit_tests import UnitTestManifestLoader
from dbt.task import test


class Loader(UnitTestManifestLoader):
    """Prepares a unit test as dbt 1.11 does, but for two things.

    dbt renders unit tests with an empty `graph`, where no macro finds the source of a change log. And it writes a
    string into a literal as it is, where Spark takes a backslash, which most lines of Debezium have, for an escape.
    """

    def load(self) -> Manifest:
        """The manifest of one unit test."""
        manifest: Manifest = super().load()
        manifest.flat_graph = self.manifest.flat_graph
        return manifest

    def parse_unit_test_case(self, test_case: UnitTestDefinition) -> None:
        """Adds the nodes of a unit test to the manifest."""
        exact: Any = deepcopy(test_case)
        for rows in (*exact.given, exact.expect):
            if rows.format != UnitTestFormat.SQL and isinstance(rows.rows, list):
                rows.rows = [{name: literal(value) for name, value in row.items()} for row in rows.rows]
        super().parse_unit_test_case(exact)


def literal(value: Any) -> Any:
    """A value as dbt-spark has to be given it: between quotes Spark reads a backslash as an escape."""
    return value.replace("\\", "\\\\") if isinstance(value, str) else value


def teach() -> None:
    """Called before dbt runs a unit test."""
    test.UnitTestManifestLoader = Loader  # type: ignore[attr-defined]
