"""Keeps private macros out of dbt's docs site, where a project would find a thousand of them beside its own."""

from __future__ import annotations

from typing import Any

from dbt.contracts.graph.nodes import Macro
from dbt.parser import manifest
from dbt.parser.macros import MacroParser

PACKAGE = "alluvium"


class Parser(MacroParser):
    """Reads macros as dbt 1.11 does. One that a YAML describes gets its `docs` from there afterwards."""

    def parse_macro(self, *arguments: Any, **named: Any) -> Macro:
        """A macro of this package is hidden, as `docs: {show: false}` would do."""
        macro: Macro = super().parse_macro(*arguments, **named)
        macro.docs.show = macro.package_name != PACKAGE
        return macro


def teach() -> None:
    """Called before dbt parses a project."""
    manifest.MacroParser = Parser  # type: ignore[attr-defined]  # dbt imports the name and does not export it
