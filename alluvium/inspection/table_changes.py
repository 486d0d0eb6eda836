"""Keys and types by the schema changes that MySQL's and MariaDB's connectors send beside the rows."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from .types import MAX_PRECISION, TEXT_OF_DECIMAL, ProposedType

if TYPE_CHECKING:
    from collections.abc import Mapping

_TYPES = {
    name: data_type
    for data_type, names in {
        "tinyint": "TINYINT",
        "smallint": "TINYINT UNSIGNED, SMALLINT",
        "int": "SMALLINT UNSIGNED, MEDIUMINT, MEDIUMINT UNSIGNED, INT, INTEGER, YEAR",
        "bigint": "INT UNSIGNED, INTEGER UNSIGNED, BIGINT",
        "float": "FLOAT",
        "double": "DOUBLE, DOUBLE PRECISION, REAL",
        "boolean": "BOOLEAN, BOOL",
        "date": "DATE",
        "timestamp": "TIMESTAMP",
        "binary": "BINARY, VARBINARY, TINYBLOB, BLOB, MEDIUMBLOB, LONGBLOB",
    }.items()
    for name in names.split(", ")
}
"""Types as Debezium sends their values by default; those that are not here are texts."""
MAX_SINGLE_PRECISION = 23
"""Of MySQL's ``FLOAT(p)`` that has four bytes; a wider one has eight."""

TableName = tuple[str, ...]
"""Database, schema and table; those that a connector does not have left out."""


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


def declared_tables(value: Mapping[str, Any]) -> dict[TableName, DeclaredTable]:
    """The tables that a schema change tells of.

    Args:
        value: the record: ``tableChanges`` is a list, or its JSON text. What is no table of such a list is left out.
    """
    changes = value.get("tableChanges")
    if isinstance(changes, str):
        try:
            changes = json.loads(changes)
        except ValueError:
            return {}
    found = {}
    for change in changes if isinstance(changes, list) else ():
        try:
            if change["table"]:
                found[_name(change["id"])] = _declared(change["table"])
        except (AttributeError, KeyError, TypeError, ValueError):
            continue
    return found


def find_table(declared: Mapping[TableName, DeclaredTable], name: TableName) -> DeclaredTable | None:
    """The table of records, by as much of its name as they and the schema change both have.

    Args:
        declared: tables by their names.
        name: as ``source`` has it: database, schema and table, those that it lacks left out.

    Returns:
        None where there is no such table, or several that are not the same.
    """
    found = [
        table
        for other, table in declared.items()
        if all(one == two for one, two in zip(name[::-1], other[::-1], strict=False))
    ]
    return found[0] if found and all(table == found[0] for table in found) else None


def _name(identifier: str) -> TableName:
    """``"db1"."orders"``, as Debezium writes the name of a table."""
    quoted = re.findall(r'"([^"]*)"', identifier)
    return tuple(quoted or identifier.split("."))


def _declared(table: Mapping[str, Any]) -> DeclaredTable:
    defaults = {
        column["name"]: column["defaultValueExpression"]
        for column in table["columns"]
        if column.get("defaultValueExpression") is not None
    }
    types = {column["name"]: _propose(column) for column in table["columns"]}
    key = tuple(table.get("primaryKeyColumnNames") or ())
    if not types.keys() >= set(key):
        raise ValueError(f"{key} are no columns of the table")
    return DeclaredTable(key, types, defaults)


def _propose(column: Mapping[str, Any]) -> ProposedType:
    # ZEROFILL says how a number is shown, and makes it unsigned.
    name = re.sub(r"( UNSIGNED)?( ZEROFILL)$", " UNSIGNED", " ".join(str(column["typeName"]).upper().split()))
    length, scale = column.get("length"), column.get("scale")
    why = name if length is None else f"{name}({length}{'' if scale is None else f',{scale}'})"
    if name.removesuffix(" UNSIGNED") in ("DECIMAL", "NUMERIC"):
        if (length or 10) > MAX_PRECISION:
            return ProposedType("string", why, TEXT_OF_DECIMAL)
        return ProposedType(f"decimal({length or 10},{scale or 0})", why)
    if name == "BIGINT UNSIGNED":
        return ProposedType("decimal(20,0)", why, is_unsigned=True)
    if name == "DATETIME":
        unit = "Timestamp" if (length or 0) <= 3 else "MicroTimestamp"
        return ProposedType("timestamp_ntz", why, f"io.debezium.time.{unit}")
    if name == "TIME":
        return ProposedType("string", f"{why}: Spark has no time of day", "io.debezium.time.MicroTime")
    if name == "BIT" and (length or 1) > 1:
        return ProposedType("bigint", why, "io.debezium.data.Bits")
    if name == "FLOAT" and ((length or 0) > MAX_SINGLE_PRECISION or scale is not None):
        return ProposedType("double", why)
    if name == "BIT":
        return ProposedType("boolean", why)
    return ProposedType(_TYPES.get(name) or _TYPES.get(name.removesuffix(" UNSIGNED"), "string"), why)
