"""`alluvium sql` on Spark, in this process and behind a Thrift server: what it reads, refuses and writes."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent import futures
from contextlib import ExitStack
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
from alluvium.query import Format, QueryError
from alluvium.query import prompt as prompt_module
from alluvium.query.engine import Engine, Kind
from alluvium.query.engines import engine_of
from alluvium.query.formats import rows
from alluvium.query.names import Names
from alluvium.query.output import Output
from alluvium.query.prompt import Prompt
from alluvium.query.result import Result
from alluvium.query.statements import split
from alluvium.query.values import date_text
from alluvium.runtime.profile import SessionTarget, Target, ThriftTarget
from alluvium.server import hosting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).resolve().parents[3]
SCHEMA = "look_at"
# The profile's targets: a session in this process, and a server that has the same session.
TARGETS = ("local", "thrift")

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


@pytest.fixture(scope="module")
def port(spark: SparkSession) -> Iterator[int]:
    """Of a Thrift server in this process, which has the tests' own session."""
    found = hosting.free_port()
    session = spark._jsparkSession
    conf, jvm = session.sessionState().conf(), spark._jvm
    assert jvm is not None
    for key, value in (
        # Spark asks for it when a client connects, though it calls it static.
        ("spark.sql.hive.thriftServer.singleSession", "true"),
        ("hive.server2.thrift.bind.host", "127.0.0.1"),
        ("hive.server2.thrift.port", str(found)),
        ("hive.server2.authentication", "NONE"),
    ):
        conf.setConfString(key, value)
    start = jvm.org.apache.spark.sql.hive.thriftserver.HiveThriftServer2.startWithContext
    # In a thread of its own: one that has used the metastore has the settings that Hive had then (3.5.7).
    with futures.ThreadPoolExecutor(1) as thread:
        server = thread.submit(start, session.sqlContext()).result()
    deadline = time.monotonic() + 60
    while True:
        try:
            socket.create_connection(("127.0.0.1", found), timeout=1).close()
            break
        except OSError:
            assert time.monotonic() < deadline
    yield found
    server.stop()


@pytest.fixture(params=TARGETS)
def name(request: pytest.FixtureRequest, port: int, monkeypatch: pytest.MonkeyPatch) -> str:
    """Of a target in the profile."""
    monkeypatch.setenv("ALLUVIUM_THRIFT_PORT", str(port))
    return str(request.param)


@pytest.fixture
def target(name: str, port: int) -> Target:
    if name == "thrift":
        return ThriftTarget(REPOSITORY, name, SCHEMA, "127.0.0.1", port)
    return SessionTarget(REPOSITORY, name, SCHEMA, {})


@pytest.fixture
def engine(tables: SparkSession, target: Target) -> Iterator[Engine]:
    with engine_of(target, may_write=False, is_quiet=False, keeps_output=False) as made:
        yield made


class CommandLine:
    """`alluvium sql` in this process, on a target."""

    def __init__(self, name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self._options = ["--project-dir", str(REPOSITORY), "--target", name]
        self._capsys = capsys
        self._monkeypatch = monkeypatch

    def runs(self, *arguments: str, typed: str = "") -> tuple[int, str, str]:
        """Exit code, output and errors."""
        self._monkeypatch.setattr("sys.argv", ["alluvium", "sql", *self._options, *arguments])
        self._monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        with pytest.raises(SystemExit) as ended:
            cli.main()
        output = self._capsys.readouterr()
        return int(ended.value.code or 0), output.out, output.err


@pytest.fixture
def command(
    name: str, tables: SparkSession, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> CommandLine:
    return CommandLine(name, capsys, monkeypatch)


@pytest.mark.parametrize(
    ("kind", "statements"), [(Kind.QUERY, READING), (Kind.SETTING, SETTING), (Kind.CHANGE, CHANGING)]
)
def test_kinds_of_statements(engine: Engine, kind: Kind, statements: list[str]) -> None:
    assert {statement: engine.kind(statement) for statement in statements} == dict.fromkeys(statements, kind)


def test_nothing_runs_where_one_statement_must_not(tables: SparkSession, command: CommandLine) -> None:
    code, output, errors = command.runs("-e", f"select 1; drop table {SCHEMA}.orders")
    assert (code, output) == (1, "")
    assert errors == (
        f"alluvium: Not run, because it is no query: drop table {SCHEMA}.orders "
        "(alluvium sql only reads; --write lets it change tables).\n"
    )
    assert tables.catalog.tableExists(f"{SCHEMA}.orders")


def test_write_runs_it(tables: SparkSession, command: CommandLine) -> None:
    created = f"create table {SCHEMA}.made as select 1 as a"
    code, output, errors = command.runs("--write", "-e", created, "-e", f"select * from {SCHEMA}.made")
    assert (code, errors) == (0, "")
    assert output.split() == ["a", "-", "1"]
    tables.sql(f"drop table {SCHEMA}.made")


@pytest.mark.parametrize("name", ["thrift"], indirect=True)
@pytest.mark.parametrize(
    "statement",
    [
        *CHANGING,
        "with a as (select 9) insert into orders select * from a",
        "from orders insert into orders select *",
        "select 1) as result(c0) union all select 2; delete from orders where (true",
        "select 1) as result(c0); delete from orders --",
        "select * from orders where (1 = 1)) insert into orders select * from (orders",
        "orders",
    ],
)
def test_server_is_sent_no_change(engine: Engine, tables: SparkSession, statement: str) -> None:
    """Even by who does not ask first whether a statement is allowed."""
    statement = re.sub(r"\bx\b", f"{SCHEMA}.orders", statement)
    with pytest.raises(QueryError):
        engine.run(statement, lambda result: list(rows(result)))
    found = engine.rows(f"select * from {SCHEMA}.orders order by 1")
    assert found == [(1, ""), (2, None)]


DETAILS = """
select
    named_struct('a b', 1, 'x`y', date'2024-01-01', 'A B', array(map('k', null)), 'n', null) as `odd, names`,
    map(date'-0044-03-15', x'ff', null_day, x'') as by_day,
    map(named_struct('t', timestamp'1883-11-18 12:00:00.000001 America/New_York'), 'ö') as by_struct,
    array(timestamp_ntz'0001-01-01 00:00:00.000001', null, timestamp_ntz'+294247-01-10 04:00:54.775807') as local_times,
    array(timestamp_ntz'-290308-12-21 19:59:05.224192', timestamp_ntz'9999-12-31 23:59:59.999999') as far_local_times,
    array(float('NaN'), float(0.1), float('3.4028235E38'), float('1.4E-45'), float('-Infinity')) as floats,
    array(double('NaN'), 0.1D, 1.7976931348623157E308D, 4.9E-324D, -0.0D) as doubles,
    array(cast('0.0000000001' as decimal(38,10)), cast(0 as decimal(38,10)), null) as decimals,
    array(interval '1-2' year to month) as spans, array(interval '1' day) as days,
    array(interval '1 02:03:04.5' day to second) as day_times,
    array(array(), null, array(null)) as empty_ones, array('', null, 'NULL', 'a"b\\c\nd') as texts,
    cast(null as struct<a: int>) as no_struct, named_struct('a', cast(null as int)) as empty_struct,
    cast(null as map<string, int>) as no_map, cast(null as array<date>) as no_array,
    struct(struct(struct(array(struct(1 as deep)) as c) as b) as a) as nested,
    cast(-128 as tinyint) as tiny, cast(-32768 as smallint) as small, true as yes, cast(null as boolean) as neither,
    cast('ab' as char(3)) as fixed
from (select date'1582-10-15' as null_day)
"""
WIDE = f"select struct({', '.join(f'{number} as f{number}' for number in range(40))}) as wide"
SAME = {
    "every value": QUERY,
    "details": DETAILS,
    "more fields than Spark names": WIDE,
    "no rows": f"select * from ({QUERY}) where zero = 1",
    "a table": f"select * from {SCHEMA}.orders order by order_no desc",
    "in order": "select id, cast(id as string) as text from range(0, 5000, 1, 7) order by id % 97, id -- the end",
    "a name that is taken": "with result as (select 1 as c0) select c0, c0 as c1 from result",
    "values": "values (1, 'a'), (2, null)",
    "from": "from range(3) select id where id > 1",
    "show": "show schemas",
    "describe": f"describe table {SCHEMA}.orders",
}


@pytest.fixture(scope="module")
def engines(tables: SparkSession, port: int) -> Iterator[list[Engine]]:
    """Of both targets."""
    targets = (
        SessionTarget(REPOSITORY, "local", SCHEMA, {}),
        ThriftTarget(REPOSITORY, "thrift", SCHEMA, "127.0.0.1", port),
    )
    with ExitStack() as opened:
        yield [
            opened.enter_context(engine_of(target, may_write=False, is_quiet=False, keeps_output=False))
            for target in targets
        ]


@pytest.mark.parametrize("statement", SAME.values(), ids=SAME)
def test_output_of_a_server_is_that_of_a_session(engines: list[Engine], tmp_path: Path, statement: str) -> None:
    for form in Format:
        written = []
        for number, engine in enumerate(engines):
            output = Output(form, tmp_path / str(number), limit=3 if form is Format.csv else None)
            engine.run(statement, output.show, output.rows)
            written.append((tmp_path / str(number)).read_bytes())
        assert written[0] == written[1], form


def test_history_of_a_server_has_times_and_nested_values_as_text(engines: list[Engine], tmp_path: Path) -> None:
    """A command cannot be wrapped in a query."""
    written = []
    for number, engine in enumerate(engines):
        output = Output(Format.csv, tmp_path / str(number))
        engine.run(f"describe history {SCHEMA}.orders", output.show)
        written.append((tmp_path / str(number)).read_text(encoding="utf-8").splitlines())
    # Behind the fifth column there are maps, whose entries Spark's text has in an order of its own.
    parts = [[line.split(",")[:5] for line in lines] for lines in written]
    assert parts[0] == parts[1]
    assert parts[1][1][1].endswith("+00:00")
    assert '""mode"":""Append""' in written[1][1]


def test_session_that_all_share_is_left_as_it_was(tables: SparkSession, port: int) -> None:
    def settings() -> set[tuple[str, str]]:
        return {(row.key, row.value) for row in tables.sql("set").collect()}

    tables.catalog.setCurrentDatabase("default")
    before = settings()
    target = ThriftTarget(REPOSITORY, "thrift", SCHEMA, "127.0.0.1", port)
    with engine_of(target, may_write=False, is_quiet=True, keeps_output=False) as engine:
        assert engine.rows("select note from orders where order_no = 1") == [("",)]
        tables.catalog.setCurrentDatabase("default")  # as any client that connects does
        assert engine.rows("select note from orders where order_no = 1") == [("",)]
        engine.run("use silver", lambda result: None)
        assert engine.schema == "silver"
    assert tables.catalog.currentDatabase() == "default"
    assert settings() == before


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


def test_csv_has_every_value(tables: SparkSession, command: CommandLine) -> None:
    code, output, errors = command.runs("--format", "csv", typed=f"{QUERY};")
    assert (code, errors) == (0, "")
    assert output == f"{','.join(VALUES)}\r\n{CSV}\r\n"


def test_json_has_every_value(tables: SparkSession, command: CommandLine, tmp_path: Path) -> None:
    script = tmp_path / "script.sql"
    script.write_text(f"use {SCHEMA}; set spark.sql.session.timeZone = UTC;\n{QUERY}", encoding="utf-8")
    code, output, errors = command.runs("--format", "jsonl", "-f", str(script))
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


def test_parquet_has_every_value(tables: SparkSession, command: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "values.parquet"
    code, *said = command.runs("--format", "parquet", "--output", str(file), "-e", QUERY)
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


def test_table_has_every_value(tables: SparkSession, command: CommandLine) -> None:
    code, output, _ = command.runs("-e", f"select * from ({QUERY}) where zero = 0")
    assert code == 0
    line = output.splitlines()[2]
    for text in ("1234567890123456789012345678.0123456789", "-0044-03-15", "NULL", "''", "'NULL'", "00FF", "-Infinity"):
        assert f"  {text}  " in f"  {line}  "


def test_days_have_the_text_that_spark_has(engine: Engine, tables: SparkSession) -> None:
    days = "select date_from_unix_date(cast(id * 97003 as int)) as day from range(-22000, 22000)"
    texts = tables.sql(f"select cast(day as string) as text from ({days}) order by day").collect()
    found = engine.run(f"select * from ({days}) order by day", lambda result: list(rows(result)))
    assert [date_text(day) for (day,) in found] == [text for (text,) in texts]


def test_columns_of_one_name_are_kept_or_refused(tables: SparkSession, command: CommandLine) -> None:
    statement = "select 1 as a, 2 as a, interval '1' day as a, struct(3 as b, 4 as b) as c"
    _, output, _ = command.runs("--format", "csv", "-e", statement)
    assert output.splitlines()[1] == """1,2,INTERVAL '1' DAY,"{""b"":3,""b"":4}\""""
    code, output, errors = command.runs("--format", "jsonl", "-e", statement)
    assert (code, output) == (1, "")
    assert "a is there twice" in errors


def test_names_are_those_of_the_tables(engine: Engine, command: CommandLine) -> None:
    for name in ("orders", f"{SCHEMA}.orders", f"spark_catalog.{SCHEMA}.orders"):
        found = engine.run(f"select order_no, note from {name} order by 1", lambda result: list(rows(result)))
        assert found == [(1, ""), (2, None)]
    code, output, _ = command.runs("--format", "csv", "-e", "select current_schema() as name")
    assert (code, output.split()) == (0, ["name", "silver"]), "the schema of the profile"


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("select * from nope", "[TABLE_OR_VIEW_NOT_FOUND] The table or view `nope` cannot be found."),
        ("select 1,\n1 a b", "[PARSE_SYNTAX_ERROR] Syntax error at or near 'b': extra input 'b'.; line 2 pos 4"),
        ("with a as (select 1", "[PARSE_SYNTAX_ERROR] Syntax error at or near end of input.; line 1 pos 19"),
        ("select a from (select 1 as b)", "Did you mean one of the following? [`b`].; line 1 pos 7"),
        ("select raise_error(concat('it broke: ', id)) from range(3)", "it broke: "),
        ("select make_interval(1, 2)", "A column has a type that cannot be shown: cast it to string."),
        ("select cast(x'ff' as string) as broken", "The column broken has a value that is no string"),
    ],
)
def test_error_is_one_sentence(
    command: CommandLine,
    statement: str,
    message: str,
) -> None:
    code, output, errors = command.runs("--format", "jsonl", "-e", statement)
    assert (code, output) == (1, "")
    assert message in errors
    assert errors.count("\n") == 1
    assert "Exception" not in errors


def test_second_query_does_not_follow_the_first_in_a_file(tables: SparkSession, command: CommandLine) -> None:
    code, output, errors = command.runs("--format", "csv", "-e", "select 1; show tables")
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


def test_rows_beyond_the_limit_are_left_out_and_said(tables: SparkSession, command: CommandLine) -> None:
    query = ["--format", "jsonl", "-e", "select id from range(10) order by id"]
    for limit, lines, said in (("3", 3, "The first 3 rows; --limit 0 shows all.\n"), ("10", 10, ""), ("0", 10, "")):
        code, output, errors = command.runs(*query, "--limit", limit)
        assert (code, len(output.splitlines()), errors) == (0, lines, said)


def test_control_c_cancels_the_query_and_the_next_one_is_answered(engine: Engine, tables: SparkSession) -> None:
    running = tables.sparkContext.statusTracker()

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
    engine.wait()
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
    target: Target,
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
        with engine_of(target, may_write=False, is_quiet=False, keeps_output=False) as engine:
            Prompt(engine, Output(Format.table)).run()
    said = capsys.readouterr()
    lines = said.out.splitlines()
    assert lines[:4] == ["order_no  note", "--------  ----", "       1  ''", "       2  NULL"]
    assert [SCHEMA, "orders"] in [line.split() for line in lines]
    assert "order_no  bigint     NULL" in lines
    assert "Not run, because it is no query: drop table orders" in said.err


def test_schema_that_is_not_there_yet_is_said(tables: SparkSession, command: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "profiles.yml").write_text(
        """
alluvium:
  target: local
  outputs:
    local: {type: spark, method: session, schema: later, host: NA}
    thrift:
      {type: spark, method: thrift, schema: later, host: 127.0.0.1, port: "{{ env_var('ALLUVIUM_THRIFT_PORT') | int }}"}
""",
        encoding="utf-8",
    )
    tables.catalog.setCurrentDatabase("default")
    code, output, errors = command.runs("--profiles-dir", str(tmp_path), "-e", "select current_schema() s")
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
