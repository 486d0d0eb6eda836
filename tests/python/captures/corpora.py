"""Declarations of the recorded corpora: which files, which tables, which columns.

Everything is derived from what a corpus folder says about itself (``corpus.json``, ``connector.json``,
``oracle/*/tables.json`` and the names of its folders), so that another recording of the same shapes needs no edit.
What cannot be derived is in `ADDED_DEFAULTS`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

ENGINES = ("postgresql", "mariadb")

ADDED_DEFAULTS: dict[tuple[str, str, str], str] = {
    # ALTER TABLE ... ADD COLUMN ... DEFAULT sends no event for the rows that exist, and neither tables.json nor a
    # message without schema says what the default is.
    ("postgresql", "orders", "priority"): "5",
    ("mariadb", "customer", "tier"): "3",
}


@dataclass(frozen=True)
class Layout:
    """How a sink names and formats the objects of one corpus.

    Attributes:
        name: folder below ``bronze/``.
        sink: ``confluent`` or ``lenses``; the number in an object's name is its first or last offset.
        using: Spark's name of the file format: ``json``, ``avro`` or ``parquet``.
        store_envelope: True if each line is Lenses' ``{key, value, headers, metadata}``.
    """

    name: str
    sink: str
    using: str
    store_envelope: bool = False


LAYOUTS = {
    layout.name: layout
    for layout in (
        Layout("confluent-json", "confluent", "json"),
        Layout("confluent-json-gz", "confluent", "json"),
        Layout("confluent-avro", "confluent", "avro"),
        Layout("confluent-parquet", "confluent", "parquet"),
        Layout("lenses", "lenses", "json"),
        Layout("lenses-envelope", "lenses", "json", store_envelope=True),
    )
}


@dataclass(frozen=True)
class Column:
    """One column: its type in the database, the Spark type it is declared with, and its ``meta.cdc``."""

    name: str
    database_type: str
    spark_type: str
    meta: dict[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Table:
    """One captured table, with every column it ever had.

    Attributes:
        name: as the database spells it.
        topic: Kafka topic of its change events.
        key: primary key columns, empty if it has none.
        columns: union over the checkpoints, in order of first appearance, each with the last type it had.
        replica_identity: of a PostgreSQL table.
    """

    name: str
    topic: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    replica_identity: str | None = None

    @property
    def entity(self) -> str:
        """Name as used in the names of models and sources."""
        return self.name.lower()

    def column(self, name: str) -> Column:
        """The column of that name. Raises KeyError if there is none."""
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(f"{self.name}.{name}")


@dataclass(frozen=True)
class Checkpoint:
    """One position of the stream at which the oracle knows the tables.

    Attributes:
        name: folder below ``oracle/``.
        end_offsets: for each ``topic:partition`` the first Kafka offset that lies beyond the checkpoint.
        columns: for each table the names of the columns that it has at the checkpoint.
    """

    name: str
    end_offsets: dict[str, int] = field(hash=False)
    columns: dict[str, tuple[str, ...]] = field(hash=False)


@dataclass(frozen=True)
class Corpus:
    """One recorded corpus, read from its folder. Raises KeyError or OSError if the folder lacks a part."""

    path: Path

    @property
    def name(self) -> str:
        """Name of the folder."""
        return self.path.name

    @cached_property
    def facts(self) -> dict[str, Any]:
        """corpus.json."""
        facts: dict[str, Any] = json.loads((self.path / "corpus.json").read_text(encoding="utf-8"))
        return facts

    @cached_property
    def connector(self) -> dict[str, str]:
        """Configuration of the connector that wrote the tables' topics."""
        document = json.loads((self.path / "connector.json").read_text(encoding="utf-8"))
        config: dict[str, str] = document.get("config", document)
        return config

    @property
    def engine(self) -> str:
        """``postgresql`` or ``mariadb``, which is also the connector's name."""
        return str(self.facts["engine"])

    @property
    def shape(self) -> str:
        """``envelope`` or ``flattened``."""
        return "flattened" if self.facts["shape"] == "flat" else str(self.facts["shape"])

    @property
    def time_precision_mode(self) -> str:
        """Of the connector. The MySQL family has no ``adaptive`` mode and another default than PostgreSQL."""
        default = "adaptive" if self.engine == "postgresql" else "adaptive_time_microseconds"
        return str(self.connector.get("time.precision.mode", default))

    @property
    def decimal_handling_mode(self) -> str:
        """Of the connector."""
        return str(self.connector.get("decimal.handling.mode", "precise"))

    @property
    def is_snapshotted_anew(self) -> bool:
        """True if the connector took the whole snapshot a second time."""
        return bool(self.facts.get("resnapshot"))

    @cached_property
    def layouts(self) -> tuple[Layout, ...]:
        """The layouts that are there and known, by name."""
        names = sorted(path.name for path in (self.path / "bronze").iterdir())
        return tuple(LAYOUTS[name] for name in names if name in LAYOUTS)

    @cached_property
    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """In the order of the stream."""
        document = json.loads((self.path / "oracle" / "checkpoints.json").read_text(encoding="utf-8"))
        return tuple(
            Checkpoint(
                name=entry["checkpoint"],
                end_offsets=dict(entry["end_offsets"]),
                columns={
                    table: tuple(column[0] for column in facts["columns"])
                    for table, facts in self._tables_at(entry["checkpoint"]).items()
                },
            )
            for entry in document
        )

    def _tables_at(self, checkpoint: str) -> dict[str, dict[str, Any]]:
        path = self.path / "oracle" / checkpoint / "tables.json"
        tables: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["tables"]
        ignored = self.facts.get("ignore_tables", [])
        return {name: facts for name, facts in tables.items() if name not in ignored}

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """Captured tables by name."""
        types: dict[str, dict[str, str]] = {}
        added: set[tuple[str, str]] = set()
        keys: dict[str, tuple[str, ...]] = {}
        identities: dict[str, str] = {}
        for checkpoint in self.checkpoints:
            for table, facts in self._tables_at(checkpoint.name).items():
                seen = types.setdefault(table, {})
                for name, database_type, _not_null in facts["columns"]:
                    if keys.get(table) is not None and name not in seen:
                        added.add((table, name))
                    seen[name] = database_type
                keys[table] = tuple(facts["pk"])
                identities |= {table: facts["replica_identity"]} if "replica_identity" in facts else {}
        return tuple(
            Table(
                name=table,
                topic=self._topic_of(table),
                key=keys[table],
                columns=tuple(
                    self._column(table, name, database_type, (table, name) in added)
                    for name, database_type in types[table].items()
                ),
                replica_identity=identities.get(table),
            )
            for table in sorted(types)
        )

    def _topic_of(self, table: str) -> str:
        topics: set[str] = {topic_partition.rsplit(":", 1)[0] for topic_partition in self.facts["end_offsets"]}
        found = [topic for topic in topics if topic.count(".") == 2 and topic.rsplit(".", 1)[1] == table]
        if len(found) != 1:
            raise KeyError(f"{self.name}: {len(found)} topics for table {table}")
        return found[0]

    def _column(self, table: str, name: str, database_type: str, added: bool) -> Column:
        meta = column_meta(self.engine, database_type, self.time_precision_mode, self.decimal_handling_mode)
        default = ADDED_DEFAULTS.get((self.engine, table.lower(), name)) if added else None
        if default is not None:
            meta["default"] = default
        return Column(name, database_type, spark_type(self.engine, database_type), meta)

    def source_name(self, layout: Layout) -> str:
        """Name of the dbt source for one layout, unique over all corpora."""
        return f"{_slug(self.name)}__{_slug(layout.name)}"


def discover(captures: Path) -> tuple[Corpus, ...]:
    """The replayable corpora below a folder, by name.

    A corpus is replayable if its oracle has checkpoints and it lists what its layouts cannot carry
    (``oracle/known-differences.jsonl.gz``); one of encodings only has no such list.
    """
    return tuple(
        Corpus(path.parent.parent)
        for path in sorted(captures.glob("*/oracle/known-differences.jsonl.gz"))
        if (path.parent / "checkpoints.json").exists()
    )


def base_type(database_type: str) -> str:
    """The type without its length, precision or display width: ``int(10) unsigned`` -> ``int unsigned``."""
    return re.sub(r"\s*\([^)]*\)", "", database_type).strip()


def type_arguments(database_type: str) -> tuple[int, ...]:
    """Numbers in the first parentheses: ``numeric(12,2)`` -> (12, 2); empty if there are none."""
    match = re.search(r"\(\s*(-?\d+(?:\s*,\s*-?\d+)*)\s*\)", database_type)
    return tuple(int(part) for part in match.group(1).split(",")) if match else ()


POSTGRESQL_TYPES = {
    "smallint": "smallint",
    "integer": "int",
    "bigint": "bigint",
    "boolean": "boolean",
    "real": "float",
    "double precision": "double",
    "date": "date",
    "timestamp without time zone": "timestamp_ntz",
    "timestamp with time zone": "timestamp",
    "time without time zone": "bigint",
    "bytea": "binary",
}

MARIADB_TYPES = {
    "tinyint": "tinyint",
    "tinyint unsigned": "smallint",
    "smallint": "smallint",
    "smallint unsigned": "int",
    "mediumint": "int",
    "mediumint unsigned": "int",
    "int": "int",
    "int unsigned": "bigint",
    "bigint": "bigint",
    "bigint unsigned": "decimal(20,0)",
    "year": "int",
    "float": "float",
    "double": "double",
    "date": "date",
    "datetime": "timestamp_ntz",
    "timestamp": "timestamp",
    "time": "bigint",
    "binary": "binary",
    "varbinary": "binary",
    "tinyblob": "binary",
    "blob": "binary",
    "mediumblob": "binary",
    "longblob": "binary",
}


def spark_type(engine: str, database_type: str) -> str:
    """Spark type that a column is declared with. Types without an entry are text in the event (enum, json, uuid).

    Raises:
        KeyError: unknown engine.
    """
    types = {"postgresql": POSTGRESQL_TYPES, "mariadb": MARIADB_TYPES}[engine]
    if database_type.endswith("[]"):
        return f"array<{spark_type(engine, database_type[:-2])}>"
    base, arguments = base_type(database_type), type_arguments(database_type)
    if base in ("numeric", "decimal"):
        # The values of an unconstrained numeric may have more digits than any decimal of Spark; they are declared as
        # text.
        precision, scale = (*arguments, 0)[:2] if arguments else (0, 0)
        return f"decimal({precision},{scale})" if 0 < precision <= 38 and scale >= 0 else "string"
    if base == "bit":
        return "boolean" if arguments in ((), (1,)) else "bigint"
    return types.get(base, "string")


def column_meta(
    engine: str, database_type: str, time_precision_mode: str, decimal_handling_mode: str
) -> dict[str, Any]:
    """``meta.cdc`` of a column: what neither the Spark type nor the connector's modes say.

    A column of up to three fractional digits is sent in milliseconds by the adaptive modes, a longer one in
    microseconds, so the value alone does not tell its unit.
    """
    base, arguments = base_type(database_type), type_arguments(database_type)
    # PostgreSQL's types have six digits unless they say fewer, MariaDB's none unless they say more.
    digits = (*arguments, 6 if engine == "postgresql" else 0)[0]
    semantic_type = None
    if base in ("time", "time without time zone"):
        semantic_type = {
            "connect": "org.apache.kafka.connect.data.Time",
            "nanoseconds": "io.debezium.time.NanoTime",
            "adaptive": "io.debezium.time.Time" if digits <= 3 else "io.debezium.time.MicroTime",
        }.get(time_precision_mode, "io.debezium.time.MicroTime")
    elif base in ("datetime", "timestamp without time zone"):
        if time_precision_mode.startswith("adaptive"):
            semantic_type = "io.debezium.time." + ("Timestamp" if digits <= 3 else "MicroTimestamp")
    elif database_type == "numeric" and decimal_handling_mode == "precise":
        semantic_type = "io.debezium.data.VariableScaleDecimal"
    elif base == "bit" and spark_type(engine, database_type) != "boolean":
        semantic_type = "io.debezium.data.Bits"
    meta: dict[str, Any] = {} if semantic_type is None else {"semantic_type": semantic_type}
    if base.endswith("unsigned") and base.startswith("bigint"):
        meta["unsigned"] = True
    return meta


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
