"""Keys and types by the schema changes that MySQL's and MariaDB's connectors send beside the rows."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from .types import MAX_PRECISION, ProposedType

if TYPE_CHECKING:
    from collections.abc import Mapping

_TYPES = {
    "TINYINT": "tinyint",
    "TINYINT UNSIGNED": "smallint",
    "SMALLINT": "smallint",
    "SMALLINT UNSIGNED": "int",
    "MEDIUMINT": "int",
    "MEDIUMINT UNSIGNED": "int",
    "INT": "int",
    "INTEGER": "int",
    "INT UNSIGNED": "bigint",
    "BIGINT": "bigint",
    "YEAR": "int",
    "FLOAT": "float",
    "DOUBLE": "double",
    "DATE": "date",
    "TIMESTAMP": "timestamp",
    "BINARY": "binary",
    "VARBINARY": "binary",
    "TINYBLOB": "binary",
    "BLOB": "binary",
    "MEDIUMBLOB": "binary",
    "LONGBLOB": "binary",
}
"""Types as Debezium sends their values by default; those that are not here are texts."""


@dataclass(frozen=True)
class DeclaredTable:
    """A table as the database declares it.

    Attributes:
        key: columns of the primary key; none where it has none.
        types: of the columns, in their order.
        defaults: of the columns that have one, as the database writes it.
        added_defaults: those of columns that were added after the first of its changes.
    """

    key: tuple[str, ...]
    types: Mapping[str, ProposedType]
    defaults: Mapping[str, str] = field(default_factory=dict)
    added_defaults: Mapping[str, str] = field(default_factory=dict)

    def following(self, before: DeclaredTable | None) -> DeclaredTable:
        """The table after a change of it, with the columns that it had before."""
        if before is None:
            return self
        added = {name: default for name, default in self.defaults.items() if name not in before.types}
        return replace(self, types={**before.types, **self.types}, added_defaults={**before.added_defaults, **added})


def declared_tables(value: Mapping[str, Any]) -> dict[str, DeclaredTable]:
    """The tables that a schema change tells of, by their names.

    Args:
        value: the record: ``tableChanges`` is a list, or its JSON text.
    """
    changes = value.get("tableChanges") or []
    if isinstance(changes, str):
        changes = json.loads(changes)
    found = {}
    for change in changes:
        table = change.get("table")
        if table:
            name = change["id"].replace('"', "").rpartition(".")[2]
            types = {column["name"]: _propose(column) for column in table["columns"]}
            defaults = {
                column["name"]: column["defaultValueExpression"]
                for column in table["columns"]
                if column.get("defaultValueExpression") is not None
            }
            found[name] = DeclaredTable(tuple(table.get("primaryKeyColumnNames") or ()), types, defaults)
    return found


def _propose(column: Mapping[str, Any]) -> ProposedType:
    name = str(column["typeName"]).upper()
    length, scale = column.get("length"), column.get("scale")
    why = name if length is None else f"{name}({length}{'' if scale is None else f',{scale}'})"
    if name.removesuffix(" UNSIGNED") in ("DECIMAL", "NUMERIC"):
        fits = (length or 10) <= MAX_PRECISION
        return ProposedType(f"decimal({length or 10},{scale or 0})" if fits else "string", why)
    if name == "BIGINT UNSIGNED":
        return ProposedType("decimal(20,0)", why, is_unsigned=True)
    if name == "DATETIME":
        unit = "Timestamp" if (length or 0) <= 3 else "MicroTimestamp"
        return ProposedType("timestamp_ntz", why, f"io.debezium.time.{unit}")
    if name == "TIME":
        return ProposedType("string", f"{why}: Spark has no time of day", "io.debezium.time.MicroTime")
    if name == "BIT" and (length or 1) > 1:
        return ProposedType("bigint", why, "io.debezium.data.Bits")
    return ProposedType("boolean" if name == "BIT" else _TYPES.get(name, "string"), why)
