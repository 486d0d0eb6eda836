"""The demo and the commands of the README, run on the repository's own project and samples."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from alluvium import AlluviumError, cli
from alluvium.runtime import profile
from alluvium.server import hosting
from alluvium.server.hosting import Place
from scripts import demo

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Three builds of the whole project take longer than the rest of a quick run may.
pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).resolve().parents[3]
TABLES = ("customers", "orders", "order_items", "products")


def oracle_rows(checkpoint: str) -> dict[str, int]:
    """Rows of each table of the shop at a checkpoint of its capture."""
    checkpoints = json.loads((demo.CORPUS / "oracle" / "checkpoints.json").read_text(encoding="utf-8"))
    rows = next(entry["rows"] for entry in checkpoints if entry["checkpoint"] == checkpoint)
    return {table: rows[table] for table in TABLES}


def current_rows(spark: SparkSession) -> dict[str, int]:
    """Rows of each current table of the shop."""
    return {table: spark.table(f"silver.slv_shop__{table}").count() for table in TABLES}


@pytest.fixture(scope="module")
def shown(spark: SparkSession) -> dict[str, str]:
    """What `make demo`, twice, its changes and `make demo` again print, and what the tables held then."""
    printed: dict[str, str] = {}
    patch = pytest.MonkeyPatch()
    for step, arguments in (("first", []), ("second", []), ("changes", ["changes"]), ("last", [])):
        output = io.StringIO()
        console = Console(file=output, width=120)
        patch.setattr(demo, "Console", lambda console=console: console)
        assert demo.main(arguments) == 0, output.getvalue()
        printed[step] = output.getvalue()
        printed[f"{step} rows"] = json.dumps(current_rows(spark))
    patch.undo()
    return printed


@pytest.fixture
def small_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """The demo with the models of the two tables that it shows alone, and tables, files and a port of its own."""
    port = hosting.free_port()
    for name, value in (
        ("ALLUVIUM_HOME", tmp_path / "tables"),
        ("ALLUVIUM_LANDING", tmp_path / "landing"),
        ("ALLUVIUM_THRIFT_PORT", port),
        ("DBT_TARGET_PATH", tmp_path / "target"),
        ("DBT_LOG_PATH", tmp_path / "logs"),
    ):
        monkeypatch.setenv(name, str(value))
    build = demo.run_dbt
    selected = ("--select", "+agg_sales_by_region", "+dim_artist")
    monkeypatch.setattr(demo, "run_dbt", lambda console, *arguments: build(console, *arguments, *selected))

    def run(*arguments: str) -> str:
        output = io.StringIO()
        console = Console(file=output, width=120)
        monkeypatch.setattr(demo, "Console", lambda: console)
        assert demo.main(list(arguments)) == 0, output.getvalue()
        return output.getvalue()

    return run


def test_demo_through_a_server(small_demo: Callable[..., str]) -> None:
    place = Place(settings := profile.session_target(REPOSITORY, REPOSITORY, demo.EMBEDDED))
    printed = small_demo("--target", "thrift")
    assert "A Thrift server listens at 127.0.0.1:" in printed
    assert not place.is_held(), "the demo ends the server that it has started"
    assert re.search(r"shop\.orders +6 +240 +225 +15 +0 +113 +15 ", printed)
    assert re.search(r"^moma +MoMA: PostgreSQL, Debezium, Avro +[\d,]+ +[\d,]+ +[\d,]+ +\d+$", printed, re.MULTILINE)
    assert "gold.agg_sales_by_region" in printed
    assert re.search(r"\d+ tests passed\.", printed)
    assert "make demo-changes TARGET=thrift\n" in printed
    assert ".venv/bin/dbt show --inline" in printed

    address = hosting.start(settings, port=int(os.environ["ALLUVIUM_THRIFT_PORT"]))
    try:
        printed = small_demo("changes", "--target", "thrift")
        assert "listens at" not in printed
        assert re.search(r"shop\.orders +15 \(\+9\)", printed)
        assert ".venv/bin/dbt show --target thrift --inline" in printed
        assert place.address() == address, "the demo leaves the server that ran before"
        os.environ["ALLUVIUM_THRIFT_PORT"] = str(address.port + 1)
        with pytest.raises(AlluviumError, match=f"set ALLUVIUM_THRIFT_PORT={address.port}"):
            demo.main(["--target", "thrift"])
    finally:
        hosting.stop(settings)


def test_first_demo_equals_the_oracle_at_its_checkpoint(shown: dict[str, str]) -> None:
    assert json.loads(shown["first rows"]) == oracle_rows(demo.FIRST_CHECKPOINT)


def test_first_demo_shows_files_lines_and_results(shown: dict[str, str]) -> None:
    assert re.search(r"shop\.orders: \d+ new files, \d+ bytes", shown["first"])
    assert re.search(r"shop\.orders +6 +240 +225 +15 +0 +113 +15 ", shown["first"])
    assert "gold.agg_sales_by_region" in shown["first"]
    assert re.search(r"\d+ tests passed\.", shown["first"])
    assert shown["first"].count("make demo-changes") == shown["second"].count("make demo-changes") == 1


def test_second_demo_says_that_there_is_nothing_new(shown: dict[str, str]) -> None:
    assert "No file landed since the last run." in shown["second"]
    assert "shop.orders: no new files" in shown["second"]
    assert "Nothing new: every file is applied." in shown["second"]
    assert shown["second rows"] == shown["first rows"]


def test_changes_equal_the_oracle_at_the_end_and_are_shown(shown: dict[str, str]) -> None:
    assert json.loads(shown["changes rows"]) == oracle_rows("04-final")
    assert re.search(r"shop\.orders +15 \(\+9\)", shown["changes"])
    assert "make demo-changes" not in shown["changes"] + shown["last"]
    assert shown["last rows"] == shown["changes rows"]


@pytest.mark.parametrize("step", ["first", "changes"])
@pytest.mark.parametrize("source", demo.SYSTEMS)
def test_each_system_has_a_line(source: str, step: str, shown: dict[str, str]) -> None:
    _, _, systems = shown[step].partition("The source systems")
    (line,) = re.findall(rf"^{source} +(.+)$", systems, re.MULTILINE)
    assert line.startswith(demo.SYSTEMS[source])
    files, events, rows, checks = (int(figure.replace(",", "")) for figure in line.split()[-4:])
    assert files
    assert events
    assert rows
    assert checks


def test_marts_add_up(spark: SparkSession, shown: dict[str, str]) -> None:
    assert shown
    (row,) = spark.sql("""
        select
            (select sum(item_count) from gold.agg_sales_by_region) as in_marts,
            (select count(*) from silver.slv_shop__order_items) as in_silver,
            (select sum(artwork_count) from gold.agg_artworks_by_classification) as artworks
    """).collect()
    assert (row.in_marts, row.artworks) == (row.in_silver, 915)


def readme_commands() -> list[str]:
    """Every line of the shell blocks of the README."""
    blocks = re.findall(r"```shell\n(.*?)```", (REPOSITORY / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line]


@pytest.mark.parametrize("command", readme_commands())
def test_readme_command_works(command: str, shown: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown
    program, *arguments = shlex.split(command)
    if program == "make":
        assert (
            subprocess.run(["make", "-n", *arguments], cwd=REPOSITORY, capture_output=True, check=False).returncode == 0
        )
        return
    if program == ".venv/bin/alluvium":
        monkeypatch.setattr("sys.argv", [program, *arguments])
        monkeypatch.chdir(REPOSITORY)
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert not ended.value.code
        return
    assert program == ".venv/bin/dbt"
    if arguments in (["build"], ["test"]):
        # The demo has built and tested every model; here the command has to work as it is written.
        arguments += ["--select", "dim_customer"]
    from dbt.cli.main import dbtRunner

    directories = ["--project-dir", str(REPOSITORY), "--profiles-dir", str(REPOSITORY)]
    result = dbtRunner().invoke(["--quiet", *arguments, *directories])
    assert result.success, result.exception


def sql_guide_commands() -> list[str]:
    """Every command of the page about `alluvium sql`, but for the prompt."""
    page = (REPOSITORY / "docs" / "guide" / "sql.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    return [line for line in block.splitlines() if line != "alluvium sql"]


@pytest.mark.parametrize("command", sql_guide_commands())
def test_command_of_the_sql_guide_works(
    command: str,
    shown: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    assert shown
    typed, _, called = command.rpartition(" | ")
    program, *arguments = shlex.split(called)
    assert program == "alluvium"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "report.sql").write_text("select * from silver.slv_shop__orders", encoding="utf-8")
    monkeypatch.setattr("sys.argv", [program, *arguments, "--project-dir", str(REPOSITORY)])
    monkeypatch.setattr("sys.stdin", io.StringIO(" ".join(shlex.split(typed)[1:])))
    with pytest.raises(SystemExit) as ended:
        cli.main()
    output = capsys.readouterr()
    assert (ended.value.code or 0, output.err) == (0, "")
    assert (tmp_path / "report.csv").exists() if "--output" in arguments else output.out
