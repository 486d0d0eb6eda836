"""An inspection as tables on a terminal and as JSON."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from alluvium.wording import counted

from .keys import note_on_deletes
from .messages import FOREIGN, advice_of, advice_on

if TYPE_CHECKING:
    from rich.console import Console

    from . import Inspection
    from .entities import Entity

MAX_ERRORS_SHOWN = 5
MIN_WIDTH = 80


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
    # Narrower, the table would lose the words of its columns; a terminal breaks its lines instead.
    console.width = max(console.width, MIN_WIDTH)
    console.print(Text(inspection.name, style="bold"))
    console.print(_summary(inspection))
    if inspection.hidden:
        said = f"  ! {counted(len(inspection.hidden), 'change file')} that Spark does not list: {inspection.hidden[0]}"
        console.print(Text(said, style="red"))
    if not inspection.entities:
        console.print(
            "No change files: neither JSON lines nor Avro nor Parquet. Is it the folder that the sink writes to?"
        )
        return
    console.print(_overview(inspection))
    for entity in inspection.entities:
        if entity.shape:
            _print_entity(console, entity)
        elif entity.errors:
            _print_title(console, entity)
            _print_errors(console, entity)


def _summary(inspection: Inspection) -> str:
    entities = inspection.entities
    objects, read, cut = (
        sum(getattr(entity, name) for entity in entities) for name in ("objects", "objects_read", "objects_cut")
    )
    bounds = inspection.sampling
    size = f"{bounds.object_bytes / 1024**2:g} MB"
    how_much = []
    if read < objects:
        of_a_topic = f"{bounds.objects} and {bounds.entity_bytes / 1024**2:g} MB of a topic"
        how_much.append(f"{read:,} of them read, at most {of_a_topic}, no Parquet above {size}")
    if cut:
        how_much.append(f"{cut:,} of them in part, at most {size}")
    said = ", ".join(how_much) or "all of them read"
    others = f"; {counted(len(inspection.others), 'other file')}" if inspection.others else ""
    return f"{counted(objects, 'object')}, {sum(entity.length for entity in entities):,} bytes, {said}{others}"


def _kind(entity: Entity) -> str:
    """What an entity has: the shape of its rows, or why there are none."""
    if entity.shape:
        return entity.shape
    if entity.lake_format:
        return f"{entity.lake_format} table"
    if entity.messages:
        return next(iter(entity.messages))
    if entity.controls:
        return "control records"
    if entity.errors:
        return "unreadable"
    return "not read" if entity.objects_cut or entity.objects_read < entity.objects else "empty"


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
            _kind(entity),
            "/".join([entity.format, *entity.compressions]),
            f"{entity.objects:,}",
            f"{entity.lines:,}",
            f"{entity.changes:,}",
            f"{sum(entity.controls.values()):,}",
            f"{len(entity.errors):,}",
        )
    return table


def _print_entity(console: Console, entity: Entity) -> None:
    _print_title(console, entity)
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
    _print_errors(console, entity)


def _print_title(console: Console, entity: Entity) -> None:
    console.print()
    console.print(Text(f"{entity.name} ({entity.topic or entity.location or '.'})", style="bold"))


def _print_errors(console: Console, entity: Entity) -> None:
    for name, count in entity.messages.items():
        said = f"  ! {counted(count, 'line')} of {name}, which no model reads. {advice_of(name)}"
        console.print(Text(said, style="red"))
    errors = [entry for entry in entity.errors if not entry[2].startswith(FOREIGN)]
    for path, line, error in errors[:MAX_ERRORS_SHOWN]:
        advice = f". {advice_on(error)}" if advice_on(error) else ""
        console.print(Text(f"  ! {path}{f', line {line}' if line else ''}: {error}{advice}", style="red"))
    if len(errors) > MAX_ERRORS_SHOWN:
        console.print(Text(f"  ! and {len(errors) - MAX_ERRORS_SHOWN:,} more", style="red"))


def _facts(entity: Entity) -> list[tuple[str, str]]:
    stored = ", key, headers and metadata in each line" if entity.has_store_envelope else ""
    key = ", ".join(entity.key.columns) or ("not known" if entity.key.question else "none")
    facts = [
        ("files", f"{entity.location or '.'}{'/' + entity.name_filter if entity.name_filter else ''}"),
        ("layout", f"{entity.layout or 'no offsets in the names'}{stored}"),
        ("key", f"{key}: {entity.key.why}"),
        ("order", entity.order.why),
    ]
    if entity.connector:
        facts.append(("connector", " ".join([entity.connector, *entity.versions])))
    if entity.ops:
        facts.append(("changes", ", ".join(f"{count:,} {op}" for op, count in sorted(entity.ops.items()))))
    if entity.deletes_of_nothing and entity.connector != "mongodb":
        facts.append(("deletes", note_on_deletes(entity.deletes_of_nothing)))
    if entity.controls:
        facts.append(("control", ", ".join(f"{count:,} {kind}" for kind, count in sorted(entity.controls.items()))))
    if entity.first_change and entity.last_change:
        facts.append(
            ("time span", f"{entity.first_change:%Y-%m-%d %H:%M:%S} to {entity.last_change:%Y-%m-%d %H:%M:%S} UTC")
        )
    for partition, offsets in entity.offsets.items():
        holes = "not all of them read" if offsets.holes is None else f"{offsets.holes} without a line"
        said = f"{offsets.first} to {offsets.last}, {holes}, {offsets.overlaps} twice"
        facts.append((f"partition {partition}", said))
    if entity.schema_versions > 1:
        facts.append(("schemas", f"{entity.schema_versions} versions of the row's schema"))
    if entity.decimals.mode == "numeric":
        facts.append(("decimals", "JSON numbers beside a schema of bytes (decimal.format=NUMERIC)"))
    if entity.partitioned_by:
        facts.append(("folders by", ", ".join(entity.partitioned_by)))
    return facts
