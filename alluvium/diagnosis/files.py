"""What the files themselves show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alluvium.inspection.columns import names_alike
from alluvium.inspection.messages import FOREIGN, advice_of, advice_on
from alluvium.inspection.positions import advice, has_position
from alluvium.inspection.records import NO_BYTES
from alluvium.inspection.reserved_names import is_invalid_name
from alluvium.inspection.unavailable import unavailable_values
from alluvium.wording import counted, first_of

from .findings import Finding
from .replaced_values import REFERENCES
from .sources import FULL_DOCUMENTS, MICROSECONDS_OF_DEBEZIUM, MICROSECONDS_OF_QUERY
from .transforms import WITHOUT_TRUNCATES, truncates_not_sent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from alluvium.inspection import Entity, Inspection

_CONNECT_TIMESTAMP = "org.apache.kafka.connect.data.Timestamp"


def findings_of_files(inspection: Inspection, keyed: Sequence[Entity] = ()) -> Iterator[Finding]:
    """What the records, names and lengths of the inspected files show.

    Args:
        inspection: of the files.
        keyed: entities whose key is said elsewhere.
    """
    for entity in inspection.entities:
        for rule in _RULES:
            yield from rule(entity)
        if entity not in keyed:
            yield from _key(entity)
    if inspection.hidden:
        yield Finding(
            "files-hidden",
            inspection.location,
            f"{counted(len(inspection.hidden), 'change file')}: {first_of(inspection.hidden)}",
            "Rename the files and folders, and set the path that the sink writes to.",
        )
    if inspection.others:
        yield Finding(
            "other-files",
            inspection.location,
            f"{counted(len(inspection.others), 'file')} of another kind: {first_of(inspection.others)}",
            "Say `pathGlobFilter` in the source's `options` where they share a folder with change files.",
            is_error=False,
        )
    yield from _unread(inspection)


def _unread(inspection: Inspection) -> Iterator[Finding]:
    partly = [entity for entity in inspection.entities if not entity.files.are_all_read]
    if partly:
        read, cut, objects = (
            sum(getattr(entity.files, name) for entity in partly) for name in ("objects_read", "objects_cut", "objects")
        )
        in_part = f", {cut:,} of them in part," if cut else ""
        whose = first_of([entity.name for entity in partly])
        yield Finding(
            "objects-unread",
            inspection.location,
            f"{read:,} of {counted(objects, 'object')} were read{in_part} of {whose}",
            "Let `--objects` and `--megabytes` take in more of them, where something is looked for.",
            is_error=False,
        )


def _nulls(entity: Entity) -> Iterator[Finding]:
    columns = [column.name for column in entity.columns if column.hides_nulls]
    if columns:
        yield Finding(
            "nulls-as-defaults",
            entity.title,
            f"nullable columns with a default: {', '.join(columns)}",
            "Set `value.converter.replace.null.with.default=false`, and take a new snapshot.",
        )


def _times(entity: Entity) -> Iterator[Finding]:
    columns = [column.name for column in entity.columns if column.type.semantic_type == _CONNECT_TIMESTAMP]
    if columns:
        yield Finding(
            "times-in-milliseconds",
            entity.title,
            f"Kafka Connect's own timestamps, without microseconds: {', '.join(columns)}",
            MICROSECONDS_OF_QUERY if entity.shape == "row" else MICROSECONDS_OF_DEBEZIUM,
        )


def _decimals(entity: Entity) -> Iterator[Finding]:
    columns = [column.name for column in entity.columns if column.type.data_type == "double" and column.type.question]
    if columns:
        yield Finding(
            "decimals-as-double",
            entity.title,
            f"JSON numbers with fractions: {', '.join(columns)}",
            "Where they are decimals in the source: `decimal.handling.mode=precise` (or `string`), and a new snapshot.",
            is_error=False,
        )


def _deletes(entity: Entity) -> Iterator[Finding]:
    counts = entity.operations.counts
    if entity.shape != "flattened" or "deleted" in entity.source.added_fields or counts.get("d"):
        return
    tombstones = entity.records.controls.get("tombstone", 0)
    dropped = f", {counted(tombstones, 'tombstone')}" if tombstones else ""
    yield Finding(
        "deletes-not-sent",
        entity.title,
        f"{counted(sum(counts.values()), 'flattened record')}, none with `__deleted`{dropped}",
        "Set `delete.tombstone.handling.mode=rewrite` in ExtractNewRecordState, and take a new snapshot.",
    )


def _deletes_without_image(entity: Entity) -> Iterator[Finding]:
    if entity.note_on_deletes:
        yield Finding(
            "deletes-not-sent",
            entity.title,
            entity.note_on_deletes,
            "Set `ALTER TABLE ... REPLICA IDENTITY DEFAULT`, or `FULL` for a table without a primary key, and take a "
            "new snapshot.",
        )


def _documents(entity: Entity) -> Iterator[Finding]:
    """What MongoDB's connector leaves out of its events, unless it is told otherwise."""
    operations = entity.operations
    if entity.source.connector != "mongodb":
        return
    if operations.deletes_without_image:
        deletes = counted(operations.deletes_without_image, "delete")
        yield Finding(
            "deletes-not-sent",
            entity.title,
            f"{deletes} without the document before: the message's key alone names it, and is not in the files",
            "Set `capture.mode=change_streams_update_full_with_pre_image`, or keep the key in the files "
            "(`store.envelope`). `reconcile` finds the rows that were deleted before.",
        )
    if operations.partial_updates:
        updates = operations.counts["u"]
        yield Finding(
            "changes-not-sent",
            entity.title,
            f"{counted(operations.partial_updates, 'update')} of {updates} without the document after the change",
            FULL_DOCUMENTS,
            # Some of them are of documents that were deleted before the connector looked them up.
            is_error=operations.partial_updates == updates,
        )


def _truncates(entity: Entity) -> Iterator[Finding]:
    if entity.shape == "flattened" and entity.source.connector not in WITHOUT_TRUNCATES:
        yield truncates_not_sent(entity.title, "flattened records")


def _placeholders(entity: Entity) -> Iterator[Finding]:
    connector = entity.source.connector
    if not entity.unavailable.placeholders:
        return
    columns = _counted_columns(entity.unavailable.placeholders)
    rule = unavailable_values()["placeholders"].get(connector)
    if rule:
        yield Finding(
            "values-not-sent",
            entity.title,
            f"{rule['product']} did not send {columns}: {rule['values']}",
            f"They are filled in from earlier events. Where those are missing: {rule['remedy']}",
            is_error=False,
        )
    elif connector != "mongodb":
        yield Finding(
            "values-not-sent",
            entity.title,
            f"values that are Debezium's placeholder, and of no connector that is known to send it: {columns}",
            "They are taken for data. Report the connector with a sample.",
        )


def _references(entity: Entity) -> Iterator[Finding]:
    for rule in unavailable_values()["references"]:
        columns = entity.unavailable.references.get(rule["prefix"])
        if columns:
            yield Finding(
                "values-replaced",
                entity.title,
                f"references to {rule['place']} in place of values ({rule['processor']}): {_counted_columns(columns)}",
                REFERENCES,
            )


def _counted_columns(columns: Mapping[str, int]) -> str:
    return ", ".join(f"{name} ({count})" for name, count in columns.items())


def _order(entity: Entity) -> Iterator[Finding]:
    shape, missing = entity.shape, entity.positions.missing
    if shape == "row" and not entity.is_outbox:
        yield Finding(
            "order-by-clock",
            entity.title,
            "bare rows: no position of the source is in them",
            "Name in `sequence_by` the columns that the source writes at each change, or `order_by: offset`.",
            is_error=False,
        )
    if shape == "flattened" and not has_position(entity.source.added_fields):
        added = ", ".join(f"__{name}" for name in sorted(entity.source.added_fields))
        yield Finding(
            "order-by-clock",
            entity.title,
            f"flattened records with {added} and no position",
            "Add the position to `add.fields` (`source.lsn,source.sequence`; `source.file,source.pos,source.row`).",
        )
    elif missing and shape != "row":
        remedy = "`order_by: offset`." if entity.order.is_by_offset else entity.order.question or ""
        yield Finding(
            "positions-missing",
            entity.title,
            missing,
            " ".join(filter(None, (advice(entity.source.connector), remedy[:1].upper() + remedy[1:]))),
            # What the offsets order is not lost.
            is_error=not entity.order.is_by_offset,
        )


def _positions(entity: Entity) -> Iterator[Finding]:
    if entity.positions.shared:
        yield Finding(
            "positions-shared",
            entity.title,
            f"{counted(entity.positions.shared, 'position')} of the binlog with more than one change",
            "Set `binlog_legacy_event_pos=ON` (MariaDB) or `binlog_transaction_compression=OFF` (MySQL), and take "
            "a new snapshot.",
        )


def _folders(entity: Entity) -> Iterator[Finding]:
    if entity.positions.moved_keys:
        columns = ", ".join(entity.files.partitioned_by)
        yield Finding(
            "folders-by-mutable-column",
            entity.title,
            f"{counted(entity.positions.moved_keys, 'key')} with events in more than one folder by {columns}",
            "Nothing here reads a folder's name, so the tables are right. A job that reads one folder sees stale rows.",
            is_error=False,
        )


def _offsets(entity: Entity) -> Iterator[Finding]:
    if not entity.files.are_all_read:
        return
    shape = entity.shape
    explained = max(0, entity.operations.counts.get("d", 0) - entity.records.controls.get("tombstone", 0))
    gaps = sum(offsets.gaps or 0 for offsets in entity.positions.offsets.values())
    for partition, offsets in entity.positions.offsets.items():
        if offsets.gaps and gaps > explained:
            yield Finding(
                "offsets-missing",
                entity.title,
                f"partition {partition}: {counted(offsets.gaps, 'offset')} from {offsets.first} to {offsets.last} "
                f"without a line, {_explained(shape, explained, gaps)}",
                "Look for a file that was not copied, a filter in the sink, or a compacted topic.",
                is_error=shape != "row",
            )
        if offsets.overlaps:
            yield Finding(
                "offsets-missing",
                entity.title,
                f"partition {partition}: {counted(offsets.overlaps, 'offset')} in two files",
                "Each event counts once, so the tables are right. Find out which copy is from where.",
                is_error=False,
            )


def _explained(shape: str | None, explained: int, gaps: int) -> str:
    if shape == "row":
        # An EventRouter sends an event without a payload as a record without a value, which most sinks leave out.
        return "and rows do not say which records had no value"
    return f"and deletes explain {explained} of {gaps} in the topic"


def _errors(entity: Entity) -> Iterator[Finding]:
    by_remedy: dict[str, list[tuple[str, int, str]]] = {}
    for path, line, error in (entry for entry in entity.records.errors if not advice_on(entry[2])):
        by_remedy.setdefault(_remedy(error), []).append((path, line, error))
    for remedy, errors in by_remedy.items():
        path, line, error = errors[0]
        yield Finding(
            "lines-broken",
            entity.title,
            f"{counted(len(errors), 'broken line')}; the first: {path}, line {line}: {error}",
            remedy,
        )


def _lake_table(entity: Entity) -> Iterator[Finding]:
    lake_format = entity.records.lake_format
    if lake_format:
        path, _, error = entity.records.errors[0]
        yield Finding("lake-table", entity.title, f"{path} is a {lake_format} table", advice_on(error) or "")


def _messages(entity: Entity) -> Iterator[Finding]:
    for name, count in entity.records.messages.items():
        path, line, _ = next(entry for entry in entity.records.errors if entry[2] == f"{FOREIGN}{name}")
        yield Finding(
            "messages-of-other-tools",
            entity.title,
            f"{counted(count, 'line')} of {name}; the first: {path}, line {line}",
            advice_of(name),
        )


# What to do about a file, by the code of its error.
_REMEDIES = {
    "truncated": "They go to quarantine. Upload the complete file again, under the same name.",
    "corrupt": "They go to quarantine. Upload the file again, under the same name.",
    "unknown_format": "They go to quarantine. Have the sink write JSON, Avro or Parquet, plain or compressed.",
    "unsupported_codec": "They go to quarantine. Have the sink write one of Avro's own codecs.",
    "malformed_json": (
        "They go to quarantine. Upload a file again that was cut off; a line that is no JSON object was never a record."
    ),
}


def _remedy(error: str) -> str:
    """What becomes of what cannot be read, and what to do."""
    if error == NO_BYTES:
        return "They are skipped: the changes that they should have had are missing. Upload the complete files again."
    return _REMEDIES.get(error.partition(":")[0], _REMEDIES["corrupt"])


def _shapes(entity: Entity) -> Iterator[Finding]:
    records, source, shape = entity.records, entity.source, entity.shape
    changes = sum(entity.operations.counts.values())
    rows = records.lines - changes - sum(records.controls.values())
    has_versions = bool(source.versions and "version" not in source.added_fields)
    is_mixed = {
        "row": changes > 0,
        "flattened": rows > 0 or entity.has_envelopes or has_versions,
        "envelope": rows > 0 or bool(source.added_fields),
    }
    if shape and is_mixed[shape]:
        yield Finding(
            "records-mixed",
            entity.title,
            f"most records are of shape {shape}, others are not",
            "Where these are envelopes and flattened records of one table, say `shape: flattened` and "
            "`reads_envelopes: true`. Else land what is before and after the change of the connector in folders of "
            "their own, one table of the source each.",
        )


def _names(entity: Entity) -> Iterator[Finding]:
    alike = names_alike(entity.columns)
    if alike:
        yield Finding(
            "names-alike",
            entity.title,
            ", ".join(alike),
            "Leave one out (`except_column_list`), or rename it in the connector (ReplaceField).",
        )
    taken = [column.name for column in entity.columns if is_invalid_name(column.name)]
    if taken:
        yield Finding(
            "names-taken",
            entity.title,
            ", ".join(name if name.isprintable() else repr(name) for name in taken),
            "Rename it in the connector (ReplaceField), or leave it out of the source's YAML and set `unknown_columns: "
            "ignore`.",
            is_error=False,
        )


def _key(entity: Entity) -> Iterator[Finding]:
    if entity.shape and entity.key.question:
        yield Finding(
            "key-unknown",
            entity.title,
            f"{', or '.join(map(', '.join, entity.key.candidates)) or 'no key'}: {entity.key.why}",
            "Say the key in `meta.cdc`; `key: []` for a table that has none.",
        )


_RULES = (
    _deletes, _deletes_without_image, _documents, _truncates, _placeholders, _references, _order, _positions, _nulls,
    _times, _decimals, _folders, _offsets, _errors, _lake_table, _messages, _shapes, _names,
)  # fmt: skip
