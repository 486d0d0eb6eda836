"""The examples of the guide, typed in as it says: the quick start is built, and every query on its pages runs."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from .guide import FOLLOWED, GUIDE, REPOSITORY, blocks, table_after, text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUICK_START = GUIDE / "quick-start-own-files.md"
OPERATING = GUIDE / "operating.md"
OPERATIONS = GUIDE / "operations.md"
PURGE = GUIDE / "purge.md"
QUARANTINE = GUIDE / "quarantine.md"
TABLES = GUIDE / "tables.md"
TOPIC = "crm.public.customers"

pytestmark = pytest.mark.slow


def write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def write_models(project: Path, page: Path) -> None:
    """The models of a page and their YAML, in the files that it names."""
    for block in [*blocks(page, "yaml"), *blocks(page, "sql")]:
        if "file" in block.attributes:
            write(project / block.attributes["file"], block.body.encode())


def build(project: Path, *options: str) -> None:
    from dbt.cli.main import dbtRunner

    outcome: Any = dbtRunner().invoke(
        ["--quiet", "build", "--project-dir", str(project), "--profiles-dir", str(project), *options]
    )
    assert outcome.exception is None, outcome.exception
    assert outcome.success, [result.message for result in outcome.result if result.status in ("error", "fail")]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Path:
    """The project of the quick start, its models and its file taken from the page, and the history's; built once."""
    root = tmp_path_factory.mktemp("guide")
    shutil.copytree(REPOSITORY / "macros", root / "macros")
    shutil.copytree(REPOSITORY / "tests" / "generic", root / "tests" / "generic")
    shutil.copyfile(REPOSITORY / "profiles.yml", root / "profiles.yml")
    settings: dict[str, Any] = yaml.safe_load((REPOSITORY / "dbt_project.yml").read_text(encoding="utf-8"))
    for paths in [key for key in settings if key.endswith("-paths")]:
        del settings[paths]
    settings |= {"model-paths": ["models"], "macro-paths": ["macros"], "test-paths": ["tests"]}
    del settings["models"]["alluvium"]["gold"]
    write(root / "dbt_project.yml", yaml.safe_dump(settings).encode())
    write_models(root, QUICK_START)
    write_models(root, TABLES)
    (file,) = blocks(QUICK_START, "json")
    write(landing() / file.attributes["file"], file.body.encode())
    build(root)
    return root


def landing(topic: str = TOPIC) -> Path:
    return Path(os.environ["ALLUVIUM_LANDING"]) / "crm" / topic


@pytest.fixture(scope="module")
def results(project: Path, spark: SparkSession) -> list[tuple[list[str], list[dict[str, str]], list[list[str]]]]:
    """Columns and rows of each query of the quick start that shows its result, and the result as shown."""
    found = []
    for block in blocks(QUICK_START, "sql"):
        table = table_after(block)
        if table is not None:
            frame = spark.sql(block.body)
            answer = frame.selectExpr(*(f"cast(`{name}` as string) as `{name}`" for name in frame.columns)).collect()
            found.append((frame.columns, [row.asDict() for row in answer], table))
    return found


def test_quick_start_gives_what_it_shows(
    results: list[tuple[list[str], list[dict[str, str]], list[list[str]]]],
) -> None:
    assert len(results) == 2
    for columns, answer, (heading, *shown) in results:
        assert columns == heading
        assert [list(row.values()) for row in answer] == shown


@pytest.fixture(scope="module")
def quarantined(project: Path, results: object, spark: SparkSession) -> list[tuple[str, str | None]]:
    """Reason and detail of each example line of the page on quarantine, and of a torn file and Latin-1."""
    examples = [block for block in blocks(QUARANTINE, "json") if "reason" in block.attributes]
    content = "".join(block.body for block in examples).encode()
    latin = '{"before":null,"after":{"id":3,"name":"M\u00fcller"},"source":{"lsn":300},"op":"c"}\n'.encode("latin-1")
    write(landing() / f"partition=0/{TOPIC}+0+0000000004.json", content + latin)
    lines = b"".join(blocks(QUICK_START, "json")[0].body.encode() for _ in range(50))
    write(landing() / f"partition=0/{TOPIC}+0+0000000020.json.gz", gzip.compress(lines, mtime=0)[:-20])
    build(project)
    found = spark.sql("select * from silver.qrn_crm__customers order by _cdc_file_offset, _cdc_line").collect()
    return [(row["_cdc_reject_reason"], row["_cdc_reject_detail"]) for row in found]


def test_each_example_is_rejected_for_the_reason_of_its_section(quarantined: list[tuple[str, str | None]]) -> None:
    examples = [block.attributes for block in blocks(QUARANTINE, "json") if "reason" in block.attributes]
    expected = [(example["reason"], example.get("detail")) for example in examples]
    *lines, latin, torn = quarantined
    assert lines == expected
    assert latin[0] == "invalid_utf8"
    assert torn[0] == "unreadable_file"
    assert (torn[1] or "").startswith("truncated")


@pytest.fixture(scope="module")
def operated(quarantined: object, project: Path, spark: SparkSession) -> list[str]:
    """What each command of the page on operations printed, in the order of the page; all have to end well."""
    from dbt.cli.main import dbtRunner

    printed = []
    for block in blocks(OPERATIONS, "sh"):
        for command in block.body.splitlines():
            sink = io.StringIO()
            arguments = [*shlex.split(command)[1:], "--project-dir", str(project), "--profiles-dir", str(project)]
            with contextlib.redirect_stdout(sink):
                outcome = dbtRunner().invoke(["--no-use-colors", *arguments])
            assert outcome.success, f"{command}\n{sink.getvalue()}"
            printed.append(sink.getvalue())
    return printed


def test_every_command_of_the_page_on_operations_ends_well(operated: list[str], spark: SparkSession) -> None:
    assert len(operated) == 18
    assert sum("nothing is changed; `dry_run: false` does it" in said for said in operated) == 5
    released = spark.sql("select reject_reason from silver.cdc_released_lines").collect()
    assert {row["reject_reason"] for row in released} == {"unknown_shape", "malformed_json"}


def test_every_query_of_the_guide_runs(operated: object, spark: SparkSession) -> None:
    others = [page for page in sorted(GUIDE.glob("*.md")) if page.stem not in FOLLOWED]
    queries = [block for page in others for block in blocks(page, "sql") if "file" not in block.attributes]
    assert len(queries) > 8
    for block in queries:
        assert spark.sql(block.body).columns, f"{block.page.name}: {text(block.page)}"
        spark.sql(block.body).collect()


@pytest.fixture(scope="module")
def living_after_marker(operated: object, project: Path, spark: SparkSession) -> list[dict[int, str]]:
    """The customers, by key, after an event whose transaction is open, and after the transaction's END."""
    write_models(project, OPERATING)
    sources = project / "models/bronze/crm/_crm__sources.yml"
    declared = sources.read_text(encoding="utf-8")
    assert declared.count("key: [id]\n") == 1
    named = declared.replace("key: [id]\n", "key: [id]\n              data_collection: public.customers\n")
    sources.write_text(named, encoding="utf-8")
    state = project / "models/silver/crm/slv_crm__customers_state.sql"
    of_log = state.read_text(encoding="utf-8")
    assert of_log.count('current_state(ref("stg_crm__customers"))') == 1
    state.write_text(
        of_log.replace('ref("stg_crm__customers")', 'ref("stg_crm__customers_complete")'), encoding="utf-8"
    )
    event = json.loads(blocks(QUICK_START, "json")[0].body.splitlines()[2])
    event["after"]["name"] = "Countess"
    event["source"] |= {"lsn": 900, "sequence": '["880","900"]', "txId": 90}
    event["transaction"] = {"id": "90:900", "total_order": 1, "data_collection_order": 1}
    markers = [
        {"status": "BEGIN", "id": "90:890", "event_count": None, "data_collections": None, "ts_ms": 1714638600000},
        {
            "status": "END",
            "id": "90:910",
            "event_count": 1,
            "data_collections": [{"data_collection": "public.customers", "event_count": 1}],
            "ts_ms": 1714638600100,
        },
    ]
    write(landing() / f"partition=0/{TOPIC}+0+0000000100.json", json.dumps(event).encode())
    (commands,) = [
        [line.split()[2:] for line in block.body.splitlines()]
        for block in blocks(OPERATING, "sh")
        if "stg_crm__transaction_status" in block.body
    ]
    found = []
    for offset, marker in enumerate(markers):
        name = f"partition=0/crm.transaction+0+{offset:010d}.json"
        write(landing("crm.transaction") / name, json.dumps(marker).encode())
        if offset == 0:
            for command in commands:
                build(project, *command)
        build(project)
        rows = spark.sql("select id, name from silver.slv_crm__customers").collect()
        found.append({row["id"]: row["name"] for row in rows})
    return found


def test_whole_transactions_are_built_as_the_page_says(living_after_marker: list[dict[int, str]]) -> None:
    while_open, complete = living_after_marker
    assert while_open[1] == "Ada"
    assert complete == while_open | {1: "Countess"}


def test_commands_of_the_page_on_purges_do_what_it_says(
    living_after_marker: object, project: Path, spark: SparkSession
) -> None:
    from dbt.cli.main import dbtRunner

    def lines_of_key() -> int:
        return spark.sql("select 1 from silver.stg_crm__customers where id = 2").count()

    # Those of the quick start, and those of the torn file that come before its tear.
    of_key = lines_of_key()
    assert of_key > 2
    commands = [line for block in blocks(PURGE, "sh") for line in block.body.splitlines()]
    assert len(commands) == 4
    for place, command in enumerate(commands):
        folders = ["--project-dir", str(project), "--profiles-dir", str(project)]
        outcome: Any = dbtRunner().invoke(["--quiet", *shlex.split(command)[1:], *folders])
        assert outcome.success, (command, outcome.exception)
        assert lines_of_key() == (of_key if place == 0 else 0), command
    assert spark.sql("select 1 from silver.slv_crm__customers_state where id = 2").count() == 0
    assert spark.sql("select 1 from silver.slv_crm__customers_history where id = 2").count() == 0
