from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from alluvium import AlluviumError, cli
from alluvium.diagnosis import CODES, ConfigurationError, Finding, diagnose
from alluvium.inspection import inspect

PAGES = Path(__file__).parents[3] / "docs" / "doctor"
TOPIC = "shop.public.orders"
FLATTENED = {"order_id": 1, "note": "a", "__op": "c", "__deleted": "false", "__lsn": 100}
ENVELOPE = {
    "before": None,
    "after": {"order_id": 1, "note": "a"},
    "source": {"connector": "postgresql", "table": "orders", "lsn": 100, "txId": 7},
    "op": "c",
}
GOOD_SOURCE = {
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "skipped.operations": "none",
    "value.converter.replace.null.with.default": "false",
    "transforms": "route, unwrap",
    "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
    "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
    "transforms.unwrap.delete.tombstone.handling.mode": "rewrite",
    "transforms.unwrap.add.fields": "op,source.lsn,source.sequence",
}
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
}


def landed(root: Path, *records: Any, offset: int = 0, folder: str = "partition=0") -> Path:
    path = root / TOPIC / folder / f"{TOPIC}+0+{offset:010d}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    texts = [record if isinstance(record, str) else json.dumps(record) for record in records]
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return root


def found(root: Path, *configurations: dict[str, str]) -> dict[str, Finding]:
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
    landed(root, ENVELOPE, {**ENVELOPE, "op": "u"}, {**ENVELOPE, "op": "d", "before": {"order_id": 1}, "after": None})
    assert found(root, GOOD_SOURCE, GOOD_SINK) == {}


@pytest.mark.parametrize(
    ("code", "base", "changed"),
    [
        ("deletes-not-sent", GOOD_SOURCE, {"transforms.unwrap.delete.tombstone.handling.mode": "tombstone"}),
        ("deletes-not-sent", GOOD_SOURCE, {"transforms.unwrap.delete.tombstone.handling.mode": None}),
        ("truncates-not-sent", GOOD_SOURCE, {"skipped.operations": None}),
        ("truncates-not-sent", GOOD_SOURCE, {"skipped.operations": "c,t"}),
        ("order-by-clock", GOOD_SOURCE, {"transforms.unwrap.add.fields": "op,source.ts_ms"}),
        ("nulls-as-defaults", GOOD_SOURCE, {"value.converter.replace.null.with.default": "true"}),
        ("decimals-as-double", GOOD_SOURCE, {"decimal.handling.mode": "double"}),
        ("times-in-milliseconds", GOOD_SOURCE, {"time.precision.mode": "connect"}),
        ("tombstones-stop-sink", GOOD_SINK, {"behavior.on.null.values": None}),
        ("schemas-not-checked", GOOD_SINK, {"schema.compatibility": "NONE", "flush.size": "100"}),
        ("rotation-by-wall-clock", GOOD_SINK, {"rotate.schedule.interval.ms": "60000"}),
        ("folders-by-mutable-column", GOOD_SINK, {"partition.field.name": "note"}),
        ("query-without-delay", GOOD_QUERY, {"timestamp.delay.interval.ms": None}),
    ],
)
def test_configuration(root: Path, code: str, base: dict[str, str], changed: dict[str, str | None]) -> None:
    landed(root, ENVELOPE)
    config = {key: value for key, value in {**base, **changed}.items() if value is not None}
    before, after = found(root, base), found(root, config)
    assert after.keys() - before.keys() == {code}
    assert after[code].where == "connector0"


def test_old_name_of_the_delete_mode(root: Path) -> None:
    landed(root, ENVELOPE)
    config = {key: value for key, value in GOOD_SOURCE.items() if "tombstone" not in key}
    assert found(root, {**config, "transforms.unwrap.delete.handling.mode": "rewrite"}) == {}


def test_query_has_no_deletes(root: Path) -> None:
    landed(root, ENVELOPE)
    assert found(root, GOOD_QUERY).keys() == {"deletes-not-sent"}


@pytest.mark.parametrize(
    ("code", "records"),
    [
        ("deletes-not-sent", [{"order_id": 1, "note": "a", "__lsn": 100}]),
        ("truncates-not-sent", [FLATTENED]),
        ("order-by-clock", [{"order_id": 1, "note": "a", "__op": "c", "__deleted": "false", "__source_ts_ms": 1}]),
        ("order-by-clock", [{"order_id": 1, "note": "a"}]),
        ("values-not-sent", [{**ENVELOPE, "after": {"order_id": 1, "note": "__debezium_unavailable_value"}}]),
        ("decimals-as-double", [{**ENVELOPE, "after": {"order_id": 1, "price": 1.5}}]),
        ("lines-broken", [ENVELOPE, '{"before":nu']),
        ("key-unknown", [{**ENVELOPE, "after": {"note": "a"}}, {**ENVELOPE, "after": {"note": "a"}}]),
    ],
)
def test_records(root: Path, code: str, records: list[Any]) -> None:
    landed(root, *records)
    assert code in found(root)


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
    landed(root, {"schema": schema, "payload": {**ENVELOPE, "after": {"order_id": 1, "note": None}}})
    assert found(root).keys() == {code}


def test_row_that_has_moved_to_another_folder(root: Path) -> None:
    landed(root, ENVELOPE, folder="country=Peru")
    landed(root, {**ENVELOPE, "op": "u"}, folder="country=Chile", offset=1)
    finding = found(root)["folders-by-mutable-column"]
    assert finding.evidence == "1 keys have events in more than one folder by country"
    assert not finding.is_loss


def test_offsets_that_deletes_explain_are_no_finding(root: Path) -> None:
    delete = {**ENVELOPE, "op": "d", "before": {"order_id": 1}, "after": None}
    landed(root, ENVELOPE, delete)
    landed(root, ENVELOPE, offset=3)
    assert found(root) == {}
    landed(root, ENVELOPE, offset=9)
    assert found(root)["offsets-missing"].is_loss


def test_offsets_that_two_files_have(root: Path) -> None:
    landed(root, ENVELOPE, {**ENVELOPE, "op": "u"})
    landed(root, {**ENVELOPE, "op": "u"}, offset=1)
    assert not found(root)["offsets-missing"].is_loss


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


@pytest.mark.parametrize("text", ["{", "[]", '{"name": "x", "config": {}}'])
def test_file_that_is_no_configuration(root: Path, text: str) -> None:
    landed(root, ENVELOPE)
    path = root.parent / "wrong.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=str(path)):
        diagnose(inspect(str(root)), [path])


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


def test_command(root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    landed(root, ENVELOPE)
    assert run(capsys, monkeypatch, str(root)) == (0, "Nothing found.\n")
    landed(root, FLATTENED)
    code, output = run(capsys, monkeypatch, str(root))
    assert code == 3
    assert "loss  Truncates are not in the files [truncates-not-sent]" in output
    assert "1 finding, 1 loss." in output
    code, output = run(capsys, monkeypatch, str(root), "--json")
    assert (code, json.loads(output)[0]["code"]) == (3, "truncates-not-sent")
