"""Messages of other tools: named by their fields, and never taken for rows."""

from __future__ import annotations

import io
import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

from alluvium import AlluviumError, rules
from alluvium.diagnosis import diagnose
from alluvium.inspection import inspect
from alluvium.inspection.messages import format_of
from alluvium.inspection.report import print_inspection

if TYPE_CHECKING:
    from pathlib import Path

ROW = {"id": 1, "name": "lamp"}
CLOUD_EVENT = {"id": "name:shop;lsn:1", "source": "/debezium/postgresql/shop", "specversion": "1.0", "type": "changed"}
AVRO = {"before": None, "after": None, "source": {"connector": "postgresql"}, "op": "c"}
ENVELOPE = {"before": None, "after": {"id": 1}, "source": {"lsn": 1}, "op": "c"}
MESSAGES: dict[str, list[dict[str, Any]]] = {
    "CloudEvents": [
        {**CLOUD_EVENT, "iodebeziumop": "r", "data": None},
        {**CLOUD_EVENT, "type": "io.debezium.connector.postgresql.DataChangeEvent", "data": "AQ=="},
        {**CLOUD_EVENT, "data": {"before": None, "after": ROW}},
        {**CLOUD_EVENT, "data": {"schema": {"type": "struct", "fields": []}, "payload": {"after": ROW}}},
    ],
    "Canal JSON": [
        {"data": [ROW], "old": None, "type": "INSERT", "database": "d", "table": "t", "isDdl": False, "id": 7, "ts": 1},
        {"data": None, "old": None, "type": "CREATE", "database": "d", "table": "t", "isDdl": True, "sql": "create"},
        {"data": [ROW], "type": "DELETE"},
        {"data": [ROW], "old": [{"name": "x"}], "type": "UPDATE"},
        {"id": 0, "type": "TIDB_WATERMARK", "_tidb": {"watermarkTs": 1}},
    ],
    "Maxwell": [
        {"database": "d", "table": "t", "type": "insert", "ts": 1, "xid": 1, "data": ROW},
        {"database": "d", "table": "t", "type": "bootstrap-start", "ts": 1, "data": {}},
        {"database": "d", "table": "t", "type": "table-alter", "ts": 1, "sql": "alter table t add x int", "def": {}},
        {"data": ROW, "old": {"name": "x"}, "type": "update"},
    ],
    "GoldenGate JSON": [
        {"table": "S.T", "op_type": "I", "op_ts": "2026-01-01 00:00:00", "pos": "0001", "after": ROW},
        {"before": ROW, "after": None, "op_type": "D"},
        {"table": "S.T", "op_type": "T", "op_ts": "2026-01-01 00:00:00", "current_ts": "x", "pos": "0001"},
    ],
    "AWS DMS messages": [
        {"data": ROW, "metadata": {"record-type": "data", "operation": "load", "table-name": "t"}},
        {"metadata": {"record-type": "control", "operation": "create-table"}},
    ],
    "CockroachDB changefeed": [
        {"after": ROW, "key": [1], "topic": "t", "updated": "1767225601000000000.0000000000"},
        {"after": None, "key": [1]},
        {"after": ROW},
        {"resolved": "1767225605000000000.0000000000"},
        {"__crdb__": {"updated": "1767225605000000000.0000000000"}, **ROW},
        {"after": ROW, "op": "c", "source": {"origin": "cockroachdb"}, "ts_ns": 1},
        {"payload": [{"after": ROW, "key": [1]}], "length": 1},
    ],
    "TiCDC Open Protocol": [
        {"u": {"id": {"t": 3, "h": True, "f": 11, "v": 1}}},
        {"u": {"id": {"t": 3, "v": 1}}, "p": {"id": {"t": 3, "v": 1}}},
        {"d": {"id": {"t": 3, "v": 1}}},
        {"q": "CREATE TABLE t (a int)", "t": 3},
    ],
    "TiCDC Simple Protocol": [{"version": 1, "type": "INSERT", "commitTs": 4, "buildTs": 5, "data": ROW, "old": None}],
    "OceanBase (OMS) messages": [
        {"prevStruct": None, "postStruct": ROW, "allMetaData": {"db": "d"}, "recordType": "INSERT"}
    ],
    "MongoDB change stream": [
        {"_id": {"_data": "82"}, "operationType": "insert", "ns": {"db": "d", "coll": "c"}, "fullDocument": ROW},
        {"_id": {"_data": "82"}, "operationType": "invalidate", "clusterTime": {"$timestamp": {"t": 1, "i": 1}}},
    ],
    "wal2json": [
        {"change": [{"kind": "insert", "schema": "public", "table": "t", "columnnames": ["id"]}]},
        {"xid": 1, "change": []},
        {"action": "I", "schema": "public", "table": "t", "columns": [{"name": "id", "type": "integer", "value": 1}]},
        {"action": "D", "schema": "public", "table": "t", "identity": [{"name": "id", "type": "integer", "value": 1}]},
        {"action": "C", "xid": 1},
    ],
    "Qlik Replicate messages": [
        {"magic": "atMSG", "type": "DT", "headers": None, "message": {"data": ROW, "headers": {"operation": "INSERT"}}},
        {"data": ROW, "beforeData": None, "headers": {"operation": "UPDATE", "changeSequence": "1"}},
    ],
    "Striim JSON": [{"data": [1], "metadata": {"OperationName": "INSERT", "TableName": "public.t", "TxnID": "1"}}],
    "Google Datastream": [
        {"uuid": "u", "read_timestamp": "t", "object": "o", "source_metadata": {"table": "t"}, "payload": ROW}
    ],
    "Airbyte raw records": [
        {"_airbyte_raw_id": "u", "_airbyte_extracted_at": 1, "_airbyte_data": ROW},
        {"_airbyte_ab_id": "u", "_airbyte_emitted_at": 1, "_airbyte_data": ROW},
        {"type": "RECORD", "record": {"stream": "t", "data": ROW, "emitted_at": 1}},
    ],
    "Singer messages": [
        {"type": "RECORD", "stream": "t", "record": ROW},
        {"type": "SCHEMA", "stream": "t", "schema": {"properties": {}}, "key_properties": ["id"]},
        {"type": "STATE", "value": {"bookmarks": {}}},
    ],
    "Flink changelog-json": [{"data": ROW, "op": "-U"}],
    "Envelopes without source (CockroachDB, Flink, Materialize, RisingWave)": [
        {"before": None, "after": ROW, "op": "c"},
        {"before": ROW, "after": None},
    ],
    "Estuary Flow": [{**ROW, "_meta": {"op": "u", "source": {"table": "t"}}}],
    "Sequin": [{"record": ROW, "changes": None, "action": "insert", "metadata": {"table_name": "t"}}],
    "Supabase webhooks": [{"type": "DELETE", "table": "t", "schema": "public", "record": None, "old_record": ROW}],
    "DynamoDB streams and exports": [
        {"eventName": "MODIFY", "dynamodb": {"Keys": {"id": {"N": "1"}}}},
        {"Item": {"id": {"N": "1"}}},
        {"Metadata": {"WriteTimestampMicros": {"N": "1"}}, "Keys": {"id": {"N": "1"}}},
    ],
    "Spanner change streams": [{"tableName": "t", "modType": "INSERT", "mods": [{"keys": {"id": 1}}]}],
    "Cosmos DB change feed": [{"current": ROW, "metadata": {"operationType": "create", "lsn": 1}}],
    "Salesforce change events": [{"ChangeEventHeader": {"changeType": "UPDATE"}, "Name": "x"}],
    "Azure Event Hubs Capture": [{"SequenceNumber": 1, "Offset": "0", "EnqueuedTimeUtc": "x", "Body": "e30="}],
    "Amazon EventBridge events": [
        {"detail-type": "x", "source": "s", "account": "1", "region": "r", "detail": {"dynamodb": {"Keys": {}}}}
    ],
    "Amazon SNS notifications": [{"Type": "Notification", "MessageId": "m", "TopicArn": "a", "Message": "{}"}],
    "Google Pub/Sub push messages": [
        {"message": {"data": "e30=", "messageId": "1"}, "subscription": "projects/p/subscriptions/s"}
    ],
    "Records dumped by kcat": [
        {"topic": "t", "partition": 0, "offset": 1, "tstype": "create", "ts": 1, "key": "1", "payload": "{}"}
    ],
    "Values in objects (Cassandra, ScyllaDB, YugabyteDB)": [
        {"op": "u", "source": {}, "after": {"id": {"value": 1, "set": True}, "name": None}},
        {"op": "d", "source": {}, "before": {"id": {"value": "a", "deletion_ts": None, "set": True}}, "after": None},
    ],
    "Hasura event triggers": [
        {"id": "u", "event": {"op": "INSERT", "data": {"old": None, "new": {"id": 1}}}, "trigger": {"name": "t"}}
    ],
    "AWS Lambda events (SQS, SNS, Kinesis, DynamoDB)": [
        {"Records": [{"messageId": "m", "body": "{}", "eventSource": "aws:sqs"}]},
    ],
    "Snowflake's Kafka connector": [{"RECORD_METADATA": {"offset": 1}, "RECORD_CONTENT": {"op": "c"}}],
    "OpenLogReplicator": [{"scn": 1, "tm": 2, "xid": "x", "payload": [{"op": "begin"}]}],
    "MongoDB oplog entries": [{"ts": {"t": 1, "i": 1}, "op": "i", "ns": "shop.items", "o": {"_id": 1}}],
    "CouchDB changes": [{"seq": "1-x", "id": "a", "changes": [{"rev": "1-y"}]}],
    "Feldera": [{"insert": {"id": 1}}, {"delete": {"id": 1}}],
    "Debezium's envelopes inside of another message": [
        {"key": "k", name: value}
        for name in ("value", "message", "data", "event", "payload")
        for value in (ENVELOPE, json.dumps(ENVELOPE))
    ]
    + [{"records": [{"value": ENVELOPE}]}],
    "Values with more of Kafka's record beside them (Aiven, Kafka REST)": [
        {"value": {"id": 1, "__op": "c"}},
        {"key": "k", "value": {"id": 1}, "offset": 0, "timestamp": "2026-01-01T00:00:00Z"},
    ],
    "Avro's JSON encoding": [
        {**AVRO, "after": {"shop.public.items.Value": ROW}},
        {**AVRO, "before": {"shop.public.items.Value": ROW}, "op": "d"},
        {**AVRO, "ts_ms": {"long": 1}},
        {"id": 1, "name": {"string": 'a "lamp"'}, "qty": {"int": -4}, "price": {"double": 1.5}, "note": None},
    ],
}

ROWS: list[dict[str, Any]] = [
    # Of an application, in a table of its own or in an outbox.
    {**CLOUD_EVENT, "data": {"order": 1}},
    CLOUD_EVENT,
    {"id": 1, "type": "insert", "data": '{"a": 1}', "old": None},
    {"id": 1, "type": "INSERT", "data": [{"a": 1}], "user": "u"},
    {"id": 1, "database": "d", "table": "t", "type": "view", "data": {"a": 1}},
    {"id": 1, "op_type": "I", "name": "a"},
    {"id": 1, "after": {"a": 1}, "before": {"a": 2}},
    {"id": 1, "resolved": "1767225605000000000.0000000000"},
    {"resolved": True},
    {"id": 1, "metadata": {"operation": "load"}, "data": {}},
    {"id": 1, "payload": {"a": 1}, "uuid": "u"},
    {"aggregatetype": "order", "aggregateid": "1", "type": "OrderCreated", "payload": {"a": 1}},
    {"id": 1, "action": "I", "schema": "s", "table": "t"},
    {"id": 1, "message": {"data": "x"}, "subscription": "gold"},
    {"id": 1, "detail": {"string": "a", "int": 1}},
    {"id": 1, "detail": {"string": 1}},
    {"id": 1, "detail": {"string": "a"}, "other": {"a": 1}},
    {"id": 1, "topic": "t", "partition": 0, "offset": 1, "payload": "{}"},
    {"id": 1, "value": '{"source": "web", "op": "sum"}', "data": {"before": 1, "after": 2}},
    {"id": 1, "ts": 1, "op": "u", "ns": "n"},
    {"insert": "x"},
    {"key": "k", "value": "v", "offset": 1},
    {"key": "theme", "value": '{"dark": true}'},
    {"id": 1, "value": {"amount": 1}},
]


def test_every_format_is_recognised() -> None:
    assert list(MESSAGES) == [entry["name"] for entry in rules.load("message_formats")]
    for name, messages in MESSAGES.items():
        assert [format_of(message) for message in messages] == [name] * len(messages)


@pytest.mark.parametrize("row", ROWS)
def test_row_of_a_table_is_none(row: dict[str, Any]) -> None:
    assert format_of(row) is None


def landed(folder: Path, *messages: dict[str, Any]) -> str:
    (folder / "shop.items+0+0000000000.json").write_text(
        "".join(f"{json.dumps(message)}\n" for message in messages), encoding="utf-8"
    )
    return str(folder)


def test_messages_are_named_with_advice(tmp_path: Path) -> None:
    found = inspect(landed(tmp_path, *MESSAGES["Maxwell"], {"id": 1, "note": "what else lies among them"}))
    (entity,) = found.entities
    assert (entity.shape, entity.columns, entity.questions) == (None, (), ())
    assert entity.records.messages == {"Maxwell": 4}
    console = Console(file=io.StringIO(), width=200)
    print_inspection(console, found)
    text = str(console.file.getvalue())  # type: ignore[attr-defined]  # it is the StringIO
    assert re.search("items +Maxwell +json", text)
    assert "! 4 lines of Maxwell, which no model reads." in text
    (finding,) = [one for one in diagnose(found) if one.code == "messages-of-other-tools"]
    assert (finding.is_error, finding.evidence.partition(";")[0]) == (True, "4 lines of Maxwell")
    with pytest.raises(AlluviumError, match="foreign_message: Maxwell"):
        found.require_changes()


def test_messages_among_envelopes_are_counted(tmp_path: Path) -> None:
    envelope = {"before": None, "after": ROW, "op": "c", "source": {"connector": "mysql", "file": "f", "pos": 1}}
    (entity,) = inspect(landed(tmp_path, envelope, *MESSAGES["Canal JSON"])).entities
    assert (entity.shape, entity.records.changes, entity.records.messages) == ("envelope", 1, {"Canal JSON": 5})
