"""What the doctor says of configurations that others wrote: those of the recorded corpora, and of the source systems.

The systems' options are those that their authors printed, without what says nothing of the changes (hosts, buckets).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from captures.plugin import corpora
from systems.files import SYSTEMS

from alluvium.diagnosis import Finding
from alluvium.diagnosis.configurations import Configuration, read_configurations
from alluvium.diagnosis.connectors import findings_of_connector
from alluvium.inspection import inspect

NULLS = "nulls-as-defaults"
FLATTENED = {NULLS, "truncates-not-sent"}
RECORDED = {
    "mariadb-envelope-json/connector": {NULLS},
    "pg-envelope-json-schemas/connector": {NULLS},
    "pg-flat-defaults-off/connector": {*FLATTENED, "times-in-milliseconds"},
    "pg-flat-json/connector": FLATTENED,
    "pg-incremental-snapshot/connector": {NULLS},
    "pg-odd-types/connector": {NULLS},
    "pg-outbox/connector": FLATTENED,
    "pg-outbox/connector-router": {NULLS, "changes-not-sent"},
    "pg-resnapshot/connector": {NULLS},
}

JDBC = {
    "connector.class": "io.confluent.connect.jdbc.JdbcSourceConnector",
    "mode": "timestamp",
    "timestamp.column.name": "last_update",
}
DEBEZIUM = {"connector.class": "io.debezium.connector.postgresql.PostgresConnector", "plugin.name": "pgoutput"}
JSON = {"value.converter": "org.apache.kafka.connect.json.JsonConverter"}
APICURIO = {"value.converter": "io.apicurio.registry.utils.converter.AvroConverter"}
UNWRAP = {
    "transforms": "unwrap",
    "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
    "transforms.unwrap.drop.tombstones": "false",
    "transforms.unwrap.delete.handling.mode": "rewrite",
    "transforms.unwrap.add.fields": "op,db,table,schema,lsn,source.ts_ms",
}
S3 = {
    "connector.class": "io.confluent.connect.s3.S3SinkConnector",
    "rotate.schedule.interval.ms": "60000",
    "partitioner.class": "io.confluent.connect.storage.partitioner.DefaultPartitioner",
    "schema.compatibility": "NONE",
}
IGNORE = {"behavior.on.null.values": "ignore"}
BY_FIELD = {"partitioner.class": "io.confluent.connect.storage.partitioner.FieldPartitioner"}
LENSES = {
    "connector.class": "io.lenses.streamreactor.connect.aws.s3.sink.S3SinkConnector",
    "connect.s3.kcql": "INSERT INTO data-lake-demo-cevo:cdc-events SELECT * FROM msk.datalake.cdc_events PARTITIONBY "
    "customer_id,order_id STOREAS `json` WITH_FLUSH_INTERVAL = 60 WITH_FLUSH_COUNT = 50",
    "topics": "msk.datalake.cdc_events",
}


@dataclass(frozen=True)
class Case:
    """A configuration of a source system, and the codes that are true for it."""

    system: str
    options: dict[str, str]
    errors: set[str]
    warnings: set[str] = field(default_factory=set)


QUERIED = {"deletes-not-sent", "query-without-delay", "times-in-milliseconds"}
SMALL_FILES = {"schemas-not-checked", "rotation-by-wall-clock"}
CASES = {
    "pagila_jdbc_source": Case("pagila_jdbc", JDBC, QUERIED),
    "pagila_jdbc_source_alt": Case(
        "pagila_jdbc",
        {**JDBC, "numeric.mapping": "best_fit"},
        {*QUERIED, "decimals-as-double"},
    ),
    "pagila_jdbc_sink": Case(
        "pagila_jdbc",
        {**S3, "topics.regex": "pagila.public.(.*)", "flush.size": "100"},
        {"tombstones-stop-sink"},
        SMALL_FILES,
    ),
    "pagila_query_sink": Case(
        "pagila_query",
        {**S3, **BY_FIELD, "topics": "pagila.query", "partition.field.name": "country", "flush.size": "100"},
        {"tombstones-stop-sink"},
        {*SMALL_FILES, "folders-by-mutable-column"},
    ),
    "northwind_source": Case("northwind_lenses_partitioned", {**DEBEZIUM, **JSON, **UNWRAP}, FLATTENED),
    "northwind_source_avro": Case(
        "northwind_lenses_partitioned",
        {**DEBEZIUM, **UNWRAP, "value.converter": "io.confluent.connect.avro.AvroConverter"},
        FLATTENED,
    ),
    "northwind_lenses_sink": Case("northwind_lenses_partitioned", LENSES, set(), {"folders-by-mutable-column"}),
    "northwind_confluent_sink": Case(
        "northwind_confluent_partitioned",
        {**S3, **IGNORE, **BY_FIELD, "partition.field.name": "customer_id,order_id", "flush.size": "1"},
        set(),
        {*SMALL_FILES, "folders-by-mutable-column"},
    ),
    "mysql_source": Case(
        "mysql_customer",
        {"connector.class": "io.debezium.connector.mysql.MySqlConnector", **JSON},
        {NULLS, "truncates-not-sent"},
    ),
    "pagila_film_source": Case("pagila_film", {**DEBEZIUM, **APICURIO}, {"truncates-not-sent"}, {NULLS}),
    "pagila_film_source_unwrapped": Case("pagila_film", {**DEBEZIUM, **APICURIO, **UNWRAP}, FLATTENED, {NULLS}),
    "pagila_film_sink": Case("pagila_film", {**S3, **IGNORE, "flush.size": "300"}, set(), SMALL_FILES),
    "moma_source": Case("moma_unwrapped", {**DEBEZIUM, **APICURIO, **UNWRAP}, FLATTENED, {NULLS}),
    "moma_sink": Case(
        "moma_unwrapped",
        {**S3, **IGNORE, "topics.regex": "moma.public.(.*)", "flush.size": "10000"},
        set(),
        {"rotation-by-wall-clock"},
    ),
}


def findings(root: Path, name: str) -> list[Finding]:
    system = next(system for system in SYSTEMS if system.name == CASES[name].system)
    for path, content in system.files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    return list(findings_of_connector(Configuration(name, CASES[name].options), inspect(str(root))))


def test_configurations_of_the_recorded_corpora(pytestconfig: pytest.Config) -> None:
    paths = [path for corpus in corpora(pytestconfig) for path in sorted(corpus.path.glob("connector*.json"))]
    for path in paths:
        (configuration,) = read_configurations(path)
        found = list(findings_of_connector(configuration, None))
        assert {finding.code for finding in found} == RECORDED[f"{path.parent.name}/{path.stem}"], path
        assert all(finding.is_error for finding in found), path


@pytest.mark.parametrize("name", CASES)
def test_configurations_of_the_source_systems(tmp_path: Path, name: str) -> None:
    case = CASES[name]
    found = findings(tmp_path, name)
    assert {finding.code for finding in found if finding.is_error} == case.errors
    assert {finding.code for finding in found if not finding.is_error} == case.warnings


def test_columns_of_folders_are_named_where_they_are_no_part_of_the_key(tmp_path: Path) -> None:
    orders = [(10_702, "ALFKI"), (11_075, "SIMOB"), (11_080, "ALFKI"), (11_081, "SIMOB")]
    for offset, (order, customer) in enumerate(orders):
        folder = tmp_path / f"topics/orders/customer_id={customer}/order_id={order}"
        folder.mkdir(parents=True)
        row = {"order_id": order, "customer_id": customer, "__op": "c", "__lsn": 100 + offset, "__deleted": "false"}
        (folder / f"orders+0+{offset:010d}.json").write_text(f"{json.dumps(row)}\n", encoding="utf-8")
    sink = Configuration("orders", CASES["northwind_confluent_sink"].options)
    found = list(findings_of_connector(sink, inspect(str(tmp_path))))
    (folders,) = [finding for finding in found if finding.code == "folders-by-mutable-column"]
    assert "on customer_id, no part" in folders.evidence
