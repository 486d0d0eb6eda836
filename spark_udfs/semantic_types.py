"""Which columns of a file are those of the changed row."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Schema = TypeVar("Schema")

DECIMAL = "org.apache.kafka.connect.data.Decimal"
DATE = "io.debezium.time.Date"
TIME = "io.debezium.time.Time"
MICRO_TIME = "io.debezium.time.MicroTime"
NANO_TIME = "io.debezium.time.NanoTime"
TIMESTAMP = "io.debezium.time.Timestamp"
MICRO_TIMESTAMP = "io.debezium.time.MicroTimestamp"
NANO_TIMESTAMP = "io.debezium.time.NanoTimestamp"
UUID = "io.debezium.data.Uuid"

STORE_ENVELOPE = {"key", "value", "headers", "metadata"}


def row_fields(
    fields: Mapping[str, Schema], fields_of: Callable[[Schema], Mapping[str, Schema] | None]
) -> Mapping[str, Schema]:
    """Descend from a record's fields to the fields of the row that it reports on.

    Args:
        fields: name and schema of each field of the record.
        fields_of: gives the fields of a schema that is a record (nullable or not), None for every other schema.

    Returns:
        The fields of ``after``, or of ``before``, for a Debezium envelope; those of the row inside ``value`` for the
        Lenses store envelope; else the record's own. A column that only has such a name and is not a record
        does not make an envelope.
    """
    if fields.keys() == STORE_ENVELOPE:
        value = fields_of(fields["value"])
        if value is not None:
            return row_fields(value, fields_of)
    if "op" in fields:
        for image in ("after", "before"):
            row = fields_of(fields[image]) if image in fields else None
            if row is not None:
                return row
    return fields
