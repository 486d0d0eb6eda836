"""What the configurations of Kafka Connect's connectors show."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from alluvium import AlluviumError
from alluvium.inspection.order import has_position

from .findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from alluvium.inspection import Inspection

SMALL_FLUSH = 1000
"""Records of a file below which a bucket fills with small files."""


class ConfigurationError(AlluviumError):
    """A file is no connector's configuration."""


def read_configuration(path: Path) -> tuple[str, dict[str, str]]:
    """Name and configuration of a connector.

    Args:
        path: JSON as Kafka Connect's REST interface takes it, ``{"name", "config"}`` or the configuration alone.

    Raises:
        ConfigurationError: the file is something else.
    """
    try:
        document: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"{path}: no JSON that can be read ({error}); give a connector's configuration."
        ) from error
    config = document.get("config", document) if isinstance(document, dict) else None
    if not isinstance(config, dict) or "connector.class" not in config:
        raise ConfigurationError(f"{path}: has no `connector.class`; give the JSON that Kafka Connect takes.")
    return str(document.get("name", path.stem)), {str(key): str(value) for key, value in config.items()}


def findings_of_connector(name: str, config: Mapping[str, str], inspection: Inspection | None) -> Iterator[Finding]:
    """What a connector's configuration shows.

    Args:
        name: of the connector.
        config: as Kafka Connect takes it.
        inspection: of the files that it has landed, for keys; or None.
    """
    class_name = config["connector.class"].rpartition(".")[2].lower()
    if "jdbcsource" in class_name:
        yield from _query(name, config)
    elif "sink" in class_name:
        yield from _sink(name, config, inspection)
    else:
        yield from _debezium(name, config)


def _debezium(name: str, config: Mapping[str, str]) -> Iterator[Finding]:
    transforms = [alias.strip() for alias in config.get("transforms", "").split(",") if alias.strip()]
    for alias in transforms:
        if config.get(f"transforms.{alias}.type", "").endswith(("ExtractNewRecordState", "ExtractNewDocumentState")):
            yield from _flattening(name, config, f"transforms.{alias}")
    skipped = config.get("skipped.operations", "t")
    if "t" in [operation.strip() for operation in skipped.split(",")]:
        said = (
            f"`skipped.operations={skipped}`"
            if "skipped.operations" in config
            else "no `skipped.operations`: its default is `t`"
        )
        yield Finding("truncates-not-sent", name, said, "Set `skipped.operations=none`.")
    if config.get("decimal.handling.mode") == "double":
        yield Finding(
            "decimals-as-double",
            name,
            "`decimal.handling.mode=double`",
            "Set `decimal.handling.mode=precise` (or `string`), and take a new snapshot.",
        )
    if config.get("time.precision.mode") == "connect":
        yield Finding(
            "times-in-milliseconds",
            name,
            "`time.precision.mode=connect`: microseconds are cut off",
            "Set `time.precision.mode=adaptive_time_microseconds` (or `isostring`), and take a new snapshot.",
        )
    if config.get("value.converter.replace.null.with.default", "true").lower() != "false":
        yield Finding(
            "nulls-as-defaults",
            name,
            "no `value.converter.replace.null.with.default=false`",
            "Set it to `false`, where a nullable column has a default.",
        )


def _flattening(name: str, config: Mapping[str, str], prefix: str) -> Iterator[Finding]:
    mode = config.get(f"{prefix}.delete.tombstone.handling.mode")
    legacy = config.get(f"{prefix}.delete.handling.mode")
    if mode not in ("rewrite", "rewrite-with-tombstone") and legacy != "rewrite":
        options = {f"{prefix}.delete.tombstone.handling.mode": mode, f"{prefix}.delete.handling.mode": legacy}
        said = [f"`{option}={value}`" for option, value in options.items() if value]
        yield Finding(
            "deletes-not-sent",
            name,
            said[0] if said else f"no `{prefix}.delete.tombstone.handling.mode`: its default is `tombstone`",
            f"Set `{prefix}.delete.tombstone.handling.mode=rewrite`, and take a new snapshot.",
        )
    added = config.get(f"{prefix}.add.fields", "")
    fields = {part.strip().removeprefix("source.") for part in added.split(",")}
    if not has_position(fields):
        yield Finding(
            "order-by-clock",
            name,
            f"`{prefix}.add.fields={added}` has no position" if added else f"no `{prefix}.add.fields`",
            "Add the position: `op,source.lsn,source.sequence`, or `op,source.file,source.pos,source.row` for MySQL.",
        )


def _query(name: str, config: Mapping[str, str]) -> Iterator[Finding]:
    mode = config.get("mode", "bulk")
    if "timestamp" in mode and int(config.get("timestamp.delay.interval.ms", "0") or 0) == 0:
        yield Finding(
            "query-without-delay",
            name,
            f"`mode={mode}` without `timestamp.delay.interval.ms`",
            "Set it above the longest transaction, and compare with full dumps (`full_dumps`).",
        )
    if mode != "bulk":
        yield Finding(
            "deletes-not-sent",
            name,
            f"`mode={mode}`: a query sees the rows that are there, not those that are gone",
            "Land a dump of the whole table from time to time (`full_dumps`), or capture the log with Debezium.",
        )


def _sink(name: str, config: Mapping[str, str], inspection: Inspection | None) -> Iterator[Finding]:
    if "s3sink" in config["connector.class"].lower() and config.get("behavior.on.null.values", "fail") == "fail":
        yield Finding(
            "tombstones-stop-sink",
            name,
            "no `behavior.on.null.values=ignore`: its default is `fail`",
            "Set `behavior.on.null.values=ignore` (the deletes themselves are in the records before the tombstones).",
        )
    flush = int(config.get("flush.size", "0") or 0)
    if config.get("schema.compatibility", "NONE").upper() == "NONE" and "flush.size" in config and flush <= SMALL_FLUSH:
        yield Finding(
            "schemas-not-checked",
            name,
            f"`schema.compatibility=NONE` and `flush.size={flush}`",
            "Set `schema.compatibility=BACKWARD` and a larger `flush.size`, or expect many small files.",
            is_loss=False,
        )
    if config.get("rotate.schedule.interval.ms", "-1") not in ("-1", ""):
        yield Finding(
            "rotation-by-wall-clock",
            name,
            f"`rotate.schedule.interval.ms={config['rotate.schedule.interval.ms']}`",
            "Use `rotate.interval.ms` with a time of the records. Here copies count once, in other readers twice.",
            is_loss=False,
        )
    fields = [part.strip() for part in config.get("partition.field.name", "").split(",") if part.strip()]
    if config.get("partitioner.class", "").endswith("FieldPartitioner") and fields:
        keys = {column for entity in inspection.entities for column in entity.key.columns} if inspection else set()
        mutable = [field for field in fields if field not in keys]
        if mutable:
            yield Finding(
                "folders-by-mutable-column",
                name,
                f"FieldPartitioner on {', '.join(mutable)}, which no key has",
                "Nothing here reads a folder's name, so the tables are right. Partition by the key, or not at all.",
                is_loss=False,
            )
