"""Alluvium as a package: the pages on a new and on an existing project, typed in as they say. A slow suite."""

from __future__ import annotations

import gzip
import json
import os
import re
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import typer
import yaml

from alluvium import cli
from docs.guide import GUIDE, REPOSITORY, blocks

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

pytestmark = pytest.mark.slow

CUSTOMERS = REPOSITORY / "samples/pg-envelope-json-schemas"
NEW, EXISTING = GUIDE / "new-project.md", GUIDE / "use-as-package.md"
# Reserved words, names of the parts of an envelope, upper case, signs that Parquet refuses.
ODD = ("select", "Order", "group", "from", "key", "value", "op", "before", "_x", "weiß", "a b", "a,b;{c}(d)=e", "`q`")
ODD_TOPIC = "srv.public.ORDER ITEMS (größe)"
ODD_TABLE = "silver.slv_odd__order_items_gr_e"
MART = """
select
    mood,
    count(*) as customers
from {{ ref("slv_web__customers") }}
group by mood
"""
OWN_MODEL = """
{{ config(materialized="incremental", incremental_strategy="%s", file_format="parquet", partition_by="part") }}
select %s as id, 'x' as part
"""


@dataclass
class Session:
    """Somebody's terminal: commands of the pages, in a working directory of its own.

    Attributes:
        directory: the working directory.
        spark: the session that dbt finds.
    """

    directory: Path
    spark: SparkSession

    def types(self, line: str, **replaced: str) -> Any:
        """Runs one line of a page; a text of it can be replaced by another one."""
        for old, new in replaced.items():
            assert old in line
            line = line.replace(old, new)
        variable = re.fullmatch(r'export (\w+)="\$\(alluvium package\)"', line)
        program, *words = shlex.split(line)
        if variable:
            os.environ[variable[1]] = str(REPOSITORY / "alluvium" / "dbt_package")
            return None
        if program == "cd":
            self.directory = self.directory / words[0]
            return None
        before = Path.cwd()
        os.chdir(self.directory)
        try:
            return self.alluvium(*words) if program == "alluvium" else self.dbt(*words)
        finally:
            os.chdir(before)

    def alluvium(self, *words: str) -> int:
        outcome: int | None = typer.main.get_command(cli.app).main(list(words), standalone_mode=False)
        return outcome or 0

    def dbt(self, *words: str) -> Any:
        """The result; fails where dbt does."""
        outcome = self.tries(*words)
        failed = [node.message for node in getattr(outcome.result, "results", []) if node.status in ("error", "fail")]
        assert outcome.success, (outcome.exception, failed)
        return outcome.result

    def tries(self, *words: str) -> Any:
        from dbt.cli.main import dbtRunner

        location = str(self.directory)
        return dbtRunner().invoke(["--quiet", *words, "--project-dir", location, "--profiles-dir", location])

    def rows(self, table: str, *columns: str) -> list[Row]:
        return self.spark.table(table).select(*(f"`{name}`" for name in columns)).collect()


def land(folder: Path, *, is_all: bool) -> None:
    """The customers' files: without the last of each partition, or all."""
    source = CUSTOMERS / "bronze/confluent-json-gz"
    for partition in sorted(source.glob("topics/*/*")):
        files = sorted(partition.iterdir())
        for file in files if is_all else files[:-1]:
            target = folder / file.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)


def true_customers() -> tuple[list[str], set[int]]:
    """Columns in their order, and the keys of the living rows."""
    folder = CUSTOMERS / "oracle/04-final"
    tables = json.loads((folder / "tables.json").read_text(encoding="utf-8"))["tables"]
    # Not splitlines: values have line separators of Unicode.
    lines = gzip.decompress((folder / "customers.jsonl.gz").read_bytes()).decode().removesuffix("\n").split("\n")
    names = [column[0] for column in tables["customers"]["columns"]]
    return names, {int(json.loads(line)["id"]) for line in lines}


def odd_row(number: int) -> dict[str, Any]:
    return {"Order No": number, **{name: f"{name} {number}" for name in ODD}}


def land_odd(folder: Path) -> None:
    """Three rows, one updated, one deleted."""
    events = [
        ("c", None, odd_row(1)),
        ("c", None, odd_row(2)),
        ("c", None, odd_row(3)),
        ("u", odd_row(2), odd_row(2) | {"Order": "new", "a b": None}),
        ("d", odd_row(3), None),
    ]
    source = {"connector": "postgresql", "schema": "public", "table": "ORDER ITEMS (größe)", "txId": 1}
    lines = [
        {"before": before, "after": after, "op": op, "source": source | {"lsn": 10 * place, "ts_ms": 1_700_000_000_000}}
        for place, (op, before, after) in enumerate(events, start=1)
    ]
    file = folder / "topics" / ODD_TOPIC / "partition=0" / f"{ODD_TOPIC}+0+0000000000.json"
    file.parent.mkdir(parents=True)
    file.write_text("".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines), encoding="utf-8")


def answer_odd(sources: Path) -> None:
    """Three rows cannot tell which of two unique columns is the key: the scaffold asks, and one line answers."""
    text = sources.read_text(encoding="utf-8")
    assert "is the key Order No, or is it key?" in text
    answered = text.replace("replica_identity: full\n", "replica_identity: full\n              key: [Order No]\n")
    assert answered != text
    sources.write_text(answered, encoding="utf-8")


def commands(page: Path, number: int = 0) -> list[str]:
    return blocks(page, "sh")[number].body.splitlines()


def versions(spark: SparkSession, schema: str) -> dict[str, int]:
    """Newest commit of each Delta table of the two sources."""
    found = {}
    for row in spark.sql(f"show tables in {schema}").collect():
        if re.search(r"_(web|odd)__|agg_mood", row.tableName) and not row.isTemporary:
            name = f"{schema}.{row.tableName}"
            detail = spark.sql(f"describe extended {name}").collect()
            if any(line.col_name == "Provider" and line.data_type == "delta" for line in detail):
                found[name] = spark.sql(f"describe history {name} limit 1").collect()[0].version
    return found


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Iterator[Session]:
    """The page on a new project, with an odd feed and a mart beside the page's own; built once."""
    root = tmp_path_factory.mktemp("new")
    land(root / "landing/web", is_all=False)
    land_odd(root / "landing/odd")
    variable = os.environ.pop("ALLUVIUM_PACKAGE", None)
    terminal = Session(root, spark)
    *lines, build, show = commands(NEW)
    for line in lines:
        terminal.types(line, **({"--source web": "--source web --history"} if " scaffold " in line else {}))
    terminal.types("alluvium scaffold ../landing/odd --source odd --deletes hard")
    answer_odd(terminal.directory / "models/bronze/odd/_odd__sources.yml")
    mart = terminal.directory / "models/gold/sales/agg_mood"
    mart.parent.mkdir(parents=True)
    mart.with_suffix(".sql").write_text(MART, encoding="utf-8")
    columns = [{"name": "mood", "data_type": "string"}, {"name": "customers", "data_type": "bigint"}]
    models = {"version": 2, "models": [{"name": "agg_mood", "columns": columns}]}
    mart.with_suffix(".yml").write_text(yaml.safe_dump(models), encoding="utf-8")
    terminal.types(build)
    terminal.types(show)
    yield terminal
    if variable:
        os.environ["ALLUVIUM_PACKAGE"] = variable


def test_columns_of_a_new_project_are_the_sources(new: Session) -> None:
    names, _ = true_customers()
    columns = new.spark.table("silver.slv_web__customers").columns
    assert columns[: len(names)] == names
    # Dropped in the source, and in the events of before.
    assert [name for name in columns[len(names) :] if not name.startswith("_")] == ["legacy_code"]


def test_odd_names_are_kept(new: Session) -> None:
    names = ["Order No", *ODD]
    assert new.spark.table(ODD_TABLE).columns[: len(names)] == names
    rows = sorted(tuple(row) for row in new.spark.table(ODD_TABLE).collect())
    expected = [odd_row(1), odd_row(2) | {"Order": "new", "a b": None}]
    assert [row[: len(names)] for row in rows] == [tuple(row.values()) for row in expected]
    (deleted,) = new.spark.table(f"{ODD_TABLE}_state").where("_is_deleted").collect()
    assert (deleted["Order No"], deleted["Order"]) == (3, None), "deletes are hard"


@pytest.fixture(scope="module")
def landed_all(new: Session) -> Session:
    """Built again with the rest of the files."""
    land(new.directory.parent / "landing/web", is_all=True)
    new.dbt("build")
    return new


def test_rows_follow_the_files(landed_all: Session) -> None:
    spark = landed_all.spark
    _, keys = true_customers()
    assert {row.id for row in landed_all.rows("silver.slv_web__customers", "id")} == keys
    assert spark.table("silver.slv_web__customers").count() == len(keys)
    current = spark.table("silver.slv_web__customers_history").where("_is_current")
    assert {row.id for row in current.select("id").collect()} == keys
    assert sum(row.customers for row in spark.table("gold.agg_mood").collect()) == len(keys)
    assert spark.table("silver.qrn_web__customers").count() == 0
    counted = spark.table("silver.cdc_run_ledger").where("table_name = 'silver.stg_web__customers'")
    assert counted.selectExpr("sum(files)").collect()[0][0] == 17


def test_nothing_new_writes_nothing(landed_all: Session) -> None:
    before = versions(landed_all.spark, "silver") | versions(landed_all.spark, "gold")
    assert len(before) == 6
    landed_all.dbt("build")
    assert versions(landed_all.spark, "silver") | versions(landed_all.spark, "gold") == before


def dump(terminal: Session, table: str, file: Path) -> None:
    """As PostgreSQL's COPY writes it: nothing is NULL."""

    def cell(value: str | None) -> str:
        return "" if value is None else '"' + value.replace('"', '""') + '"'

    texts = terminal.spark.table(table).selectExpr(*(f"cast(`{name}` as string)" for name in ("id", "name", "email")))
    lines = [",".join(texts.columns), *(",".join(map(cell, row)) for row in texts.collect())]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_commands_by_hand(landed_all: Session, tmp_path: Path) -> None:
    stage, reconcile = commands(EXISTING, -1)
    landed_all.types(stage)
    dump(landed_all, "silver.slv_web__customers", tmp_path / "customers.csv")
    columns = "format: csv, columns: [name, email]"
    landed_all.types(reconcile, **{"/dumps": str(tmp_path), "format: csv": columns})
    lines = (tmp_path / "customers.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "customers.csv").write_text("".join(lines[:-1]), encoding="utf-8")
    with pytest.raises(AssertionError):
        landed_all.types(reconcile, **{"/dumps": str(tmp_path), "format: csv": columns})
    landed_all.dbt("docs", "generate")
    for line in commands(NEW, 1):
        landed_all.types(line)
    full = sorted(map(tuple, landed_all.spark.table(ODD_TABLE).collect()))
    refused = landed_all.tries("build", "--full-refresh", "--select", "source:odd+")
    assert 'name of a column is "a,b;{c}(d)=e"; allowed: a name without a comma, or no table yet' in str(
        refused.result.results
    )
    for table in ("stg_odd__order_items_gr_e", "slv_odd__order_items_gr_e_state"):
        landed_all.spark.sql(f"drop table silver.{table}")
    landed_all.dbt("build", "--full-refresh", "--select", "source:odd+")
    names = len(ODD) + 1
    again = sorted(map(tuple, landed_all.spark.table(ODD_TABLE).collect()))
    assert [row[:names] for row in again] == [row[:names] for row in full]


@pytest.fixture(scope="module")
def existing(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Session:
    """A project with a name, a profile, a rule for schemas and models of its own, and what the page adds."""
    root = tmp_path_factory.mktemp("existing")
    land(root / "landing/web", is_all=True)
    project = root / "theirs"
    profile = yaml.safe_load((REPOSITORY / "profiles.yml").read_text(encoding="utf-8"))["alluvium"]
    profile["outputs"]["local"]["schema"] = "dwh"
    own = {"name": "warehouse", "profile": "their_profile", "flags": {"send_anonymous_usage_stats": False}}
    texts = {
        "profiles.yml": yaml.safe_dump({"their_profile": profile}),
        "dbt_project.yml": yaml.safe_dump(own),
        "models/theirs/appended.sql": OWN_MODEL % ("append", 1),
        "models/theirs/overwritten.sql": OWN_MODEL % ("insert_overwrite", 1),
    }
    for kind in ("yaml", "sql"):
        for block in blocks(EXISTING, kind):
            if "file" in block.attributes:
                path = block.attributes["file"]
                texts[path] = texts.get(path, "") + block.body
    for path, text in texts.items():
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text(text, encoding="utf-8")
    terminal = Session(project, spark)
    install, (scaffold, _) = commands(EXISTING), commands(EXISTING, 1)
    for line in [*install, scaffold]:
        terminal.types(line)
    return terminal


def test_without_the_macros_nothing_is_built(existing: Session) -> None:
    """Of the three only the merge would be found with `dispatch`, and the sentence comes before any table."""
    macros = existing.directory / "macros/alluvium.sql"
    text = macros.read_text(encoding="utf-8")
    macros.unlink()
    try:
        outcome = existing.tries("build", "--select", "source:web+")
    finally:
        macros.write_text(text, encoding="utf-8")
    messages = {node.node.name: node.message for node in outcome.result if node.status == "error"}
    assert "macro behind incremental_strategy append" in messages["stg_web__customers"]
    assert "docs/guide/use-as-package.md" in messages["stg_web__customers"]
    assert not existing.spark.catalog.tableExists("dwh_silver.stg_web__customers")


def test_existing_project(existing: Session) -> None:
    """Schemas by dbt's own rule; models of the project's own stay dbt-spark's."""
    existing.types(commands(EXISTING, 1)[1])
    _, keys = true_customers()
    assert {row.id for row in existing.rows("dwh_silver.slv_web__customers", "id")} == keys
    assert existing.spark.table("dwh.cdc_file_ledger").count() == 17
    for name, strategy in (("appended", "append"), ("overwritten", "insert_overwrite")):
        file = existing.directory / f"models/theirs/{name}.sql"
        file.write_text((OWN_MODEL % (strategy, 2)).replace("'x'", "'y'"), encoding="utf-8")
    existing.dbt("build", "--select", "appended", "overwritten")
    for name in ("appended", "overwritten"):
        rows = existing.rows(f"dwh.{name}", "id", "part")
        assert sorted(map(tuple, rows)) == [(1, "x"), (2, "y")], f"{name}: a partition that is not written stays"


def test_merge_without_its_macro_is_refused(existing: Session) -> None:
    macros = existing.directory / "macros/alluvium.sql"
    text = macros.read_text(encoding="utf-8")
    macros.write_text(text.replace("macro spark__get_merge_sql", "macro another_name"), encoding="utf-8")
    try:
        outcome = existing.tries("run", "--select", "slv_web__customers_state")
    finally:
        macros.write_text(text, encoding="utf-8")
    (message,) = [node.message for node in outcome.result if node.node.name == "slv_web__customers_state"]
    assert "macro behind incremental_strategy merge" in message
