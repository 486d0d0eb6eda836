"""An inspection as tables on a terminal and as JSON."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields, is_dataclass
from datetime import datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from alluvium.wording import counted

from .entities import Entity
from .messages import FOREIGN, advice_of, advice_on

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.console import Console

    from . import Inspection

MAX_ERRORS_SHOWN = 5
MIN_WIDTH = 80
_PATHS = (
    "name files.topic tables=source.names files.location files.name_filter files.layout files.format "
    "files.compressions files.partitioned_by folders_by=files.folder_columns shape has_envelopes "
    "records.has_store_envelope is_outbox source.connector images_before=operations.before_images source.versions key "
    "order operation_columns=operations.columns encoding.names_connect_types columns numbers=encoding.possible_times "
    "questions ops=operations.counts records.controls source.added_fields unavailable.placeholders "
    "unavailable.references deletes_of_nothing=operations.deletes_without_image operations.partial_updates "
    "positions.moved_keys unplaced=positions.missing shared_positions=positions.shared encoding.schema_versions "
    "positions.offsets source.first_change source.last_change files.objects files.length files.objects_read "
    "files.objects_cut records.changes records.lines records.errors encoding.decimals encoding.has_precise_unsigned "
    "question_of_connector question_of_snapshots=snapshots.question missed_snapshot=snapshots.missed"
)
"""Where the values of an entity's JSON are; its keys, on which scripts depend, where they are not the last names."""
_KEYS = {"are_full": "are_whole", "gaps": "holes"}
"""Keys of other records that are not the names of their fields."""


def as_json(inspection: Inspection) -> dict[str, Any]:
    """The inspection as values that ``json.dumps`` takes; times as ISO 8601 in UTC."""
    found: dict[str, Any] = _plain(inspection)
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, Entity):
        entries = (entry.rpartition("=") for entry in _PATHS.split())
        return {key or path.rpartition(".")[2]: _plain(attrgetter(path)(value)) for key, _, path in entries}
    if is_dataclass(value):
        return {_KEYS.get(field.name, field.name): _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, set):
        return sorted(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


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
        elif entity.records.errors:
            _print_title(console, entity)
            _print_errors(console, entity)


def _summary(inspection: Inspection) -> str:
    objects, read, cut, length = (
        sum(getattr(entity.files, name) for entity in inspection.entities)
        for name in ("objects", "objects_read", "objects_cut", "length")
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
    return f"{counted(objects, 'object')}, {length:,} bytes, {said}{others}"


def _kind(entity: Entity) -> str:
    """What an entity has: the shape of its rows, or why there are none."""
    records = entity.records
    if entity.shape:
        return entity.shape
    if records.lake_format:
        return f"{records.lake_format} table"
    if records.messages:
        return next(iter(records.messages))
    if records.controls:
        return "control records"
    if records.errors:
        return "unreadable"
    return "empty" if entity.files.are_all_read else "not read"


def _overview(inspection: Inspection) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("entity", overflow="fold")
    for heading in ("shape", "format"):
        table.add_column(heading, no_wrap=True)
    for heading in ("objects", "lines", "changes", "control", "broken"):
        table.add_column(heading, justify="right")
    names = Counter(entity.name for entity in inspection.entities)
    for entity in inspection.entities:
        files, records = entity.files, entity.records
        numbers = files.objects, records.lines, records.changes, sum(records.controls.values()), len(records.errors)
        table.add_row(
            Text(f"{entity.name} in {files.location or '.'}" if names[entity.name] > 1 else entity.name),
            _kind(entity),
            "/".join([files.format, *files.compressions]),
            *(f"{number:,}" for number in numbers),
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
    console.print(Text(entity.title, style="bold"))


def _print_errors(console: Console, entity: Entity) -> None:
    for name, count in entity.records.messages.items():
        said = f"  ! {counted(count, 'line')} of {name}, which no model reads. {advice_of(name)}"
        console.print(Text(said, style="red"))
    errors = [entry for entry in entity.records.errors if not entry[2].startswith(FOREIGN)]
    for path, line, error in errors[:MAX_ERRORS_SHOWN]:
        advice = f". {advice_on(error)}" if advice_on(error) else ""
        console.print(Text(f"  ! {path}{f', line {line}' if line else ''}: {error}{advice}", style="red"))
    if len(errors) > MAX_ERRORS_SHOWN:
        console.print(Text(f"  ! and {len(errors) - MAX_ERRORS_SHOWN:,} more", style="red"))


def _facts(entity: Entity) -> Iterator[tuple[str, str]]:
    files, records, source, operations = entity.files, entity.records, entity.source, entity.operations
    yield "files", f"{files.location or '.'}{'/' + files.name_filter if files.name_filter else ''}"
    stored = ", key, headers and metadata in each line" if records.has_store_envelope else ""
    yield "layout", f"{files.layout or 'no offsets in the names'}{stored}"
    key = ", ".join(entity.key.columns) or ("not known" if entity.key.question else "none")
    yield "key", f"{key}: {entity.key.why}"
    yield "order", entity.order.why
    if source.connector:
        yield "connector", " ".join([source.connector, *sorted(source.versions)])
    if operations.counts:
        yield "changes", _counts(operations.counts)
    if entity.note_on_deletes:
        yield "deletes", entity.note_on_deletes
    if records.controls:
        yield "control", _counts(records.controls)
    if source.first_change and source.last_change:
        yield "time span", f"{source.first_change:%Y-%m-%d %H:%M:%S} to {source.last_change:%Y-%m-%d %H:%M:%S} UTC"
    for partition, offsets in entity.positions.offsets.items():
        gaps = "not all of them read" if offsets.gaps is None else f"{offsets.gaps} without a line"
        yield f"partition {partition}", f"{offsets.first} to {offsets.last}, {gaps}, {offsets.overlaps} twice"
    if entity.encoding.schema_versions > 1:
        yield "schemas", f"{entity.encoding.schema_versions} versions of the row's schema"
    if entity.encoding.decimals.mode == "numeric":
        yield "decimals", "JSON numbers beside a schema of bytes (decimal.format=NUMERIC)"
    if files.partitioned_by:
        yield "folders by", ", ".join(files.partitioned_by)


def _counts(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in sorted(numbers.items()))
