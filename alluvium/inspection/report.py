"""An inspection as tables on a terminal and as JSON."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console

    from . import Inspection
    from .entities import Entity

MAX_ERRORS_SHOWN = 5


def as_json(inspection: Inspection) -> dict[str, Any]:
    """The inspection as values that ``json.dumps`` takes; times as ISO 8601 in UTC."""

    def plain(value: Any) -> Any:
        if isinstance(value, datetime):
            return value.isoformat()
        if isinstance(value, dict):
            return {str(key): plain(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [plain(item) for item in value]
        return value

    found: dict[str, Any] = plain(asdict(inspection))
    return found


def print_inspection(console: Console, inspection: Inspection) -> None:
    """Print what was found: all entities in one table, then each with its columns."""
    console.print(Text(inspection.location, style="bold"))
    console.print(_summary(inspection))
    if not inspection.entities:
        console.print(
            "No change files: neither JSON lines nor Avro nor Parquet. Is it the folder that the sink writes to?"
        )
        return
    console.print(_overview(inspection))
    for entity in inspection.entities:
        if entity.shape:
            _print_entity(console, entity)


def _summary(inspection: Inspection) -> str:
    entities = inspection.entities
    read, objects = (sum(getattr(entity, name) for entity in entities) for name in ("objects_read", "objects"))
    sampled = (
        "all of them read"
        if read == objects
        else f"{read:,} of them read, at most {inspection.sampling.objects} of a topic"
    )
    others = f"; {len(inspection.others):,} other files" if inspection.others else ""
    return f"{objects:,} objects, {sum(entity.length for entity in entities):,} bytes, {sampled}{others}"


def _overview(inspection: Inspection) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("entity", overflow="fold")
    for heading in ("shape", "format"):
        table.add_column(heading, no_wrap=True)
    for heading in ("objects", "lines", "changes", "control", "broken"):
        table.add_column(heading, justify="right")
    names = Counter(entity.name for entity in inspection.entities)
    for entity in inspection.entities:
        table.add_row(
            Text(f"{entity.name} in {entity.location or '.'}" if names[entity.name] > 1 else entity.name),
            entity.shape or "control records",
            "/".join([entity.format, *entity.compressions]),
            f"{entity.objects:,}",
            f"{entity.lines:,}",
            f"{sum(entity.ops.values()):,}" if entity.shape != "row" else f"{entity.lines:,}",
            f"{sum(entity.controls.values()):,}",
            f"{len(entity.errors):,}",
        )
    return table


def _print_entity(console: Console, entity: Entity) -> None:
    console.print()
    console.print(Text(f"{entity.name} ({entity.topic or entity.location or '.'})", style="bold"))
    for label, said in _facts(entity):
        console.print(Text(f"  {label:<12} ") + Text(said))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 2))
    for heading in ("column", "data_type", "semantic_type", "why"):
        table.add_column(heading, overflow="fold")
    for column in entity.columns:
        table.add_row(
            Text(column.name),
            Text(column.type.data_type),
            Text(column.type.semantic_type or ""),
            Text("its schema" if column.type.why == column.type.semantic_type else column.type.why),
        )
    console.print(table)
    for question in entity.questions:
        console.print(Text(f"  ? {question}", style="yellow"))
    for path, line, error in entity.errors[:MAX_ERRORS_SHOWN]:
        console.print(Text(f"  ! {path}, line {line}: {error}", style="red"))
    if len(entity.errors) > MAX_ERRORS_SHOWN:
        console.print(Text(f"  ! and {len(entity.errors) - MAX_ERRORS_SHOWN:,} more", style="red"))


def _facts(entity: Entity) -> list[tuple[str, str]]:
    stored = ", key, headers and metadata in each line" if entity.has_store_envelope else ""
    facts = [
        ("files", f"{entity.location or '.'}{'/' + entity.name_filter if entity.name_filter else ''}"),
        ("layout", f"{entity.layout or 'no offsets in the names'}{stored}"),
        ("key", f"{', '.join(entity.key.columns) or 'none'}: {entity.key.why}"),
        ("order", entity.order.why),
    ]
    if entity.connector:
        facts.append(("connector", " ".join([entity.connector, *entity.versions])))
    if entity.ops:
        facts.append(("changes", ", ".join(f"{count:,} {op}" for op, count in sorted(entity.ops.items()))))
    if entity.controls:
        facts.append(("control", ", ".join(f"{count:,} {kind}" for kind, count in sorted(entity.controls.items()))))
    if entity.first_change and entity.last_change:
        facts.append(
            ("time span", f"{entity.first_change:%Y-%m-%d %H:%M:%S} to {entity.last_change:%Y-%m-%d %H:%M:%S} UTC")
        )
    for partition, offsets in entity.offsets.items():
        said = f"{offsets.first} to {offsets.last}, {offsets.holes} without a line, {offsets.overlaps} twice"
        facts.append((f"partition {partition}", said))
    if entity.schema_versions > 1:
        facts.append(("schemas", f"{entity.schema_versions} versions of the row's schema"))
    if entity.partitioned_by:
        facts.append(("folders by", ", ".join(entity.partitioned_by)))
    return facts
