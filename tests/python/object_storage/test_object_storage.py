"""Files in S3: found, read and merged as those of a folder are, by a project that says no more than their address."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from new_project.test_new_project import run

from alluvium.runtime import jars, java, object_storage

from .server import lake

if TYPE_CHECKING:
    from collections.abc import Iterator

REPOSITORY = Path(__file__).parents[3]
TOPIC = "samples/pg-envelope-json-schemas/bronze/confluent-json-gz/topics/shop.public.customers"
# Characters that a path in a bucket may have, and that a URI writes otherwise.
PREFIX = "cdc files/50% größe/topics/shop.public.customers"
LATE = "shop.public.customers+2+0000000463.json.gz"
FILE_IN_POSITION = re.compile(r'\.[0-9A-Z]{16}(?=\.\d{12}")')
# Each project has tables of its own, as by default.
HOME = {"ALLUVIUM_HOME": ".alluvium"}
S3A = "spark.hadoop.fs.s3a."


def project(directory: Path, yaml: str, settings: str = "name: tables\n") -> Path:
    """A project with one YAML below its models."""
    (directory / "models" / "bronze").mkdir(parents=True)
    (directory / "dbt_project.yml").write_text(settings, encoding="utf-8")
    (directory / "models" / "bronze" / "sources.yml").write_text(yaml, encoding="utf-8")
    return directory


@pytest.mark.parametrize(
    ("yaml", "is_meant"),
    [
        ("external: {location: s3a://lake/topics, using: json}", True),
        ('external: {location: "s3://lake/topics"}', True),
        ("external: {location: \"{{ env_var('LANDING') }}/shop\"}", True),
        ("external: {location: \"{{ env_var('ELSEWHERE', 'landing') }}/shop\"}", False),
        ("external: {location: landing/shop}  # later s3://lake/topics", False),
    ],
)
def test_project_says_where_its_files_are(tmp_path: Path, yaml: str, is_meant: bool) -> None:
    environment = {"LANDING": "s3a://lake/topics"}
    assert object_storage.is_meant({}, project(tmp_path, yaml), environment) is is_meant


def test_settings_say_so(tmp_path: Path) -> None:
    local = project(tmp_path, "external: {location: landing}")
    assert object_storage.is_meant({"spark.sql.warehouse.dir": "s3a://lake/tables"}, local, {})
    assert object_storage.is_meant({f"{S3A}endpoint.region": "eu-central-1"}, local, {})
    assert not object_storage.is_meant({"spark.sql.warehouse.dir": "/tables"}, local, {})


def test_folders_of_models_are_those_of_the_project(tmp_path: Path) -> None:
    location = "external: {location: s3://lake}"
    assert not object_storage.is_meant({}, project(tmp_path / "a", location, "model-paths: [tables]\n"), {})
    assert object_storage.is_meant({}, project(tmp_path / "b", location, "model-paths: [models/bronze]\n"), {})
    assert not object_storage.is_meant({}, project(tmp_path / "c", location, "a: [\n"), {})
    assert not object_storage.is_meant({}, tmp_path / "nowhere", {})


def test_defaults_are_what_boto3_takes_from_the_environment() -> None:
    environment = {
        "AWS_ENDPOINT_URL": "http://127.0.0.1:9000",
        "AWS_ENDPOINT_URL_S3": "http://127.0.0.1:9001",
        "AWS_DEFAULT_REGION": "eu-central-1",
    }
    found = object_storage.with_defaults({f"{S3A}path.style.access": "false", "spark.a": "b"}, environment)
    assert (found[f"{S3A}endpoint"], found[f"{S3A}endpoint.region"]) == ("http://127.0.0.1:9001", "eu-central-1")
    assert (found[f"{S3A}path.style.access"], found["spark.a"]) == ("false", "b")
    assert found["spark.hadoop.fs.s3.impl"] == found[f"{S3A}impl"]
    assert object_storage.is_configured(found)
    nowhere = object_storage.with_defaults({}, {})
    assert not {f"{S3A}endpoint", f"{S3A}endpoint.region", f"{S3A}path.style.access"} & nowhere.keys()


def test_lock_is_of_the_hadoop_of_this_spark() -> None:
    import pyspark

    locked = [jar.coordinate for jar in jars.read_lock(object_storage.LOCK.read_text(encoding="utf-8"))]
    (version,) = [coordinate.rpartition(":")[2] for coordinate in locked if "hadoop-aws" in coordinate]
    assert (Path(pyspark.__file__).parent / "jars" / f"hadoop-client-api-{version}.jar").exists()
    assert object_storage.CREDENTIALS.startswith("software." if java.IS_SPARK_4 else "com.amazonaws.")


@pytest.fixture
def bucket() -> Iterator[Any]:
    with lake() as made:
        yield made


def rows(directory: Path, relation: str) -> list[dict[str, Any]]:
    """Without where the files are, when they came, and Hudi's own; a position ends with a digest of the file's path."""
    query = f"select * from {relation}"
    said = run(directory, "alluvium.cli", "sql", "-e", query, "--format", "jsonl", "--limit", "0", **HOME)
    others = ("_cdc_file_path", "_cdc_file_modified_at", "_cdc_record_key", "_hoodie_")
    # Not splitlines(), which takes some characters inside of a text for the end of a line.
    decoded = [json.loads(FILE_IN_POSITION.sub("", line)) for line in said.rstrip("\n").split("\n")]
    return sorted(
        ({name: value for name, value in row.items() if not name.startswith(others)} for row in decoded), key=repr
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    # The tables of a cluster of EMR are below s3://.
    ("file_format", "scheme"),
    [("delta", "s3a"), ("delta", "s3"), *([] if java.IS_SPARK_4 else [("hudi", "s3a"), ("hudi", "s3")])],
)
def test_tables_are_those_of_the_same_files_in_a_folder(
    tmp_path: Path, bucket: Any, file_format: str, scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scaffolded and built without an edit; a late and a torn one come in a second build. The tables are there, too."""
    monkeypatch.setenv("ALLUVIUM_FILE_FORMAT", file_format)
    files = {path.relative_to(REPOSITORY / TOPIC): path.read_bytes() for path in (REPOSITORY / TOPIC).rglob("*.gz")}
    late = {path: content for path, content in files.items() if path.name == LATE}
    late[Path("partition=0/shop.public.customers+0+0000000900.json.gz")] = gzip.compress(b'{"before": null\n' * 9)[:-9]
    assert len(late) == 2
    landings = {"in_bucket": f"s3://{bucket.name}/{PREFIX}", "in_folder": str(tmp_path / PREFIX)}
    for name in landings:
        run(tmp_path, "alluvium.cli", "new", name)
    profile = tmp_path / "in_bucket" / "profiles.yml"
    local = """spark.sql.warehouse.dir: "{{ env_var('ALLUVIUM_HOME', '.alluvium') }}/warehouse\""""
    assert local in profile.read_text(encoding="utf-8")
    text = profile.read_text(encoding="utf-8").replace(
        local, f"spark.sql.warehouse.dir: {scheme}://{bucket.name}/tables"
    )
    profile.write_text(text, encoding="utf-8")
    for landed in ({path: content for path, content in files.items() if path not in late}, late):
        for path, content in landed.items():
            bucket.put_object(Key=f"{PREFIX}/{path}", Body=content)
            (tmp_path / PREFIX / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / PREFIX / path).write_bytes(content)
        for name, location in landings.items():
            if landed is not late:
                scaffold = ("scaffold", location, "--source", "shop", "--history", "--file-format", file_format)
                run(tmp_path / name, "alluvium.cli", *scaffold)
            run(tmp_path / name, "dbt.cli.main", "build", **HOME)
    state = "tables/silver.db/slv_shop__customers_state"
    log = {"delta": "_delta_log", "hudi": ".hoodie"}[file_format]
    assert any(f"/{log}/" in stored.key for stored in bucket.objects.filter(Prefix=state))
    # A table of Hudi's is not renamed there: each file would be copied.
    for name in landings:
        run(tmp_path / name, "dbt.cli.main", "run", "--full-refresh", "--select", "slv_shop__customers_state", **HOME)
    assert not list(bucket.objects.filter(Prefix=f"{state}__re"))
    for name in (
        "stg_shop__customers",
        "slv_shop__customers_state",
        "slv_shop__customers_history",
        "qrn_shop__customers",
    ):
        found, expected = (rows(tmp_path / project, f"silver.{name}") for project in landings)
        assert expected
        assert found == expected, name
