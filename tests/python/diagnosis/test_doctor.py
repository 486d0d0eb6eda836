from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from alluvium import AlluviumError, cli
from alluvium.diagnosis import CODES, ConfigurationError, Finding, diagnose
from alluvium.diagnosis.configurations import read_configurations
from alluvium.diagnosis.known_losses import KNOWN_LOSSES
from alluvium.inspection import Sampling, inspect
from alluvium.pages import page
from alluvium.rules import load

REPOSITORY = Path(__file__).parents[3]
PAGES = REPOSITORY / "docs" / "doctor"
TOPIC = "shop.public.orders"
FLATTENED = {"order_id": 1, "note": "a", "__op": "c", "__deleted": "false", "__lsn": 100}
ENVELOPE = {
    "before": None,
    "after": {"order_id": 1, "note": "a"},
    "source": {"connector": "postgresql", "table": "orders", "lsn": 100, "txId": 7},
    "op": "c",
}
# Two rows, and a change of one that leaves no doubt which column tells them apart.
CHANGES = (ENVELOPE, {**ENVELOPE, "after": {"order_id": 2, "note": "a"}}, {**ENVELOPE, "op": "u"})
GOOD_SOURCE = {
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "skipped.operations": "none",
    "value.converter.replace.null.with.default": "false",
}
FLATTENING = {
    "transforms": "route, unwrap",
    "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
    "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
    "transforms.unwrap.delete.tombstone.handling.mode": "rewrite",
    "transforms.unwrap.add.fields": "op,source.lsn,source.sequence",
    "transforms.unwrap.replace.null.with.default": "false",
}
FLAT_SOURCE = {**GOOD_SOURCE, **FLATTENING}
GOOD_SINK = {
    "connector.class": "io.confluent.connect.s3.S3SinkConnector",
    "behavior.on.null.values": "ignore",
    "schema.compatibility": "BACKWARD",
    "flush.size": "50000",
    "partitioner.class": "io.confluent.connect.storage.partitioner.FieldPartitioner",
    "partition.field.name": "order_id",
}
GOOD_QUERY = {
    "connector.class": "io.confluent.connect.jdbc.JdbcSourceConnector",
    "mode": "timestamp+incrementing",
    "timestamp.delay.interval.ms": "60000",
    "timestamp.granularity": "nanos_long",
}
CAST = {"transforms.cast.type": "org.apache.kafka.connect.transforms.Cast$Value", "transforms.cast.spec": "a:float64"}
MONGODB = {
    "connector.class": "io.debezium.connector.mongodb.MongoDbConnector",
    "transforms.unwrap.type": "io.debezium.connector.mongodb.transforms.ExtractNewDocumentState",
    "transforms.unwrap.add.fields": "op,source.ts_ms,source.ord",
}
MONGODB_SOURCE = {"connector.class": MONGODB["connector.class"], "capture.mode": "change_streams_update_full"}
STOPPED_SINK = {**GOOD_SINK, "behavior.on.null.values": "fail", "transforms": "f"}
TOMBSTONE_FILTER = {
    "transforms.f.type": "org.apache.kafka.connect.transforms.Filter",
    "transforms.f.predicate": "isTombstone",
    "predicates.isTombstone.type": "org.apache.kafka.connect.transforms.predicates.RecordIsTombstone",
}
GCS = "io.confluent.connect.gcs.GcsSinkConnector"
LENSES = {"connector.class": "io.lenses.streamreactor.connect.aws.s3.sink.S3SinkConnector"}


def landed(root: Path, *records: Any, offset: int = 0, folder: str = "partition=0") -> Path:
    path = root / TOPIC / folder / f"{TOPIC}+0+{offset:010d}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    texts = [record if isinstance(record, str) else json.dumps(record) for record in records]
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return root


def found(root: Path, *configurations: Mapping[str, Any]) -> dict[str, Finding]:
    """The findings by code; of one code the first."""
    paths = []
    for number, config in enumerate(configurations):
        paths.append(root.parent / f"connector{number}.json")
        paths[-1].write_text(json.dumps({"name": f"connector{number}", "config": config}), encoding="utf-8")
    return {finding.code: finding for finding in reversed(diagnose(inspect(str(root)), paths))}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "landing"
    folder.mkdir()
    return folder


def test_good_set_up_has_no_finding(root: Path) -> None:
    landed(root, *CHANGES, {**ENVELOPE, "op": "d", "before": {"order_id": 1}, "after": None})
    assert found(root, GOOD_SOURCE, GOOD_SINK) == {}


@pytest.mark.parametrize(
    ("code", "base", "changed"),
    [
        ("deletes-not-sent", FLAT_SOURCE, {"transforms.unwrap.delete.tombstone.handling.mode": "tombstone"}),
        ("deletes-not-sent", FLAT_SOURCE, {"transforms.unwrap.delete.tombstone.handling.mode": None}),
        ("deletes-not-sent", GOOD_SOURCE, {"skipped.operations": "d"}),
        ("changes-not-sent", GOOD_SOURCE, {"skipped.operations": "u"}),
        ("truncates-not-sent", GOOD_SOURCE, {"skipped.operations": None}),
        ("truncates-not-sent", GOOD_SOURCE, {"skipped.operations": " t"}),
        ("order-by-clock", FLAT_SOURCE, {"transforms.unwrap.add.fields": "op,source.ts_ms"}),
        ("order-by-clock", FLAT_SOURCE, {"connector.class": "io.debezium.connector.mysql.MySqlConnector"}),
        ("order-by-clock", FLAT_SOURCE, {"transforms.unwrap.add.fields.prefix": "cdc_"}),
        ("order-by-clock", {**FLAT_SOURCE, **MONGODB}, {"transforms.unwrap.add.fields": "ts_ms,source.ord"}),
        ("nulls-as-defaults", GOOD_SOURCE, {"value.converter.replace.null.with.default": "true"}),
        ("nulls-as-defaults", GOOD_SOURCE, {"value.converter": "io.confluent.connect.avro.AvroConverter"}),
        ("nulls-as-defaults", FLAT_SOURCE, {"transforms.unwrap.replace.null.with.default": None}),
        ("decimals-as-double", GOOD_SOURCE, {"decimal.handling.mode": "double"}),
        ("decimals-as-double", GOOD_SOURCE, {"decimal.handling.mode": "DOUBLE"}),
        ("decimals-as-double", FLAT_SOURCE, {**CAST, "transforms": "unwrap,cast"}),
        ("decimals-as-double", GOOD_QUERY, {**CAST, "transforms": "cast"}),
        ("decimals-as-double", GOOD_QUERY, {"numeric.mapping": "best_fit"}),
        ("times-in-milliseconds", GOOD_SOURCE, {"time.precision.mode": "connect"}),
        ("times-in-milliseconds", GOOD_SOURCE, {"time.precision.mode": "Connect"}),
        ("times-in-milliseconds", GOOD_QUERY, {"timestamp.granularity": None}),
        ("changes-not-sent", GOOD_SOURCE, {"event.processing.failure.handling.mode": "warn"}),
        ("changes-not-sent", GOOD_SINK, {"errors.tolerance": "all"}),
        ("tombstones-stop-sink", GOOD_SINK, {"behavior.on.null.values": None}),
        ("tombstones-stop-sink", GOOD_SINK, {"behavior.on.null.values": "FAIL", "connector.class": GCS}),
        ("schemas-not-checked", GOOD_SINK, {"schema.compatibility": "NONE", "flush.size": "100"}),
        ("rotation-by-wall-clock", GOOD_SINK, {"rotate.schedule.interval.ms": "60000"}),
        ("folders-by-mutable-column", GOOD_SINK, {"partition.field.name": "note"}),
        ("key-unknown", GOOD_SOURCE, {"message.key.columns": "public.orders:customer_id"}),
        ("changes-not-sent", MONGODB_SOURCE, {"capture.mode": "change_streams"}),
        ("changes-not-sent", MONGODB_SOURCE, {"capture.mode": "CHANGE_STREAMS_WITH_PRE_IMAGE"}),
        ("query-without-delay", GOOD_QUERY, {"timestamp.delay.interval.ms": None}),
        ("changes-not-sent", GOOD_QUERY, {"mode": "incrementing"}),
        ("configuration-unread", GOOD_SINK, {"flush.size": "${env:FLUSH}"}),
        ("configuration-unread", GOOD_SINK, {"flush.size": "1e4"}),
        ("configuration-unread", GOOD_QUERY, {"timestamp.delay.interval.ms": "5s"}),
        ("configuration-unread", GOOD_SOURCE, {"skipped.operations": "T"}),
        (
            "configuration-unread",
            GOOD_SOURCE,
            {"connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector"},
        ),
    ],
)
def test_configuration(root: Path, code: str, base: dict[str, str], changed: dict[str, str | None]) -> None:
    landed(root, ENVELOPE)
    config = {key: value for key, value in {**base, **changed}.items() if value is not None}
    before, after = found(root, base), found(root, config)
    assert after.keys() - before.keys() == {code}
    assert after[code].where == "connector0"


@pytest.mark.parametrize(
    ("config", "codes"),
    [
        ({**FLAT_SOURCE, "transforms.unwrap.delete.tombstone.handling.mode": "REWRITE"}, {"truncates-not-sent"}),
        ({**FLAT_SOURCE, **CAST, "transforms": "cast,unwrap"}, {"truncates-not-sent"}),
        ({**FLAT_SOURCE, "skipped.operations": "t"}, {"truncates-not-sent"}),
        ({**GOOD_SINK, **FLATTENING}, {"truncates-not-sent"}),
        ({**GOOD_SINK, **FLATTENING, "behavior.on.null.values": "fail"}, {"truncates-not-sent"}),
        ({**STOPPED_SINK, "transforms.f.type": "io.confluent.connect.transforms.TombstoneHandler"}, set()),
        ({**STOPPED_SINK, **TOMBSTONE_FILTER}, set()),
        (
            {**STOPPED_SINK, **TOMBSTONE_FILTER, "transforms.f.negate": "true"},
            {"tombstones-stop-sink", "changes-not-sent"},
        ),
        (
            {**GOOD_SINK, "transforms": ["unwrap"], "transforms.unwrap.type": FLATTENING["transforms.unwrap.type"]},
            {"deletes-not-sent", "truncates-not-sent", "order-by-clock"},
        ),
        ({**GOOD_SINK, "flush.size": None, "behavior.on.null.values": "IGNORE"}, set()),
        ({"connector.class": "io.lenses.streamreactor.connect.aws.s3.sink.S3SinkConnector"}, set()),
        ({"connector.class": "io.aiven.kafka.connect.s3.AivenKafkaConnectS3SinkConnector"}, set()),
        ({"connector.class": MONGODB["connector.class"]}, set()),
        ({**FLAT_SOURCE, **MONGODB}, set()),
        ({"connector.class": "io.debezium.connector.jdbc.JdbcSinkConnector"}, {"configuration-unread"}),
        ({**GOOD_SOURCE, "connector.class": "io.debezium.connector.mysql.MySqlConector"}, {"configuration-unread"}),
        ({**GOOD_SOURCE, "connector.class": "Postgres", "skipped.operations": "t"}, {"truncates-not-sent"}),
        (
            {
                **GOOD_SOURCE,
                "connector.class": "io.debezium.connector.sqlserver.SqlServerConnector",
                "skipped.operations": "t",
            },
            set(),
        ),
        ({**GOOD_QUERY, "mode": None}, {"deletes-not-sent"}),
        ({**GOOD_SINK, "schema.compatibility": "none", "flush.size": "${env:FLUSH}"}, {"configuration-unread"}),
    ],
)
def test_all_that_is_true_of_a_configuration(root: Path, config: dict[str, Any], codes: set[str]) -> None:
    landed(root, *CHANGES)
    assert found(root, config).keys() == codes


def transform(kind: str, **options: str) -> dict[str, str]:
    named = {f"transforms.x.{name.replace('_', '.')}": value for name, value in options.items()}
    return {"transforms": "x", "transforms.x.type": kind, **named}


KAFKA = "org.apache.kafka.connect.transforms"
PREDICATE = {"predicates.p.type": f"{KAFKA}.predicates.HasHeaderKey", "predicates.p.name": "h"}
EXTRACT, REPLACE = f"{KAFKA}.ExtractField$Value", f"{KAFKA}.ReplaceField$Value"
CHANGES_LOST, DELETES_LOST, UNORDERED = "changes-not-sent", "deletes-not-sent", "order-by-clock"
BASED = "snapshot.mode.configuration.based"


@pytest.mark.parametrize(
    ("options", "codes"),
    [
        (transform("io.debezium.transforms.Filter", condition="value.op != 'd'"), {DELETES_LOST}),
        (transform("io.debezium.transforms.Filter", condition="value.op == 'u'"), {CHANGES_LOST}),
        (transform("io.confluent.connect.transforms.Filter$Key", filter_condition="$[?(@.id > 5)]"), {CHANGES_LOST}),
        (
            transform(
                "io.confluent.connect.transforms.Filter$Value",
                filter_condition="$[?(@['op'] == 'd')]",
                filter_type="exclude",
            ),
            {DELETES_LOST},
        ),
        (transform(f"{KAFKA}.Filter"), {CHANGES_LOST}),
        ({**transform(f"{KAFKA}.Filter", predicate="p"), **PREDICATE}, {CHANGES_LOST}),
        ({**TOMBSTONE_FILTER, "transforms": "f"}, set()),
        ({**TOMBSTONE_FILTER, "transforms": "f", "transforms.f.negate": "true"}, {CHANGES_LOST}),
        (
            {
                **transform(f"{KAFKA}.Filter", predicate="p"),
                "predicates.p.type": f"{KAFKA}.predicates.TopicNameMatches",
            },
            set(),
        ),
        (transform(EXTRACT, field="after"), {DELETES_LOST, UNORDERED}),
        (transform(EXTRACT, field="before"), {CHANGES_LOST, DELETES_LOST, UNORDERED}),
        (transform(EXTRACT, field="ts_ms"), {CHANGES_LOST, DELETES_LOST, UNORDERED}),
        (transform(REPLACE, exclude="source,ts_ms"), {UNORDERED}),
        (transform(REPLACE, blacklist="before"), {DELETES_LOST}),
        (transform(REPLACE, include="before,after,op"), {UNORDERED}),
        (transform(REPLACE, renames="op:operation"), {DELETES_LOST}),
        (transform(REPLACE, exclude="transaction,ts_ms"), set()),
        (transform(f"{KAFKA}.Flatten$Value"), {DELETES_LOST, UNORDERED}),
        (transform(f"{KAFKA}.HoistField$Value", field="x"), {DELETES_LOST, UNORDERED}),
        (transform(f"{KAFKA}.TimestampConverter$Value", field="at"), set()),
        ({"snapshot.mode": "no_data"}, {CHANGES_LOST}),
        ({"snapshot.mode": "SCHEMA_ONLY"}, {CHANGES_LOST}),
        ({"snapshot.mode": "never"}, {CHANGES_LOST}),
        ({"snapshot.mode": "initial_only"}, {CHANGES_LOST}),
        ({"snapshot.mode": "configuration_based", f"{BASED}.start.stream": "true"}, {CHANGES_LOST}),
        ({"snapshot.mode": "configuration_based", f"{BASED}.snapshot.data": "true"}, {CHANGES_LOST}),
        (
            {
                "snapshot.mode": "configuration_based",
                f"{BASED}.start.stream": "true",
                f"{BASED}.snapshot.data": "true",
            },
            set(),
        ),
        ({"snapshot.mode": "when_needed"}, set()),
    ],
)
def test_what_a_source_leaves_out(root: Path, options: dict[str, str], codes: set[str]) -> None:
    landed(root, *CHANGES)
    findings = found(root, {**GOOD_SOURCE, **options})
    assert findings.keys() == codes
    assert all(finding.is_error for finding in findings.values())


@pytest.mark.parametrize(
    ("options", "code", "evidence"),
    [
        ({"snapshot.mode": "recovery"}, CHANGES_LOST, "for one restart only"),
        ({"snapshot.mode": "custom"}, "configuration-unread", "which rows it sends"),
        ({"snapshot.include.collection.list": "a.b"}, CHANGES_LOST, "=a.b`: existing rows of other tables"),
        ({"snapshot.select.statement.overrides": "a.b"}, CHANGES_LOST, "a new snapshot deletes them"),
        ({"snapshot.collection.filter.overrides": "a.b"}, CHANGES_LOST, "a new snapshot deletes them"),
        ({"cursor.pipeline": "[]"}, CHANGES_LOST, "its stages leave out"),
        ({"log.mining.username.exclude.list": "BATCH"}, CHANGES_LOST, "of some users"),
        ({"gtid.source.excludes": "x"}, CHANGES_LOST, "some servers"),
        ({"converters": "b, c", "c.type": "x.MySqlDateTimeConverter"}, "values-replaced", "`c.type=x.MySqlDateTimeCon"),
        (
            {
                **transform(f"{KAFKA}.Cast$Value", spec="a:int32,b:string"),
                **FLATTENING,
                "transforms": "unwrap,x",
            },
            "values-replaced",
            "casts a:int32: fractions",
        ),
    ],
)
def test_what_cannot_be_checked_is_a_warning(root: Path, options: dict[str, str], code: str, evidence: str) -> None:
    landed(root, *CHANGES)
    finding = found(root, {**GOOD_SOURCE, **options})[code]
    assert evidence in finding.evidence
    assert not finding.is_error


@pytest.mark.parametrize(
    ("name", "option", "effect"),
    [
        ("TinyIntOneToBooleanConverter", "selector", " of a.b.c: numbers are sent as true or false"),
        ("NumberOneToBooleanConverter", "selector", "numbers are sent as true or false"),
        ("JdbcSinkDataTypesConverter", "selector.boolean", " of a.b.c: numbers are sent as 1 or 0"),
        ("RawToStringConverter", "selector", "bytes that are no text"),
        ("ZeroDateFallbackConverter", "selector", "zero dates"),
        ("NumberToZeroScaleConverter", "selector", None),
        ("", "selector", None),
    ],
)
def test_converters(root: Path, name: str, option: str, effect: str | None) -> None:
    landed(root, *CHANGES)
    options = {"converters": "n", "n.type": name and f"io.debezium.x.converters.{name}", f"n.{option}": "a.b.c"}
    finding = found(root, {**GOOD_SOURCE, **options}).get("values-replaced")
    assert (finding is None) == (effect is None)
    assert not finding or (not finding.is_error and effect and effect in finding.evidence)


def test_extraction_and_times_in_a_sink(root: Path) -> None:
    landed(root, *CHANGES)
    assert found(root, {**GOOD_SINK, **transform(EXTRACT, field="after")}).keys() == {DELETES_LOST, UNORDERED}
    assert found(root, {**GOOD_SINK, **transform(EXTRACT, field="payload")}) == {}
    times = transform(f"{KAFKA}.TimestampConverter$Value", field="at")
    assert found(root, {**GOOD_SINK, **times}).keys() == {"times-in-milliseconds"}


def test_tombstones_stop_other_sinks_by_what_they_are_told(root: Path) -> None:
    landed(root, ENVELOPE)
    silent = {key: value for key, value in GOOD_SINK.items() if key != "behavior.on.null.values"}
    assert not found(root, {**silent, "connector.class": GCS})["tombstones-stop-sink"].is_error


KCQL = "INSERT INTO bucket:events SELECT * FROM shop.public.orders PARTITIONBY {} STOREAS `json` WITH_FLUSH_COUNT = 50"


@pytest.mark.parametrize(
    ("config", "columns"),
    [
        ({**GOOD_SINK, "topics": TOPIC, "partition.field.name": "customer_id"}, "FieldPartitioner on customer_id"),
        ({**GOOD_SINK, "topics.regex": "shop\\..*orders", "partition.field.name": "customer_id"}, "on customer_id"),
        ({**GOOD_SINK, "topics": "shop.public.customers", "partition.field.name": "customer_id"}, None),
        ({**GOOD_SINK, "topics": TOPIC}, None),
        ({**LENSES, "connect.s3.kcql": KCQL.format("customer_id, order_id")}, "PARTITIONBY on customer_id,"),
        ({**LENSES, "connect.s3.kcql": KCQL.format("_key.id,_value.order_id,`order_id`")}, None),
    ],
)
def test_key_is_the_one_of_the_topic_that_the_sink_reads(
    root: Path, config: dict[str, str], columns: str | None
) -> None:
    orders = {"order_id": 1, "customer_id": 5}
    landed(root, {**ENVELOPE, "after": orders}, {**ENVELOPE, "op": "u", "after": {**orders, "customer_id": 6}})
    folder = root / "shop.public.customers"
    folder.mkdir()
    customer = {
        **ENVELOPE,
        "after": {"customer_id": 5},
        "source": {"connector": "postgresql", "table": "customers", "lsn": 1},
    }
    (folder / "shop.public.customers+0+0.json").write_text(json.dumps(customer), encoding="utf-8")
    finding = found(root, config).get("folders-by-mutable-column")
    assert bool(finding) == bool(columns)
    assert not finding or (columns or "") in finding.evidence


def test_old_name_of_the_delete_mode(root: Path) -> None:
    landed(root, ENVELOPE)
    config = {key: value for key, value in FLAT_SOURCE.items() if "tombstone" not in key}
    assert "deletes-not-sent" not in found(root, {**config, "transforms.unwrap.delete.handling.mode": "rewrite"})


PROCESSOR = "io.debezium.storage.s3.processor.S3LargeMessagePostProcessor"
MASK = {"transforms.m.type": "org.apache.kafka.connect.transforms.MaskField$Value", "transforms.m.fields": "note"}


@pytest.mark.parametrize(
    ("options", "evidence"),
    [
        (
            {"column.truncate.to.20.chars": "public.orders.note"},
            "`column.truncate.to.20.chars=public.orders.note`: texts",
        ),
        ({"column.mask.with.10.chars": "a.b"}, "replaced by asterisks"),
        (
            {"column.mask.hash.SHA-256.with.salt.CzQMA": "a.b"},
            "`column.mask.hash.SHA-256.with.salt...=a.b`: texts are hashed",
        ),
        ({"column.mask.hash.v2.SHA-256.with.salt.CzQMA": "a.b"}, "texts are hashed"),
        ({"post.processors": "s3", "s3.type": PROCESSOR}, f"`s3.type={PROCESSOR}`: large values are replaced"),
        (
            {
                "post.processors": "a, s3",
                "post.processors.s3.type": PROCESSOR,
                "post.processors.s3.large.message.s3.columns.include.list": "note",
            },
            "large values of note are replaced by references to an object in S3",
        ),
        ({"transforms": "e", "transforms.e.type": "io.debezium.transforms.EnforceRecordSize"}, "over `max.bytes`"),
        ({**FLATTENING, **MASK, "transforms": "unwrap, m"}, "of note: values are replaced"),
        ({**FLATTENING, **MASK, "transforms": "m, unwrap"}, None),
        ({**MASK, "transforms": "m"}, None),
        (
            {"transforms": "c", "transforms.c.type": "x.claimcheck.ClaimCheckSourceTransform"},
            "by references or defaults",
        ),
        ({"transforms": "h", "transforms.h.type": "io.aiven.kafka.connect.transforms.Hash$Value"}, None),
        ({"column.include.list": "a.b"}, None),
    ],
)
def test_replaced_values(root: Path, options: dict[str, str], evidence: str | None) -> None:
    landed(root, *CHANGES)
    finding = found(root, {**GOOD_SOURCE, **options}).get("values-replaced")
    assert evidence is None or (finding and evidence in finding.evidence)
    assert (finding is None) == (evidence is None)
    assert not finding or "CzQMA" not in finding.evidence, "a salt is a secret"


def test_what_replaces_values_is_unknown(root: Path) -> None:
    landed(root, *CHANGES)
    options = {"post.processors": "p", "p.type": "org.example.Shorten", "transforms": "t", "transforms.t.type": "x.Y"}
    assert (
        "what it does to values is not known here"
        in found(root, {**GOOD_SOURCE, **options})["configuration-unread"].evidence
    )


def test_remedy_for_values_that_were_not_sent_is_the_connectors(root: Path) -> None:
    mark = {"order_id": 1, "note": "__debezium_unavailable_value"}
    for connector, rule in load("unavailable_values")["placeholders"].items():
        landed(root, {**ENVELOPE, "op": "u", "after": mark, "source": {"connector": connector, "table": "orders"}})
        finding = found(root)["values-not-sent"]
        assert not finding.is_error
        assert finding.evidence.startswith(f"{rule['product']} did not send note (1): ")
        assert rule["remedy"] in finding.remedy
    landed(root, {**ENVELOPE, "op": "u", "after": mark, "source": {"connector": "mariadb", "table": "orders"}})
    assert found(root)["values-not-sent"].is_error, "it is taken for data"


@pytest.mark.parametrize(
    ("options", "is_error"),
    [
        ({"binary.handling.mode": "base64-url-safe"}, True),
        ({"binary.handling.mode": "base64"}, True),
        ({"binary.handling.mode": "hex"}, None),
        ({"unavailable.value.placeholder": "hex:00"}, False),
        ({"unavailable.value.placeholder": "__debezium_unavailable_value"}, None),
    ],
)
def test_options_of_values_that_are_not_sent(root: Path, options: dict[str, str], is_error: bool | None) -> None:
    landed(root, *CHANGES)
    finding = found(root, {**GOOD_SOURCE, **options}).get("values-not-sent")
    assert (finding and finding.is_error) is is_error


@pytest.mark.parametrize(
    ("connector", "version", "issues"),
    [
        ("postgresql", "3.7.0.Final", set()),
        ("postgresql", "3.6.3.Final", {"debezium/dbz#76", "debezium/dbz#1554"}),
        ("postgresql", "3.7.0.Alpha1", {"debezium/dbz#76"}),
        ("sqlserver", "3.5.2.Final", {"debezium/dbz#1164", "debezium/dbz#2075"}),
        ("sqlserver", "3.7.1.Final", {"debezium/dbz#2662"}),
        # The fix of 3.4.0 is in 3.3.1 and 3.2.4, too; the fault is not older than 3.2.3.
        ("oracle", "3.3.1.Final", {"debezium/dbz#1798", "debezium/dbz#1679", "debezium/dbz#2075"}),
        ("oracle", "3.3.0.Final", {"debezium/dbz#1798", "debezium/dbz#1679", "debezium/dbz#2075", "DBZ-9521"}),
        ("oracle", "3.2.2.Final", {"debezium/dbz#1798", "debezium/dbz#1679", "debezium/dbz#2075"}),
        ("mongodb", "3.4.0.Final", {"debezium/dbz#1531"}),
        ("mysql", "2.5.3.Final-redhat-00001", {"DBZ-9337"}),
        ("mysql", "2.5.2.Final", {"DBZ-9337", "DBZ-7594"}),
        ("mariadb", "4.0", {"debezium/dbz#473"}),
        ("mysql", "unknown", set()),
    ],
)
def test_versions_that_are_known_to_lose_data(root: Path, connector: str, version: str, issues: set[str]) -> None:
    assert {loss.issue for loss in KNOWN_LOSSES if connector in loss.connectors and loss.affects(version)} == issues
    for table in ("orders", "customers"):
        folder = root / "topics" / f"shop.public.{table}" / "partition=0"
        folder.mkdir(parents=True)
        source = {"connector": connector, "version": version, "table": table}
        event = {**ENVELOPE, "source": source}
        (folder / f"shop.public.{table}+0+0000000000.json").write_text(json.dumps(event), encoding="utf-8")
    findings = [finding for finding in diagnose(inspect(str(root))) if finding.code == "known-losses"]
    assert sorted(re.findall(r"\(([^ ()]+)\)$", finding.evidence)[0] for finding in findings) == sorted(issues)
    assert not any(finding.is_error for finding in findings)


def test_known_losses_say_since_when() -> None:
    for loss in KNOWN_LOSSES:
        assert loss.fixed_in or loss.since, loss.issue
        assert not loss.since or loss.affects(loss.since), loss.issue
        assert not any(loss.affects(fixed) for fixed in loss.fixed_in), loss.issue


@pytest.mark.parametrize(("connector", "is_found"), [("mysql", True), ("mariadb", True), ("postgresql", False)])
def test_changes_by_foreign_keys(root: Path, connector: str, is_found: bool) -> None:
    landed(root, {**ENVELOPE, "source": {"connector": connector, "table": "orders"}})
    finding = found(root).get("changes-not-sent")
    assert (finding is not None) is is_found
    assert not finding or ("ON DELETE CASCADE" in finding.evidence and not finding.is_error)


def test_query_has_no_deletes(root: Path) -> None:
    landed(root, *CHANGES)
    assert found(root, GOOD_QUERY).keys() == {"deletes-not-sent"}


@pytest.mark.parametrize(
    ("code", "records"),
    [
        ("deletes-not-sent", [{"order_id": 1, "note": "a", "__lsn": 100}]),
        ("truncates-not-sent", [FLATTENED]),
        ("order-by-clock", [{"order_id": 1, "note": "a", "__op": "c", "__deleted": "false", "__source_ts_ms": 1}]),
        ("order-by-clock", [{"order_id": 1, "note": "a"}]),
        ("values-not-sent", [{**ENVELOPE, "after": {"order_id": 1, "note": "__debezium_unavailable_value"}}]),
        ("values-replaced", [{**ENVELOPE, "after": {"order_id": 1, "note": "__debezium:s3:ref:v1:bucket|key"}}]),
        ("values-replaced", [{**ENVELOPE, "after": {"order_id": 1, "note": "X19kZWJleml1bTpzMzpyZWY6djE6YnxrZXk="}}]),
        ("decimals-as-double", [{**ENVELOPE, "after": {"order_id": 1, "price": 1.5}}]),
        ("lines-broken", [ENVELOPE, '{"before":nu']),
        ("records-mixed", [ENVELOPE, ENVELOPE, {"order_id": 1, "note": "b"}]),
        ("records-mixed", [ENVELOPE, ENVELOPE, FLATTENED]),
        ("records-mixed", [ENVELOPE, {"order_id": 1}, {"order_id": 2}]),
        ("names-alike", [{**ENVELOPE, "after": {"order_id": 1, "note": "a", "Note": "b"}}]),
        ("names-taken", [{**ENVELOPE, "after": {"order_id": 1, "_cdc_op": "a", "_valid_from": "b"}}]),
        ("key-unknown", [{**ENVELOPE, "after": {"note": "a"}}, {**ENVELOPE, "after": {"note": "a"}}]),
    ],
)
def test_records(root: Path, code: str, records: list[Any]) -> None:
    landed(root, *records)
    assert code in found(root)


@pytest.mark.parametrize(
    ("records", "code", "is_error"),
    [
        ([("d", None, None)], "deletes-not-sent", True),
        ([("d", '{"_id": 1}', None)], "deletes-not-sent", None),
        ([("u", None, None)], "changes-not-sent", True),
        # The document of the first was deleted before the connector looked it up.
        ([("u", None, None), ("u", None, "{}")], "changes-not-sent", False),
        ([("u", None, "{}")], "changes-not-sent", None),
    ],
)
def test_documents_that_are_not_sent(
    root: Path, records: list[tuple[str, str | None, str | None]], code: str, is_error: bool | None
) -> None:
    source = {"connector": "mongodb", "collection": "orders", "ts_ms": 1, "ord": 1}
    landed(root, *({"op": op, "before": before, "after": after, "source": source} for op, before, after in records))
    finding = found(root).get(code)
    assert (finding and finding.is_error) is is_error


@pytest.mark.parametrize(
    ("changes", "is_found"),
    [
        ([("c", 1, 0), ("u", 2, 0)], True),
        ([("u", 1, 0), ("u", 1, 1)], False),
        # Delivered again, and a move.
        ([("c", 1, 0), ("c", 1, 0)], False),
        ([("d", 1, 0), ("c", 2, 0)], False),
    ],
)
def test_positions_of_several_changes(root: Path, changes: list[tuple[str, int, int]], is_found: bool) -> None:
    records = []
    for op, key, row in changes:
        image = {"order_id": key, "note": "a"}
        images = {"before": image, "after": None} if op == "d" else {"before": None, "after": image}
        source = {"connector": "mariadb", "table": "orders", "file": "binlog.000001", "pos": 900, "row": row}
        records.append({**images, "op": op, "source": source})
    landed(root, *records)
    assert ("positions-shared" in found(root)) is is_found


@pytest.mark.parametrize(
    ("code", "field"),
    [
        ("nulls-as-defaults", {"type": "string", "optional": True, "default": "x", "field": "note"}),
        (
            "times-in-milliseconds",
            {"type": "int64", "optional": True, "name": "org.apache.kafka.connect.data.Timestamp", "field": "note"},
        ),
    ],
)
def test_schemas(root: Path, code: str, field: dict[str, Any]) -> None:
    row = {
        "type": "struct",
        "optional": True,
        "fields": [{"type": "int32", "optional": False, "field": "order_id"}, field],
    }
    schema = {"type": "struct", "fields": [{**row, "field": "before"}, {**row, "field": "after"}]}
    rows = [{"order_id": 1, "note": None}, {"order_id": 2, "note": None}, {"order_id": 1, "note": None}]
    payloads = [{**change, "after": row} for change, row in zip(CHANGES, rows, strict=True)]
    landed(root, *({"schema": schema, "payload": payload} for payload in payloads))
    assert found(root).keys() == {code}


@pytest.mark.parametrize(("fields", "is_found"), [({"__source_ord": 1}, False), ({"__lsn": 1}, True)])
def test_source_without_truncates_loses_none(root: Path, fields: dict[str, int], is_found: bool) -> None:
    landed(root, {"order_id": 1, "__op": "c", "__deleted": "false", "__source_ts_ms": 1, **fields})
    assert ("truncates-not-sent" in found(root)) is is_found


def test_row_that_has_moved_to_another_folder(root: Path) -> None:
    landed(root, ENVELOPE, folder="country=Peru")
    landed(root, {**ENVELOPE, "op": "u"}, folder="country=Chile", offset=1)
    finding = found(root)["folders-by-mutable-column"]
    assert finding.evidence == "1 key with events in more than one folder by country"
    assert not finding.is_error


def test_offsets_that_deletes_explain_are_no_finding(root: Path) -> None:
    delete = {**ENVELOPE, "op": "d", "before": {"order_id": 1}, "after": None}
    landed(root, ENVELOPE, delete)
    landed(root, ENVELOPE, offset=3)
    assert found(root) == {}
    landed(root, ENVELOPE, offset=9)
    assert found(root)["offsets-missing"].is_error


def test_rows_do_not_say_which_offsets_had_no_value(root: Path) -> None:
    landed(root, {"order_id": 1, "note": "a"})
    landed(root, {"order_id": 2, "note": "a"}, offset=2)
    assert not found(root)["offsets-missing"].is_error


def test_offsets_that_two_files_have(root: Path) -> None:
    landed(root, ENVELOPE, {**ENVELOPE, "op": "u"})
    landed(root, {**ENVELOPE, "op": "u"}, offset=1)
    assert not found(root)["offsets-missing"].is_error


@pytest.mark.parametrize(
    ("name", "content", "remedy"),
    [
        ("0.json.zst", b"\x28\xb5\x2f\xfd\x24\x00", "Upload the complete file again"),
        ("0.json.bz2", b"BZh91AY&SY", "Upload the complete file again"),
        ("0.snappy.parquet", b"", "They are skipped"),
        ("0.json.gz", b"", "They are skipped"),
        ("0.snappy.parquet", b"PAR1", "Upload the complete file again"),
        ("0.json.gz", b"\x1f\x8b", "Upload the complete file again"),
        ("0.json", b'{"id"', "a file again that was cut off"),
        ("0.json", b"PK\x03\x04", "Have the sink write JSON, Avro or Parquet"),
        ("0.json", b"[1, 2]", "a line that is no JSON object was never a record"),
    ],
)
def test_what_becomes_of_a_broken_file(root: Path, name: str, content: bytes, remedy: str) -> None:
    (root / f"{TOPIC}+0+{name}").write_bytes(content)
    assert remedy in found(root)["lines-broken"].remedy


def test_cloud_events(root: Path) -> None:
    event = {"id": "1", "source": "/debezium/shop", "specversion": "1.0", "type": "x", "iodebeziumop": "c"}
    landed(root, event, '{"id"')
    remedies = [finding.remedy for finding in diagnose(inspect(str(root)))]
    assert len(remedies) == 2, "what is broken beside them is a finding of its own"
    assert any("Set `value.converter` to" in remedy for remedy in remedies)
    config = {**GOOD_SOURCE, "value.converter": "io.debezium.converters.CloudEventsConverter"}
    by_converter = found(landed(root, *CHANGES), config)
    assert by_converter.keys() == {"messages-of-other-tools"}
    assert by_converter["messages-of-other-tools"].where == "connector0"


def test_other_files(root: Path) -> None:
    landed(root, ENVELOPE)
    (root / TOPIC / "orders.avsc").write_text("{}", encoding="utf-8")
    assert found(root)["other-files"].evidence.endswith("orders.avsc")


def test_each_code_has_its_page_and_no_other() -> None:
    assert {page.stem for page in PAGES.glob("*.md")} - {"README"} == set(CODES)
    for code, heading in CODES.items():
        assert (PAGES / f"{code}.md").read_text(encoding="utf-8").startswith(f"# {heading}\n\nCode `{code}`")


def test_unknown_code_is_refused() -> None:
    with pytest.raises(ValueError, match="is no code of a finding"):
        Finding("nothing", "here", "", "")


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "[1]", '{"name": "x", "config": {}}', '{"connector.class": null}', "name=x", "[x]\n[x", '"text"'],
)
def test_file_that_is_no_configuration(root: Path, text: str) -> None:
    landed(root, ENVELOPE)
    path = root.parent / "wrong.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=rf"{path}: (has no|cannot be read).*; give JSON as Kafka Connect's"):
        diagnose(inspect(str(root)), [path])


def test_error_of_a_configuration_shows_nothing_of_it(root: Path, tmp_path: Path) -> None:
    landed(root, ENVELOPE)
    path = tmp_path / "source.properties"
    path.write_text("connector.class=x\ndatabase.password s3cret\nand more\n", encoding="utf-8")
    with pytest.raises(ConfigurationError) as said:
        read_configurations(path)
    assert "no `name=value` in lines 2, 3" in str(said.value)
    assert "s3cret" not in str(said.value)
    with pytest.raises(ConfigurationError, match=r"cannot be read \(No such file or directory\); give"):
        read_configurations(tmp_path / "missing.json")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('{"name": "a", "config": {"connector.class": "x.Y"}}', ["a"]),
        ('{"connector.class": "x.Y"}', ["connectors"]),
        ('{"connector.class": "x.Y", "name": "a"}', ["a"]),
        ('\ufeff{"connector.class": "x.Y", "name": "a"}', ["a"]),
        ('[{"name": "a", "config": {"connector.class": "x.Y"}}, {"connector.class": "x.Y", "name": "b"}]', ["a", "b"]),
        ('{"a": {"info": {"config": {"connector.class": "x.Y"}}, "status": {}}}', ["a"]),
        ('{"a": {"info": {"name": "a", "config": {"connector.class": "x.Y"}}}}', ["a"]),
        ("# a source\nname=a\n  connector.class = x.\\\n  Y\ntopics=b=c, d:e\n", ["a"]),
    ],
)
def test_forms_of_configurations(tmp_path: Path, text: str, names: list[str]) -> None:
    path = tmp_path / "connectors.json"
    path.write_text(text, encoding="utf-8")
    read = read_configurations(path)
    assert [configuration.name for configuration in read] == names
    assert {configuration.class_name for configuration in read} == {"x.Y"}
    assert all(configuration.known("topics") in ("", "b=c, d:e") for configuration in read)


def test_objects_that_were_not_read(root: Path) -> None:
    for offset in range(3):
        landed(root, ENVELOPE, offset=offset)
    inspection = inspect(str(root), Sampling(objects=2))
    finding = next(finding for finding in diagnose(inspection) if finding.code == "objects-unread")
    assert (finding.evidence, finding.is_error) == ("2 of 3 objects were read of orders", False)
    inspection = inspect(str(root), Sampling(object_bytes=100))
    finding = next(finding for finding in diagnose(inspection) if finding.code == "objects-unread")
    assert finding.evidence == "3 of 3 objects were read, 3 of them in part, of orders"


def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[int, str]:
    monkeypatch.setattr("sys.argv", ["alluvium", "doctor", *arguments])
    monkeypatch.setenv("COLUMNS", "120")
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return int(ended.value.code or 0), capsys.readouterr().out


def test_folder_without_change_files_is_not_a_sound_one(root: Path) -> None:
    (root / "notes.txt").write_text("x", encoding="utf-8")
    with pytest.raises(AlluviumError, match="has no change files; give the folder that the sink connector writes to"):
        found(root)
    assert "deletes-not-sent" not in found(root, GOOD_SOURCE, GOOD_SINK), "configurations can be looked at alone"


@pytest.mark.parametrize("name", ["LOAD00000001.csv", "20240101.CSV.gz"])
def test_folder_of_csv(root: Path, name: str) -> None:
    (root / name).write_text("1,a\n", encoding="utf-8")
    with pytest.raises(AlluviumError, match=rf"CSV \({name}\) is not, .*AWS DMS: DataFormat=parquet"):
        found(root)


def test_command(root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    landed(root, *CHANGES)
    assert run(capsys, monkeypatch, str(root)) == (0, "Nothing found.\n")
    landed(root, FLATTENED, {**FLATTENED, "order_id": 2}, {**FLATTENED, "__op": "u", "__lsn": 101})
    code, output = run(capsys, monkeypatch, str(root))
    assert code == 3
    assert "error    Truncates are not in the files [truncates-not-sent]" in output
    assert "1 error, 0 warnings." in output
    assert "      alluvium explain truncates-not-sent\n" in output, "no line is filled with blanks"
    code, output = run(capsys, monkeypatch, str(root), "--json")
    assert (code, json.loads(output)[0]["code"]) == (3, "truncates-not-sent")


def test_page_of_a_code(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for code in CODES:
        monkeypatch.setattr("sys.argv", ["alluvium", "explain", code])
        with pytest.raises(SystemExit):
            cli.main()
        assert capsys.readouterr().out.rstrip() == (PAGES / f"{code}.md").read_text(encoding="utf-8").rstrip()
    monkeypatch.setattr("sys.argv", ["alluvium", "explain", "rows-lost"])
    with pytest.raises(SystemExit, match="1"):
        cli.main()
    assert capsys.readouterr().err.startswith("alluvium: rows-lost is no code of the doctor's (deletes-not-sent, ")


def test_pages_that_messages_name() -> None:
    """A wheel has no docs/, so what a message names can be printed."""
    messages = [
        path.read_text(encoding="utf-8")
        for folder, kind in (("alluvium", "*.py"), ("dbt_alluvium", "*.py"), ("macros", "*.sql"))
        for path in (REPOSITORY / folder).rglob(kind)
    ]
    names = {name for text in messages for name in re.findall(r"docs/guide/[\w-]+\.md", text)}
    assert len(names) > 5
    for name in sorted(names):
        assert page(name) == (REPOSITORY / name).read_text(encoding="utf-8")
