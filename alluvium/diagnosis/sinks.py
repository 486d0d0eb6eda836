"""What the configurations of sink connectors show that write files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .findings import Finding
from .transforms import drops_tombstones, findings_of_transforms

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from alluvium.inspection import Entity, Inspection

    from .configurations import Configuration

SMALL_FLUSH = 1000
"""Records of a file below which a bucket fills with small files."""

# KCQL of the Lenses sinks: the columns after PARTITIONBY, as far as there are commas between them.
_PARTITIONBY = re.compile(r"\bPARTITIONBY\s+([^\s,;]+(?:\s*,\s*[^\s,;]+)*)", re.IGNORECASE)
# What is no column there, but of the Kafka record: it does not change with the row.
_OF_KAFKA = re.compile(r"_(key|header|topic|partition|offset|timestamp|date)\b")


def findings_of_sink(configuration: Configuration, inspection: Inspection | None) -> Iterator[Finding]:
    """What any sink does to changes, by its transforms and the folders that it makes.

    Args:
        configuration: of the connector.
        inspection: of the files that it has landed, for keys; or None.
    """
    yield from findings_of_transforms(configuration, None, has_envelopes=False)
    for name, fields in _partitionings(configuration):
        yield from _folders(configuration, name, fields, _entities(configuration, inspection))


def findings_of_storage_sink(configuration: Configuration, inspection: Inspection | None) -> Iterator[Finding]:
    """What a storage sink of Confluent does besides: to tombstones, and to files."""
    yield from findings_of_sink(configuration, inspection)
    yield from _tombstones(configuration)
    flush = configuration.number("flush.size")
    if configuration.chosen("schema.compatibility", "NONE") == "none" and flush and flush <= SMALL_FLUSH:
        yield configuration.finding(
            "schemas-not-checked",
            f"`schema.compatibility=NONE` and `flush.size={flush}`",
            "Set `schema.compatibility=BACKWARD` and a larger `flush.size`, or expect many small files.",
            is_error=False,
        )
    interval = configuration.number("rotate.schedule.interval.ms", -1)
    if interval is not None and interval != -1:
        yield configuration.finding(
            "rotation-by-wall-clock",
            f"`rotate.schedule.interval.ms={interval}`",
            "Use `rotate.interval.ms` with a time of the records. Here copies count once, in other readers twice.",
            is_error=False,
        )


def _tombstones(configuration: Configuration) -> Iterator[Finding]:
    option = "behavior.on.null.values"
    behavior = configuration.chosen(option)
    fails_by_default = configuration.class_name.lower().removesuffix("connector").endswith("s3sink")
    if behavior not in ("", "fail") or drops_tombstones(configuration):
        return
    if behavior:
        said = f"`{option}=fail`"
    elif fails_by_default:
        said = f"no `{option}=ignore`: its default is `fail`"
    else:
        said = f"no `{option}=ignore`"
    yield configuration.finding(
        "tombstones-stop-sink",
        said,
        f"Set `{option}=ignore` (the deletes themselves are in the records before the tombstones).",
        is_error=bool(behavior) or fails_by_default,
    )


def _partitionings(configuration: Configuration) -> Iterator[tuple[str, list[str]]]:
    """The columns that a sink makes folders of, with the name of what makes them."""
    if (configuration.known("partitioner.class") or "").endswith("FieldPartitioner"):
        yield "FieldPartitioner", configuration.parts("partition.field.name")
    for option in configuration.options:
        if option.endswith(".kcql"):
            for found in _PARTITIONBY.finditer(configuration.known(option) or ""):
                names = [part.strip().strip("`") for part in found[1].split(",")]
                yield "PARTITIONBY", [name.removeprefix("_value.") for name in names if not _OF_KAFKA.match(name)]


def _entities(configuration: Configuration, inspection: Inspection | None) -> Sequence[Entity]:
    """The entities whose topics a sink reads; all of them where its topics cannot be told from the configuration."""
    entities = inspection.entities if inspection else ()
    topics = configuration.parts("topics")
    try:
        pattern = re.compile(configuration.known("topics.regex") or "(?!)")
    except re.error:
        return entities
    return [
        entity for entity in entities if entity.files.topic in topics or pattern.fullmatch(entity.files.topic or "")
    ] or entities


def _folders(
    configuration: Configuration, name: str, fields: Sequence[str], entities: Sequence[Entity]
) -> Iterator[Finding]:
    mutable = [field for field in fields if _is_mutable(field, entities)]
    if mutable:
        yield configuration.finding(
            "folders-by-mutable-column",
            f"{name} on {', '.join(mutable)}, no part of the key",
            "Nothing here reads a folder's name, so the tables are right. Partition by the key, or not at all.",
            is_error=False,
        )


def _is_mutable(field: str, entities: Sequence[Entity]) -> bool:
    """Whether a column is outside the key of an entity that has it; True where none is known to have it."""
    having = [entity for entity in entities if field in {column.name for column in entity.columns}]
    return not having or any(field not in entity.key.columns for entity in having)
