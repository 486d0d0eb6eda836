"""`alluvium sql` on Spark: what it reads, refuses and writes, value by value."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from alluvium import cli
from alluvium.profile import SessionTarget
from alluvium.query import Format
from alluvium.query import prompt as prompt_module
from alluvium.query.engine import Engine, Kind, Result
from alluvium.query.formats import rows
from alluvium.query.names import Names
from alluvium.query.output import Output
from alluvium.query.prompt import Prompt
from alluvium.query.statements import split
from alluvium.query.values import date_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).resolve().parents[3]
SCHEMA = "look_at"

# Each with a case that goes wrong where a value passes through a float, Python's dates, a local time zone or a text.
VALUES = {
    "long_decimal": "cast('1234567890123456789012345678.0123456789' as decimal(38,10))",
    "all_digits": f"cast('-{'9' * 38}' as decimal(38,0))",
    "zero": "cast(0 as decimal(38,10))",
    "largest": "9223372036854775807",
    "nothing": "cast(null as string)",
    "empty": "''",
    "null_text": "'NULL'",
    "first_day": "date'0001-01-01'",
    "last_day": "date'9999-12-31'",
    "before_christ": "date'-0044-03-15'",
    "far_day": "date_add(date'9999-12-31', 1)",
    "first_moment": "timestamp'0001-01-01 00:00:00 UTC'",
    "spring": "timestamp'2024-03-10 07:30:00.5 UTC'",
    "autumn": "timestamp'2024-11-03 06:30:00 UTC'",
    "earliest": "timestamp_micros(-9223372036854775808)",
    "local_time": "timestamp_ntz'2024-03-10 02:30:00'",
    "not_a_number": "double('NaN')",
    "minus_infinity": "float('-Infinity')",
    "tenth": "float(0.1)",
    "third": "1 / 3D",
    "bytes": "x'00ff'",
    "truth": "true",
    "nested": "array(named_struct('d', date'-0044-03-15', 'm', map('k', cast(1.10 as decimal(38,10)))), null)",
    "span": "interval '1-2' year to month",
    "void": "null",
}
QUERY = f"select {', '.join(f'{value} as {name}' for name, value in VALUES.items())}"
CSV = (
    f'1234567890123456789012345678.0123456789,-{"9" * 38},0.0000000000,9223372036854775807,,"",NULL,0001-01-01,'
    "9999-12-31,-0044-03-15,+10000-01-01,0001-01-01T00:00:00+00:00,2024-03-10T07:30:00.500000+00:00,"
    "2024-11-03T06:30:00+00:00,-290308-12-21T19:59:05.224192+00:00,2024-03-10T02:30:00,NaN,-Infinity,0.1,"
    '0.3333333333333333,00FF,true,"[{""d"":""-0044-03-15"",""m"":{""k"":1.1000000000}},null]",'
    "INTERVAL '1-2' YEAR TO MONTH,"
)

READING = [
    "select 1",
    "with a as (select 1) select * from a",
    "values (1), (2)",
    "table x",
    "from x select a",
    "(select 1) union all (select 2)",
    "select /*+ broadcast(x) */ 1 -- the end",
    "show tables",
    "show create table x",
    "describe x",
    "desc extended x",
    "describe history x",
    "describe detail x",
    "explain insert into x select 1",
    "list jars",
]
SETTING = ["use x", "use schema x", "set a = b", "set time zone 'UTC'", "reset", "refresh table x"]
CHANGING = [
    "insert into x select 1",
    "with a as (select 1) insert into x select * from a",
    "from x insert into a select * insert into b select *",
    "insert overwrite directory '/tmp/x' using csv select 1",
    "create table x (a int)",
    "create or replace view x as select 1",
    "create temporary view x as select 1",
    "drop table x",
    "drop schema x cascade",
    "delete from x",
    "update x set a = 1",
    "merge into x using y on x.a = y.a when matched then delete",
    "truncate table x",
    "alter table x add columns (b int)",
    "alter table x set tblproperties (a = 'b')",
    "comment on table x is 'y'",
    "analyze table x compute statistics",
    "msck repair table x",
    "load data inpath 'x' into table y",
    "cache table x",
    "add jar x",
    "optimize x",
    "vacuum x",
    "restore table x to version as of 0",
    "create table y shallow clone x",
    "convert to delta parquet.`/x`",
    "reorg table x apply (purge)",
]


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> Iterator[SparkSession]:
    """A schema with one table, and that of the profile."""
    spark.sql("create schema if not exists silver")
    spark.sql(f"create schema if not exists {SCHEMA}")
    spark.sql(f"create or replace table {SCHEMA}.orders (order_no bigint, note string) using delta")
    spark.sql(f"insert into {SCHEMA}.orders values (1, ''), (2, null)")
    yield spark
    spark.sql(f"drop schema {SCHEMA} cascade")
    spark.catalog.setCurrentDatabase("default")


@pytest.fixture
def target() -> SessionTarget:
    return SessionTarget(REPOSITORY, "local", SCHEMA, {})


@pytest.fixture
def engine(tables: SparkSession, target: SessionTarget) -> Iterator[Engine]:
    with Engine(target, may_write=False, is_quiet=False, keeps_output=False) as made:
        yield made


def run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str, typed: str = ""
) -> tuple[int, str, str]:
    """Exit code, output and errors of the command line, in this process and its session."""
    monkeypatch.setattr("sys.argv", ["alluvium", "sql", "--project-dir", str(REPOSITORY), *arguments])
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    with pytest.raises(SystemExit) as ended:
        cli.main()
    output = capsys.readouterr()
    return int(ended.value.code or 0), output.out, output.err


@pytest.mark.parametrize(
    ("kind", "statements"), [(Kind.QUERY, READING), (Kind.SETTING, SETTING), (Kind.CHANGE, CHANGING)]
)
def test_kinds_of_statements(engine: Engine, kind: Kind, statements: list[str]) -> None:
    assert {statement: engine.kind(statement) for statement in statements} == dict.fromkeys(statements, kind)


def test_nothing_runs_where_one_statement_must_not(
    tables: SparkSession, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, output, errors = run(capsys, monkeypatch, "-e", f"select 1; drop table {SCHEMA}.orders")
    assert (code, output) == (1, "")
    assert errors == (
        f"alluvium: Not run, because it is no query: drop table {SCHEMA}.orders "
        "(alluvium sql only reads; --write lets it change tables).\n"
    )
    assert tables.catalog.tableExists(f"{SCHEMA}.orders")


def test_write_runs_it(
    tables: SparkSession, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    created = f"create table {SCHEMA}.made as select 1 as a"
    code, output, errors = run(capsys, monkeypatch, "--write", "-e", created, "-e", f"select * from {SCHEMA}.made")
    assert (code, errors) == (0, "")
    assert output.split() == ["a", "-", "1"]
    tables.sql(f"drop table {SCHEMA}.made")


def semicolons(spark: SparkSession, text: str) -> list[int]:
    """Where Spark's lexer sees semicolons."""
    jvm = spark._jvm
    assert jvm is not None
    parser = jvm.org.apache.spark.sql.catalyst.parser
    lexer = parser.SqlBaseLexer(parser.UpperCaseCharStream(jvm.org.antlr.v4.runtime.CharStreams.fromString(text)))
    lexer.removeErrorListeners()
    found = []
    token = lexer.nextToken()
    while token.getType() != -1:
        if token.getText() == ";":
            found.append(token.getStartIndex())
        token = lexer.nextToken()
    return found


# `+` after `/*` begins a hint, in which Spark has tokens; a semicolon in it is an error anyway.
@given(st.text(alphabet="'\"`\\;-/*\n rRa", max_size=24))
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
def test_text_is_cut_where_sparks_lexer_sees_a_semicolon(spark: SparkSession, text: str) -> None:
    cut = split(text)
    if not cut.is_open:
        ends = [-1, *semicolons(spark, text), len(text)]
        parts = [text[begin + 1 : end].strip() for begin, end in pairwise(ends)]
        assert list(cut.all) == [part for part in parts if split(part).all]


def test_csv_has_every_value(
    tables: SparkSession, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, output, errors = run(capsys, monkeypatch, "--format", "csv", typed=f"{QUERY};")
    assert (code, errors) == (0, "")
    assert output == f"{','.join(VALUES)}\r\n{CSV}\r\n"


def test_json_has_every_value(
    tables: SparkSession, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = tmp_path / "script.sql"
    script.write_text(f"use {SCHEMA}; set spark.sql.session.timeZone = UTC;\n{QUERY}", encoding="utf-8")
    code, output, errors = run(capsys, monkeypatch, "--format", "jsonl", "-f", str(script))
    assert (code, errors) == (0, "")
    found = json.loads(output, parse_float=Decimal)
    assert list(found) == list(VALUES)
    assert found["long_decimal"] == Decimal("1234567890123456789012345678.0123456789")
    assert str(found["zero"]) == "0E-10"
    assert (found["all_digits"], found["largest"]) == (-(10**38 - 1), 2**63 - 1)
    assert (found["nothing"], found["empty"], found["null_text"], found["void"]) == (None, "", "NULL", None)
    assert (found["before_christ"], found["far_day"]) == ("-0044-03-15", "+10000-01-01")
    assert (found["spring"], found["local_time"]) == ("2024-03-10T07:30:00.500000+00:00", "2024-03-10T02:30:00")
    assert (found["not_a_number"], found["minus_infinity"], str(found["tenth"])) == ("NaN", "-Infinity", "0.1")
    assert (found["bytes"], found["truth"]) == ("AP8=", True)
    assert found["nested"] == [{"d": "-0044-03-15", "m": {"k": Decimal("1.1")}}, None]


def test_parquet_has_every_value(
    tables: SparkSession, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "values.parquet"
    code, *said = run(capsys, monkeypatch, "--format", "parquet", "--output", str(file), "-e", QUERY)
    assert (code, said) == (0, ["", ""])
    table = pq.read_table(file)
    types = dict(zip(table.column_names, table.schema.types, strict=True))
    assert types["long_decimal"] == pa.decimal128(38, 10)
    assert types["before_christ"] == pa.date32()
    assert types["spring"] == pa.timestamp("us", tz="UTC")
    # Spark reads the same values back, and its own texts of them are equal.
    read = tables.read.parquet(str(file))
    comparable = [name for name in VALUES if name not in ("nothing", "void", "span")]
    texts = [f"cast({name} as string)" for name in comparable if name not in ("nested", "bytes")] + ["hex(bytes)"]
    assert read.selectExpr(*texts).collect() == tables.sql(QUERY).selectExpr(*texts).collect()
    assert (
        read.selectExpr("cast(nested as string)").collect()
        == tables.sql(QUERY).selectExpr("cast(nested as string)").collect()
    )


def test_table_has_every_value(
    tables: SparkSession, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, output, _ = run(capsys, monkeypatch, "-e", f"select * from ({QUERY}) where zero = 0")
    assert code == 0
    line = output.splitlines()[2]
    for text in ("1234567890123456789012345678.0123456789", "-0044-03-15", "NULL", "''", "'NULL'", "00FF", "-Infinity"):
        assert f"  {text}  " in f"  {line}  "


def test_days_have_the_text_that_spark_has(engine: Engine, tables: SparkSession) -> None:
    days = "select date_from_unix_date(cast(id * 97003 as int)) as day from range(-22000, 22000)"
    texts = tables.sql(f"select cast(day as string) as text from ({days}) order by day").collect()
    found = engine.run(f"select * from ({days}) order by day", lambda result: list(rows(result)))
    assert [date_text(day) for (day,) in found] == [text for (text,) in texts]


def test_columns_of_one_name_are_kept_or_refused(
    tables: SparkSession, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    statement = "select 1 as a, 2 as a, interval '1' day as a, struct(3 as b, 4 as b) as c"
    _, output, _ = run(capsys, monkeypatch, "--format", "csv", "-e", statement)
    assert output.splitlines()[1] == """1,2,INTERVAL '1' DAY,"{""b"":3,""b"":4}\""""
    code, output, errors = run(capsys, monkeypatch, "--format", "jsonl", "-e", statement)
    assert (code, output) == (1, "")
    assert "a is there twice" in errors


def test_names_are_those_of_the_tables(
    tables: SparkSession, engine: Engine, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("orders", f"{SCHEMA}.orders", f"spark_catalog.{SCHEMA}.orders"):
        found = engine.run(f"select order_no, note from {name} order by 1", lambda result: list(rows(result)))
        assert found == [(1, ""), (2, None)]
    run(capsys, monkeypatch, "-e", "select 1")
    assert tables.catalog.currentDatabase() == "silver", "the schema of the profile"


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("select * from nope", "[TABLE_OR_VIEW_NOT_FOUND] The table or view `nope` cannot be found."),
        ("selec 1", "[PARSE_SYNTAX_ERROR] Syntax error at or near 'selec'.; line 1 pos 0"),
        ("select a from (select 1 as b)", "Did you mean one of the following? [`b`].; line 1 pos 7"),
        ("select raise_error(concat('it broke: ', id)) from range(3)", "it broke: "),
        ("select make_interval(1, 2)", "A column has a type that cannot be shown: cast it to string."),
        ("select cast(x'ff' as string) as broken", "The column broken has a value that is no string"),
    ],
)
def test_error_is_one_sentence(
    tables: SparkSession,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    statement: str,
    message: str,
) -> None:
    code, output, errors = run(capsys, monkeypatch, "--format", "jsonl", "-e", statement)
    assert (code, output) == (1, "")
    assert message in errors
    assert errors.count("\n") == 1
    assert "Exception" not in errors


def test_second_query_does_not_follow_the_first_in_a_file(
    tables: SparkSession, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, output, errors = run(capsys, monkeypatch, "--format", "csv", "-e", "select 1; show tables")
    assert (code, output) == (1, "")
    assert "--format csv holds the result of one query, and there are 2" in errors


def test_large_result_comes_in_parts_and_in_order(engine: Engine) -> None:
    def count(result: Result) -> tuple[int, int, bool]:
        sizes, last, is_ordered = [], 1_000_000, True
        for batch in result.batches(is_plain=True):
            values = batch.column(0).to_pylist()
            is_ordered &= values == sorted(values, reverse=True) and values[0] < last
            sizes.append(len(values))
            last = values[-1]
        return sum(sizes), max(sizes), is_ordered

    query = "select id from range(0, 50000, 1, 7) order by id desc"
    assert engine.run(query, count)[::2] == (50_000, True)
    assert engine.run(query, count)[1] < 50_000


def test_rows_beyond_the_limit_are_left_out_and_said(
    tables: SparkSession, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    query = ["--format", "jsonl", "-e", "select id from range(10) order by id"]
    for limit, lines, said in (("3", 3, "The first 3 rows; --limit 0 shows all.\n"), ("10", 10, ""), ("0", 10, "")):
        code, output, errors = run(capsys, monkeypatch, *query, "--limit", limit)
        assert (code, len(output.splitlines()), errors) == (0, lines, said)


def test_control_c_cancels_the_query_and_the_next_one_is_answered(engine: Engine) -> None:
    running = engine.spark.sparkContext.statusTracker()

    def interrupt() -> None:
        while not running.getActiveJobsIds():
            time.sleep(0.05)
        signal.raise_signal(signal.SIGINT)

    threading.Thread(target=interrupt).start()
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        engine.run("select sum(hash(id)) from range(1000000000000)", lambda result: list(rows(result)))
    assert time.monotonic() - begun < 30
    assert not running.getActiveJobsIds()
    assert engine.run("select 42", lambda result: list(rows(result))) == [(42,)]


def test_completion(engine: Engine) -> None:
    _ = engine.spark
    names = Names(engine)

    def proposed(before: str) -> list[str]:
        return names.completions(before)[1]

    assert proposed("sel") == ["select"]
    assert proposed("select * from or") == ["orders"]
    assert proposed("select * from look") == [SCHEMA]
    assert proposed(f"select * from {SCHEMA}.") == ["orders"]
    assert proposed("select order_no from orders where no")[:1] == ["note"]
    assert proposed("select * from orders o where o.") == ["order_no", "note"]
    assert proposed(f"select * from {SCHEMA}.orders where orders.n") == ["note"]
    assert proposed("select 'or") == []
    assert proposed("select * from nope where nope.") == []


def test_prompt(
    tables: SparkSession,
    target: SessionTarget,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(prompt_module, "create_output", lambda **_: DummyOutput())
    keys = [
        "select order_no,\r",
        "note from orders order by 1;\r",
        "\\d\r",
        "\\d orders\r",
        "drop table orders;\r",
        "\x04",
    ]
    with create_pipe_input() as typed, create_app_session(input=typed, output=DummyOutput()):
        typed.send_text("".join(keys))
        with Engine(target, may_write=False, is_quiet=False, keeps_output=False) as engine:
            Prompt(engine, Output(Format.table)).run()
    said = capsys.readouterr()
    lines = said.out.splitlines()
    assert lines[:4] == ["order_no  note", "--------  ----", "       1  ''", "       2  NULL"]
    assert [SCHEMA, "orders"] in [line.split() for line in lines]
    assert "order_no  bigint     NULL" in lines
    assert "Not run, because it is no query: drop table orders" in said.err


def test_schema_that_is_not_there_yet_is_said(
    tables: SparkSession, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "profiles.yml").write_text(
        "alluvium: {target: t, outputs: {t: {type: spark, method: session, schema: later, host: NA}}}", encoding="utf-8"
    )
    tables.catalog.setCurrentDatabase("default")
    code, output, errors = run(capsys, monkeypatch, "--profiles-dir", str(tmp_path), "-e", "select current_schema() s")
    assert (code, output.split()) == (0, ["s", "-------", "default"])
    assert errors == "There is no schema later yet: dbt build makes it. The current schema is default.\n"


def in_its_own_process(home: Path, statement: str) -> subprocess.CompletedProcess[bytes]:
    """The command with a statement piped in, in another time zone and where the output is said to be ASCII."""
    command = [sys.executable, "-m", "alluvium.cli", "sql", "--project-dir", str(REPOSITORY), "--format", "csv"]
    environment = {
        **os.environ,
        "ALLUVIUM_HOME": str(home),
        "TZ": "America/New_York",
        "PYTHONPATH": str(REPOSITORY),
        "PYTHONIOENCODING": "ascii",
    }
    return subprocess.run(command, input=statement.encode(), capture_output=True, env=environment, check=False)


def test_output_has_the_result_alone_and_no_local_time(tmp_path: Path) -> None:
    ended = in_its_own_process(tmp_path, f"{QUERY}, 'ö' as umlaut")
    assert ended.returncode == 0, ended.stderr.decode()
    assert ended.stdout.decode() == f"{','.join(VALUES)},umlaut\r\n{CSV},ö\r\n"
    assert (
        ended.stderr.decode() == "There is no schema silver yet: dbt build makes it. The current schema is default.\n"
    )


def test_error_of_a_task_is_said_without_sparks_log(tmp_path: Path) -> None:
    ended = in_its_own_process(tmp_path, "use default; select assert_true(id < 0, 'it broke') from range(3)")
    assert (ended.returncode, ended.stdout) == (1, b"")
    assert ended.stderr.decode().splitlines()[1:] == ["alluvium: it broke"]
