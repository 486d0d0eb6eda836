"""What cannot be read, or is not read whole: said, and never the end of the command."""

from __future__ import annotations

import gzip
import io
import json
import os
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from alluvium.diagnosis import diagnose
from alluvium.inspection import Inspection, Sampling, inspect
from alluvium.inspection.report import print_inspection
from alluvium.runtime.objects import LocationError, StoredObject

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAME = "shop.public.orders+0+{}.json"


def landed(folder: Path, *contents: bytes | str, name: str = NAME) -> str:
    """Objects of one topic, with the offsets of their lines."""
    offset = 0
    for content in contents:
        content = content.encode() if isinstance(content, str) else content
        (folder / name.format(offset)).write_bytes(content)
        offset += content.count(b"\n")
    return str(folder)


def printed(inspection: Inspection, width: int = 120) -> str:
    console = Console(file=io.StringIO(), width=width)
    print_inspection(console, inspection)
    return str(console.file.getvalue())  # type: ignore[attr-defined]  # it is the StringIO


def event(op: Any = "c", **source: Any) -> str:
    source = {"connector": "postgresql", "lsn": 1, **source}
    return json.dumps({"before": None, "after": {"id": 1}, "source": source, "op": op})


def with_schema(*fields: Any) -> str:
    return json.dumps({"schema": {"type": "struct", "fields": fields}, "payload": {"id": 1}})


@pytest.mark.parametrize(
    "line",
    [
        '[1, {"id": 2}]',
        "7",
        '{"id": ' + "[" * 5000 + "]" * 5000 + "}",
        event(op="z"),
        event(op={"a": 1}),
        '{"id": 1, "__op": 5}',
        '{"id": 1, "__op": ["c"], "__deleted": "false"}',
        '{"id": 1, "__op": "m"}',
        with_schema({"type": "int32"}),
        with_schema({"type": "weird", "field": "id"}),
        with_schema({"type": ["int32"], "field": "id"}),
        with_schema({"type": "array", "field": "id"}),
        with_schema("text"),
        with_schema(
            {
                "type": "bytes",
                "field": "id",
                "name": "org.apache.kafka.connect.data.Decimal",
                "parameters": {"scale": "x"},
            }
        ),
    ],
)
def test_line_that_is_no_record_is_an_error(tmp_path: Path, line: str) -> None:
    entity = inspect(landed(tmp_path, f"{line}\n{event()}\n")).entities[0]
    records = entity.records
    assert (len(records.errors), records.lines, entity.operations.counts) == (1, 1, {"c": 1})
    assert (records.errors[0][1], records.changes) == (1, 1)


@pytest.mark.parametrize(
    "line",
    [
        '{"id": 1, "x": NaN}',
        '{"id": 1, "x": -Infinity}',
        '{"op": {"a": 1}, "source": {"b": 2}}',
        '{"op": null, "source": {"b": 2}}',
        event(ts_ms=1_714_564_800_000_000),
        event(txId=[1], table={"a": 1}),
        json.dumps(
            {"key": None, "value": json.loads(event()), "headers": None, "metadata": {"offset": "x", "partition": 0}}
        ),
    ],
)
def test_odd_line_is_read(tmp_path: Path, line: str) -> None:
    entity = inspect(landed(tmp_path, f"{line}\n")).entities[0]
    assert (entity.records.errors, entity.records.changes) == ([], 1)
    assert not entity.operations.counts.get("d")


@pytest.mark.parametrize(
    ("content", "name", "kind"),
    [
        (b"[1, 2]\n", NAME, "unreadable"),
        (b"PK\x03\x04", NAME, "unreadable"),
        (b"BZh91AY&SY", NAME + ".bz2", "unreadable"),
        (b"", NAME, "empty"),
        (b"", NAME + ".gz", "unreadable"),
        (b"", NAME + ".snappy.parquet", "unreadable"),
        (b"\n\n", NAME, "empty"),
        (b"null\n", NAME, "control records"),
    ],
)
def test_topic_without_rows(tmp_path: Path, content: bytes, name: str, kind: str) -> None:
    text = printed(inspect(landed(tmp_path, content, name=name)))
    assert f"orders  {kind} " in text
    assert ("  ! " in text) is (kind == "unreadable")


@pytest.mark.parametrize(
    ("record", "kind", "columns"),
    [
        ({"payload": json.loads(event())}, "envelope", ["id"]),
        ({"schema": None, "payload": json.loads(event())}, "envelope", ["id"]),
        ({"payload": json.loads(event()), "schema": {"optional": False, "type": "struct"}}, "envelope", ["id"]),
        ({"payload": {"id": 1, "__deleted": "false"}}, "flattened", ["id"]),
        ({"payload": {"id": 1}}, "row", ["id"]),
        # Columns of a table.
        ({"id": 1, "payload": {"a": 1}}, "row", ["id", "payload"]),
        ({"payload": "a"}, "row", ["payload"]),
        ({"schema": "public", "payload": {"a": 1}}, "row", ["schema", "payload"]),
        ({"payload": None}, None, []),
    ],
)
def test_payload_is_a_wrapper_with_or_without_schema(
    tmp_path: Path, record: dict[str, Any], kind: str | None, columns: list[str]
) -> None:
    (entity,) = inspect(landed(tmp_path, json.dumps(record) + "\n")).entities
    assert (entity.shape, [column.name for column in entity.columns]) == (kind, columns)
    assert (entity.records.controls, entity.records.errors) == ({} if kind else {"tombstone": 1}, [])


def test_flattened_delete_is_one_whatever_its_op(tmp_path: Path) -> None:
    inspection = inspect(landed(tmp_path, '{"id": 1, "__op": 5, "__deleted": "true"}\n{"id": 1, "__op": "c"}\n'))
    (entity,) = inspection.entities
    assert (entity.operations.counts, entity.records.errors) == ({"d": 1, "c": 1}, [])
    assert "1 c, 1 d" in printed(inspection)


def test_control_records_are_no_changes(tmp_path: Path) -> None:
    entity = inspect(landed(tmp_path, '{"id": 1}\nnull\n{"ts_ms": 1}\n{"id": 2}\n')).entities[0]
    assert (entity.records.lines, entity.records.changes, sum(entity.records.controls.values())) == (4, 2, 2)


def test_object_that_was_cut_is_counted_and_leaves_no_gap(tmp_path: Path) -> None:
    location = landed(tmp_path, f"{event()}\n", f"{event()}\n" * 20, f"{event()}\n")
    inspection = inspect(location, Sampling(object_bytes=5 * len(event())))
    (entity,) = inspection.entities
    files = entity.files
    assert (files.objects, files.objects_read, files.objects_cut, files.are_all_read) == (3, 3, 1, False)
    assert (entity.positions.offsets[0].last, entity.positions.offsets[0].gaps) == (21, None)
    assert "3 objects" in printed(inspection)
    assert "1 of them in part" in printed(inspection)
    assert "all of them read" not in printed(inspection).replace("not all of them read", "")
    assert not [finding for finding in diagnose(inspection, ()) if finding.code == "offsets-missing"]


class LargeStorage:
    """Five objects of one topic, of a line each and said to be as large as may be read."""

    location = "large"
    file = None

    def objects(self) -> Iterator[StoredObject]:
        for offset in range(5):
            yield StoredObject(NAME.format(offset), Sampling.object_bytes, datetime.now(timezone.utc))

    def above(self, folder: str) -> Iterator[str]:
        yield from ()

    def read(self, path: str, limit: int | None = None) -> bytes:
        return f"{event()}\n".encode()


def test_topic_is_read_as_far_as_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alluvium.inspection.open_storage", lambda _: LargeStorage())
    inspection = inspect("large")
    (entity,) = inspection.entities
    assert (entity.files.objects, entity.files.objects_read, entity.positions.offsets[0].last) == (5, 3, 4)
    assert "3 of them read, at most 50 and 48 MB of a topic" in printed(inspection)
    assert inspect("large", Sampling(objects=5)).entities[0].files.objects_read == 5


def test_no_more_text_of_a_compressed_object_is_read_than_asked_for(tmp_path: Path) -> None:
    text = f"{event()}\n" * 100
    landed(tmp_path, gzip.compress(text.encode()), name="t+0+0.json.gz")
    (entity,) = inspect(str(tmp_path), Sampling(object_bytes=len(text) // 10)).entities
    assert 8 <= entity.records.lines <= 10
    assert (entity.files.objects_read, entity.files.objects_cut, entity.records.errors) == (1, 1, [])


@pytest.mark.parametrize("extension", ["json", "parquet"])
def test_object_of_which_nothing_was_read_is_said_to_be_so(tmp_path: Path, extension: str) -> None:
    if extension == "parquet":
        pq.write_table(pa.table({"id": list(range(1000))}), tmp_path / "t+0+0.parquet")
    else:
        landed(tmp_path, json.dumps({"id": "x" * 1000}) + "\n", name="t+0+{}.json")
    inspection = inspect(str(tmp_path), Sampling(object_bytes=100))
    assert "t       not read" in printed(inspection)
    assert not inspection.entities[0].files.are_all_read


def test_two_formats_are_asked_about(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"id": 1}\n', encoding="utf-8")
    pq.write_table(pa.table({"id": [1]}), tmp_path / "b.parquet")
    assert any("1 are json and 1 are parquet" in question for question in inspect(str(tmp_path)).entities[0].questions)


def test_parquet_without_a_type_of_sparks(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": pa.array([2**64 - 1], pa.uint64()), "x": pa.nulls(1)}), tmp_path / "rows.parquet")
    number, nothing = inspect(str(tmp_path)).entities[0].columns
    assert (number.type.data_type, number.type.semantic_type) == ("decimal(20,0)", "decimal")
    assert "was never there" in str(nothing.type.question)


@pytest.mark.parametrize(
    ("added", "connector"),
    [
        ({"commit_lsn": "00000027:00000ab8:0002", "change_lsn": "00000027:00000ab8:0001"}, "sqlserver"),
        ({"sequence": '["5","7"]'}, "postgresql"),
        ({"scn": "5", "commit_scn": "6"}, "oracle"),
    ],
)
def test_position_may_be_added_without_its_struct(tmp_path: Path, added: dict[str, str], connector: str) -> None:
    row = {"id": 1, "__op": "c", **{f"__{name}": value for name, value in added.items()}}
    entity = inspect(landed(tmp_path, f"{json.dumps(row)}\n")).entities[0]
    assert (entity.order.why, entity.source.connector, entity.order.is_by_offset) == (
        "the connector's position",
        connector,
        False,
    )


@pytest.mark.parametrize("schema", ["no JSON", "{}", '{"type": "record", "fields": [{"type": "long"}]}'])
def test_file_with_a_schema_that_is_none(tmp_path: Path, schema: str) -> None:
    table = pa.table({"id": [1]}).replace_schema_metadata({"parquet.avro.schema": schema})
    pq.write_table(table, tmp_path / "a.parquet")
    (entity,) = inspect(str(tmp_path)).entities
    assert (entity.records.errors[0][:2], entity.records.lines) == (("a.parquet", 0), 0)


def test_linked_folders_are_followed_once(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "seen").mkdir()
    landed(tmp_path / "real", f"{event()}\n")
    (tmp_path / "seen" / "link").symlink_to(tmp_path / "real")
    (tmp_path / "real" / "back").symlink_to(tmp_path / "seen")
    assert [entity.files.objects for entity in inspect(str(tmp_path / "seen")).entities] == [1]


def test_what_is_no_file_is_an_error_of_its_own(tmp_path: Path) -> None:
    landed(tmp_path, f"{event()}\n")
    (tmp_path / NAME.format(7)).symlink_to(tmp_path / "gone")
    os.mkfifo(tmp_path / NAME.format(8))
    (entity,) = inspect(str(tmp_path)).entities
    assert (entity.records.lines, entity.files.objects, entity.files.objects_read) == (1, 3, 1)
    assert [(path[-6:], line) for path, line, _ in entity.records.errors] == [("7.json", 0), ("8.json", 0)]


def test_link_to_a_file(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "x.json").write_text(f"{event()}\n", encoding="utf-8")
    (tmp_path / NAME.format(0)).symlink_to(tmp_path / "elsewhere" / "x.json")
    assert inspect(str(tmp_path / NAME.format(0))).entities[0].files.topic == "shop.public.orders"


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("", "PATH is empty"),
        ("~nosuchuser/x", "home directory"),
        ("x" * 300, "too long"),
        ("s3:/bucket/x", "two slashes"),
        ("s3:///x", "two slashes"),
        ("s3://B?d/x", "Invalid bucket name"),
    ],
)
def test_location_that_is_none(location: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    with pytest.raises(LocationError, match=message) as raised:
        inspect(location)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("AWS_PROFILE", "nope"),
        ("AWS_ENDPOINT_URL", "localhost:9000"),
        ("AWS_DEFAULT_REGION", "x y"),
        # Before the other one, as for Spark and `alluvium emr`.
        ("AWS_REGION", "x y"),
    ],
)
def test_setting_of_a_bucket_that_is_none(variable: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    monkeypatch.setenv(variable, value)
    with pytest.raises(LocationError, match="Check the bucket's name"):
        inspect("s3://bucket/x")


def test_folder_that_may_not_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    landed(tmp_path, f"{event()}\n")
    (tmp_path / "closed").mkdir()
    scandir = os.scandir

    def refusing(path: str) -> Any:
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    # Whoever runs the tests may be allowed to list all.
    monkeypatch.setattr("os.scandir", refusing)
    with pytest.raises(LocationError, match="closed cannot be looked at: Permission denied"):
        inspect(str(tmp_path))


def test_narrow_terminal(tmp_path: Path) -> None:
    text = printed(inspect(landed(tmp_path, f"{event()}\n")), width=40)
    assert all(heading in text for heading in ("entity", "shape", "format", "objects", "changes", "broken"))


@pytest.mark.parametrize("is_flattened", [False, True])
def test_column_that_only_a_delete_has(tmp_path: Path, is_flattened: bool) -> None:
    image: dict[str, Any] = {"id": 1, "weight": 2.5, "note": None}
    deleted: dict[str, Any] = {
        "before": image,
        "after": None,
        "source": {"connector": "postgresql", "lsn": 2},
        "op": "d",
    }
    created = json.loads(event())
    if is_flattened:
        created, deleted = {"id": 1, "__op": "c", "__lsn": 1}, {**image, "__deleted": "true", "__op": "d", "__lsn": 2}
    (entity,) = inspect(landed(tmp_path, f"{json.dumps(created)}\n{json.dumps(deleted)}\n")).entities
    assert {column.name: (column.type.data_type, column.has_nulls) for column in entity.columns} == {
        "id": ("bigint", False),
        "weight": ("double", True),
        "note": ("string", True),
    }
    assert entity.key.columns == ("id",)


def test_file_whose_name_is_no_text_ends_the_command(tmp_path: Path) -> None:
    """Java cannot open it, and Hadoop skips what it cannot open."""
    folder = tmp_path / os.fsdecode(b"city=Z\xfcrich")
    folder.mkdir()
    (folder / "_hidden.json").touch()
    inspect(str(tmp_path))
    (folder / "items.json").touch()
    with pytest.raises(
        LocationError, match=r"city=Z\\xfcrich/items\.json: the name is not utf-8, so Spark would skip the"
    ):
        inspect(str(tmp_path))
