"""Where an event says that its change lies in the order, as the macro ``_source_position`` computes it."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any

from alluvium import rules

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from .shapes import Record

OTHER = "other"
"""The connector that is declared where events name one that is not known."""
_WHOLE_NUMBER = r"^0*([1-9][0-9]{0,19})$"
# Old connectors send rows of a snapshot with op c, and with true.
_MARKS_OF_SNAPSHOTS = ("true", "first", "first_in_data_collection", "last_in_data_collection", "last")


def known_connector(name: str | None) -> str:
    """The name in the table of connectors of what an event says of its connector."""
    lowered = (name or OTHER).lower()
    return lowered if lowered in rules.load("connectors") else OTHER


def connector_of(source: Mapping[str, Any]) -> str | None:
    """The connector that an event names, or that has a field of its position; None where neither tells.

    Args:
        source: of the envelope, or the fields that were added to a flattened row.
    """
    if source.get("connector"):
        return str(source["connector"])
    return next((name for field, name in _recognised_by().items() if field in source), None)


@cache
def _recognised_by() -> dict[str, str]:
    found: dict[str, str] = {}
    for name, rule in rules.load("connectors").items():
        for field in rule.get("recognised_by", ()):
            found.setdefault(field, name)
    return found


def question_of_connector(shape: str | None, connector: str | None) -> str | None:
    """What to ask where flattened rows do not show their connector, on which the meaning of their values depends."""
    if shape != "flattened" or connector:
        return None
    return f"which connector wrote these rows (connector: {', '.join(rules.load('connectors'))})?"


def has_position(fields: Collection[str], connector: str | None = None) -> bool:
    """Whether fields of ``source`` may make a position.

    Args:
        fields: their names.
        connector: whose position; None for any connector's.
    """
    table = rules.load("connectors")
    tried = [table[known_connector(connector)]] if connector else table.values()
    return any(
        all("default" in part or any(field["field"] in fields for field in part["of"]) for part in rule["position"])
        for rule in tried
        if "position" in rule
    )


def added_position(connector: str) -> str | None:
    """The position of a connector as ``add.fields`` names it; None where only offsets order its changes."""
    added: str | None = rules.load("connectors")[known_connector(connector)].get("add_fields")
    return added


def advice(connector: str | None) -> str | None:
    """What can be done about changes of a connector whose positions are not read; None for others."""
    said: str | None = rules.load("connectors")[known_connector(connector)].get("advice")
    return said


def is_snapshot_row(op: str | None, source: Mapping[str, Any]) -> bool:
    """Whether a change is a row of a snapshot, also of a connector that sends it as a create."""
    return op == "r" or (op == "c" and str(source.get("snapshot")).lower() in _MARKS_OF_SNAPSHOTS)


def source_of(record: Record) -> Mapping[str, Any]:
    """What a record has of ``source``; the connector's own clock (``__ts_ms`` of a flattened one) is none of it."""
    source = record.source or {}
    is_of_connector = (
        isinstance(record.value, dict) and "__ts_ms" in record.value and "__source_ts_ms" not in record.value
    )
    return {name: value for name, value in source.items() if name != "ts_ms"} if is_of_connector else source


def position_of(op: str | None, source: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The parts of a change's position; None where it does not have all of them.

    Args:
        op: of Debezium.
        source: of the envelope, or the fields that were added to a flattened row.
    """
    parts = [_part(part, op, source) for part in _parts(source)]
    return None if not parts or None in parts else tuple(str(part) for part in parts)


def missing_part(op: str | None, source: Mapping[str, Any]) -> str:
    """Why a change has no position, in words."""
    if not _parts(source):
        connector = connector_of(source)
        said = f"positions of the connector {connector} are not read" if connector else "no connector is named"
        return f"{said}; it is declared as `{OTHER}`" if known_connector(connector) == OTHER else said
    missing = next(part for part in _parts(source) if _part(part, op, source) is None)
    field = _fields(missing, op)[0]["field"]
    if field not in source:
        return f"{field} is missing"
    value = source[field]
    said = "null" if value is None else "empty" if value == "" else _text(value)[:40]
    return f"{field} is {said}"


def _parts(source: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    parts: Sequence[Mapping[str, Any]] = rules.load("connectors")[known_connector(connector_of(source))].get(
        "position", ()
    )
    return parts


def _fields(part: Mapping[str, Any], op: str | None) -> Sequence[Mapping[str, str]]:
    of_snapshots = part.get("in_snapshots")
    fields: Sequence[Mapping[str, str]] = of_snapshots if op == "r" and isinstance(of_snapshots, list) else part["of"]
    return fields


def _part(part: Mapping[str, Any], op: str | None, source: Mapping[str, Any]) -> str | None:
    if op == "r" and isinstance(part.get("in_snapshots"), str):
        return str(part["in_snapshots"])
    fields = _fields(part, op)
    unlike = part.get("unlike")
    if unlike and _text(source.get(unlike["field"])) == _text(source.get(fields[0]["field"])):
        of_version = unlike["unless"]
        if not re.search(of_version["pattern"], _text(source.get(of_version["field"])) or ""):
            return None
    for field in fields:
        match = re.search(field.get("pattern", _WHOLE_NUMBER), _text(source.get(field["field"])))
        if match:
            return "".join(match.groups("")).lower()
    is_absent = source.get(fields[0]["field"]) in (None, "")
    return part.get("default") if is_absent else None


def _text(value: Any) -> str:
    """As the macros read a field of ``source``; an empty text for NULL."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)
