"""`alluvium inspect`, as it is typed in."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from object_storage.server import lake

from alluvium import cli
from alluvium.inspection import Sampling, inspect
from alluvium.runtime.objects import LocationError, open_storage

if TYPE_CHECKING:
    from collections.abc import Iterator

REPOSITORY = Path(__file__).resolve().parents[3]
TOPIC = "shop.public.orders"


def event(op: str, no: int, **row: Any) -> str:
    source = {
        "connector": "postgresql",
        "version": "3.6.3.Final",
        "table": "orders",
        "txId": no,
        "ts_ms": 1_714_564_800_000,
    }
    image = {"order_id": no, **row}
    return json.dumps(
        {"before": image if op == "d" else None, "after": None if op == "d" else image, "source": source, "op": op}
    )


def lines(*texts: str) -> bytes:
    return "".join(f"{text}\n" for text in texts).encode()


# Offsets 2 and 3 are nowhere, offset 5 is in two files; the second file is torn in its third line.
FILES = {
    f"topics/{TOPIC}/partition=0/{TOPIC}+0+0000000000.json": lines(event("r", 1, note="Zoë"), event("c", 2, note=None)),
    f"topics/{TOPIC}/partition=0/{TOPIC}+0+0000000004.json": lines(event("u", 1, note="a"), event("d", 2), '{"before"'),
    f"topics/{TOPIC}/partition=0/{TOPIC}+0+0000000005.json.gz": gzip.compress(lines(event("d", 2), event("c", 3))),
    "topics/shop.transaction/partition=0/shop.transaction+0+0000000000.json": lines(
        '{"status":"BEGIN","id":"7","event_count":null,"data_collections":null}'
    ),
    "topics/README.txt": b"not a change file\n",
    "topics/_temporary/half.json": b"{",
}


@pytest.fixture
def landed(tmp_path: Path) -> Path:
    for path, content in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    return tmp_path


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """A bucket of a local S3 server."""
    with lake() as bucket:
        for path, content in FILES.items():
            bucket.put_object(Key=f"cdc/{path}", Body=content)
        yield bucket.name


def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[int, str, str]:
    """Exit code, output and errors of the command line."""
    monkeypatch.setattr("sys.argv", ["alluvium", *arguments])
    monkeypatch.setenv("COLUMNS", "120")
    with pytest.raises(SystemExit) as ended:
        cli.main()
    output = capsys.readouterr()
    return int(ended.value.code or 0), output.out, output.err


def test_escapes_of_a_file_url(tmp_path: Path) -> None:
    (tmp_path / "a b%").mkdir()
    (tmp_path / "a b%" / "orders.json").write_text('{"id": 1}\n', encoding="utf-8")
    found = inspect(f"file://{tmp_path}/a%20b%25")
    assert (found.location, len(found.entities)) == (str(tmp_path.resolve() / "a b%"), 1)


def test_lines_of_a_pipe_are_whole(
    landed: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["alluvium", "inspect", str(landed)])
    shown = []
    for columns in ("1000", None, "80"):
        monkeypatch.setenv("COLUMNS", columns or "")
        if columns is None:
            monkeypatch.delenv("COLUMNS")
        with pytest.raises(SystemExit):
            cli.main()
        shown.append([line.rstrip() for line in capsys.readouterr().out.splitlines()])
    assert shown[0] == shown[1]
    assert len(shown[1]) < len(shown[2])


def test_json_has_all_that_was_found(
    landed: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, output, _ = run(capsys, monkeypatch, "inspect", str(landed), "--json")
    found = json.loads(output)
    assert code == 0
    assert found["others"] == ["topics/README.txt"]
    orders, transactions = found["entities"]
    assert (orders["name"], orders["topic"], orders["location"]) == ("orders", TOPIC, f"topics/{TOPIC}")
    assert orders["key"] == {
        "columns": ["order_id"],
        "why": "unique in 4 images of the data",
        "question": None,
        "candidates": [],
    }
    assert orders["ops"] == {"r": 1, "c": 2, "u": 1, "d": 2}
    assert orders["offsets"] == {"0": {"first": 0, "last": 6, "holes": 2, "overlaps": 1}}
    assert [(error[0][-9:], error[1]) for error in orders["errors"]] == [("0004.json", 3)]
    assert (orders["compressions"], orders["objects"], orders["lines"]) == (["gzip"], 3, 6)
    assert transactions["shape"] is None
    assert transactions["controls"] == {"transaction": 1}


def test_text_fits_a_terminal(
    landed: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, output, errors = run(capsys, monkeypatch, "inspect", str(landed))
    assert (code, errors) == (0, "")
    assert max(map(len, output.splitlines())) <= 120
    for part in ("4 objects", "1 other file", "order_id: unique in 4 images", "0 to 6, 2 without a line, 1 twice"):
        assert part in output
    assert "\x1b[" not in output, "no colours where nobody looks"


def test_bucket_is_read_like_a_folder(bucket: str, landed: Path) -> None:
    in_bucket, in_folder = inspect(f"s3://{bucket}/cdc"), inspect(str(landed))
    assert in_bucket.location == "s3a://lake/cdc"
    assert (in_bucket.entities, in_bucket.others) == (in_folder.entities, in_folder.others)


def test_single_object(bucket: str, landed: Path) -> None:
    path = next(iter(FILES))
    for location in (f"s3a://{bucket}/cdc/{path}", str(landed / path)):
        (entity,) = inspect(location).entities
        assert (entity.files.topic, entity.files.objects, entity.records.lines) == (TOPIC, 1, 2)


def test_part_of_a_table_in_a_bucket(bucket: str) -> None:
    log, row = "cdc/t/_delta_log/00000000000000000000.json", "cdc/t/day=1/0.json"
    client = boto3.client("s3")
    for key in (log, row):
        client.put_object(Bucket=bucket, Key=key, Body=b'{"id":1}')
    for location in ("cdc/t/day=1", row):
        assert [entity.records.lake_format for entity in inspect(f"s3://{bucket}/{location}").entities] == ["Delta"]
    client.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": log}, {"Key": row}]})


def test_no_more_of_an_object_is_read_than_asked_for(bucket: str, landed: Path) -> None:
    for location in (f"s3://{bucket}/cdc", str(landed)):
        storage = open_storage(location)
        assert len(list(storage.objects())) == 6
        assert storage.read(next(iter(FILES)), 10) == FILES[next(iter(FILES))][:10]


def test_object_that_cannot_be_read_ends_in_one_sentence(bucket: str) -> None:
    with pytest.raises(LocationError, match=r"cannot be read \(gone.json\): .*NoSuchKey.* s3:GetObject are allowed"):
        open_storage(f"s3://{bucket}/cdc").read("gone.json")


def test_sample_has_the_first_and_the_last_object(landed: Path) -> None:
    entity = inspect(str(landed), Sampling(objects=2)).entities[0]
    assert (entity.files.objects, entity.files.objects_read) == (3, 2)
    assert entity.positions.offsets[0].first == 0
    assert entity.positions.offsets[0].last == 6


def test_line_that_the_bound_has_cut_is_no_error(landed: Path) -> None:
    entity = inspect(str(landed), Sampling(object_bytes=len(event("r", 1, note="Zoë")) + 5)).entities[0]
    assert entity.records.errors == []
    assert 1 <= entity.records.lines < 6


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("/no/such/folder", "no such file or folder"),
        ("gs://bucket/prefix", "gs:// cannot be read"),
        ("s3://lake/nothing/there", "no object there"),
        ("s3://no-such-bucket/x", "cannot be listed"),
    ],
)
def test_error_is_one_sentence(
    bucket: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, location: str, message: str
) -> None:
    code, output, errors = run(capsys, monkeypatch, "inspect", location)
    assert (code, output) == (1, "")
    assert message in errors
    assert "Traceback" not in errors
    with pytest.raises(LocationError):
        inspect(location)


def test_folder_without_change_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, output, _ = run(capsys, monkeypatch, "inspect", str(tmp_path))
    assert code == 0
    assert "No change files" in output


def test_one_file_is_named(landed: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    path = landed / next(iter(FILES))
    _, output, _ = run(capsys, monkeypatch, "inspect", str(path))
    assert output.replace("\n", "").startswith(str(path))


def test_files_that_cannot_be_read_are_not_said_to_be_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "orders+0+0.parquet").write_bytes(b"PAR1garbage")
    code, _, errors = run(capsys, monkeypatch, "scaffold", str(tmp_path), "--source", "shop")
    assert code == 1
    assert f"{tmp_path} has change files, none of which can be read; the first: orders+0+0.parquet" in errors
    assert errors.rstrip().endswith("Upload them again, complete.")


def test_version(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    declared = re.search(r'^version: "(.+)"$', (REPOSITORY / "dbt_project.yml").read_text("utf-8"), re.MULTILINE)
    assert declared
    assert run(capsys, monkeypatch, "--version") == (0, f"alluvium {declared[1]}\n", "")


def test_help_has_examples(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    code, output, _ = run(capsys, monkeypatch, "inspect", "--help")
    assert code == 0
    assert "alluvium inspect s3://bucket/topics" in output
