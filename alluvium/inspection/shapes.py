"""What kind of record a line is: an envelope, a flattened row, a plain row, or a control record."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from alluvium.spark_udfs.record import describe
from alluvium.spark_udfs.semantic_types import STORE_ENVELOPE

from .documents import parse_document
from .lake_tables import LAKE_TABLE
from .messages import FOREIGN, format_of
from .schemas import Schema, from_connect

if TYPE_CHECKING:
    from collections.abc import Mapping

OUTBOX = {"aggregateid", "aggregatetype", "payload"}
"""Columns that Debezium's EventRouter wants of an outbox table, in lower case and without underscores."""
# Fields of the envelope and of any connector's `source`, as add.fields names them with or without `source.` before it.
_ADDED = re.compile(
    r"^__(deleted|op|ts_[mun]s|source_\w+|transaction_\w+|version|connector|name|snapshot|db|schema|table|collection"
    r"|lsn|sequence|txId|file|pos|row|gtid|commit_lsn|change_lsn|event_serial_no|scn|commit_scn|rs_id|ssn|txSeq"
    r"|ord|wallTime)$"
)

_OPERATIONS = ("c", "u", "d", "r", "t", "m")


class UnreadableRecordError(ValueError):
    """A line is JSON and no record; the message says why."""


@dataclass
class Record:
    """One record, taken out of what the sink and the converter have wrapped around it.

    Attributes:
        kind: ``envelope``, ``flattened``, ``row``, or a control record: ``tombstone``, ``heartbeat``, ``transaction``,
            ``schema_change``, ``message``, ``truncate``.
        op: of Debezium, or None.
        before: image before the change, or None.
        after: image after the change; a flattened row without the fields that were added; or None.
        source: ``source`` of an envelope; of a flattened row the added fields without their prefix.
        key: of the message, where the sink has stored it.
        offset: of Kafka, where the sink has stored it.
        schema: of the row, where the record or its file has one.
        is_stored: True for the Lenses sink's store envelope.
        value: the record itself.
    """

    kind: str
    op: str | None = None
    before: Mapping[str, Any] | None = None
    after: Mapping[str, Any] | None = None
    source: Mapping[str, Any] | None = None
    key: Any = None
    offset: int | None = None
    schema: Schema | None = None
    is_stored: bool = False
    value: Any = None

    def images(self, op: str) -> tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]:
        """The before and after images: a flattened delete has the one before in the place of the other."""
        return (self.after, None) if op == "d" and self.kind == "flattened" else (self.before, self.after)


@dataclass
class Records:
    """The records of an entity, fed one by one.

    Attributes:
        lines: number of lines that could be read.
        stored: number of those in a store envelope, with key, headers and metadata.
        kinds: number of rows and changes by shape.
        controls: number of control records by kind.
        errors: path, line and what is wrong; line 0 for a file as a whole.
    """

    lines: int = 0
    stored: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    controls: Counter[str] = field(default_factory=Counter)
    errors: list[tuple[str, int, str]] = field(default_factory=list)

    def has_envelopes(self, connector: str | None) -> bool:
        """Whether envelopes and flattened records are read together: MongoDB's envelopes have texts for images."""
        return self.kinds.keys() == {"envelope", "flattened"} and connector != "mongodb"

    def shape(self, connector: str | None) -> str | None:
        """``envelope``, ``flattened`` or ``row``; None where nothing else than control records can be read."""
        kind = "flattened" if self.has_envelopes(connector) else next(iter(self.kinds.most_common(1)), (None,))[0]
        # What else lies among messages of another tool is another message of it, not a row of a table.
        return None if kind == "row" and self.messages else kind

    @property
    def has_store_envelope(self) -> bool:
        """Whether the sink kept key, headers and metadata."""
        return self.stored > 0

    @property
    def changes(self) -> int:
        """Number of lines that are rows and changes, and no control records."""
        return self.kinds.total()

    @property
    def messages(self) -> Mapping[str, int]:
        """Number of lines that are messages of another tool, by their format."""
        return Counter(error.removeprefix(FOREIGN) for _, _, error in self.errors if error.startswith(FOREIGN))

    @property
    def lake_format(self) -> str | None:
        """The format of the table that the files are, or None."""
        found = (error.removeprefix(LAKE_TABLE) for _, _, error in self.errors if error.startswith(LAKE_TABLE))
        return next(found, None)


def recognise(value: Any, schema: Schema | None = None) -> Record:
    """Tell what a line is.

    Args:
        value: of the line, as ``json.loads`` gives it.
        schema: of the file's records, or None.

    Raises:
        UnreadableRecordError: it is no object, or an envelope or a schema that nobody could read.
    """
    is_stored = isinstance(value, dict) and value.keys() == STORE_ENVELOPE and isinstance(value["metadata"], dict)
    key = offset = None
    if is_stored:
        key, offset, value = unwrapped(value["key"])[0], value["metadata"].get("offset"), value["value"]
        offset = offset if isinstance(offset, int) else None
        schema = schema.fields.get("value") if schema else None
    value, own = unwrapped(value)
    record = _recognise(value, own or schema)
    record.key, record.offset, record.is_stored = key, offset, is_stored
    record.value = value
    return record


def unwrapped(value: Any) -> tuple[Any, Schema | None]:
    """Payload and schema of what JsonConverter writes, or a tool that writes like it; other values as they are."""
    if not isinstance(value, dict) or "payload" not in value or not value.keys() <= {"schema", "payload"}:
        return value, None
    payload, schema = value["payload"], value.get("schema")
    if isinstance(schema, dict):
        return payload, _schema(schema) if "type" in schema else None
    return (payload, None) if schema is None and isinstance(payload, dict | None) else (value, None)


def _schema(schema: Mapping[str, Any]) -> Schema:
    try:
        return from_connect(schema)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UnreadableRecordError(f"malformed_schema: {describe(error)}") from error


def _recognise(value: Any, schema: Schema | None) -> Record:
    if value is None:
        return Record("tombstone")
    if not isinstance(value, dict):
        raise UnreadableRecordError("malformed_json: no JSON object")
    if value.keys() == {"ts_ms"}:
        return Record("heartbeat")
    foreign = format_of(value)
    if foreign:
        raise UnreadableRecordError(f"{FOREIGN}{foreign}")
    if "data_collections" in value and value.get("status") in ("BEGIN", "END"):
        return Record("transaction")
    if "ddl" in value and "source" in value:
        return Record("schema_change", source=_mapping(value["source"]))
    if "op" in value and isinstance(value.get("source"), dict):
        if value["op"] in _OPERATIONS:
            return _envelope(value, schema)
        if "before" in value or "after" in value:
            raise _unknown_op(value["op"])
    added = {name: value[name] for name in value if _ADDED.match(name)}
    if added:
        row = {name: value[name] for name in value if name not in added and not name.startswith("__")}
        op = _operation_of_flattened(added)
        source = {name[2:].removeprefix("source_"): item for name, item in added.items()}
        return Record(
            "truncate" if op == "t" else "flattened", op, after=row, source=source, schema=_row_schema(schema, row)
        )
    return Record("row", after=value, schema=_row_schema(schema, value))


def _operation_of_flattened(added: Mapping[str, Any]) -> str:
    """As the macros tell it (`_flattened_operations`)."""
    if str(added.get("__deleted")).lower() == "true":
        return "d"
    op = added.get("__op")
    if op is None:
        return "u"
    # A logical message passes through ExtractNewRecordState as it is.
    if op not in _OPERATIONS or op == "m":
        raise _unknown_op(op)
    return str(op)


def _unknown_op(op: Any) -> UnreadableRecordError:
    return UnreadableRecordError(f"unknown_op: {json.dumps(op)[:40]}")


def _envelope(value: Mapping[str, Any], schema: Schema | None) -> Record:
    op = value["op"]
    kinds = {"m": "message", "t": "truncate"}
    before, after = _mapping(value.get("before")), _mapping(value.get("after"))
    row_schema = None
    if schema:
        row_schema = next((schema.fields[image] for image in ("after", "before") if image in schema.fields), None)
    return Record(kinds.get(op, "envelope"), op, before, after, value["source"], schema=row_schema)


def _mapping(value: Any) -> Mapping[str, Any] | None:
    if isinstance(value, str):
        # MongoDB's documents are texts.
        try:
            value = parse_document(value)
        except ValueError:
            return None
    return value if isinstance(value, dict) else None


def _row_schema(schema: Schema | None, row: Mapping[str, Any]) -> Schema | None:
    if schema is None or schema.fields.keys() == row.keys():
        return schema
    names = (id(schema), *row)
    if names not in _ROW_SCHEMAS:
        _ROW_SCHEMAS[names] = (
            schema,
            Schema("struct", fields={name: inner for name, inner in schema.fields.items() if name in row}),
        )
    return _ROW_SCHEMAS[names][1]


# The schema of a row without the fields that were added, by the id of the record's; that is kept, so that its id stays.
_ROW_SCHEMAS: dict[tuple[Any, ...], tuple[Schema, Schema]] = {}
